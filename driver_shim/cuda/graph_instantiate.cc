// Executable graphs: made from graphs, described, ended.
#include <cuda.h>

#include <algorithm>
#include <atomic>

#include "driver_shim/cuda/graph_conditional.h"
#include "driver_shim/cuda/graph_exec.h"

namespace maya::cuda {
namespace {

constexpr size_t kMostExecutables = 1 << 18;
constexpr uint64_t kFlags = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                            CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

std::atomic<uint32_t> next_id{1};

// Graphs for launch by the device hold kernels, copies, fills and child graphs only, and at least one of the first
// three.
CUgraphInstantiateResult check_device_launch(const Graph& graph, const GraphNode** failed, bool* has_work) {
  for (const GraphNode* node : graph.nodes) {
    switch (type_of(node->work)) {
      case CU_GRAPH_NODE_TYPE_KERNEL:
      case CU_GRAPH_NODE_TYPE_MEMCPY:
      case CU_GRAPH_NODE_TYPE_MEMSET:
        *has_work = true;
        break;
      case CU_GRAPH_NODE_TYPE_GRAPH:
        if (const auto result = check_device_launch(*std::get<ChildNode>(node->work).graph, failed, has_work);
            result != CUDA_GRAPH_INSTANTIATE_SUCCESS)
          return result;
        break;
      default:
        *failed = node;
        return CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
    }
  }
  return CUDA_GRAPH_INSTANTIATE_SUCCESS;
}

// The node of `graph` that the copy's node was made from.
GraphNode* source_of(const Graph& graph, const GraphNode& copy) {
  return find_node(graph, [&](const GraphNode& node) { return node.id == copy.original; });
}

struct Outcome {
  CUgraphInstantiateResult result = CUDA_GRAPH_INSTANTIATE_ERROR;
  GraphNode* failed = nullptr;
};

CUresult instantiate(Call& call, CUgraph handle, uint64_t flags, CUgraphExec* out, Outcome* outcome) {
  std::lock_guard<std::recursive_mutex> lock(graph_mutex());
  Graph* graph = graphs().get(handle);
  constexpr uint64_t kBoth =
      CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
  if (graph == nullptr || out == nullptr || (flags & ~kFlags) != 0 || (flags & kBoth) == kBoth)
    return CUDA_ERROR_INVALID_VALUE;
  // A graph that is still being captured into, a child that its parent owns, or one whose memory is spoken for.
  if (graph->captures != 0 || graph->parent != nullptr || (is_exclusive(*graph) && graph->executables != 0))
    return CUDA_ERROR_INVALID_VALUE;
  const GraphNode* failed = nullptr;
  if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0) {
    bool has_work = false;
    outcome->result = check_device_launch(*graph, &failed, &has_work);
    outcome->failed = const_cast<GraphNode*>(failed);
    if (outcome->result != CUDA_GRAPH_INSTANTIATE_SUCCESS) return CUDA_ERROR_NOT_SUPPORTED;
    outcome->result = CUDA_GRAPH_INSTANTIATE_ERROR;
    if (!has_work) return CUDA_ERROR_INVALID_VALUE;
  }
  if (const CUresult status = check_conditionals(*graph, &outcome->result, &failed); status != CUDA_SUCCESS) {
    outcome->failed = const_cast<GraphNode*>(failed);
    return status;
  }
  OwnedGraph copy(clone_graph(*graph));
  if (copy == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  ExecutableGraph* made = executable_graphs().create(copy.get(), graph, flags, call.thread().current());
  if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  copy.release();
  ++graph->executables;
  CUresult status = CUDA_ERROR_OUT_OF_MEMORY;
  try {
    status = make_plan(call.driver(), *made, &failed);
  } catch (const std::bad_alloc&) {
  }
  if (status != CUDA_SUCCESS) {
    if (failed != nullptr) outcome->failed = source_of(*graph, *failed);
    if (failed != nullptr && status == CUDA_ERROR_INVALID_VALUE)
      outcome->result = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
    executable_graphs().destroy(made);
    return status;
  }
  outcome->result = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  *out = handle_of(made);
  return CUDA_SUCCESS;
}

CUresult instantiate_plain(CUgraphExec* out, CUgraph graph, uint64_t flags) {
  return enter(Needs::kContext, [&](Call& call) {
    Outcome outcome;
    return instantiate(call, graph, flags, out, &outcome);
  });
}

CUresult instantiate_with_log(CUgraphExec* out, CUgraph graph, CUgraphNode* error_node, char* log, size_t log_bytes) {
  return enter(Needs::kContext, [&](Call& call) {
    Outcome outcome;
    const CUresult status = instantiate(call, graph, 0, out, &outcome);
    if (error_node != nullptr) *error_node = handle_of(outcome.failed);
    if (log != nullptr && log_bytes != 0) *log = '\0';
    return status;
  });
}

CUresult instantiate_with_parameters(CUgraphExec* out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  return enter(Needs::kContext, [&](Call& call) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Outcome outcome;
    const uint64_t upload = parameters->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
    CUresult status = instantiate(call, graph, parameters->flags & ~upload, out, &outcome);
    if (status == CUDA_SUCCESS && upload != 0) {
      status = cuGraphUpload(*out, parameters->hUploadStream);
      if (status != CUDA_SUCCESS) {
        cuGraphExecDestroy(*out);
        outcome.result = CUDA_GRAPH_INSTANTIATE_ERROR;
      }
    }
    parameters->result_out = outcome.result;
    parameters->hErrNode_out = handle_of(outcome.failed);
    return status;
  });
}

}  // namespace

