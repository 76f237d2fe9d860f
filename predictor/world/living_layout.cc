#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "predictor/world/collate.h"

namespace maya::predictor {
namespace {

// No member list is made longer than this, whatever a trace claims.
constexpr uint32_t kMostMembers = 1 << 20;

// What a trace says of the communicators that it made, in its order, with its numbers in range.
std::vector<Membership> described_memberships(const trace::LoadedTrace& trace) {
  std::vector<Membership> list;
  std::set<uint32_t> seen;
  for (const proto::Communicator& from : trace.communicators) {
    if (from.destroyed() || !seen.insert(from.id()).second) continue;
    Membership& to = list.emplace_back();
    to.id = from.id();
    to.unique = from.unique();
    to.parent = from.parent();
    to.size = static_cast<int32_t>(std::clamp(from.ranks(), 1u, kMostMembers));
    to.rank = static_cast<int32_t>(std::min<uint32_t>(from.rank(), static_cast<uint32_t>(to.size) - 1));
    to.name = from.name();
    if (from.world_ranks_size() == to.size)
      for (const int32_t rank : from.world_ranks()) to.members.push_back(rank < 0 ? kUnknownRank : rank);
  }
  return list;
}

}  // namespace

WorldLayout living_layout(const std::vector<trace::LoadedTrace>& traces, std::span<const uint32_t> chosen) {
  WorldLayout layout;
  std::set<int32_t> used;
  for (const uint32_t index : chosen) {
    const proto::ProcessHeader& header = traces[index].process;
    layout.world_size = std::max({layout.world_size, header.world_size(), header.rank() + 1});
    if (layout.gpus_per_node == 0) layout.gpus_per_node = header.gpus_per_node();
    if (traces[index].has_process && header.rank() >= 0) used.insert(header.rank());
  }
  // Processes without a rank, and those that say the same, get numbers that are free.
  std::set<int32_t> given;
  int32_t next = 0;
  for (const uint32_t index : chosen) {
    const trace::LoadedTrace& trace = traces[index];
    int32_t rank = trace.has_process ? trace.process.rank() : kUnknownRank;
    if (rank < 0 || !given.insert(rank).second) {
      while (used.count(next) != 0) ++next;
      rank = next;
      used.insert(rank);
    }
    layout.classes.push_back({index, {rank}, 0});
    layout.memberships.push_back(described_memberships(trace));
  }
  layout.world_size = std::max(layout.world_size, static_cast<int32_t>(layout.classes.size()));

  // What one member knows, and where the others are, is known to all.
  std::unordered_map<uint64_t, std::vector<int32_t>> members;  // by unique
  for (size_t c = 0; c < layout.classes.size(); ++c) {
    for (const Membership& membership : layout.memberships[c]) {
      std::vector<int32_t>& list = members[membership.unique];
      if (list.size() < static_cast<size_t>(membership.size))
        list.resize(static_cast<size_t>(membership.size), kUnknownRank);
      for (size_t i = 0; i < membership.members.size(); ++i)
        if (list[i] == kUnknownRank) list[i] = membership.members[i];
      int32_t& own = list[static_cast<size_t>(membership.rank)];
      if (own == kUnknownRank) own = layout.classes[c].ranks.front();
    }
  }
  for (std::vector<Membership>& list : layout.memberships)
    for (Membership& membership : list) {
      membership.members = members[membership.unique];
      membership.members.resize(static_cast<size_t>(membership.size), kUnknownRank);
    }
  return layout;
}

std::vector<int32_t> missing_ranks(const WorldLayout& layout) {
  std::set<int32_t> present;
  for (const RankClass& each : layout.classes) present.insert(each.ranks.begin(), each.ranks.end());
  std::vector<int32_t> missing;
  for (int32_t rank = 0; rank < layout.world_size && missing.size() < kMostMembers; ++rank)
    if (present.count(rank) == 0) missing.push_back(rank);
  return missing;
}

}  // namespace maya::predictor
