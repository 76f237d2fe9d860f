#include <algorithm>

#include "predictor/numbers.h"
#include "predictor/text.h"
#include "predictor/world/collate.h"

namespace maya::predictor {
namespace {

constexpr size_t kKernelColumns = 60;

std::string side_text(const World& world, const Mismatch& mismatch, const Mismatch::Side& side) {
  const WorldCommunicator& communicator = world.communicators[mismatch.communicator];
  std::string text = "rank " + std::to_string(side.rank);
  if (side.more_ranks != 0) text += " and " + std::to_string(side.more_ranks) + " like it";
  if (side.has_call) return text + ", call " + std::to_string(side.call) + ": " + side.description;
  return text + ": no such call, " + std::to_string(side.call) + " on this communicator of " +
         std::to_string(communicator.size);
}

}  // namespace

const char* mismatch_name(Mismatch::Kind kind) {
  switch (kind) {
    case Mismatch::Kind::kOperation:
      return "operation";
    case Mismatch::Kind::kCount:
      return "count";
    case Mismatch::Kind::kType:
      return "type";
    case Mismatch::Kind::kRoot:
      return "root";
    case Mismatch::Kind::kMissingCall:
      return "missing_call";
    case Mismatch::Kind::kUnmatchedSend:
      return "unmatched_send";
    case Mismatch::Kind::kUnmatchedReceive:
      return "unmatched_receive";
  }
  return "operation";
}

int32_t rank_of_member(const WorldCommunicator& communicator, int32_t position) {
  const auto at = static_cast<size_t>(position);
  if (position < 0 || at >= communicator.members.size() || communicator.members[at] == kUnknownRank) return position;
  return communicator.members[at];
}

std::string describe_call(const trace::LoadedTrace& trace, const World& world, const CommunicatorCall& call) {
  const OperationRecord& record = trace.operations[trace.events[call.event].index].record;
  const WorldCommunicator& communicator = world.communicators[call.communicator];
  std::string text = record.api != nullptr && *record.api != 0 ? record.api : "a collective";
  text +=
      " of " + with_commas(static_cast<uint64_t>(call.bytes)) + " bytes of " + std::string(data_type_name(call.type));
  const std::string peer = " rank " + std::to_string(rank_of_member(communicator, call.root_or_peer));
  switch (call.kind) {
    case CollectiveKind::kSend:
      return text + " to" + peer;
    case CollectiveKind::kRecv:
      return text + " from" + peer;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kScatter:
    case CollectiveKind::kGather:
    case CollectiveKind::kReduce:
      return text + ", root" + peer;
    default:
      return text;
  }
}

std::vector<std::string> mismatch_lines(const World& world, const Mismatch& mismatch) {
  const WorldCommunicator& communicator = world.communicators[mismatch.communicator];
  static constexpr const char* kTexts[] = {"ranks call different operations",    "ranks call it with different sizes",
                                           "ranks call it with different types", "ranks call it with different roots",
                                           "some ranks do not call it",          "a send that nobody receives",
                                           "a receive that nobody sends"};
  std::string head = std::string(kTexts[static_cast<size_t>(mismatch.kind)]) + ", communicator of " +
                     std::to_string(communicator.size);
  if (!communicator.name.empty()) head += " (" + shorten(communicator.name, 24) + ")";
  if (mismatch.more != 0) head += "; " + std::to_string(mismatch.more) + " more behind it";
  std::vector<std::string> lines{head};
  for (const Mismatch::Side& side : mismatch.sides) {
    lines.push_back("  " + side_text(world, mismatch, side));
    if (!side.after.empty()) lines.push_back("    after " + shorten(side.after, kKernelColumns));
  }
  return lines;
}

}  // namespace maya::predictor