device::HandlePool<ExecutableGraph>& executable_graphs() {
  static auto& made = *new device::HandlePool<ExecutableGraph>(kMostExecutables);
  return made;
}

ExecutableGraph::ExecutableGraph(Graph* copy, Graph* made_from, uint64_t instantiate_flags, Context* where)
    : id(next_id.fetch_add(1, std::memory_order_relaxed)),
      graph(copy),
      source_id(made_from->id),
      source(made_from),
      flags(instantiate_flags),
      allocates(has_memory_nodes(*copy)),
      context(where) {}

ExecutableGraph::~ExecutableGraph() {
  destroy_graph(*graph);
  if (Graph* from = graphs().get(source); from != nullptr && from->id == source_id && from->executables != 0)
    --from->executables;
}

GraphNode* find_copy(const Graph& graph, const GraphNode& node) {
  return find_node(graph, [&](const GraphNode& copy) { return copy.original == node.id; });
}

}  // namespace maya::cuda

using maya::cuda::Call;
using maya::cuda::enter;
using maya::cuda::ExecutableGraph;
using maya::cuda::Needs;
using maya::cuda::with_executable;

CUresult cuGraphInstantiate(CUgraphExec* out, CUgraph graph, CUgraphNode* error_node, char* log, size_t log_bytes) {
  return maya::cuda::instantiate_with_log(out, graph, error_node, log, log_bytes);
}
CUresult cuGraphInstantiate_v2(CUgraphExec* out, CUgraph graph, CUgraphNode* error_node, char* log, size_t log_bytes) {
  return maya::cuda::instantiate_with_log(out, graph, error_node, log, log_bytes);
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* out, CUgraph graph, unsigned long long flags) {
  return maya::cuda::instantiate_plain(out, graph, flags);
}
CUresult cuGraphInstantiateWithParams(CUgraphExec* out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  return maya::cuda::instantiate_with_parameters(out, graph, parameters);
}
CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec* out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  return maya::cuda::instantiate_with_parameters(out, graph, parameters);
}

CUresult cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t* flags) {
  return with_executable(handle, flags != nullptr, [&](Call&, const ExecutableGraph& graph) {
    *flags = graph.flags;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphExecGetId(CUgraphExec handle, unsigned int* id) {
  return with_executable(handle, id != nullptr, [&](Call&, const ExecutableGraph& graph) {
    *id = graph.id;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphExecDestroy(CUgraphExec handle) {
  return with_executable(handle, true, [&](Call&, ExecutableGraph& graph) {
    { std::lock_guard<std::mutex> launched(graph.launch_mutex); }  // a launch on another thread ends first
    maya::cuda::executable_graphs().destroy(&graph);
    return CUDA_SUCCESS;
  });
}
