#include "driver_shim/nccl/report.h"

#include <unistd.h>

namespace maya::nccl {
namespace {

// "communicator "tp" of 8 ranks".
std::string name_of(const Communicator& communicator) {
  const std::string& name = communicator.configuration.name;
  return "communicator " + (name.empty() ? "" : "\"" + name + "\" ") + "of " + std::to_string(communicator.ranks) +
         " ranks";
}

// Rank in the communicator, and in the world where that is another number.
std::string rank_text(const Communicator& communicator, int rank) {
  const int world = communicator.area == nullptr ? -1 : communicator.area->member(rank).world_rank;
  return std::to_string(rank) + (world < 0 || world == rank ? "" : " (RANK " + std::to_string(world) + ")");
}

std::string ranks_text(const Communicator& communicator, const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i)
    text += (i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ") + rank_text(communicator, ranks[i]);
  return text;
}

}  // namespace

void say(const std::string& text) {
  const std::string line = "maya: " + text + "\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
  shim::driver()->note(1, text.c_str());
}

void report_mismatch(const Communicator& communicator, uint64_t position, const Contribution& own,
                     const std::vector<std::pair<int, std::string>>& different) {
  std::string text = "call " + std::to_string(position) + " of " + name_of(communicator) + " differs: rank " +
                     rank_text(communicator, communicator.rank) + " " + describe(own);
  for (const auto& [rank, call] : different) text += ", rank " + rank_text(communicator, rank) + " " + call;
  text += "; a device may hang or compute anything here";
  if (communicator.area->first_to_report(position + 1))
    say(text);
  else
    shim::driver()->note(1, text.c_str());
}

void report_waiting(const Communicator& communicator, uint64_t position, const Contribution& own,
                    const std::vector<int>& missing) {
  say("rank " + rank_text(communicator, communicator.rank) + " waits for " + ranks_text(communicator, missing) +
      " in " + describe(own) + ", call " + std::to_string(position) + " of " + name_of(communicator));
}

void report_given_up(const Communicator& communicator, const Contribution& own, const std::vector<int>& missing) {
  say("rank " + rank_text(communicator, communicator.rank) + " goes on without the result of " + describe(own) + ": " +
      ranks_text(communicator, missing) + " may be waiting for this rank");
}

void report_lost(const Communicator& communicator, const Contribution& own, const std::vector<int>& missing) {
  say("rank " + rank_text(communicator, communicator.rank) + " goes on without the result of " + describe(own) + ": " +
      ranks_text(communicator, missing) + (missing.size() == 1 ? " is" : " are") +
      " missing and nothing has aborted the communicator; a device would wait for ever");
}

std::string gone_text(const Communicator& communicator, int rank, const Contribution& own) {
  return "rank " + rank_text(communicator, rank) + " of " + name_of(communicator) + " is gone; rank " +
         rank_text(communicator, communicator.rank) + " waited for it in " + describe(own);
}

}  // namespace maya::nccl
