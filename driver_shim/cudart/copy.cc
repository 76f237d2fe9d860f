// Linear copies: between pointers, to and from symbols, between devices, in batches. Shapes with a pitch or an array
// are in copy_shaped.cc.
#include "driver_shim/cudart/copy_shape.h"
#include "driver_shim/cudart/registration.h"
#include "driver_shim/cudart/runtime.h"

using namespace maya::cudart;

namespace {

bool is_kind(cudaMemcpyKind kind) { return kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault; }

// What both forms check first. True: *status is the result.
bool decided(const void* destination, const void* source, size_t bytes, cudaMemcpyKind kind, cudaError_t* status) {
  if (!is_kind(kind)) {
    *status = fail(cudaErrorInvalidMemcpyDirection);
  } else if (bytes == 0) {
    *status = finish(ensure_context());
  } else if (destination == nullptr || source == nullptr) {
    *status = fail(cudaErrorInvalidValue);
  } else {
    return false;
  }
  return true;
}

template <bool kPerThread>
cudaError_t copy(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind) {
  cudaError_t status;
  if (decided(destination, source, bytes, kind, &status)) return status;
  const CUdeviceptr to = device_address(destination);
  const CUdeviceptr from = device_address(source);
  switch (kind) {
    case cudaMemcpyHostToDevice:
      if constexpr (kPerThread) return with_context(MAYA_DRIVER(cuMemcpyHtoD_v2_ptds), to, source, bytes);
      return with_context(MAYA_DRIVER(cuMemcpyHtoD_v2), to, source, bytes);
    case cudaMemcpyDeviceToHost:
      if constexpr (kPerThread) return with_context(MAYA_DRIVER(cuMemcpyDtoH_v2_ptds), destination, from, bytes);
      return with_context(MAYA_DRIVER(cuMemcpyDtoH_v2), destination, from, bytes);
    case cudaMemcpyDeviceToDevice:
      if constexpr (kPerThread) return with_context(MAYA_DRIVER(cuMemcpyDtoD_v2_ptds), to, from, bytes);
      return with_context(MAYA_DRIVER(cuMemcpyDtoD_v2), to, from, bytes);
    default:
      if constexpr (kPerThread) return with_context(MAYA_DRIVER(cuMemcpy_ptds), to, from, bytes);
      return with_context(MAYA_DRIVER(cuMemcpy), to, from, bytes);
  }
}

cudaError_t copy_async(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  cudaError_t status;
  if (decided(destination, source, bytes, kind, &status)) return status;
  const CUdeviceptr to = device_address(destination);
  const CUdeviceptr from = device_address(source);
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return with_context(MAYA_DRIVER(cuMemcpyHtoDAsync_v2), to, source, bytes, stream);
    case cudaMemcpyDeviceToHost:
      return with_context(MAYA_DRIVER(cuMemcpyDtoHAsync_v2), destination, from, bytes, stream);
    case cudaMemcpyDeviceToDevice:
      return with_context(MAYA_DRIVER(cuMemcpyDtoDAsync_v2), to, from, bytes, stream);
    default:
      return with_context(MAYA_DRIVER(cuMemcpyAsync), to, from, bytes, stream);
  }
}

}  // namespace

// Address of `bytes` bytes at `offset` of a symbol.
cudaError_t maya::cudart::symbol_address(const void* symbol, size_t bytes, size_t offset, void** pointer) noexcept {
  CUdeviceptr address = 0;
  size_t size = 0;
  if (const cudaError_t status = find_symbol(symbol, &address, &size); status != cudaSuccess) return fail(status);
  if (offset > size || bytes > size - offset) return fail(cudaErrorInvalidValue);
  *pointer = reinterpret_cast<void*>(address + offset);
  return cudaSuccess;
}

namespace {

bool copies_to_device(cudaMemcpyKind kind) {
  return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault;
}
bool copies_from_device(cudaMemcpyKind kind) {
  return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault;
}

// `transfer` gets the symbol's address.
template <typename Transfer>
cudaError_t to_symbol(const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind, Transfer&& transfer) {
  if (!copies_to_device(kind)) return fail(cudaErrorInvalidMemcpyDirection);
  void* pointer = nullptr;
  const cudaError_t status = symbol_address(symbol, bytes, offset, &pointer);
  return status == cudaSuccess ? transfer(pointer) : status;
}
template <typename Transfer>
cudaError_t from_symbol(const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind, Transfer&& transfer) {
  if (!copies_from_device(kind)) return fail(cudaErrorInvalidMemcpyDirection);
  void* pointer = nullptr;
  const cudaError_t status = symbol_address(symbol, bytes, offset, &pointer);
  return status == cudaSuccess ? transfer(pointer) : status;
}

cudaError_t peer_contexts(int destination, int source, CUcontext* to, CUcontext* from) {
  CUresult status = ensure_context();
  if (status == CUDA_SUCCESS) status = primary_context(destination, to);
  if (status == CUDA_SUCCESS) status = primary_context(source, from);
  return finish(status);
}

}  // namespace

