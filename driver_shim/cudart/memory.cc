// Allocation and release: device, host and managed memory, and what is free.
#include "driver_shim/cudart/runtime.h"

using namespace maya::cudart;

namespace {

// The driver's element size for pitched allocations: the widest that it accepts, which satisfies any access
// (cuMemAllocPitch: 4, 8 or 16).
constexpr unsigned kPitchElementBytes = 16;

cudaError_t allocate_pitched(void** pointer, size_t* pitch, size_t width, size_t rows) {
  CUdeviceptr address = 0;
  const cudaError_t status =
      with_context(MAYA_DRIVER(cuMemAllocPitch_v2), &address, pitch, width, rows, kPitchElementBytes);
  if (status == cudaSuccess) *pointer = reinterpret_cast<void*>(address);
  return status;
}

}  // namespace

// A request of zero bytes succeeds with a null pointer; the driver would refuse it.
MAYA_API cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  if (pointer == nullptr) return fail(cudaErrorInvalidValue);
  if (bytes == 0) {
    *pointer = nullptr;
    return finish(ensure_context());
  }
  return with_context(MAYA_DRIVER(cuMemAlloc_v2), reinterpret_cast<CUdeviceptr*>(pointer), bytes);
}

MAYA_API cudaError_t cudaFree(void* pointer) {
  if (pointer == nullptr) return finish(ensure_context());
  return with_context(MAYA_DRIVER(cuMemFree_v2), device_address(pointer));
}

MAYA_API cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  if (pointer == nullptr || pitch == nullptr) return fail(cudaErrorInvalidValue);
  return allocate_pitched(pointer, pitch, width, height);
}

MAYA_API cudaError_t cudaMalloc3D(cudaPitchedPtr* pitched, cudaExtent extent) {
  size_t rows = 0;
  if (pitched == nullptr || __builtin_mul_overflow(extent.height, extent.depth, &rows))
    return fail(cudaErrorInvalidValue);
  cudaPitchedPtr result = {nullptr, 0, extent.width, extent.height};
  const cudaError_t status = allocate_pitched(&result.ptr, &result.pitch, extent.width, rows);
  if (status == cudaSuccess) *pitched = result;
  return status;
}

MAYA_API cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags) {
  if (pointer == nullptr) return fail(cudaErrorInvalidValue);
  return with_context(MAYA_DRIVER(cuMemAllocManaged), reinterpret_cast<CUdeviceptr*>(pointer), bytes, flags);
}

// The runtime's host allocations are always mapped (cudaDeviceMapHost is implicit).
MAYA_API cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  if (pointer == nullptr) return fail(cudaErrorInvalidValue);
  return with_context(MAYA_DRIVER(cuMemHostAlloc), pointer, bytes, 0u);
}
MAYA_API cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  constexpr unsigned kKnown = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
  if (pointer == nullptr || (flags & ~kKnown) != 0) return fail(cudaErrorInvalidValue);
  return with_context(MAYA_DRIVER(cuMemHostAlloc), pointer, bytes, flags);
}
MAYA_API cudaError_t cudaFreeHost(void* pointer) {
  if (pointer == nullptr) return finish(ensure_context());
  return with_context(MAYA_DRIVER(cuMemFreeHost), pointer);
}
MAYA_API cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned flags) {
  return with_context(MAYA_DRIVER(cuMemHostRegister_v2), pointer, bytes, flags);
}
MAYA_API cudaError_t cudaHostUnregister(void* pointer) {
  return with_context(MAYA_DRIVER(cuMemHostUnregister), pointer);
}
MAYA_API cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
  return with_context(MAYA_DRIVER(cuMemHostGetDevicePointer_v2), reinterpret_cast<CUdeviceptr*>(device), host, flags);
}
MAYA_API cudaError_t cudaHostGetFlags(unsigned* flags, void* host) {
  return with_context(MAYA_DRIVER(cuMemHostGetFlags), flags, host);
}

MAYA_API cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  return with_context(MAYA_DRIVER(cuMemGetInfo_v2), free_bytes, total_bytes);
}

MAYA_API cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  return with_context(MAYA_DRIVER(cuIpcGetMemHandle), as_driver<CUipcMemHandle>(handle), device_address(pointer));
}
MAYA_API cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned flags) {
  return with_context(MAYA_DRIVER(cuIpcOpenMemHandle_v2), reinterpret_cast<CUdeviceptr*>(pointer),
                      *as_driver<CUipcMemHandle>(&handle), flags);
}
MAYA_API cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  return with_context(MAYA_DRIVER(cuIpcCloseMemHandle), device_address(pointer));
}
