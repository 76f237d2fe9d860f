// Nodes of graphs, kind by kind: added, asked for their parameters, given new ones in a graph and in an executable
// graph. Host functions stand for kernels, as in launches.
#include <cstring>

#include "driver_shim/cudart/copy_shape.h"
#include "driver_shim/cudart/registration.h"
#include "driver_shim/cudart/runtime.h"

using namespace maya::cudart;

namespace {

cudaError_t to_driver_kernel(const cudaKernelNodeParams* from, CUDA_KERNEL_NODE_PARAMS* to) {
  if (from == nullptr) return fail(cudaErrorInvalidValue);
  CUkernel kernel = nullptr;
  if (const cudaError_t status = find_kernel(from->func, &kernel); status != cudaSuccess) return fail(status);
  *to = {};
  to->kern = kernel;
  to->gridDimX = from->gridDim.x, to->gridDimY = from->gridDim.y, to->gridDimZ = from->gridDim.z;
  to->blockDimX = from->blockDim.x, to->blockDimY = from->blockDim.y, to->blockDimZ = from->blockDim.z;
  to->sharedMemBytes = from->sharedMemBytes;
  to->kernelParams = from->kernelParams;
  to->extra = from->extra;
  return cudaSuccess;
}

// The host function that a kernel was registered under; the kernel itself when there is none.
void* host_function_of(const void* kernel) {
  const KernelTable* table = kernel_table.load(std::memory_order_acquire);
  for (uint64_t i = 0; i <= table->mask; ++i)
    if (table->slots[i].kernel.load(std::memory_order_acquire) == kernel)
      return const_cast<void*>(table->slots[i].host.load(std::memory_order_acquire));
  return const_cast<void*>(kernel);
}

CUDA_MEMSET_NODE_PARAMS to_driver_fill(const cudaMemsetParams& from) {
  return {device_address(from.dst), from.pitch, from.value, from.elementSize, from.width, from.height};
}

// A copy node, whichever way its parameters were given.
template <typename Call>
cudaError_t with_copy(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind, Call&& call) {
  CUDA_MEMCPY3D copy;
  const cudaError_t status = to_driver_copy(destination, source, bytes, kind, &copy);
  return status == cudaSuccess ? call(copy) : status;
}
template <typename Call>
cudaError_t with_copy(const cudaMemcpy3DParms* parameters, Call&& call) {
  CUDA_MEMCPY3D copy;
  bool empty = false;
  if (const cudaError_t status = to_driver_copy(parameters, &copy, &empty); status != cudaSuccess) return status;
  return empty ? fail(cudaErrorInvalidValue) : call(copy);
}
template <typename Call>
cudaError_t with_copy_to_symbol(const void* symbol, const void* source, size_t bytes, size_t offset,
                                cudaMemcpyKind kind, Call&& call) {
  void* address = nullptr;
  if (const cudaError_t status = symbol_address(symbol, bytes, offset, &address); status != cudaSuccess) return status;
  return with_copy(address, source, bytes, kind, call);
}
template <typename Call>
cudaError_t with_copy_from_symbol(void* destination, const void* symbol, size_t bytes, size_t offset,
                                  cudaMemcpyKind kind, Call&& call) {
  void* address = nullptr;
  if (const cudaError_t status = symbol_address(symbol, bytes, offset, &address); status != cudaSuccess) return status;
  return with_copy(destination, address, bytes, kind, call);
}

auto add_copy(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count) {
  return [=](const CUDA_MEMCPY3D& copy) {
    return with_context(MAYA_DRIVER(cuGraphAddMemcpyNode), out, graph, dependencies, count, &copy, nullptr);
  };
}
auto set_copy(cudaGraphNode_t node) {
  return [=](const CUDA_MEMCPY3D& copy) { return with_context(MAYA_DRIVER(cuGraphMemcpyNodeSetParams), node, &copy); };
}
auto set_executable_copy(cudaGraphExec_t graph, cudaGraphNode_t node) {
  return [=](const CUDA_MEMCPY3D& copy) {
    return with_context(MAYA_DRIVER(cuGraphExecMemcpyNodeSetParams), graph, node, &copy, nullptr);
  };
}

// The tagged union of the runtime as the driver's: kernels and copies differ, the rest has one layout.
cudaError_t to_driver_node(const cudaGraphNodeParams* from, CUgraphNodeParams* to) {
  if (from == nullptr) return fail(cudaErrorInvalidValue);
  static_assert(sizeof *from == sizeof *to);
  memcpy(to, from, sizeof *to);
  if (from->type == cudaGraphNodeTypeKernel) {
    const cudaKernelNodeParamsV2& p = from->kernel;
    CUDA_KERNEL_NODE_PARAMS kernel{};
#if CUDART_VERSION >= 13000
    if (p.functionType == cudaKernelFunctionTypeKernel || p.functionType == cudaKernelFunctionTypeFunction) {
      kernel.kern = reinterpret_cast<CUkernel>(p.kern);
      kernel.gridDimX = p.gridDim.x, kernel.gridDimY = p.gridDim.y, kernel.gridDimZ = p.gridDim.z;
      kernel.blockDimX = p.blockDim.x, kernel.blockDimY = p.blockDim.y, kernel.blockDimZ = p.blockDim.z;
      kernel.sharedMemBytes = p.sharedMemBytes;
      kernel.kernelParams = p.kernelParams;
      kernel.extra = p.extra;
    } else
#endif
    {
      const cudaKernelNodeParams plain{p.func, p.gridDim, p.blockDim, p.sharedMemBytes, p.kernelParams, p.extra};
      if (const cudaError_t status = to_driver_kernel(&plain, &kernel); status != cudaSuccess) return status;
    }
    memset(&to->reserved1, 0, sizeof to->reserved1);
    memcpy(&to->kernel, &kernel, sizeof kernel);
  } else if (from->type == cudaGraphNodeTypeMemcpy) {
    memset(&to->reserved1, 0, sizeof to->reserved1);
    return with_copy(&from->memcpy.copyParams, [&](const CUDA_MEMCPY3D& copy) {
      to->memcpy.copyParams = copy;
      return cudaSuccess;
    });
  } else if (from->type == cudaGraphNodeTypeMemset) {
    to->memset.ctx = nullptr;
  } else if (from->type == cudaGraphNodeTypeConditional) {
    to->conditional.ctx = nullptr;  // that of the handle
  }
  return cudaSuccess;
}

}  // namespace

