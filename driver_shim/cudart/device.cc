#include <cstring>

#include "driver_shim/cudart/runtime.h"

using namespace maya::cudart;

namespace {

CUresult device_count(int* count) {
  *count = 0;
  return initialized_call(MAYA_DRIVER(cuDeviceGetCount), count);
}

// Flags of cudaSetDeviceFlags that a primary context takes: all but cudaDeviceMapHost, which is implicit.
constexpr unsigned kContextFlags = cudaDeviceScheduleMask | cudaDeviceLmemResizeToMax | cudaDeviceSyncMemops;
constexpr unsigned kDeviceFlags = kContextFlags | cudaDeviceMapHost;

CUresult set_flags(int device, unsigned flags) {
  return initialized_call(MAYA_DRIVER(cuDevicePrimaryCtxSetFlags_v2), device, flags & kContextFlags);
}

}  // namespace

MAYA_API cudaError_t cudaGetDeviceCount(int* count) {
  if (count == nullptr) return fail(cudaErrorInvalidValue);
  return finish(device_count(count));
}

MAYA_API cudaError_t cudaGetDevice(int* device) {
  if (device == nullptr) return fail(cudaErrorInvalidValue);
  return finish(current_device(device));
}

MAYA_API cudaError_t cudaSetDevice(int device) {
  if (const CUresult status = bind_device(device); status != CUDA_SUCCESS) return finish(status);
  thread_state.device = device;
  return cudaSuccess;
}

MAYA_API cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags) {
  if ((flags & ~cudaInitDeviceFlagsAreValid) != 0 || (device_flags & ~kDeviceFlags) != 0)
    return fail(cudaErrorInvalidValue);
  CUcontext context = nullptr;
  if (const CUresult status = primary_context(device, &context); status != CUDA_SUCCESS) return finish(status);
  return (flags & cudaInitDeviceFlagsAreValid) != 0 ? finish(set_flags(device, device_flags)) : cudaSuccess;
}

MAYA_API cudaError_t cudaSetDeviceFlags(unsigned flags) {
  if ((flags & ~kDeviceFlags) != 0) return fail(cudaErrorInvalidValue);
  int device = 0;
  if (const CUresult status = current_device(&device); status != CUDA_SUCCESS) return finish(status);
  if (const CUresult status = set_flags(device, flags); status != CUDA_SUCCESS) return finish(status);
  return finish(ensure_context());
}

MAYA_API cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  if (flags == nullptr) return fail(cudaErrorInvalidValue);
  CUcontext current = nullptr;
  if (const CUresult status = initialized_call(MAYA_DRIVER(cuCtxGetCurrent), &current); status != CUDA_SUCCESS)
    return finish(status);
  CUcontext primary = nullptr;
  int active = 0;
  int device = 0;
  if (const CUresult status = current_device(&device); status != CUDA_SUCCESS) return finish(status);
  CUresult status = initialized_call(MAYA_DRIVER(cuDevicePrimaryCtxGetState), device, flags, &active);
  if (status == CUDA_SUCCESS && active != 0) status = primary_context(device, &primary);
  if (status == CUDA_SUCCESS && current != nullptr && current != primary)
    return with_context(MAYA_DRIVER(cuCtxGetFlags), flags);
  *flags |= cudaDeviceMapHost;
  return finish(status);
}

MAYA_API cudaError_t cudaSetValidDevices(int* devices, int length) {
  int count = 0;
  if (const CUresult status = device_count(&count); status != CUDA_SUCCESS) return finish(status);
  if (length < 0 || length > count || (length != 0 && devices == nullptr)) return fail(cudaErrorInvalidValue);
  for (int i = 0; i < length; ++i)
    if (devices[i] < 0 || devices[i] >= count) return fail(cudaErrorInvalidDevice);
  if (length > 0) thread_state.device = devices[0];
  return cudaSuccess;
}

MAYA_API cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return with_driver(MAYA_DRIVER(cuDeviceGetAttribute), value, static_cast<CUdevice_attribute>(attribute), device);
}

MAYA_API cudaError_t cudaDriverGetVersion(int* version) {
  if (version == nullptr) return fail(cudaErrorInvalidValue);
  const auto get = MAYA_DRIVER(cuDriverGetVersion);
  if (get == nullptr) {
    *version = 0;  // documented: no driver is installed
    return cudaSuccess;
  }
  return finish(get(version));
}

MAYA_API cudaError_t cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) return fail(cudaErrorInvalidValue);
  *version = kRuntimeVersion;
  return cudaSuccess;
}

MAYA_API cudaError_t cudaDeviceSynchronize() { return with_context(MAYA_DRIVER(cuCtxSynchronize)); }

MAYA_API cudaError_t cudaDeviceReset() {
  int device = 0;
  if (const CUresult status = current_device(&device); status != CUDA_SUCCESS) return finish(status);
  thread_state.last_error = cudaSuccess;
  const CUresult status = initialized_call(MAYA_DRIVER(cuDevicePrimaryCtxReset_v2), device);
  forget_primary_context(device);
  return finish(status);
}

MAYA_API cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  return with_context(MAYA_DRIVER(cuCtxSetLimit), static_cast<CUlimit>(limit), value);
}
MAYA_API cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  return with_context(MAYA_DRIVER(cuCtxGetLimit), value, static_cast<CUlimit>(limit));
}
MAYA_API cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  return with_context(MAYA_DRIVER(cuCtxGetCacheConfig), as_driver<CUfunc_cache>(config));
}
MAYA_API cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config) {
  return with_context(MAYA_DRIVER(cuCtxSetCacheConfig), static_cast<CUfunc_cache>(config));
}
MAYA_API cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return with_context(MAYA_DRIVER(cuCtxGetStreamPriorityRange), least, greatest);
}

// Shared memory banks have had one width since sm_50; no longer declared by the header but still exported.
MAYA_API cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  if (config == nullptr) return fail(cudaErrorInvalidValue);
  if (const CUresult status = ensure_context(); status != CUDA_SUCCESS) return finish(status);
  *config = cudaSharedMemBankSizeFourByte;
  return cudaSuccess;
}
MAYA_API cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config) {
  if (config < cudaSharedMemBankSizeDefault || config > cudaSharedMemBankSizeEightByte)
    return fail(cudaErrorInvalidValue);
  return finish(ensure_context());
}

MAYA_API cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* bus_id) {
  return with_driver(MAYA_DRIVER(cuDeviceGetByPCIBusId), device, bus_id);
}
MAYA_API cudaError_t cudaDeviceGetPCIBusId(char* bus_id, int length, int device) {
  return with_driver(MAYA_DRIVER(cuDeviceGetPCIBusId), bus_id, length, device);
}

MAYA_API cudaError_t cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTarget target,
                                                        cudaFlushGPUDirectRDMAWritesScope scope) {
  return with_context(MAYA_DRIVER(cuFlushGPUDirectRDMAWrites), static_cast<CUflushGPUDirectRDMAWritesTarget>(target),
                      static_cast<CUflushGPUDirectRDMAWritesScope>(scope));
}

MAYA_API cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int source, int destination) {
  return with_driver(MAYA_DRIVER(cuDeviceGetP2PAttribute), value, static_cast<CUdevice_P2PAttribute>(attribute), source,
                     destination);
}
