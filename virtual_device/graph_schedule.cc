#include "virtual_device/graph_schedule.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>

namespace maya::device {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

// Lowest index first among the nodes that may run, so that captured work keeps the order in which it was captured.
bool put_in_order(const std::vector<ScheduledWork>& nodes, std::vector<uint32_t>* order, uint32_t* on_circle) {
  std::vector<uint32_t> missing(nodes.size());
  std::vector<std::vector<uint32_t>> dependents(nodes.size());
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    missing[i] = static_cast<uint32_t>(nodes[i].dependencies.size());
    for (const uint32_t from : nodes[i].dependencies) dependents[from].push_back(i);
    if (missing[i] == 0) ready.push(i);
  }
  while (!ready.empty()) {
    const uint32_t next = ready.top();
    ready.pop();
    order->push_back(next);
    for (const uint32_t to : dependents[next])
      if (--missing[to] == 0) ready.push(to);
  }
  if (order->size() == nodes.size()) return true;
  // Nodes that only follow a circle are left over too: going back along what is missing ends on it.
  uint32_t at = static_cast<uint32_t>(
      std::find_if(missing.begin(), missing.end(), [](uint32_t count) { return count != 0; }) - missing.begin());
  for (size_t step = 0; step < nodes.size(); ++step)
    at = *std::find_if(nodes[at].dependencies.begin(), nodes[at].dependencies.end(),
                       [&](uint32_t from) { return missing[from] != 0; });
  *on_circle = at;
  return false;
}

// Which lane each node gets, in order.
class Lanes {
 public:
  uint32_t choose(uint32_t node, const ScheduledWork& work, const std::vector<uint32_t>& lane_of) {
    const uint32_t chosen = work.lane_hint != 0 ? hinted(work.lane_hint) : following(work, lane_of);
    last_[chosen] = node;
    return chosen;
  }
  const std::vector<uint32_t>& last() const { return last_; }

 private:
  uint32_t hinted(uint64_t hint) {
    const auto [known, is_new] = by_hint_.try_emplace(hint, 0);
    if (is_new) known->second = open();
    return known->second;
  }
  // The lane of a dependency that nothing has followed yet.
  uint32_t following(const ScheduledWork& work, const std::vector<uint32_t>& lane_of) {
    for (const uint32_t from : work.dependencies)
      if (last_[lane_of[from]] == from) return lane_of[from];
    return open();
  }
  uint32_t open() {
    if (last_.size() == GraphSchedule::kMostLanes) return next_shared_++ % GraphSchedule::kMostLanes;
    last_.push_back(kNone);
    return static_cast<uint32_t>(last_.size() - 1);
  }

  std::vector<uint32_t> last_;  // by lane
  std::unordered_map<uint64_t, uint32_t> by_hint_;
  uint32_t next_shared_ = 0;
};

}  // namespace

bool schedule_graph(const std::vector<ScheduledWork>& nodes, uint64_t gap_ns, GraphSchedule* out, uint32_t* on_circle) {
  *out = GraphSchedule{};
  if (!put_in_order(nodes, &out->order, on_circle)) return false;
  const size_t count = nodes.size();
  out->lane.assign(count, 0);
  out->waits.resize(count);
  out->signals.assign(count, false);
  out->start_ns.assign(count, 0);
  out->end_ns.assign(count, 0);
  Lanes lanes;
  std::vector<uint32_t> position(count);  // in its lane, from 1 on
  std::vector<uint32_t> length(GraphSchedule::kMostLanes, 0);
  std::vector<uint64_t> free_ns(GraphSchedule::kMostLanes, 0);
  std::vector<bool> has_work(GraphSchedule::kMostLanes, false);
  // What each lane knows of each other: everything up to this position has ended.
  std::vector<std::vector<uint32_t>> known(GraphSchedule::kMostLanes,
                                           std::vector<uint32_t>(GraphSchedule::kMostLanes, 0));
  for (const uint32_t node : out->order) {
    const uint32_t lane = lanes.choose(node, nodes[node], out->lane);
    out->lane[node] = lane;
    position[node] = ++length[lane];
    uint64_t start_ns = free_ns[lane];
    if (has_work[lane] && nodes[node].duration_ns != 0) start_ns += gap_ns;
    // The latest of each lane first: the earlier ones are then known to have ended.
    std::vector<uint32_t> others;
    for (const uint32_t from : nodes[node].dependencies) {
      start_ns = std::max(start_ns, out->end_ns[from]);
      if (out->lane[from] != lane) others.push_back(from);
    }
    std::sort(others.begin(), others.end(), [&](uint32_t a, uint32_t b) { return position[a] > position[b]; });
    for (const uint32_t from : others) {
      uint32_t& seen = known[lane][out->lane[from]];
      if (seen >= position[from]) continue;
      seen = position[from];
      out->waits[node].push_back(from);
      out->signals[from] = true;
    }
    out->start_ns[node] = start_ns;
    out->end_ns[node] = start_ns + nodes[node].duration_ns;
    free_ns[lane] = out->end_ns[node];
    if (nodes[node].duration_ns != 0) has_work[lane] = true;
    out->span_ns = std::max(out->span_ns, out->end_ns[node]);
  }
  out->lanes = static_cast<uint32_t>(lanes.last().size());
  for (uint32_t lane = 1; lane < out->lanes; ++lane)
    if (known[0][lane] < length[lane]) out->joins.push_back(lanes.last()[lane]);
  for (const uint32_t node : out->joins) out->signals[node] = true;
  return true;
}

}  // namespace maya::device
