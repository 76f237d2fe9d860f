// Execution contexts and device resources (CUDA 13.1). An execution context is the driver's green context, or the
// primary context of a device.
#include "driver_shim/cudart/runtime.h"

using namespace maya::cudart;

namespace {

CUgreenCtx green_of(cudaExecutionContext_t context) { return reinterpret_cast<CUgreenCtx>(context); }

// The driver's context behind either kind.
CUresult context_of(cudaExecutionContext_t context, CUcontext* out, bool* green) {
  const CUresult status = initialized_call(MAYA_DRIVER(cuCtxFromGreenCtx), out, green_of(context));
  *green = status != CUDA_ERROR_INVALID_CONTEXT;
  if (!*green) *out = reinterpret_cast<CUcontext>(context);
  return *green ? status : CUDA_SUCCESS;
}

template <typename Body>
cudaError_t with_execution_context(cudaExecutionContext_t handle, Body&& body) {
  CUcontext context = nullptr;
  bool green = false;
  if (const CUresult status = context_of(handle, &context, &green); status != CUDA_SUCCESS) return finish(status);
  return body(context, green);
}

// `body` with the context current, and what was current before put back.
template <typename Body>
cudaError_t while_current(CUcontext context, Body&& body) {
  if (const cudaError_t status = with_driver(MAYA_DRIVER(cuCtxPushCurrent_v2), context); status != cudaSuccess)
    return status;
  const cudaError_t result = body();
  CUcontext popped = nullptr;
  with_driver(MAYA_DRIVER(cuCtxPopCurrent_v2), &popped);
  return result;
}

cudaError_t stream_resource(cudaStream_t stream, cudaDevResource* resource, cudaDevResourceType type) {
  return with_context(MAYA_DRIVER(cuStreamGetDevResource), stream, as_driver<CUdevResource>(resource),
                      static_cast<CUdevResourceType>(type));
}

}  // namespace

MAYA_API cudaError_t cudaDeviceGetDevResource(int device, cudaDevResource* resource, cudaDevResourceType type) {
  return with_driver(MAYA_DRIVER(cuDeviceGetDevResource), device, as_driver<CUdevResource>(resource),
                     static_cast<CUdevResourceType>(type));
}

MAYA_API cudaError_t cudaDevSmResourceSplitByCount(cudaDevResource* result, unsigned* groups,
                                                   const cudaDevResource* input, cudaDevResource* remaining,
                                                   unsigned flags, unsigned least) {
  return with_driver(MAYA_DRIVER(cuDevSmResourceSplitByCount), as_driver<CUdevResource>(result), groups,
                     as_driver<const CUdevResource>(input), as_driver<CUdevResource>(remaining), flags, least);
}

MAYA_API cudaError_t cudaDevSmResourceSplit(cudaDevResource* result, unsigned groups, const cudaDevResource* input,
                                            cudaDevResource* remainder, unsigned flags,
                                            cudaDevSmResourceGroupParams* parameters) {
  return with_driver(MAYA_DRIVER(cuDevSmResourceSplit), as_driver<CUdevResource>(result), groups,
                     as_driver<const CUdevResource>(input), as_driver<CUdevResource>(remainder), flags,
                     as_driver<CU_DEV_SM_RESOURCE_GROUP_PARAMS>(parameters));
}

MAYA_API cudaError_t cudaDevResourceGenerateDesc(cudaDevResourceDesc_t* descriptor, cudaDevResource* resources,
                                                 unsigned count) {
  return with_driver(MAYA_DRIVER(cuDevResourceGenerateDesc), reinterpret_cast<CUdevResourceDesc*>(descriptor),
                     as_driver<CUdevResource>(resources), count);
}

MAYA_API cudaError_t cudaGreenCtxCreate(cudaExecutionContext_t* context, cudaDevResourceDesc_t descriptor, int device,
                                        unsigned flags) {
  if (flags != 0) return fail(cudaErrorInvalidValue);
  return with_driver(MAYA_DRIVER(cuGreenCtxCreate), reinterpret_cast<CUgreenCtx*>(context),
                     reinterpret_cast<CUdevResourceDesc>(descriptor), device, CU_GREEN_CTX_DEFAULT_STREAM);
}

