#include "predictor/world/collate.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

namespace maya::predictor {
namespace {

using trace::EventKind;

bool is_transfer(CollectiveKind kind) { return kind == CollectiveKind::kSend || kind == CollectiveKind::kRecv; }

bool has_root(CollectiveKind kind) {
  return kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce || kind == CollectiveKind::kGather ||
         kind == CollectiveKind::kScatter;
}

class Collator {
 public:
  Collator(const std::vector<trace::LoadedTrace>& traces, WorldLayout layout) : traces_(traces) {
    world_.layout = std::move(layout);
    for (std::vector<Membership>& list : world_.layout.memberships) {
      for (Membership& membership : list) {
        membership.size = std::max(membership.size, 1);
        membership.rank = std::clamp(membership.rank, 0, membership.size - 1);
        if (membership.members.size() != static_cast<size_t>(membership.size)) membership.members.clear();
      }
    }
  }

  Collation run() {
    join_communicators();
    world_.calls.resize(world_.layout.classes.size());
    for (uint32_t c = 0; c < world_.layout.classes.size(); ++c) read_calls(c);
    Collation result;
    find_mismatches(&result.mismatches);
    result.world = std::move(world_);
    return result;
  }

 private:
  // Transfers in one direction between two members, or between two members of one class.
  struct Channel {
    std::vector<uint32_t> matches;
    uint64_t sends = 0, receives = 0;
    bool both_known = true;  // both ends are in traces that are there
  };
  // Within one class of a world of twins, members are told apart by how far they are away.
  static constexpr int32_t kWithinClass = -2;
  using ChannelKey = std::tuple<uint32_t, int32_t, int32_t, uint32_t>;  // communicator, source, destination, class

  struct Joined {
    std::vector<uint32_t> matches;                            // of collectives, by sequence
    std::vector<std::pair<uint32_t, uint64_t>> participants;  // class, number of collective calls
    std::map<int32_t, uint32_t> class_at;                     // by position of those whose traces are there
  };

  const trace::LoadedTrace& trace_of(uint32_t rank_class) const {
    return traces_[world_.layout.classes[rank_class].trace];
  }

  void join_communicators();
  uint32_t add_communicator(const Membership& membership, std::vector<uint32_t> classes);
  uint32_t nodes_of(const WorldCommunicator& communicator) const;
  void read_calls(uint32_t rank_class);
  void add_collective(uint32_t rank_class, uint64_t sequence, CommunicatorCall* call);
  void add_transfer(uint32_t rank_class, CommunicatorCall* call);
  uint32_t new_match(const CommunicatorCall& call);

  void find_mismatches(std::vector<Mismatch>* list);
  void check_collectives(uint32_t communicator, std::optional<Mismatch>* found);
  void check_channels(std::map<uint32_t, Mismatch>* found);
  Mismatch::Side side_of(const Participant& participant) const;
  bool sizes_differ(const CommunicatorCall& a, const CommunicatorCall& b) const;
  std::optional<Mismatch::Kind> difference(const CommunicatorCall& a, const CommunicatorCall& b) const;

