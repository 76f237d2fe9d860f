// In which order, on which streams and when the nodes of a graph of work run. Pure arithmetic on indices, so that a
// launch of the graph only has to walk a list.
//
// Nodes that follow each other share a lane; nodes of different lanes run side by side. Lane 0 is the stream that the
// graph is launched on.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace maya::device {

struct ScheduledWork {
  std::vector<uint32_t> dependencies;  // indices of nodes that end before this one starts
  uint64_t lane_hint = 0;              // nodes with the same hint share a lane (they were put on one stream); 0: none
  uint64_t duration_ns = 0;            // 0 also for nodes that only order others
};

struct GraphSchedule {
  // More lanes than this are folded together: work of one lane then runs one after the other.
  static constexpr uint32_t kMostLanes = 32;

  std::vector<uint32_t> order;               // every node once, after its dependencies
  std::vector<uint32_t> lane;                // by node
  std::vector<std::vector<uint32_t>> waits;  // by node: nodes of other lanes that its lane does not know to have ended
  std::vector<bool> signals;                 // by node: another lane waits for it
  std::vector<uint32_t> joins;               // last nodes of other lanes that lane 0 has not waited for
  std::vector<uint64_t> start_ns, end_ns;    // by node, from the start of the graph
  uint32_t lanes = 0;
  uint64_t span_ns = 0;  // from the start of the first node to the end of the last
};

// gap_ns: between one piece of work and the next of its lane. False when dependencies form a circle; `*on_circle` is
// then one of the nodes of it. Indices must be in range.
bool schedule_graph(const std::vector<ScheduledWork>& nodes, uint64_t gap_ns, GraphSchedule* out, uint32_t* on_circle);

}  // namespace maya::device
