// Stream-ordered allocation and its pools.
#include "driver_shim/cudart/runtime.h"

using namespace maya::cudart;

namespace {

cudaError_t allocate(void** pointer, size_t bytes, cudaStream_t stream) {
  return with_context(MAYA_DRIVER(cuMemAllocAsync), reinterpret_cast<CUdeviceptr*>(pointer), bytes, stream);
}
cudaError_t allocate_from(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  return with_context(MAYA_DRIVER(cuMemAllocFromPoolAsync), reinterpret_cast<CUdeviceptr*>(pointer), bytes, pool,
                      stream);
}
cudaError_t release(void* pointer, cudaStream_t stream) {
  return with_context(MAYA_DRIVER(cuMemFreeAsync), device_address(pointer), stream);
}

}  // namespace

MAYA_API cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  return allocate(pointer, bytes, stream);
}
MAYA_API cudaError_t cudaMallocAsync_ptsz(void** pointer, size_t bytes, cudaStream_t stream) {
  return allocate(pointer, bytes, own_stream(stream));
}
MAYA_API cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  return allocate_from(pointer, bytes, pool, stream);
}
MAYA_API cudaError_t cudaMallocFromPoolAsync_ptsz(void** pointer, size_t bytes, cudaMemPool_t pool,
                                                  cudaStream_t stream) {
  return allocate_from(pointer, bytes, pool, own_stream(stream));
}
MAYA_API cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) { return release(pointer, stream); }
MAYA_API cudaError_t cudaFreeAsync_ptsz(void* pointer, cudaStream_t stream) {
  return release(pointer, own_stream(stream));
}

MAYA_API cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return with_driver(MAYA_DRIVER(cuDeviceGetDefaultMemPool), pool, device);
}
MAYA_API cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return with_driver(MAYA_DRIVER(cuDeviceGetMemPool), pool, device);
}
MAYA_API cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  return with_driver(MAYA_DRIVER(cuDeviceSetMemPool), device, pool);
}

MAYA_API cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  return with_driver(MAYA_DRIVER(cuMemPoolCreate), pool, as_driver<const CUmemPoolProps>(properties));
}
MAYA_API cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) { return with_driver(MAYA_DRIVER(cuMemPoolDestroy), pool); }
MAYA_API cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes_to_keep) {
  return with_driver(MAYA_DRIVER(cuMemPoolTrimTo), pool, bytes_to_keep);
}
MAYA_API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return with_driver(MAYA_DRIVER(cuMemPoolSetAttribute), pool, static_cast<CUmemPool_attribute>(attribute), value);
}
MAYA_API cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return with_driver(MAYA_DRIVER(cuMemPoolGetAttribute), pool, static_cast<CUmemPool_attribute>(attribute), value);
}
MAYA_API cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* descriptions, size_t count) {
  return with_driver(MAYA_DRIVER(cuMemPoolSetAccess), pool, as_driver<const CUmemAccessDesc>(descriptions), count);
}
MAYA_API cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool, cudaMemLocation* location) {
  return with_driver(MAYA_DRIVER(cuMemPoolGetAccess), as_driver<CUmemAccess_flags>(flags), pool,
                     as_driver<CUmemLocation>(location));
}
MAYA_API cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t* pool, cudaMemLocation* location,
                                              cudaMemAllocationType type) {
  return with_driver(MAYA_DRIVER(cuMemGetDefaultMemPool), pool, as_driver<CUmemLocation>(location),
                     static_cast<CUmemAllocationType>(type));
}
MAYA_API cudaError_t cudaMemGetMemPool(cudaMemPool_t* pool, cudaMemLocation* location, cudaMemAllocationType type) {
  return with_driver(MAYA_DRIVER(cuMemGetMemPool), pool, as_driver<CUmemLocation>(location),
                     static_cast<CUmemAllocationType>(type));
}
MAYA_API cudaError_t cudaMemSetMemPool(cudaMemLocation* location, cudaMemAllocationType type, cudaMemPool_t pool) {
  return with_driver(MAYA_DRIVER(cuMemSetMemPool), as_driver<CUmemLocation>(location),
                     static_cast<CUmemAllocationType>(type), pool);
}
MAYA_API cudaError_t cudaMemPoolExportToShareableHandle(void* handle, cudaMemPool_t pool,
                                                        cudaMemAllocationHandleType type, unsigned flags) {
  return with_driver(MAYA_DRIVER(cuMemPoolExportToShareableHandle), handle, pool,
                     static_cast<CUmemAllocationHandleType>(type), flags);
}
MAYA_API cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t* pool, void* handle,
                                                          cudaMemAllocationHandleType type, unsigned flags) {
  return with_driver(MAYA_DRIVER(cuMemPoolImportFromShareableHandle), pool, handle,
                     static_cast<CUmemAllocationHandleType>(type), flags);
}
MAYA_API cudaError_t cudaMemPoolExportPointer(cudaMemPoolPtrExportData* data, void* pointer) {
  return with_driver(MAYA_DRIVER(cuMemPoolExportPointer), as_driver<CUmemPoolPtrExportData>(data),
                     device_address(pointer));
}
MAYA_API cudaError_t cudaMemPoolImportPointer(void** pointer, cudaMemPool_t pool, cudaMemPoolPtrExportData* data) {
  return with_driver(MAYA_DRIVER(cuMemPoolImportPointer), reinterpret_cast<CUdeviceptr*>(pointer), pool,
                     as_driver<CUmemPoolPtrExportData>(data));
}