MAYA_API cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                            const cudaGraphNode_t* dependencies, size_t count,
                                            const cudaKernelNodeParams* parameters) {
  CUDA_KERNEL_NODE_PARAMS kernel;
  const cudaError_t status = to_driver_kernel(parameters, &kernel);
  if (status != cudaSuccess) return status;
  return with_context(MAYA_DRIVER(cuGraphAddKernelNode_v2), out, graph, dependencies, count, &kernel);
}
MAYA_API cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* out) {
  if (out == nullptr) return fail(cudaErrorInvalidValue);
  CUDA_KERNEL_NODE_PARAMS kernel;
  const cudaError_t status = with_driver(MAYA_DRIVER(cuGraphKernelNodeGetParams_v2), node, &kernel);
  if (status != cudaSuccess) return status;
  out->func = host_function_of(kernel.func);
  out->gridDim = dim3(kernel.gridDimX, kernel.gridDimY, kernel.gridDimZ);
  out->blockDim = dim3(kernel.blockDimX, kernel.blockDimY, kernel.blockDimZ);
  out->sharedMemBytes = kernel.sharedMemBytes;
  out->kernelParams = kernel.kernelParams;
  out->extra = nullptr;
  return cudaSuccess;
}
MAYA_API cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* parameters) {
  CUDA_KERNEL_NODE_PARAMS kernel;
  const cudaError_t status = to_driver_kernel(parameters, &kernel);
  return status == cudaSuccess ? with_context(MAYA_DRIVER(cuGraphKernelNodeSetParams_v2), node, &kernel) : status;
}
MAYA_API cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t graph, cudaGraphNode_t node,
                                                      const cudaKernelNodeParams* parameters) {
  CUDA_KERNEL_NODE_PARAMS kernel;
  const cudaError_t status = to_driver_kernel(parameters, &kernel);
  if (status != cudaSuccess) return status;
  return with_context(MAYA_DRIVER(cuGraphExecKernelNodeSetParams_v2), graph, node, &kernel);
}
MAYA_API cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t to, cudaGraphNode_t from) {
  return with_driver(MAYA_DRIVER(cuGraphKernelNodeCopyAttributes), to, from);
}
MAYA_API cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID id,
                                                     cudaLaunchAttributeValue* value) {
  return with_driver(MAYA_DRIVER(cuGraphKernelNodeGetAttribute), node, static_cast<CUkernelNodeAttrID>(id),
                     as_driver<CUkernelNodeAttrValue>(value));
}
MAYA_API cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID id,
                                                     const cudaLaunchAttributeValue* value) {
  return with_driver(MAYA_DRIVER(cuGraphKernelNodeSetAttribute), node, static_cast<CUkernelNodeAttrID>(id),
                     as_driver<const CUkernelNodeAttrValue>(value));
}

