// Executable graphs with new parameters. A change takes effect at the next launch.
#include <cuda.h>

#include <cstring>
#include <unordered_map>

#include "driver_shim/cuda/graph_exec.h"
#include "driver_shim/cuda/graph_parameters.h"

using namespace maya::cuda;

namespace {

// A body on the executable graph's copy of a node.
template <typename Body>
CUresult with_copy(CUgraphExec graph_handle, CUgraphNode node_handle, bool valid, Body&& body) {
  return with_executable(graph_handle, valid, [&](Call& call, ExecutableGraph& graph) -> CUresult {
    const GraphNode* node = graph_nodes().get(node_handle);
    GraphNode* copy = node == nullptr ? nullptr : find_copy(*graph.graph, *node);
    if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard<std::mutex> lock(graph.launch_mutex);
    const CUresult status = body(call, *copy);
    if (status == CUDA_SUCCESS) graph.changed = true;
    return status;
  });
}
template <typename Work, typename Body>
CUresult with_copy_of(CUgraphExec graph, CUgraphNode node, bool valid, Body&& body) {
  return with_copy(graph, node, valid, [&](Call& call, GraphNode& copy) -> CUresult {
    Work* work = std::get_if<Work>(&copy.work);
    return work == nullptr ? CUDA_ERROR_INVALID_VALUE : body(call, copy, *work);
  });
}

bool is_one_dimensional(const Extent& extent) { return extent.rows == 1 && extent.slices == 1; }

// What a change may not touch: kinds of memory, and sizes of what is not a plain run of bytes.
bool may_become(const CopyNode& before, const CopyNode& after) {
  return before.parameters.srcMemoryType == after.parameters.srcMemoryType &&
         before.parameters.dstMemoryType == after.parameters.dstMemoryType &&
         before.from.start.on_device == after.from.start.on_device &&
         before.to.start.on_device == after.to.start.on_device;
}
bool may_become(const FillNode& before, const FillNode& after) {
  const CUDA_MEMSET_NODE_PARAMS &a = before.parameters, &b = after.parameters;
  if (a.height != b.height) return false;
  return a.height == 1 || (a.width == b.width && a.elementSize == b.elementSize && a.pitch == b.pitch);
}

CUresult set_kernel(CUgraphExec graph, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* p) {
  return with_copy_of<KernelNode>(graph, node, p != nullptr, [&](Call& call, GraphNode& copy, KernelNode& work) {
    KernelNode made;
    Context* context = nullptr;
    const CUresult status = make_kernel_node(call, *p, &made, &context);
    if (status != CUDA_SUCCESS) return status;
    made.attributes = std::move(work.attributes);
    work = std::move(made);
    copy.context = context;
    return CUDA_SUCCESS;
  });
}

// Puts the parameters of one graph's node into the executable graph's; both are of one type.
CUgraphExecUpdateResult check_update(const GraphNode& copy, const GraphNode& from) {
  if (type_of(copy.work) != type_of(from.work)) return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
  const auto* copy_before = std::get_if<CopyNode>(&copy.work);
  const auto* copy_after = std::get_if<CopyNode>(&from.work);
  if (copy_before != nullptr && copy_after != nullptr && !may_become(*copy_before, *copy_after))
    return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
  const auto* fill_before = std::get_if<FillNode>(&copy.work);
  const auto* fill_after = std::get_if<FillNode>(&from.work);
  if (fill_before != nullptr && fill_after != nullptr && !may_become(*fill_before, *fill_after))
    return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
  const auto* branch_before = std::get_if<ConditionalNode>(&copy.work);
  const auto* branch_after = std::get_if<ConditionalNode>(&from.work);
  if (branch_before != nullptr && branch_after != nullptr && branch_before->type != branch_after->type)
    return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
  if (std::holds_alternative<AllocationNode>(copy.work) || std::holds_alternative<FreeNode>(copy.work))
    return CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

// Pairs nodes in order of creation and compares edges, then types and parameters.
CUgraphExecUpdateResult check_update(const Graph& copy, const Graph& from, CUgraphExecUpdateResultInfo* info) {
  const auto fail = [&](CUgraphExecUpdateResult result, GraphNode* node, GraphNode* from_node = nullptr) {
    *info = {result, handle_of(node), handle_of(from_node)};
    return result;
  };
  if (copy.nodes.size() != from.nodes.size()) return fail(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, nullptr);
  std::unordered_map<const GraphNode*, const GraphNode*> pair;
  for (size_t i = 0; i < copy.nodes.size(); ++i) pair.emplace(from.nodes[i], copy.nodes[i]);
  for (size_t i = 0; i < copy.nodes.size(); ++i) {
    const GraphNode& old_node = *copy.nodes[i];
    GraphNode& new_node = *from.nodes[i];
    if (old_node.dependencies.size() != new_node.dependencies.size())
      return fail(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, &new_node);
    for (size_t d = 0; d < old_node.dependencies.size(); ++d)
      if (pair.at(new_node.dependencies[d].from) != old_node.dependencies[d].from)
        return fail(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, &new_node, new_node.dependencies[d].from);
  }
  for (size_t i = 0; i < copy.nodes.size(); ++i) {
    GraphNode& new_node = *from.nodes[i];
    const CUgraphExecUpdateResult result = check_update(*copy.nodes[i], new_node);
    if (result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return fail(result, &new_node);
    const std::span<Graph*const> old_owned = owned_graphs(copy.nodes[i]->work), new_owned = owned_graphs(new_node.work);
    if (old_owned.size() != new_owned.size()) return fail(CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, &new_node);
    for (size_t g = 0; g < old_owned.size(); ++g)
      if (const auto inner = check_update(*old_owned[g], *new_owned[g], info); inner != CU_GRAPH_EXEC_UPDATE_SUCCESS)
        return inner;
  }
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

// References to user objects that an update took out. They are given back when it is over and no lock is held: that may
// run functions of the program.
struct Replaced {
  Replaced() = default;
  ~Replaced() {
    for (const auto& [object, count] : references) release_user_object(object, count);
  }
  Replaced(const Replaced&) = delete;
  Replaced& operator=(const Replaced&) = delete;
  std::vector<std::pair<CUuserObject, uint32_t>> references;
};

// "The references in the new source graph are cloned and replace the references in the target graph" (CUDA programming
// guide, "CUDA User Objects").
void replace_references(Graph& copy, const Graph& from, Replaced* replaced) {
  replaced->references.insert(replaced->references.end(), copy.user_objects.begin(), copy.user_objects.end());
  copy.user_objects.clear();
  for (const auto& [object, count] : from.user_objects)
    if (retain_user_object(object, count) == CUDA_SUCCESS) copy.user_objects.emplace_back(object, count);
}

void apply_update(Graph& copy, const Graph& from, Replaced* replaced) {
  replace_references(copy, from, replaced);
  for (size_t i = 0; i < copy.nodes.size(); ++i) {
    GraphNode& node = *copy.nodes[i];
    const std::span<Graph*const> owned = owned_graphs(node.work), new_owned = owned_graphs(from.nodes[i]->work);
    for (size_t g = 0; g < owned.size(); ++g) apply_update(*owned[g], *new_owned[g], replaced);
    if (auto* conditional = std::get_if<ConditionalNode>(&node.work); conditional != nullptr) {
      const auto& changed = std::get<ConditionalNode>(from.nodes[i]->work);
      conditional->handle = changed.handle;
      conditional->conditional = changed.conditional;
    }
    if (!owned.empty()) continue;
    node.work = from.nodes[i]->work;
    node.context = from.nodes[i]->context;
  }
}

CUresult update(CUgraphExec graph_handle, CUgraph from_handle, CUgraphExecUpdateResultInfo* info) {
  CUgraphExecUpdateResultInfo unwanted;
  if (info == nullptr) info = &unwanted;
  *info = {CU_GRAPH_EXEC_UPDATE_ERROR, nullptr, nullptr};
  Replaced replaced;
  return with_executable(graph_handle, true, [&](Call&, ExecutableGraph& graph) -> CUresult {
    const Graph* from = graphs().get(from_handle);
    if (from == nullptr || from->parent != nullptr || from->captures != 0) return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard<std::mutex> lock(graph.launch_mutex);
    if (check_update(*graph.graph, *from, info) != CU_GRAPH_EXEC_UPDATE_SUCCESS)
      return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    apply_update(*graph.graph, *from, &replaced);
    graph.changed = true;
    *info = {CU_GRAPH_EXEC_UPDATE_SUCCESS, nullptr, nullptr};
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec graph, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* p) {
  CUDA_KERNEL_NODE_PARAMS parameters{};
  if (p != nullptr) memcpy(&parameters, p, sizeof *p);
  return set_kernel(graph, node, p != nullptr ? &parameters : nullptr);
}
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec graph, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* p) {
  return set_kernel(graph, node, p);
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec graph, CUgraphNode node, const CUDA_MEMCPY3D* p, CUcontext where) {
  return with_copy_of<CopyNode>(graph, node, p != nullptr, [&](Call& call, GraphNode& copy, CopyNode& work) {
    CopyNode made;
    Context* context = nullptr;
    const CUresult status = make_copy_node(call, *p, where, &made, &context);
    if (status != CUDA_SUCCESS) return status;
    if (!is_one_dimensional(work.extent) || !is_one_dimensional(made.extent) || !may_become(work, made))
      return CUDA_ERROR_INVALID_VALUE;
    work = made;
    copy.context = context;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec graph, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* p,
                                        CUcontext where) {
  return with_copy_of<FillNode>(graph, node, p != nullptr, [&](Call& call, GraphNode& copy, FillNode& work) {
    FillNode made;
    Context* context = nullptr;
    const CUresult status = make_fill_node(call, *p, where, &made, &context);
    if (status != CUDA_SUCCESS) return status;
    if (!may_become(work, made)) return CUDA_ERROR_INVALID_VALUE;
    work = made;
    copy.context = context;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec graph, CUgraphNode node, const CUDA_HOST_NODE_PARAMS* p) {
  return with_copy_of<HostNode>(graph, node, p != nullptr,
                                [&](Call&, GraphNode&, HostNode& work) { return make_host_node(*p, &work); });
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec graph, CUgraphNode node, CUgraph child) {
  Replaced replaced;
  return with_copy_of<ChildNode>(graph, node, true, [&](Call&, GraphNode&, ChildNode& work) -> CUresult {
    const Graph* from = graphs().get(child);
    CUgraphExecUpdateResultInfo info{};
    if (from == nullptr || check_update(*work.graph, *from, &info) != CU_GRAPH_EXEC_UPDATE_SUCCESS)
      return CUDA_ERROR_INVALID_VALUE;
    apply_update(*work.graph, *from, &replaced);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec graph, CUgraphNode node, CUevent event) {
  return with_copy_of<EventRecordNode>(graph, node, true, [&](Call& call, GraphNode&, EventRecordNode& work) {
    const CUresult status = make_event_node(call, event);
    if (status == CUDA_SUCCESS) work.event = event;
    return status;
  });
}
CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec graph, CUgraphNode node, CUevent event) {
  return with_copy_of<EventWaitNode>(graph, node, true, [&](Call& call, GraphNode&, EventWaitNode& work) {
    const CUresult status = make_event_node(call, event);
    if (status == CUDA_SUCCESS) work.event = event;
    return status;
  });
}

CUresult cuGraphExecBatchMemOpNodeSetParams(CUgraphExec graph, CUgraphNode node,
                                            const CUDA_BATCH_MEM_OP_NODE_PARAMS* p) {
  return with_copy_of<MemoryOperationNode>(graph, node, p != nullptr,
                                           [&](Call& call, GraphNode& copy, MemoryOperationNode& work) -> CUresult {
                                             if (p->count != work.operations.size()) return CUDA_ERROR_INVALID_VALUE;
                                             return make_memory_operation_node(call, *p, &work, &copy.context);
                                           });
}

CUresult cuGraphExecNodeSetParams(CUgraphExec graph, CUgraphNode node, CUgraphNodeParams* p) {
  if (p != nullptr) {
    switch (p->type) {
      case CU_GRAPH_NODE_TYPE_MEMCPY:
        return cuGraphExecMemcpyNodeSetParams(graph, node, &p->memcpy.copyParams, p->memcpy.copyCtx);
      case CU_GRAPH_NODE_TYPE_MEMSET: {
        const CUDA_MEMSET_NODE_PARAMS fill{p->memset.dst,         p->memset.pitch, p->memset.value,
                                           p->memset.elementSize, p->memset.width, p->memset.height};
        return cuGraphExecMemsetNodeSetParams(graph, node, &fill, p->memset.ctx);
      }
      case CU_GRAPH_NODE_TYPE_GRAPH:
        return cuGraphExecChildGraphNodeSetParams(graph, node, p->graph.graph);
      default:
        break;
    }
  }
  return with_copy(graph, node, p != nullptr, [&](Call& call, GraphNode& copy) -> CUresult {
    if (p->type != type_of(copy.work)) return CUDA_ERROR_INVALID_VALUE;
    return replace_work(call, copy, p);
  });
}

namespace {

// Only work of the device can be switched off.
bool can_be_disabled(const GraphNode& node) {
  const CUgraphNodeType type = type_of(node.work);
  return type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_MEMCPY || type == CU_GRAPH_NODE_TYPE_MEMSET;
}

}  // namespace

CUresult cuGraphNodeSetEnabled(CUgraphExec graph, CUgraphNode node, unsigned int enabled) {
  return with_copy(graph, node, true, [&](Call&, GraphNode& copy) {
    if (!can_be_disabled(copy)) return CUDA_ERROR_INVALID_VALUE;
    copy.enabled = enabled != 0;
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphNodeGetEnabled(CUgraphExec graph_handle, CUgraphNode node_handle, unsigned int* enabled) {
  return with_executable(graph_handle, enabled != nullptr, [&](Call&, const ExecutableGraph& graph) {
    const GraphNode* node = graph_nodes().get(node_handle);
    const GraphNode* copy = node == nullptr ? nullptr : find_copy(*graph.graph, *node);
    if (copy == nullptr || !can_be_disabled(*copy)) return CUDA_ERROR_INVALID_VALUE;
    *enabled = copy->enabled ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphExecUpdate(CUgraphExec graph, CUgraph from, CUgraphNode* error_node, CUgraphExecUpdateResult* result) {
  CUgraphExecUpdateResultInfo info{};
  const CUresult status = update(graph, from, &info);
  if (error_node != nullptr) *error_node = info.errorNode;
  if (result != nullptr) *result = info.result;
  return status;
}
CUresult cuGraphExecUpdate_v2(CUgraphExec graph, CUgraph from, CUgraphExecUpdateResultInfo* info) {
  return update(graph, from, info);
}
