// Between the parameter structures of the graph interface and what nodes do. Every maker checks its parameters as
// documented and gives CUDA_ERROR_INVALID_VALUE (or a context's error) for bad ones.
#pragma once

#include <cuda.h>

#include <vector>

#include "driver_shim/cuda/graph.h"

namespace maya::cuda {

CUresult make_kernel_node(Call& call, const CUDA_KERNEL_NODE_PARAMS& parameters, KernelNode* out, Context** context);
CUresult make_copy_node(Call& call, const CUDA_MEMCPY3D& parameters, CUcontext where, CopyNode* out, Context** context);
CUresult make_fill_node(Call& call, const CUDA_MEMSET_NODE_PARAMS& parameters, CUcontext where, FillNode* out,
                        Context** context);
CUresult make_host_node(const CUDA_HOST_NODE_PARAMS& parameters, HostNode* out);
CUresult make_child_node(Graph& parent, CUgraph child, CUgraphChildGraphNodeOwnership ownership, ChildNode* out);
CUresult make_event_node(Call& call, CUevent event);
CUresult make_memory_operation_node(Call& call, const CUDA_BATCH_MEM_OP_NODE_PARAMS& parameters,
                                    MemoryOperationNode* out, Context** context);

// Captured work as the structures of the graph interface would say it.
CopyNode captured_copy(const VolumeSide& to, const VolumeSide& from, const Extent& extent);
CUresult captured_kernel(const Kernel& kernel, const device::Launch& launch, const CUlaunchAttribute* attributes,
                         uint32_t attribute_count, KernelNode* out);

CUDA_KERNEL_NODE_PARAMS describe_kernel(const GraphNode& node);

// The work of a CUgraphNodeParams of any type; writes its out parameters. CUDA_ERROR_NOT_SUPPORTED for external
// semaphore nodes.
CUresult make_node_work(Call& call, Graph& graph, const std::vector<GraphEdge>& dependencies,
                        CUgraphNodeParams* parameters, NodeWork* out, Context** context);
// Gives a node new parameters of its own type. CUDA_ERROR_NOT_SUPPORTED for memory, child graph and conditional nodes.
CUresult replace_work(Call& call, GraphNode& node, CUgraphNodeParams* parameters);
CUresult describe_node(const GraphNode& node, CUgraphNodeParams* out);

}  // namespace maya::cuda