MAYA_API cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                            const cudaGraphNode_t* dependencies, size_t count,
                                            const cudaMemcpy3DParms* parameters) {
  return with_copy(parameters, add_copy(out, graph, dependencies, count));
}
MAYA_API cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* out, cudaGraph_t graph,
                                              const cudaGraphNode_t* dependencies, size_t count, void* destination,
                                              const void* source, size_t bytes, cudaMemcpyKind kind) {
  return with_copy(destination, source, bytes, kind, add_copy(out, graph, dependencies, count));
}
MAYA_API cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t* out, cudaGraph_t graph,
                                                    const cudaGraphNode_t* dependencies, size_t count,
                                                    const void* symbol, const void* source, size_t bytes, size_t offset,
                                                    cudaMemcpyKind kind) {
  return with_copy_to_symbol(symbol, source, bytes, offset, kind, add_copy(out, graph, dependencies, count));
}
MAYA_API cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t* out, cudaGraph_t graph,
                                                      const cudaGraphNode_t* dependencies, size_t count,
                                                      void* destination, const void* symbol, size_t bytes,
                                                      size_t offset, cudaMemcpyKind kind) {
  return with_copy_from_symbol(destination, symbol, bytes, offset, kind, add_copy(out, graph, dependencies, count));
}
MAYA_API cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms* out) {
  if (out == nullptr) return fail(cudaErrorInvalidValue);
  CUDA_MEMCPY3D copy;
  const cudaError_t status = with_driver(MAYA_DRIVER(cuGraphMemcpyNodeGetParams), node, &copy);
  return status == cudaSuccess ? from_driver_copy(copy, out) : status;
}
MAYA_API cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms* parameters) {
  return with_copy(parameters, set_copy(node));
}
MAYA_API cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* destination, const void* source,
                                                    size_t bytes, cudaMemcpyKind kind) {
  return with_copy(destination, source, bytes, kind, set_copy(node));
}
MAYA_API cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void* symbol, const void* source,
                                                          size_t bytes, size_t offset, cudaMemcpyKind kind) {
  return with_copy_to_symbol(symbol, source, bytes, offset, kind, set_copy(node));
}
MAYA_API cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void* destination, const void* symbol,
                                                            size_t bytes, size_t offset, cudaMemcpyKind kind) {
  return with_copy_from_symbol(destination, symbol, bytes, offset, kind, set_copy(node));
}
MAYA_API cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t graph, cudaGraphNode_t node,
                                                      const cudaMemcpy3DParms* parameters) {
  return with_copy(parameters, set_executable_copy(graph, node));
}
MAYA_API cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t graph, cudaGraphNode_t node, void* destination,
                                                        const void* source, size_t bytes, cudaMemcpyKind kind) {
  return with_copy(destination, source, bytes, kind, set_executable_copy(graph, node));
}
MAYA_API cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t graph, cudaGraphNode_t node,
                                                              const void* symbol, const void* source, size_t bytes,
                                                              size_t offset, cudaMemcpyKind kind) {
  return with_copy_to_symbol(symbol, source, bytes, offset, kind, set_executable_copy(graph, node));
}
MAYA_API cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t graph, cudaGraphNode_t node,
                                                                void* destination, const void* symbol, size_t bytes,
                                                                size_t offset, cudaMemcpyKind kind) {
  return with_copy_from_symbol(destination, symbol, bytes, offset, kind, set_executable_copy(graph, node));
}

