// What roles.h reads off one trace.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>

#include "predictor/world/roles.h"

namespace maya::predictor {
namespace {

constexpr int64_t kSmallCollective_bytes = 4096;
constexpr int32_t kMostMembers = 1 << 20;  // of a world that a trace speaks of; more is damage

uint64_t mixed(uint64_t hash, uint64_t value) {  // FNV-1a over 64-bit words, with a final shift to spread low bits
  hash = (hash ^ value) * 0x100000001b3;
  return hash ^ (hash >> 29);
}

uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = mixed(hash, static_cast<unsigned char>(c));
  return hash;
}

uint64_t hash_of(const trace::LoadedTrace& trace, const trace::Configuration& launch) {
  uint64_t hash = launch.kernel < trace.kernels.size() ? hash_of(trace.kernels[launch.kernel].name) : 1;
  for (const uint32_t extent : launch.grid) hash = mixed(hash, extent);
  for (const uint32_t extent : launch.block) hash = mixed(hash, extent);
  return mixed(hash, launch.dynamic_shared_bytes);
}

bool of_communicator(const OperationRecord& record) {
  return record.family == Family::kCollective || record.family == Family::kPointToPoint;
}

uint64_t hash_of(const OperationRecord& record) {
  uint64_t hash = mixed(hash_of(record.api), static_cast<uint64_t>(record.family));
  for (int i = 0; i < record.count; ++i) {
    const auto& [key, value] = record.fields[i];
    if (key == Key::kPeer || key == Key::kRoot || key == Key::kCommunicator || key == Key::kSequence ||
        key == Key::kGroupCall || key == Key::kNodes)
      continue;
    if (key == Key::kBytes && of_communicator(record) && value < kSmallCollective_bytes) continue;
    hash = mixed(mixed(hash, static_cast<uint64_t>(key)), static_cast<uint64_t>(value));
  }
  return hash;
}

// Members in equal steps: their direction in the grid. A pair that is not next to each other in it has the distance as
// its step.
std::optional<Dimension> dimension_of(const std::vector<int32_t>& members) {
  if (members.size() < 2) return std::nullopt;
  const int32_t stride = members[1] - members[0];
  if (stride <= 0) return std::nullopt;
  for (size_t i = 1; i < members.size(); ++i)
    if (members[i] - members[i - 1] != stride) return std::nullopt;
  const Dimension dimension{stride, static_cast<int32_t>(members.size())};
  for (size_t i = 0; i < members.size(); ++i)
    if (members[i] / stride % dimension.size != static_cast<int32_t>(i)) return std::nullopt;
  return dimension;
}

struct Peers {
  std::set<int64_t> sent, received;
};

// Whether every member does as this one: it exchanges with all, or one root serves all.
bool symmetric(const Peers& peers, int32_t size) {
  const auto all = static_cast<size_t>(size - 1);
  if (peers.sent == peers.received) return peers.sent.size() >= all;
  return size > 2 && (peers.sent.empty() || peers.received.empty()) &&
         std::max(peers.sent.size(), peers.received.size()) >= all;
}

}  // namespace

std::vector<Membership> memberships_of(const trace::LoadedTrace& trace) {
  std::vector<Membership> result;
  std::set<uint32_t> seen;
  for (const proto::Communicator& communicator : trace.communicators) {
    if (communicator.destroyed() || !seen.insert(communicator.id()).second) continue;
    Membership membership;
    membership.id = communicator.id();
    membership.unique = communicator.unique();
    membership.parent = communicator.parent();
    membership.rank = static_cast<int32_t>(communicator.rank());
    membership.size = static_cast<int32_t>(communicator.ranks());
    membership.name = communicator.name();
    if (communicator.world_ranks_size() == membership.size) {
      membership.members.assign(communicator.world_ranks().begin(), communicator.world_ranks().end());
    } else if (membership.size == trace.process.world_size() && membership.size > 0 &&
               membership.size <= kMostMembers) {
      membership.members.resize(static_cast<size_t>(membership.size));
      std::iota(membership.members.begin(), membership.members.end(), 0);
    }
    result.push_back(std::move(membership));
  }
  return result;
}

RankSummary summarize(const trace::LoadedTrace& trace) {
  RankSummary summary;
  summary.rank = trace.process.rank();
  std::vector<uint64_t> launches, operations;
  for (const trace::Configuration& launch : trace.configurations) launches.push_back(hash_of(trace, launch));
  for (const trace::Operation& operation : trace.operations) operations.push_back(hash_of(operation.record));

  std::unordered_map<uint32_t, size_t> numbers;  // streams in the order of their first use: ids depend on the device
  std::vector<uint64_t> by_stream;
  std::map<int64_t, std::map<uint64_t, Peers>>
      transfers;  // by communicator, then group; a call outside of one is its own
  uint64_t alone = uint64_t{1} << 32;
  for (const trace::Event& event : trace.events) {
    if (event.index == trace::kNoDefinition) continue;
    if (event.kind != trace::EventKind::kLaunch && event.kind != trace::EventKind::kOperation) continue;
    const size_t number = numbers.emplace(event.stream, numbers.size()).first->second;
    if (number == by_stream.size()) by_stream.push_back(0);
    uint64_t& hash = by_stream[number];
    if (event.kind == trace::EventKind::kLaunch) {
      hash = mixed(hash, launches[event.index]);
    } else {
      hash = mixed(hash, operations[event.index]);
      const OperationRecord& record = trace.operations[event.index].record;
      if (record.family != Family::kPointToPoint) continue;
      Peers& peers = transfers[record.get(Key::kCommunicator)][event.group != 0 ? event.group : ++alone];
      const bool sends = record.get(Key::kCollective) == static_cast<int64_t>(CollectiveKind::kSend);
      (sends ? peers.sent : peers.received).insert(record.get(Key::kPeer));
    }
  }
  for (const uint64_t hash : by_stream) summary.fingerprint = mixed(summary.fingerprint, hash);

  for (const Membership& membership : memberships_of(trace)) {
    const auto found = transfers.find(membership.id);
    if (found == transfers.end()) continue;
    const bool differs = std::any_of(found->second.begin(), found->second.end(), [&](const auto& group) {
      Peers peers = group.second;
      peers.sent.erase(membership.rank);
      peers.received.erase(membership.rank);
      return !symmetric(peers, membership.size);
    });
    const std::optional<Dimension> dimension = dimension_of(membership.members);
    if (!differs || !dimension) continue;
    if (std::find(summary.transfers.begin(), summary.transfers.end(), *dimension) == summary.transfers.end())
      summary.transfers.push_back(*dimension);
  }
  return summary;
}

}  // namespace maya::predictor
