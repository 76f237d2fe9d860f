// Executable graphs: a private copy of a graph, and the list of steps that a launch walks. Durations and trace ids are
// found when the list is made, so that a launch costs little more than the effects of its nodes on memory.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "driver_shim/cuda/graph.h"

namespace maya::cuda {

// One step of a launch: a node, and what its lane waits for before and signals after it.
struct GraphStep {
  const GraphNode* node = nullptr;
  uint32_t lane = 0;
  uint32_t trace_id = 0;              // launch configuration or operation
  uint64_t start_ns = 0, end_ns = 0;  // from the start of the graph
  std::vector<uint32_t> waits;        // trace ids of events
  uint32_t signal = 0;                // trace id of an event recorded behind it; 0: none
  CopyWork copy;                      // of copies
  uint64_t fill_bytes = 0;            // of fills
};

struct GraphPlan {
  std::vector<GraphStep> steps;
  uint32_t lanes = 0;
  std::vector<uint32_t> lane_streams;  // trace ids of the streams of lanes 1, 2...
  std::vector<uint32_t> joins;         // events that the launch stream waits for at the end
  uint32_t start_event = 0;            // recorded on the launch stream; the other lanes wait for it
  uint32_t packets = 0;                // that follow the GraphLaunch packet in the trace
  uint64_t span_ns = 0;
  std::vector<const GraphNode*> waits;  // event wait nodes
};

struct ExecutableGraph {
  ExecutableGraph(Graph* copy, Graph* source, uint64_t instantiate_flags, Context* where);
  ~ExecutableGraph();
  ExecutableGraph(const ExecutableGraph&) = delete;
  ExecutableGraph& operator=(const ExecutableGraph&) = delete;

  const uint32_t id;
  Graph* const graph;        // owned
  const uint32_t source_id;  // of the graph that it was made from
  Graph* const source;       // may be gone: only compared
  const uint64_t flags;
  const bool allocates;    // has memory nodes, at any depth
  Context* const context;  // for what has no context of its own

  std::mutex launch_mutex;  // one launch at a time; guards the rest
  bool changed = true;      // the plan is older than the graph
  GraphPlan plan;
};

device::HandlePool<ExecutableGraph>& executable_graphs();
inline CUgraphExec handle_of(ExecutableGraph* graph) { return reinterpret_cast<CUgraphExec>(graph); }

// The node of the executable graph, at any depth, that was made from `node`; null when there is none.
GraphNode* find_copy(const Graph& graph, const GraphNode& node);

// Makes the plan. INVALID_VALUE when dependencies form a circle (`*failed` is on it) or a node cannot run.
CUresult make_plan(Driver& driver, ExecutableGraph& graph, const GraphNode** failed);

// On a stream that is not being captured; `graph.launch_mutex` held. entry_ns: when the call began.
CUresult launch_graph(Call& call, ExecutableGraph& graph, Stream& stream, uint64_t entry_ns);

template <typename Body>
CUresult with_executable(CUgraphExec handle, bool valid, Body&& body) noexcept {
  return enter(Needs::kInitialized, [&](Call& call) -> CUresult {
    std::lock_guard<std::recursive_mutex> lock(graph_mutex());
    ExecutableGraph* graph = executable_graphs().get(handle);
    if (graph == nullptr || !valid) return CUDA_ERROR_INVALID_VALUE;
    return body(call, *graph);
  });
}

}  // namespace maya::cuda