MAYA_API cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                            const cudaGraphNode_t* dependencies, size_t count,
                                            const cudaMemsetParams* parameters) {
  if (parameters == nullptr) return fail(cudaErrorInvalidValue);
  const CUDA_MEMSET_NODE_PARAMS fill = to_driver_fill(*parameters);
  return with_context(MAYA_DRIVER(cuGraphAddMemsetNode), out, graph, dependencies, count, &fill, nullptr);
}
MAYA_API cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams* out) {
  return with_driver(MAYA_DRIVER(cuGraphMemsetNodeGetParams), node, as_driver<CUDA_MEMSET_NODE_PARAMS>(out));
}
MAYA_API cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* parameters) {
  if (parameters == nullptr) return fail(cudaErrorInvalidValue);
  const CUDA_MEMSET_NODE_PARAMS fill = to_driver_fill(*parameters);
  return with_context(MAYA_DRIVER(cuGraphMemsetNodeSetParams), node, &fill);
}
MAYA_API cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t graph, cudaGraphNode_t node,
                                                      const cudaMemsetParams* parameters) {
  if (parameters == nullptr) return fail(cudaErrorInvalidValue);
  const CUDA_MEMSET_NODE_PARAMS fill = to_driver_fill(*parameters);
  return with_context(MAYA_DRIVER(cuGraphExecMemsetNodeSetParams), graph, node, &fill, nullptr);
}

MAYA_API cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                          size_t count, const cudaHostNodeParams* parameters) {
  return with_driver(MAYA_DRIVER(cuGraphAddHostNode), out, graph, dependencies, count,
                     as_driver<const CUDA_HOST_NODE_PARAMS>(parameters));
}
MAYA_API cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams* out) {
  return with_driver(MAYA_DRIVER(cuGraphHostNodeGetParams), node, as_driver<CUDA_HOST_NODE_PARAMS>(out));
}
MAYA_API cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* parameters) {
  return with_driver(MAYA_DRIVER(cuGraphHostNodeSetParams), node, as_driver<const CUDA_HOST_NODE_PARAMS>(parameters));
}
MAYA_API cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t graph, cudaGraphNode_t node,
                                                    const cudaHostNodeParams* parameters) {
  return with_driver(MAYA_DRIVER(cuGraphExecHostNodeSetParams), graph, node,
                     as_driver<const CUDA_HOST_NODE_PARAMS>(parameters));
}

MAYA_API cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                                const cudaGraphNode_t* dependencies, size_t count, cudaGraph_t child) {
  return with_driver(MAYA_DRIVER(cuGraphAddChildGraphNode), out, graph, dependencies, count, child);
}
MAYA_API cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t* out) {
  return with_driver(MAYA_DRIVER(cuGraphChildGraphNodeGetGraph), node, out);
}
MAYA_API cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t graph, cudaGraphNode_t node,
                                                          cudaGraph_t child) {
  return with_driver(MAYA_DRIVER(cuGraphExecChildGraphNodeSetParams), graph, node, child);
}
MAYA_API cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                           size_t count) {
  return with_driver(MAYA_DRIVER(cuGraphAddEmptyNode), out, graph, dependencies, count);
}

MAYA_API cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                                 const cudaGraphNode_t* dependencies, size_t count, cudaEvent_t event) {
  return with_driver(MAYA_DRIVER(cuGraphAddEventRecordNode), out, graph, dependencies, count, event);
}
MAYA_API cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* out) {
  return with_driver(MAYA_DRIVER(cuGraphEventRecordNodeGetEvent), node, out);
}
MAYA_API cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  return with_driver(MAYA_DRIVER(cuGraphEventRecordNodeSetEvent), node, event);
}
MAYA_API cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t graph, cudaGraphNode_t node,
                                                          cudaEvent_t event) {
  return with_driver(MAYA_DRIVER(cuGraphExecEventRecordNodeSetEvent), graph, node, event);
}
MAYA_API cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                               const cudaGraphNode_t* dependencies, size_t count, cudaEvent_t event) {
  return with_driver(MAYA_DRIVER(cuGraphAddEventWaitNode), out, graph, dependencies, count, event);
}
MAYA_API cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* out) {
  return with_driver(MAYA_DRIVER(cuGraphEventWaitNodeGetEvent), node, out);
}
MAYA_API cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  return with_driver(MAYA_DRIVER(cuGraphEventWaitNodeSetEvent), node, event);
}
MAYA_API cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t graph, cudaGraphNode_t node,
                                                        cudaEvent_t event) {
  return with_driver(MAYA_DRIVER(cuGraphExecEventWaitNodeSetEvent), graph, node, event);
}

