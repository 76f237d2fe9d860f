#include "driver_shim/cuda/graph_parameters.h"

#include <algorithm>
#include <cstring>

#include "driver_shim/common/entry_table.h"
#include "driver_shim/cuda/fill.h"
#include "driver_shim/cuda/graph_conditional.h"
#include "driver_shim/cuda/launch.h"
#include "driver_shim/cuda/stream_memory_operation.h"

namespace maya::cuda {
namespace {

// Where a node runs: the context named, or the current one for null.
CUresult choose_context(Call& call, CUcontext named, Context** out) {
  if (named != nullptr) return call.driver().live_context(named, out);
  *out = call.thread().current();
  return *out != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUcontext context_handle(const GraphNode& node) { return reinterpret_cast<CUcontext>(node.context); }

// Memory that a graph allocates has nothing behind its addresses before the first launch.
CUresult check_device_address(Call& call, CUmemorytype type, CUdeviceptr address, CUmemorytype* resolved) {
  *resolved = type;
  if (type != CU_MEMORYTYPE_DEVICE || !is_graph_memory(address)) return CUDA_SUCCESS;
  *resolved = CU_MEMORYTYPE_UNIFIED;
  return call.memory().in_device_range(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUDA_MEMCPY3D describe_sides(const VolumeSide& to, const VolumeSide& from, const Extent& extent) {
  CUDA_MEMCPY3D p{};
  p.WidthInBytes = extent.width_bytes;
  p.Height = extent.rows;
  p.Depth = extent.slices;
  p.srcMemoryType = from.start.on_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
  p.dstMemoryType = to.start.on_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
  if (from.start.on_device)
    p.srcDevice = from.start.address;
  else
    p.srcHost = reinterpret_cast<const void*>(from.start.address);
  if (to.start.on_device)
    p.dstDevice = to.start.address;
  else
    p.dstHost = reinterpret_cast<void*>(to.start.address);
  p.srcPitch = from.pitch_bytes;
  p.dstPitch = to.pitch_bytes;
  p.srcHeight = from.slice_rows;
  p.dstHeight = to.slice_rows;
  return p;
}

}  // namespace

CUresult captured_kernel(const Kernel& kernel, const device::Launch& launch, const CUlaunchAttribute* attributes,
                         uint32_t attribute_count, KernelNode* out) {
  if (launch.arguments == nullptr && !kernel.info.parameters.empty()) return CUDA_ERROR_INVALID_VALUE;
  out->handle = &kernel;
  out->launch = launch;
  out->launch.kernel = &kernel.info;
  out->arguments = std::make_shared<const ArgumentCopy>(kernel.info, launch.arguments);
  out->launch.arguments = out->arguments->pointers();
  if (attribute_count != 0) out->attributes.assign(attributes, attributes + attribute_count);
  return CUDA_SUCCESS;
}

CUresult make_kernel_node(Call& call, const CUDA_KERNEL_NODE_PARAMS& p, KernelNode* out, Context** context) {
  const void* handle = p.func != nullptr ? static_cast<const void*>(p.func) : static_cast<const void*>(p.kern);
  const Kernel* kernel = resolve_kernel(handle);
  if (kernel == nullptr) return handle == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult status = choose_context(call, p.func != nullptr ? nullptr : p.ctx, context);
      status != CUDA_SUCCESS)
    return status;
  device::Launch launch;
  launch.grid[0] = p.gridDimX, launch.grid[1] = p.gridDimY, launch.grid[2] = p.gridDimZ;
  launch.block[0] = p.blockDimX, launch.block[1] = p.blockDimY, launch.block[2] = p.blockDimZ;
  launch.dynamic_shared_bytes = p.sharedMemBytes;
  launch.arguments = p.kernelParams;
  std::vector<void*> pointers;
  if (p.extra != nullptr) {
    if (p.kernelParams != nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult status = read_extra(kernel->info, p.extra, &pointers); status != CUDA_SUCCESS) return status;
    launch.arguments = pointers.data();
  }
  for (int i = 0; i < 3; ++i)
    launch.cluster[i] = static_cast<uint32_t>(kernel->required_cluster[i].load(std::memory_order_relaxed));
  if (const CUresult status = check_launch(*kernel, launch, call.driver().profile((*context)->device));
      status != CUDA_SUCCESS)
    return status;
  return captured_kernel(*kernel, launch, nullptr, 0, out);
}

CUDA_KERNEL_NODE_PARAMS describe_kernel(const GraphNode& node) {
  const KernelNode& kernel = std::get<KernelNode>(node.work);
  CUDA_KERNEL_NODE_PARAMS p{};
  p.func = static_cast<CUfunction>(const_cast<void*>(kernel.handle));
  p.gridDimX = kernel.launch.grid[0], p.gridDimY = kernel.launch.grid[1], p.gridDimZ = kernel.launch.grid[2];
  p.blockDimX = kernel.launch.block[0], p.blockDimY = kernel.launch.block[1], p.blockDimZ = kernel.launch.block[2];
  p.sharedMemBytes = kernel.launch.dynamic_shared_bytes;
  p.kernelParams = kernel.launch.arguments;
  p.ctx = context_handle(node);
  return p;
}

CUresult make_copy_node(Call& call, const CUDA_MEMCPY3D& p, CUcontext where, CopyNode* out, Context** context) {
  if (const CUresult status = choose_context(call, where, context); status != CUDA_SUCCESS) return status;
  if (p.srcLOD != 0 || p.dstLOD != 0 || p.reserved0 != nullptr || p.reserved1 != nullptr || p.WidthInBytes == 0 ||
      p.Height == 0 || p.Depth == 0)
    return CUDA_ERROR_INVALID_VALUE;
  CUmemorytype from_type = p.srcMemoryType, to_type = p.dstMemoryType;
  for (const CUresult status : {check_device_address(call, p.srcMemoryType, p.srcDevice, &from_type),
                                check_device_address(call, p.dstMemoryType, p.dstDevice, &to_type)})
    if (status != CUDA_SUCCESS) return status;
  const SideArguments from{from_type, p.srcHost, p.srcDevice, p.srcArray, p.srcXInBytes,
                           p.srcY,    p.srcZ,    p.srcPitch,  p.srcHeight};
  const SideArguments to{to_type, p.dstHost, p.dstDevice, p.dstArray, p.dstXInBytes,
                         p.dstY,  p.dstZ,    p.dstPitch,  p.dstHeight};
  out->parameters = p;
  out->extent = {p.WidthInBytes, p.Height, p.Depth};
  if (const CUresult status = resolve_side(call.memory(), to, out->extent, &out->to); status != CUDA_SUCCESS)
    return status;
  if (const CUresult status = resolve_side(call.memory(), from, out->extent, &out->from); status != CUDA_SUCCESS)
    return status;
  return check_volume(call.memory(), out->to, out->from, out->extent);
}

CopyNode captured_copy(const VolumeSide& to, const VolumeSide& from, const Extent& extent) {
  return {describe_sides(to, from, extent), to, from, extent};
}

CUresult make_fill_node(Call& call, const CUDA_MEMSET_NODE_PARAMS& p, CUcontext where, FillNode* out,
                        Context** context) {
  if (const CUresult status = choose_context(call, where, context); status != CUDA_SUCCESS) return status;
  if (p.width == 0 || p.height == 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult status = check_fill(call.memory(), p); status != CUDA_SUCCESS) return status;
  out->parameters = p;
  return CUDA_SUCCESS;
}

CUresult make_host_node(const CUDA_HOST_NODE_PARAMS& p, HostNode* out) {
  if (p.fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  out->parameters = p;
  return CUDA_SUCCESS;
}

CUresult make_child_node(Graph& parent, CUgraph handle, CUgraphChildGraphNodeOwnership ownership, ChildNode* out) {
  Graph* child = graphs().get(handle);
  if (child == nullptr || child == &parent || child->captures != 0) return CUDA_ERROR_INVALID_VALUE;
  if (ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE) {
    if (child->parent != nullptr || child->executables != 0) return CUDA_ERROR_INVALID_VALUE;
    out->graph = child;
    return CUDA_SUCCESS;
  }
  if (ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE || is_exclusive(*child)) return CUDA_ERROR_INVALID_VALUE;
  out->graph = clone_graph(*child);
  return out->graph != nullptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult make_event_node(Call& call, CUevent event) {
  return call.driver().events().get(event) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult make_memory_operation_node(Call& call, const CUDA_BATCH_MEM_OP_NODE_PARAMS& p, MemoryOperationNode* out,
                                    Context** context) {
  if (const CUresult status = choose_context(call, p.ctx, context); status != CUDA_SUCCESS) return status;
  if (p.flags != 0 || p.count > kMostMemoryOperations || (p.count != 0 && p.paramArray == nullptr))
    return CUDA_ERROR_INVALID_VALUE;
  out->operations.assign(p.paramArray, p.paramArray + p.count);
  out->context = p.ctx;
  out->flags = p.flags;
  return CUDA_SUCCESS;
}

CUresult make_node_work(Call& call, Graph& graph, const std::vector<GraphEdge>& dependencies, CUgraphNodeParams* p,
                        NodeWork* out, Context** context) {
  const auto keep = [&](CUresult status, auto& work) {
    if (status == CUDA_SUCCESS) *out = std::move(work);
    return status;
  };
  switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      KernelNode work;
      CUDA_KERNEL_NODE_PARAMS wanted{};
      static_assert(sizeof wanted == sizeof p->kernel);
      memcpy(&wanted, &p->kernel, sizeof wanted);
      return keep(make_kernel_node(call, wanted, &work, context), work);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY: {
      CopyNode work;
      if (p->memcpy.flags != 0 || p->memcpy.reserved != 0) return CUDA_ERROR_INVALID_VALUE;
      return keep(make_copy_node(call, p->memcpy.copyParams, p->memcpy.copyCtx, &work, context), work);
    }
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      FillNode work;
      const CUDA_MEMSET_NODE_PARAMS fill{p->memset.dst,         p->memset.pitch, p->memset.value,
                                         p->memset.elementSize, p->memset.width, p->memset.height};
      return keep(make_fill_node(call, fill, p->memset.ctx, &work, context), work);
    }
    case CU_GRAPH_NODE_TYPE_HOST: {
      HostNode work;
      return keep(make_host_node({p->host.fn, p->host.userData}, &work), work);
    }
    case CU_GRAPH_NODE_TYPE_GRAPH: {
      ChildNode work;
      return keep(make_child_node(graph, p->graph.graph, p->graph.ownership, &work), work);
    }
    case CU_GRAPH_NODE_TYPE_EMPTY:
      *out = EmptyNode{};
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: {
      EventWaitNode work{p->eventWait.event};
      return keep(make_event_node(call, work.event), work);
    }
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: {
      EventRecordNode work{p->eventRecord.event};
      return keep(make_event_node(call, work.event), work);
    }
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
      AllocationNode work;
      const CUDA_MEM_ALLOC_NODE_PARAMS wanted{p->alloc.poolProps, p->alloc.accessDescs, p->alloc.accessDescCount,
                                              p->alloc.bytesize, 0};
      const CUresult status = make_allocation_node(call.driver(), dependencies, wanted, &work);
      if (status == CUDA_SUCCESS) p->alloc.dptr = work.parameters.dptr;
      return keep(status, work);
    }
    case CU_GRAPH_NODE_TYPE_MEM_FREE: {
      FreeNode work;
      return keep(make_free_node(graph, p->free.dptr, &work), work);
    }
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: {
      MemoryOperationNode work;
      const CUDA_BATCH_MEM_OP_NODE_PARAMS wanted{p->memOp.ctx, p->memOp.count, p->memOp.paramArray, p->memOp.flags};
      return keep(make_memory_operation_node(call, wanted, &work, context), work);
    }
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: {
      ConditionalNode work;
      return keep(make_conditional_node(call, graph, &p->conditional, &work, context), work);
    }
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
      shim::report_unsupported(shim::kLibraryName, "external semaphore graph nodes", "CUDA_ERROR_NOT_SUPPORTED");
      return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult replace_work(Call& call, GraphNode& node, CUgraphNodeParams* p) {
  if (p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || p->type == CU_GRAPH_NODE_TYPE_MEM_FREE ||
      p->type == CU_GRAPH_NODE_TYPE_GRAPH || p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
    return CUDA_ERROR_NOT_SUPPORTED;
  NodeWork made;
  Context* context = node.context;
  if (const CUresult status = make_node_work(call, *node.graph, {}, p, &made, &context); status != CUDA_SUCCESS)
    return status;
  if (auto* before = std::get_if<KernelNode>(&node.work), *after = std::get_if<KernelNode>(&made);
      before != nullptr && after != nullptr)
    after->attributes = std::move(before->attributes);
  node.work = std::move(made);
  node.context = context;
  return CUDA_SUCCESS;
}

namespace {

struct Describe {
  const GraphNode& node;
  CUgraphNodeParams& out;

  CUresult operator()(const EmptyNode&) const { return CUDA_SUCCESS; }
  CUresult operator()(const KernelNode&) const {
    const CUDA_KERNEL_NODE_PARAMS p = describe_kernel(node);
    memcpy(&out.kernel, &p, sizeof p);
    return CUDA_SUCCESS;
  }
  // What a library launched is not known in terms of kernels.
  CUresult operator()(const OperationNode&) const { return CUDA_ERROR_NOT_SUPPORTED; }
  CUresult operator()(const CopyNode& work) const {
    out.memcpy.copyCtx = context_handle(node);
    out.memcpy.copyParams = work.parameters;
    return CUDA_SUCCESS;
  }
  CUresult operator()(const FillNode& work) const {
    const CUDA_MEMSET_NODE_PARAMS& p = work.parameters;
    out.memset = {p.dst, p.pitch, p.value, p.elementSize, p.width, p.height, context_handle(node)};
    return CUDA_SUCCESS;
  }
  CUresult operator()(const HostNode& work) const {
    out.host.fn = work.parameters.fn;
    out.host.userData = work.parameters.userData;
    return CUDA_SUCCESS;
  }
  CUresult operator()(const ChildNode& work) const {
    out.graph = {handle_of(work.graph), CU_GRAPH_CHILD_GRAPH_OWNERSHIP_INVALID};
    return CUDA_SUCCESS;
  }
  CUresult operator()(const ConditionalNode& work) const {
    out.conditional = {work.handle, work.type, static_cast<unsigned int>(work.bodies.size()),
                       const_cast<CUgraph*>(work.array->data()), context_handle(node)};
    return CUDA_SUCCESS;
  }
  CUresult operator()(const EventRecordNode& work) const {
    out.eventRecord.event = work.event;
    return CUDA_SUCCESS;
  }
  CUresult operator()(const EventWaitNode& work) const {
    out.eventWait.event = work.event;
    return CUDA_SUCCESS;
  }
  CUresult operator()(const AllocationNode& work) const {
    const CUDA_MEM_ALLOC_NODE_PARAMS& p = work.parameters;
    out.alloc = {p.poolProps, p.accessDescs, p.accessDescCount, p.bytesize, p.dptr};
    return CUDA_SUCCESS;
  }
  CUresult operator()(const FreeNode& work) const {
    out.free.dptr = work.address;
    return CUDA_SUCCESS;
  }
  CUresult operator()(const MemoryOperationNode& work) const {
    out.memOp.ctx = work.context;
    out.memOp.count = static_cast<unsigned int>(work.operations.size());
    out.memOp.paramArray = const_cast<CUstreamBatchMemOpParams*>(work.operations.data());
    out.memOp.flags = work.flags;
    return CUDA_SUCCESS;
  }
};

}  // namespace

CUresult describe_node(const GraphNode& node, CUgraphNodeParams* out) {
  memset(out, 0, sizeof *out);
  out->type = type_of(node.work);
  return std::visit(Describe{node, *out}, node.work);
}

}  // namespace maya::cuda