  const std::vector<trace::LoadedTrace>& traces_;
  World world_;
  std::vector<Joined> joined_;                                           // by communicator
  std::vector<std::unordered_map<uint32_t, uint32_t>> communicator_of_;  // by class: trace's id -> communicator
  std::vector<std::unordered_map<uint32_t, uint32_t>> membership_of_;    // by class: trace's id -> membership
  std::map<ChannelKey, Channel> channels_;
};

uint32_t Collator::nodes_of(const WorldCommunicator& communicator) const {
  const uint32_t per_node = world_.layout.gpus_per_node;
  if (per_node == 0) return 1;
  std::set<int32_t> nodes;
  for (const int32_t rank : communicator.members)
    if (rank != kUnknownRank) nodes.insert(rank / static_cast<int32_t>(per_node));
  if (!nodes.empty()) return static_cast<uint32_t>(nodes.size());
  return (static_cast<uint32_t>(communicator.size) + per_node - 1) / per_node;
}

uint32_t Collator::add_communicator(const Membership& membership, std::vector<uint32_t> classes) {
  WorldCommunicator& communicator = world_.communicators.emplace_back();
  communicator.unique = membership.unique;
  communicator.size = membership.size;
  communicator.members = membership.members;
  communicator.member_classes = std::move(classes);
  communicator.name = membership.name;
  communicator.nodes = nodes_of(communicator);
  joined_.emplace_back();
  return static_cast<uint32_t>(world_.communicators.size() - 1);
}

// In a world of twins, communicators are the same when their members' classes are, and when the classes made them in
// the same order; otherwise, when they carry the same number.
void Collator::join_communicators() {
  const WorldLayout& layout = world_.layout;
  std::unordered_map<int32_t, uint32_t> class_of;
  for (uint32_t c = 0; c < layout.classes.size(); ++c)
    for (const int32_t rank : layout.classes[c].ranks) class_of.try_emplace(rank, c);
  using Shape =
      std::tuple<int32_t, std::string, std::vector<uint32_t>, uint32_t>;  // the last: how many alike before it
  std::map<Shape, uint32_t> by_shape;
  std::unordered_map<uint64_t, uint32_t> by_unique;
  communicator_of_.resize(layout.classes.size());
  membership_of_.resize(layout.classes.size());
  for (uint32_t c = 0; c < layout.classes.size(); ++c) {
    std::map<Shape, uint32_t> before;
    for (uint32_t m = 0; m < layout.memberships[c].size(); ++m) {
      const Membership& membership = layout.memberships[c][m];
      std::vector<uint32_t> classes;
      for (const int32_t rank : membership.members) {
        const auto found = class_of.find(rank);
        classes.push_back(found == class_of.end() ? kNoClass : found->second);
      }
      uint32_t index = kNoMatch;
      if (!layout.twins) {
        const auto [found, is_new] = by_unique.try_emplace(membership.unique, 0);
        if (is_new) found->second = add_communicator(membership, std::move(classes));
        index = found->second;
      } else if (classes.empty()) {
        index = add_communicator(membership, {});
      } else {
        Shape shape{membership.size, membership.name, classes, 0};
        std::get<3>(shape) = before[shape]++;
        const auto [found, is_new] = by_shape.try_emplace(std::move(shape), 0);
        if (is_new) found->second = add_communicator(membership, std::move(classes));
        index = found->second;
      }
      communicator_of_[c].try_emplace(membership.id, index);
      membership_of_[c].try_emplace(membership.id, m);
      joined_[index].class_at.try_emplace(membership.rank, c);
    }
  }
}

uint32_t Collator::new_match(const CommunicatorCall& call) {
  Match& match = world_.matches.emplace_back();
  match.communicator = call.communicator;
  match.point_to_point = is_transfer(call.kind);
  const WorldCommunicator& communicator = world_.communicators[call.communicator];
  match.nodes = communicator.nodes;
  if (match.point_to_point) {
    const auto node_of = [&](int32_t position) {
      const int32_t rank = position >= 0 && static_cast<size_t>(position) < communicator.members.size()
                               ? communicator.members[static_cast<size_t>(position)]
                               : kUnknownRank;
      return rank == kUnknownRank || world_.layout.gpus_per_node == 0
                 ? 0
                 : rank / static_cast<int32_t>(world_.layout.gpus_per_node);
    };
    match.nodes = node_of(call.position) == node_of(call.root_or_peer) ? 1 : 2;
  }
  return static_cast<uint32_t>(world_.matches.size() - 1);
}

void Collator::add_collective(uint32_t rank_class, uint64_t sequence, CommunicatorCall* call) {
  call->sequence = sequence;
  std::vector<uint32_t>& matches = joined_[call->communicator].matches;
  if (sequence == matches.size()) matches.push_back(new_match(*call));
  call->match = matches[sequence];
  world_.matches[call->match].participants.push_back(
      {rank_class, static_cast<uint32_t>(world_.calls[rank_class].size())});
}

void Collator::add_transfer(uint32_t rank_class, CommunicatorCall* call) {
  const WorldCommunicator& communicator = world_.communicators[call->communicator];
  const bool sends = call->kind == CollectiveKind::kSend;
  const auto peer = static_cast<size_t>(call->root_or_peer);
  ChannelKey key{call->communicator, sends ? call->position : call->root_or_peer,
                 sends ? call->root_or_peer : call->position, 0};
  const auto& class_at = joined_[call->communicator].class_at;
  const auto at_peer = class_at.find(call->root_or_peer);
  bool both_known = at_peer != class_at.end();
  if (world_.layout.twins) {
    const uint32_t peer_class =
        peer < communicator.member_classes.size() ? communicator.member_classes[peer] : kNoClass;
    if (peer_class == rank_class) {
      const int32_t distance = std::get<2>(key) - std::get<1>(key);
      key = {call->communicator, kWithinClass, (distance % communicator.size + communicator.size) % communicator.size,
             rank_class};
      both_known = true;
    }
  }
  Channel& channel = channels_[key];
  channel.both_known = both_known;
  call->sequence = sends ? channel.sends++ : channel.receives++;
  if (!both_known) return;
  if (call->sequence == channel.matches.size()) channel.matches.push_back(new_match(*call));
  call->match = channel.matches[call->sequence];
  std::vector<Participant>& participants = world_.matches[call->match].participants;
  participants.insert(sends ? participants.begin() : participants.end(),
                      {rank_class, static_cast<uint32_t>(world_.calls[rank_class].size())});
}

void Collator::read_calls(uint32_t rank_class) {
  const trace::LoadedTrace& trace = trace_of(rank_class);
  const std::vector<Membership>& memberships = world_.layout.memberships[rank_class];
  std::vector<uint64_t> collectives(memberships.size(), 0);
  for (uint32_t i = 0; i < trace.events.size(); ++i) {
    const trace::Event& event = trace.events[i];
    if (event.kind != EventKind::kOperation || event.index >= trace.operations.size()) continue;
    const OperationRecord& record = trace.operations[event.index].record;
    if (record.family != Family::kCollective && record.family != Family::kPointToPoint) continue;
    const auto id = static_cast<uint32_t>(record.get(Key::kCommunicator));
    const auto found = membership_of_[rank_class].find(id);
    if (found == membership_of_[rank_class].end()) continue;
    const Membership& membership = memberships[found->second];
    CommunicatorCall call;
    call.event = i;
    call.communicator = communicator_of_[rank_class][id];
    call.kind = static_cast<CollectiveKind>(std::clamp<int64_t>(record.get(Key::kCollective), 0, 9));
    call.type = static_cast<DataType>(std::clamp<int64_t>(record.get(Key::kDataType), 0, 0xff));
    call.position = membership.rank;
    call.root_or_peer = static_cast<int32_t>(
        std::clamp<int64_t>(record.get(is_transfer(call.kind) ? Key::kPeer : Key::kRoot), 0, membership.size - 1));
    call.bytes = std::max<int64_t>(record.get(Key::kBytes), 0);
    call.group = event.group;
    if (is_transfer(call.kind)) {
      add_transfer(rank_class, &call);
    } else {
      add_collective(rank_class, collectives[found->second]++, &call);
    }
    world_.calls[rank_class].push_back(call);
  }
  for (uint32_t m = 0; m < memberships.size(); ++m)
    joined_[communicator_of_[rank_class][memberships[m].id]].participants.emplace_back(rank_class, collectives[m]);
}

bool Collator::sizes_differ(const CommunicatorCall& a, const CommunicatorCall& b) const {
  constexpr int64_t kObject_bytes =
      4096;  // pickled objects: absent ranks' are this rank's own, with this rank's numbers in them
  if (world_.layout.twins && a.bytes < kObject_bytes && b.bytes < kObject_bytes) return false;
  return a.bytes != b.bytes;
}

std::optional<Mismatch::Kind> Collator::difference(const CommunicatorCall& a, const CommunicatorCall& b) const {
  if (a.kind != b.kind) return Mismatch::Kind::kOperation;
  if (sizes_differ(a, b)) return Mismatch::Kind::kCount;
  if (a.type != b.type) return Mismatch::Kind::kType;
  if (has_root(a.kind) && a.root_or_peer != b.root_or_peer) return Mismatch::Kind::kRoot;
  return std::nullopt;
}

Mismatch::Side Collator::side_of(const Participant& participant) const {
  const CommunicatorCall& call = world_.calls[participant.rank_class][participant.call];
  Mismatch::Side side;
  side.rank = world_.layout.classes[participant.rank_class].ranks.front();
  side.call = call.sequence + 1;
  side.event = call.event;
  side.description = describe_call(trace_of(participant.rank_class), world_, call);
  return side;
}

void Collator::check_collectives(uint32_t communicator, std::optional<Mismatch>* found) {
  const Joined& joined = joined_[communicator];
  for (uint64_t sequence = 0; sequence < joined.matches.size(); ++sequence) {
    const Match& match = world_.matches[joined.matches[sequence]];
    std::vector<Participant> ways;  // the first participant of each way to call
    std::vector<uint64_t> followers;
    std::optional<Mismatch::Kind> kind;
    const auto call_of = [&](const Participant& p) -> const CommunicatorCall& {
      return world_.calls[p.rank_class][p.call];
    };
    for (const Participant& participant : match.participants) {
      size_t way = 0;
      while (way < ways.size() && difference(call_of(ways[way]), call_of(participant))) ++way;
      const uint64_t ranks = world_.layout.classes[participant.rank_class].ranks.size();
      if (way < ways.size()) {
        followers[way] += ranks;
        continue;
      }
      if (!ways.empty() && !kind) kind = difference(call_of(ways.front()), call_of(participant));
      ways.push_back(participant);
      followers.push_back(ranks - 1);
    }
    // Those whose trace is whole and ends before.
    std::vector<std::pair<uint32_t, uint64_t>> absent;
    for (const auto& [rank_class, calls] : joined.participants)
      if (calls <= sequence && trace_of(rank_class).complete) absent.emplace_back(rank_class, calls);
    if (!kind && !absent.empty()) kind = Mismatch::Kind::kMissingCall;
    if (!kind) continue;
    if (*found) {
      ++(*found)->more;
      continue;
    }
    Mismatch& mismatch = found->emplace();
    mismatch.kind = *kind;
    mismatch.communicator = communicator;
    mismatch.sequence = sequence;
    for (size_t i = 0; i < ways.size(); ++i) {
      mismatch.sides.push_back(side_of(ways[i]));
      mismatch.sides.back().more_ranks = followers[i];
    }
    if (absent.empty()) continue;
    Mismatch::Side& side = mismatch.sides.emplace_back();
    side.rank = world_.layout.classes[absent.front().first].ranks.front();
    side.has_call = false;
    side.call = absent.front().second;
    side.event = static_cast<uint32_t>(trace_of(absent.front().first).events.size());
    for (const auto& [rank_class, calls] : absent) side.more_ranks += world_.layout.classes[rank_class].ranks.size();
    --side.more_ranks;
  }
}

void Collator::check_channels(std::map<uint32_t, Mismatch>* found) {
  for (const auto& [key, channel] : channels_) {
    for (const uint32_t number : channel.matches) {
      const Match& match = world_.matches[number];
      const Participant& first = match.participants.front();
      const CommunicatorCall& call = world_.calls[first.rank_class][first.call];
      std::optional<Mismatch::Kind> kind;
      Mismatch::Side other;
      if (match.participants.size() == 2) {
        const Participant& second = match.participants.back();
        const CommunicatorCall& receive = world_.calls[second.rank_class][second.call];
        if (sizes_differ(call, receive))
          kind = Mismatch::Kind::kCount;
        else if (call.type != receive.type)
          kind = Mismatch::Kind::kType;
        if (kind) other = side_of(second);
      } else if (!world_.layout.twins) {
        const auto peer = joined_[match.communicator].class_at.find(call.root_or_peer);
        const trace::LoadedTrace& trace = trace_of(peer->second);
        if (!trace.complete) continue;
        const bool sends = call.kind == CollectiveKind::kSend;
        kind = sends ? Mismatch::Kind::kUnmatchedSend : Mismatch::Kind::kUnmatchedReceive;
        other.rank = world_.layout.classes[peer->second].ranks.front();
        other.has_call = false;
        other.call = sends ? channel.receives : channel.sends;
        other.event = static_cast<uint32_t>(trace.events.size());
      }
      if (!kind) continue;
      const auto [entry, is_new] = found->try_emplace(match.communicator);
      if (!is_new) {
        ++entry->second.more;
        continue;
      }
      entry->second.kind = *kind;
      entry->second.communicator = match.communicator;
      entry->second.sequence = call.sequence;
      entry->second.sides = {side_of(first), std::move(other)};
    }
  }
}

void Collator::find_mismatches(std::vector<Mismatch>* list) {
  std::map<uint32_t, Mismatch> of_transfers;
  check_channels(&of_transfers);
  for (uint32_t communicator = 0; communicator < world_.communicators.size(); ++communicator) {
    std::optional<Mismatch> found;
    check_collectives(communicator, &found);
    const auto transfers = of_transfers.find(communicator);
    if (found)
      list->push_back(std::move(*found));
    else if (transfers != of_transfers.end())
      list->push_back(std::move(transfers->second));
  }
}

}  // namespace

Collation collate(const std::vector<trace::LoadedTrace>& traces, WorldLayout layout) {
  return Collator(traces, std::move(layout)).run();
}

}  // namespace maya::predictor