MAYA_API cudaError_t cudaMemcpy(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind) {
  return copy<false>(destination, source, bytes, kind);
}
MAYA_API cudaError_t cudaMemcpy_ptds(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind) {
  return copy<true>(destination, source, bytes, kind);
}
MAYA_API cudaError_t cudaMemcpyAsync(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind,
                                     cudaStream_t stream) {
  return copy_async(destination, source, bytes, kind, stream);
}
MAYA_API cudaError_t cudaMemcpyAsync_ptsz(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind,
                                          cudaStream_t stream) {
  return copy_async(destination, source, bytes, kind, own_stream(stream));
}

MAYA_API cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* source, size_t bytes, size_t offset,
                                        cudaMemcpyKind kind) {
  return to_symbol(symbol, bytes, offset, kind,
                   [&](void* pointer) { return copy<false>(pointer, source, bytes, kind); });
}
MAYA_API cudaError_t cudaMemcpyToSymbol_ptds(const void* symbol, const void* source, size_t bytes, size_t offset,
                                             cudaMemcpyKind kind) {
  return to_symbol(symbol, bytes, offset, kind,
                   [&](void* pointer) { return copy<true>(pointer, source, bytes, kind); });
}
MAYA_API cudaError_t cudaMemcpyFromSymbol(void* destination, const void* symbol, size_t bytes, size_t offset,
                                          cudaMemcpyKind kind) {
  return from_symbol(symbol, bytes, offset, kind,
                     [&](void* pointer) { return copy<false>(destination, pointer, bytes, kind); });
}
MAYA_API cudaError_t cudaMemcpyFromSymbol_ptds(void* destination, const void* symbol, size_t bytes, size_t offset,
                                               cudaMemcpyKind kind) {
  return from_symbol(symbol, bytes, offset, kind,
                     [&](void* pointer) { return copy<true>(destination, pointer, bytes, kind); });
}
MAYA_API cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* source, size_t bytes, size_t offset,
                                             cudaMemcpyKind kind, cudaStream_t stream) {
  return to_symbol(symbol, bytes, offset, kind,
                   [&](void* pointer) { return copy_async(pointer, source, bytes, kind, stream); });
}
MAYA_API cudaError_t cudaMemcpyToSymbolAsync_ptsz(const void* symbol, const void* source, size_t bytes, size_t offset,
                                                  cudaMemcpyKind kind, cudaStream_t stream) {
  return to_symbol(symbol, bytes, offset, kind,
                   [&](void* pointer) { return copy_async(pointer, source, bytes, kind, own_stream(stream)); });
}
MAYA_API cudaError_t cudaMemcpyFromSymbolAsync(void* destination, const void* symbol, size_t bytes, size_t offset,
                                               cudaMemcpyKind kind, cudaStream_t stream) {
  return from_symbol(symbol, bytes, offset, kind,
                     [&](void* pointer) { return copy_async(destination, pointer, bytes, kind, stream); });
}
MAYA_API cudaError_t cudaMemcpyFromSymbolAsync_ptsz(void* destination, const void* symbol, size_t bytes, size_t offset,
                                                    cudaMemcpyKind kind, cudaStream_t stream) {
  return from_symbol(symbol, bytes, offset, kind,
                     [&](void* pointer) { return copy_async(destination, pointer, bytes, kind, own_stream(stream)); });
}

MAYA_API cudaError_t cudaMemcpyPeer(void* destination, int destination_device, const void* source, int source_device,
                                    size_t bytes) {
  CUcontext to = nullptr;
  CUcontext from = nullptr;
  if (const cudaError_t status = peer_contexts(destination_device, source_device, &to, &from); status != cudaSuccess)
    return status;
  if (bytes == 0) return cudaSuccess;
  return with_context(MAYA_DRIVER(cuMemcpyPeer), device_address(destination), to, device_address(source), from, bytes);
}
MAYA_API cudaError_t cudaMemcpyPeerAsync(void* destination, int destination_device, const void* source,
                                         int source_device, size_t bytes, cudaStream_t stream) {
  CUcontext to = nullptr;
  CUcontext from = nullptr;
  if (const cudaError_t status = peer_contexts(destination_device, source_device, &to, &from); status != cudaSuccess)
    return status;
  if (bytes == 0) return cudaSuccess;
  return with_context(MAYA_DRIVER(cuMemcpyPeerAsync), device_address(destination), to, device_address(source), from,
                      bytes, stream);
}