MAYA_API cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                              const cudaGraphNode_t* dependencies, size_t count,
                                              cudaMemAllocNodeParams* parameters) {
  return with_driver(MAYA_DRIVER(cuGraphAddMemAllocNode), out, graph, dependencies, count,
                     as_driver<CUDA_MEM_ALLOC_NODE_PARAMS>(parameters));
}
MAYA_API cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, cudaMemAllocNodeParams* out) {
  return with_driver(MAYA_DRIVER(cuGraphMemAllocNodeGetParams), node, as_driver<CUDA_MEM_ALLOC_NODE_PARAMS>(out));
}
MAYA_API cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* out, cudaGraph_t graph,
                                             const cudaGraphNode_t* dependencies, size_t count, void* pointer) {
  return with_driver(MAYA_DRIVER(cuGraphAddMemFreeNode), out, graph, dependencies, count, device_address(pointer));
}
MAYA_API cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void* out) {
  return with_driver(MAYA_DRIVER(cuGraphMemFreeNodeGetParams), node, static_cast<CUdeviceptr*>(out));
}

#if CUDART_VERSION >= 13000
MAYA_API cudaError_t cudaGraphAddNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                      const cudaGraphEdgeData* data, size_t count, cudaGraphNodeParams* parameters) {
#else
MAYA_API cudaError_t cudaGraphAddNode_v2(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                         const cudaGraphEdgeData* data, size_t count, cudaGraphNodeParams* parameters) {
#endif
  CUgraphNodeParams node;
  if (const cudaError_t status = to_driver_node(parameters, &node); status != cudaSuccess) return status;
  const cudaError_t status = with_context(MAYA_DRIVER(cuGraphAddNode_v2), out, graph, dependencies,
                                          as_driver<const CUgraphEdgeData>(data), count, &node);
  if (status == cudaSuccess && parameters->type == cudaGraphNodeTypeMemAlloc)
    parameters->alloc.dptr = reinterpret_cast<void*>(node.alloc.dptr);
  if (status == cudaSuccess && parameters->type == cudaGraphNodeTypeConditional)
    parameters->conditional.phGraph_out = node.conditional.phGraph_out;
  return status;
}
MAYA_API cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle* out, cudaGraph_t graph,
                                                      unsigned int default_value, unsigned int flags) {
  return with_context(MAYA_DRIVER(cuGraphConditionalHandleCreate), as_driver<CUgraphConditionalHandle>(out), graph,
                      CUcontext{}, default_value, flags);
}
MAYA_API cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams* parameters) {
  CUgraphNodeParams wanted;
  const cudaError_t status = to_driver_node(parameters, &wanted);
  return status == cudaSuccess ? with_context(MAYA_DRIVER(cuGraphNodeSetParams), node, &wanted) : status;
}
MAYA_API cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t graph, cudaGraphNode_t node,
                                                cudaGraphNodeParams* parameters) {
  CUgraphNodeParams wanted;
  const cudaError_t status = to_driver_node(parameters, &wanted);
  return status == cudaSuccess ? with_context(MAYA_DRIVER(cuGraphExecNodeSetParams), graph, node, &wanted) : status;
}
#if CUDART_VERSION >= 13000
MAYA_API cudaError_t cudaGraphNodeGetParams(cudaGraphNode_t node, cudaGraphNodeParams* out) {
  if (out == nullptr) return fail(cudaErrorInvalidValue);
  CUgraphNodeParams found;
  if (const cudaError_t status = with_driver(MAYA_DRIVER(cuGraphNodeGetParams), node, &found); status != cudaSuccess)
    return status;
  memcpy(static_cast<void*>(out), &found, sizeof *out);
  if (out->type == cudaGraphNodeTypeKernel) {
    cudaKernelNodeParams kernel{};
    if (const cudaError_t status = cudaGraphKernelNodeGetParams(node, &kernel); status != cudaSuccess) return status;
    memset(static_cast<void*>(&out->kernel), 0, sizeof out->kernel);
    out->kernel.func = kernel.func;
    out->kernel.gridDim = kernel.gridDim;
    out->kernel.blockDim = kernel.blockDim;
    out->kernel.sharedMemBytes = kernel.sharedMemBytes;
    out->kernel.kernelParams = kernel.kernelParams;
    out->kernel.functionType = cudaKernelFunctionTypeDeviceEntry;
  } else if (out->type == cudaGraphNodeTypeMemcpy) {
    out->memcpy.flags = 0;
    out->memcpy.ctx = nullptr;
    return from_driver_copy(found.memcpy.copyParams, &out->memcpy.copyParams);
  }
  return cudaSuccess;
}
#endif
