// Unified addressing, peer access, managed memory advice and prefetch.
#include <iterator>

#include "driver_shim/cudart/runtime.h"

using namespace maya::cudart;

MAYA_API cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  if (attributes == nullptr) return fail(cudaErrorInvalidValue);
  unsigned memory_type = 0;
  CUdeviceptr device_pointer = 0;
  void* host_pointer = nullptr;
  unsigned managed = 0;
  int ordinal = cudaInvalidDeviceId;
  CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                 CU_POINTER_ATTRIBUTE_HOST_POINTER, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                 CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void* answers[] = {&memory_type, &device_pointer, &host_pointer, &managed, &ordinal};
  const cudaError_t status = with_context(MAYA_DRIVER(cuPointerGetAttributes), static_cast<unsigned>(std::size(asked)),
                                          asked, answers, device_address(pointer));
  if (status != cudaSuccess) return status;
  cudaPointerAttributes result = {};
  if (memory_type == 0) {
    result.type = cudaMemoryTypeUnregistered;
    result.device = cudaInvalidDeviceId;
    result.hostPointer = const_cast<void*>(pointer);
  } else {
    result.type = managed != 0                        ? cudaMemoryTypeManaged
                  : memory_type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost
                                                      : cudaMemoryTypeDevice;
    result.device = ordinal;
    result.devicePointer = reinterpret_cast<void*>(device_pointer);
    result.hostPointer = host_pointer;
  }
  *attributes = result;
  return cudaSuccess;
}

MAYA_API cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return with_driver(MAYA_DRIVER(cuDeviceCanAccessPeer), can, device, peer);
}

MAYA_API cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  CUcontext context = nullptr;
  if (const CUresult status = primary_context(peer, &context); status != CUDA_SUCCESS) return finish(status);
  return with_context(MAYA_DRIVER(cuCtxEnablePeerAccess), context, flags);
}
MAYA_API cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  CUcontext context = nullptr;
  if (const CUresult status = primary_context(peer, &context); status != CUDA_SUCCESS) return finish(status);
  return with_context(MAYA_DRIVER(cuCtxDisablePeerAccess), context);
}

MAYA_API cudaError_t cudaMemRangeGetAttribute(void* data, size_t data_bytes, cudaMemRangeAttribute attribute,
                                              const void* pointer, size_t bytes) {
  return with_context(MAYA_DRIVER(cuMemRangeGetAttribute), data, data_bytes,
                      static_cast<CUmem_range_attribute>(attribute), device_address(pointer), bytes);
}
MAYA_API cudaError_t cudaMemRangeGetAttributes(void** data, size_t* data_bytes, cudaMemRangeAttribute* attributes,
                                               size_t count, const void* pointer, size_t bytes) {
  return with_context(MAYA_DRIVER(cuMemRangeGetAttributes), data, data_bytes,
                      as_driver<CUmem_range_attribute>(attributes), count, device_address(pointer), bytes);
}