MAYA_API cudaError_t cudaExecutionCtxDestroy(cudaExecutionContext_t context) {
  return with_driver(MAYA_DRIVER(cuGreenCtxDestroy), green_of(context));
}

MAYA_API cudaError_t cudaDeviceGetExecutionCtx(cudaExecutionContext_t* context, int device) {
  if (context == nullptr) return fail(cudaErrorInvalidValue);
  CUcontext primary = nullptr;
  if (const CUresult status = initialize(); status != CUDA_SUCCESS) return finish(status);
  if (const CUresult status = primary_context(device, &primary); status != CUDA_SUCCESS) return finish(status);
  *context = reinterpret_cast<cudaExecutionContext_t>(primary);
  return cudaSuccess;
}

MAYA_API cudaError_t cudaExecutionCtxGetDevResource(cudaExecutionContext_t handle, cudaDevResource* resource,
                                                    cudaDevResourceType type) {
  return with_execution_context(handle, [&](CUcontext context, bool) {
    return with_driver(MAYA_DRIVER(cuCtxGetDevResource), context, as_driver<CUdevResource>(resource),
                       static_cast<CUdevResourceType>(type));
  });
}

MAYA_API cudaError_t cudaExecutionCtxGetDevice(int* device, cudaExecutionContext_t handle) {
  return with_execution_context(
      handle, [&](CUcontext context, bool) { return with_driver(MAYA_DRIVER(cuCtxGetDevice_v2), device, context); });
}

MAYA_API cudaError_t cudaExecutionCtxGetId(cudaExecutionContext_t handle, unsigned long long* id) {
  return with_execution_context(
      handle, [&](CUcontext context, bool) { return with_driver(MAYA_DRIVER(cuCtxGetId), context, id); });
}

MAYA_API cudaError_t cudaExecutionCtxStreamCreate(cudaStream_t* stream, cudaExecutionContext_t handle, unsigned flags,
                                                  int priority) {
  return with_execution_context(handle, [&](CUcontext context, bool green) {
    if (green)
      return with_driver(MAYA_DRIVER(cuGreenCtxStreamCreate), stream, green_of(handle), flags | CU_STREAM_NON_BLOCKING,
                         priority);
    return while_current(context,
                         [&] { return with_driver(MAYA_DRIVER(cuStreamCreateWithPriority), stream, flags, priority); });
  });
}

MAYA_API cudaError_t cudaExecutionCtxSynchronize(cudaExecutionContext_t handle) {
  return with_execution_context(
      handle, [&](CUcontext context, bool) { return with_driver(MAYA_DRIVER(cuCtxSynchronize_v2), context); });
}

MAYA_API cudaError_t cudaExecutionCtxRecordEvent(cudaExecutionContext_t handle, cudaEvent_t event) {
  return with_execution_context(
      handle, [&](CUcontext context, bool) { return with_driver(MAYA_DRIVER(cuCtxRecordEvent), context, event); });
}

MAYA_API cudaError_t cudaExecutionCtxWaitEvent(cudaExecutionContext_t handle, cudaEvent_t event) {
  return with_execution_context(
      handle, [&](CUcontext context, bool) { return with_driver(MAYA_DRIVER(cuCtxWaitEvent), context, event); });
}

// Null: the current context.
MAYA_API cudaError_t cudaGraphConditionalHandleCreate_v2(cudaGraphConditionalHandle* out, cudaGraph_t graph,
                                                         cudaExecutionContext_t handle, unsigned default_value,
                                                         unsigned flags) {
  if (handle == nullptr) return cudaGraphConditionalHandleCreate(out, graph, default_value, flags);
  return with_execution_context(handle, [&](CUcontext context, bool) {
    return with_context(MAYA_DRIVER(cuGraphConditionalHandleCreate), as_driver<CUgraphConditionalHandle>(out), graph,
                        context, default_value, flags);
  });
}

MAYA_API cudaError_t cudaStreamGetDevResource(cudaStream_t stream, cudaDevResource* resource,
                                              cudaDevResourceType type) {
  return stream_resource(stream, resource, type);
}
MAYA_API cudaError_t cudaStreamGetDevResource_ptsz(cudaStream_t stream, cudaDevResource* resource,
                                                   cudaDevResourceType type) {
  return stream_resource(own_stream(stream), resource, type);
}
