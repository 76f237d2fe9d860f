// Nodes of each kind: added to a graph, asked for their parameters, given new ones.
#include <cuda.h>

#include <cstring>

#include "driver_shim/cuda/graph_parameters.h"

using namespace maya::cuda;

namespace {

// Adds what `make(call, graph, edges, &context)` gives, a NodeWork or a status.
template <typename Make>
CUresult add(CUgraphNode* out, CUgraph handle, const CUgraphNode* dependencies, const CUgraphEdgeData* data,
             size_t count, bool valid, Make&& make) {
  return with_graph(handle, valid && out != nullptr, [&](Call& call, Graph& graph) -> CUresult {
    std::vector<GraphEdge> edges;
    if (const CUresult status = read_dependencies(graph, dependencies, data, count, &edges); status != CUDA_SUCCESS)
      return status;
    NodeWork work;
    Context* context = nullptr;
    if (const CUresult status = make(call, graph, edges, &work, &context); status != CUDA_SUCCESS) return status;
    GraphNode* made = nullptr;
    if (const CUresult status = add_node(graph, std::move(edges), std::move(work), context, &made);
        status != CUDA_SUCCESS)
      return status;
    *out = handle_of(made);
    return CUDA_SUCCESS;
  });
}

// The forms whose parameters one maker reads.
template <typename Work, typename Make>
CUresult add_made(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count, bool valid,
                  Make&& make) {
  return add(out, graph, dependencies, nullptr, count, valid,
             [&](Call& call, Graph& into, const std::vector<GraphEdge>& edges, NodeWork* work, Context** context) {
               Work made;
               const CUresult status = make(call, into, edges, &made, context);
               if (status == CUDA_SUCCESS) *work = std::move(made);
               return status;
             });
}

CUDA_KERNEL_NODE_PARAMS newer(const CUDA_KERNEL_NODE_PARAMS_v1& old) {
  CUDA_KERNEL_NODE_PARAMS p{};
  memcpy(&p, &old, sizeof old);
  return p;
}

CUresult add_kernel(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                    const CUDA_KERNEL_NODE_PARAMS* p) {
  return add_made<KernelNode>(out, graph, dependencies, count, p != nullptr,
                              [&](Call& call, Graph&, const auto&, KernelNode* work, Context** context) {
                                return make_kernel_node(call, *p, work, context);
                              });
}

CUresult set_kernel(CUgraphNode handle, const CUDA_KERNEL_NODE_PARAMS* p) {
  return with_node_of<KernelNode>(handle, p != nullptr, [&](Call& call, GraphNode& node, KernelNode& work) {
    KernelNode made;
    Context* context = nullptr;
    const CUresult status = make_kernel_node(call, *p, &made, &context);
    if (status != CUDA_SUCCESS) return status;
    made.attributes = std::move(work.attributes);
    work = std::move(made);
    node.context = context;
    return CUDA_SUCCESS;
  });
}

CUresult add_any(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData* data,
                 size_t count, CUgraphNodeParams* p) {
  return add(out, graph, dependencies, data, count, p != nullptr,
             [&](Call& call, Graph& into, const std::vector<GraphEdge>& edges, NodeWork* work, Context** context) {
               return make_node_work(call, into, edges, p, work, context);
             });
}

}  // namespace

CUresult cuGraphAddKernelNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS_v1* p) {
  const CUDA_KERNEL_NODE_PARAMS parameters = p != nullptr ? newer(*p) : CUDA_KERNEL_NODE_PARAMS{};
  return add_kernel(out, graph, dependencies, count, p != nullptr ? &parameters : nullptr);
}
CUresult cuGraphAddKernelNode_v2(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS* p) {
  return add_kernel(out, graph, dependencies, count, p);
}
CUresult cuGraphKernelNodeGetParams(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS_v1* out) {
  return with_node_of<KernelNode>(handle, out != nullptr, [&](Call&, const GraphNode& node, const KernelNode&) {
    const CUDA_KERNEL_NODE_PARAMS p = describe_kernel(node);
    memcpy(out, &p, sizeof *out);
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS* out) {
  return with_node_of<KernelNode>(handle, out != nullptr, [&](Call&, const GraphNode& node, const KernelNode&) {
    *out = describe_kernel(node);
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* p) {
  const CUDA_KERNEL_NODE_PARAMS parameters = p != nullptr ? newer(*p) : CUDA_KERNEL_NODE_PARAMS{};
  return set_kernel(node, p != nullptr ? &parameters : nullptr);
}
CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* p) {
  return set_kernel(node, p);
}

CUresult cuGraphAddMemcpyNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                              const CUDA_MEMCPY3D* p, CUcontext where) {
  return add_made<CopyNode>(out, graph, dependencies, count, p != nullptr,
                            [&](Call& call, Graph&, const auto&, CopyNode* work, Context** context) {
                              return make_copy_node(call, *p, where, work, context);
                            });
}
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode handle, CUDA_MEMCPY3D* out) {
  return with_node_of<CopyNode>(handle, out != nullptr, [&](Call&, const GraphNode&, const CopyNode& work) {
    *out = work.parameters;
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphMemcpyNodeSetParams(CUgraphNode handle, const CUDA_MEMCPY3D* p) {
  return with_node_of<CopyNode>(handle, p != nullptr, [&](Call& call, const GraphNode& node, CopyNode& work) {
    CopyNode made;
    Context* context = nullptr;
    const CUresult status = make_copy_node(call, *p, reinterpret_cast<CUcontext>(node.context), &made, &context);
    if (status == CUDA_SUCCESS) work = made;
    return status;
  });
}

CUresult cuGraphAddMemsetNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS* p, CUcontext where) {
  return add_made<FillNode>(out, graph, dependencies, count, p != nullptr,
                            [&](Call& call, Graph&, const auto&, FillNode* work, Context** context) {
                              return make_fill_node(call, *p, where, work, context);
                            });
}
CUresult cuGraphMemsetNodeGetParams(CUgraphNode handle, CUDA_MEMSET_NODE_PARAMS* out) {
  return with_node_of<FillNode>(handle, out != nullptr, [&](Call&, const GraphNode&, const FillNode& work) {
    *out = work.parameters;
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphMemsetNodeSetParams(CUgraphNode handle, const CUDA_MEMSET_NODE_PARAMS* p) {
  return with_node_of<FillNode>(handle, p != nullptr, [&](Call& call, const GraphNode& node, FillNode& work) {
    Context* context = nullptr;
    return make_fill_node(call, *p, reinterpret_cast<CUcontext>(node.context), &work, &context);
  });
}

CUresult cuGraphAddHostNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                            const CUDA_HOST_NODE_PARAMS* p) {
  return add_made<HostNode>(
      out, graph, dependencies, count, p != nullptr,
      [&](Call&, Graph&, const auto&, HostNode* work, Context**) { return make_host_node(*p, work); });
}
CUresult cuGraphHostNodeGetParams(CUgraphNode handle, CUDA_HOST_NODE_PARAMS* out) {
  return with_node_of<HostNode>(handle, out != nullptr, [&](Call&, const GraphNode&, const HostNode& work) {
    *out = work.parameters;
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphHostNodeSetParams(CUgraphNode handle, const CUDA_HOST_NODE_PARAMS* p) {
  return with_node_of<HostNode>(handle, p != nullptr,
                                [&](Call&, GraphNode&, HostNode& work) { return make_host_node(*p, &work); });
}

CUresult cuGraphAddChildGraphNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                  CUgraph child) {
  return add_made<ChildNode>(out, graph, dependencies, count, true,
                             [&](Call&, Graph& into, const auto&, ChildNode* work, Context**) {
                               return make_child_node(into, child, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE, work);
                             });
}
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode handle, CUgraph* out) {
  return with_node_of<ChildNode>(handle, out != nullptr, [&](Call&, const GraphNode&, const ChildNode& work) {
    *out = handle_of(work.graph);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphAddEmptyNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count) {
  return add_made<EmptyNode>(out, graph, dependencies, count, true,
                             [](Call&, Graph&, const auto&, EmptyNode*, Context**) { return CUDA_SUCCESS; });
}

CUresult cuGraphAddEventRecordNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                   CUevent event) {
  return add_made<EventRecordNode>(out, graph, dependencies, count, true,
                                   [&](Call& call, Graph&, const auto&, EventRecordNode* work, Context**) {
                                     work->event = event;
                                     return make_event_node(call, event);
                                   });
}
CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode handle, CUevent* out) {
  return with_node_of<EventRecordNode>(handle, out != nullptr,
                                       [&](Call&, const GraphNode&, const EventRecordNode& work) {
                                         *out = work.event;
                                         return CUDA_SUCCESS;
                                       });
}
CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode handle, CUevent event) {
  return with_node_of<EventRecordNode>(handle, true, [&](Call& call, GraphNode&, EventRecordNode& work) {
    const CUresult status = make_event_node(call, event);
    if (status == CUDA_SUCCESS) work.event = event;
    return status;
  });
}

CUresult cuGraphAddEventWaitNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                 CUevent event) {
  return add_made<EventWaitNode>(out, graph, dependencies, count, true,
                                 [&](Call& call, Graph&, const auto&, EventWaitNode* work, Context**) {
                                   work->event = event;
                                   return make_event_node(call, event);
                                 });
}
CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode handle, CUevent* out) {
  return with_node_of<EventWaitNode>(handle, out != nullptr, [&](Call&, const GraphNode&, const EventWaitNode& work) {
    *out = work.event;
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode handle, CUevent event) {
  return with_node_of<EventWaitNode>(handle, true, [&](Call& call, GraphNode&, EventWaitNode& work) {
    const CUresult status = make_event_node(call, event);
    if (status == CUDA_SUCCESS) work.event = event;
    return status;
  });
}

CUresult cuGraphAddBatchMemOpNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                  const CUDA_BATCH_MEM_OP_NODE_PARAMS* p) {
  return add_made<MemoryOperationNode>(
      out, graph, dependencies, count, p != nullptr,
      [&](Call& call, Graph&, const auto&, MemoryOperationNode* work, Context** context) {
        return make_memory_operation_node(call, *p, work, context);
      });
}
CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode handle, CUDA_BATCH_MEM_OP_NODE_PARAMS* out) {
  return with_node_of<MemoryOperationNode>(
      handle, out != nullptr, [&](Call&, const GraphNode&, MemoryOperationNode& work) {
        *out = {work.context, static_cast<unsigned int>(work.operations.size()), work.operations.data(), work.flags};
        return CUDA_SUCCESS;
      });
}
CUresult cuGraphBatchMemOpNodeSetParams(CUgraphNode handle, const CUDA_BATCH_MEM_OP_NODE_PARAMS* p) {
  return with_node_of<MemoryOperationNode>(handle, p != nullptr,
                                           [&](Call& call, GraphNode&, MemoryOperationNode& work) {
                                             Context* context = nullptr;
                                             return make_memory_operation_node(call, *p, &work, &context);
                                           });
}

CUresult cuGraphAddMemAllocNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                CUDA_MEM_ALLOC_NODE_PARAMS* p) {
  return add_made<AllocationNode>(
      out, graph, dependencies, count, p != nullptr,
      [&](Call& call, Graph&, const std::vector<GraphEdge>& edges, AllocationNode* work, Context**) {
        const CUresult status = make_allocation_node(call.driver(), edges, *p, work);
        if (status == CUDA_SUCCESS) p->dptr = work->parameters.dptr;
        return status;
      });
}
CUresult cuGraphMemAllocNodeGetParams(CUgraphNode handle, CUDA_MEM_ALLOC_NODE_PARAMS* out) {
  return with_node_of<AllocationNode>(handle, out != nullptr, [&](Call&, const GraphNode&, const AllocationNode& work) {
    *out = work.parameters;
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphAddMemFreeNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                               CUdeviceptr address) {
  return add_made<FreeNode>(
      out, graph, dependencies, count, true,
      [&](Call&, Graph& from, const auto&, FreeNode* work, Context**) { return make_free_node(from, address, work); });
}
CUresult cuGraphMemFreeNodeGetParams(CUgraphNode handle, CUdeviceptr* out) {
  return with_node_of<FreeNode>(handle, out != nullptr, [&](Call&, const GraphNode&, const FreeNode& work) {
    *out = work.address;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphAddNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                        CUgraphNodeParams* p) {
  return add_any(out, graph, dependencies, nullptr, count, p);
}
CUresult cuGraphAddNode_v2(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                           const CUgraphEdgeData* data, size_t count, CUgraphNodeParams* p) {
  return add_any(out, graph, dependencies, data, count, p);
}

CUresult cuGraphNodeGetParams(CUgraphNode handle, CUgraphNodeParams* out) {
  return with_node(handle, out != nullptr, [&](Call&, const GraphNode& node) { return describe_node(node, out); });
}

CUresult cuGraphNodeSetParams(CUgraphNode handle, CUgraphNodeParams* p) {
  return with_node(handle, p != nullptr, [&](Call& call, GraphNode& node) -> CUresult {
    if (p->type != type_of(node.work)) return CUDA_ERROR_INVALID_VALUE;
    return replace_work(call, node, p);
  });
}
