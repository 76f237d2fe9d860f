#include "driver_shim/cudart/runtime.h"

using namespace maya::cudart;

namespace {

// Rows of a pitched set; a 3D set whose slices lie one after the other is one of height * depth rows.
struct Rows {
  void* pointer;
  size_t pitch, width, height;
};

template <bool kPerThread>
cudaError_t set_rows(const Rows& rows, int value) {
  if (rows.width == 0 || rows.height == 0) return finish(ensure_context());
  if (rows.height > 1 && rows.width > rows.pitch) return fail(cudaErrorInvalidValue);
  const auto byte = static_cast<unsigned char>(value);
  if constexpr (kPerThread)
    return with_context(MAYA_DRIVER(cuMemsetD2D8_v2_ptds), device_address(rows.pointer), rows.pitch, byte, rows.width,
                        rows.height);
  return with_context(MAYA_DRIVER(cuMemsetD2D8_v2), device_address(rows.pointer), rows.pitch, byte, rows.width,
                      rows.height);
}

cudaError_t set_rows_async(const Rows& rows, int value, cudaStream_t stream) {
  if (rows.width == 0 || rows.height == 0) return finish(ensure_context());
  if (rows.height > 1 && rows.width > rows.pitch) return fail(cudaErrorInvalidValue);
  return with_context(MAYA_DRIVER(cuMemsetD2D8Async), device_address(rows.pointer), rows.pitch,
                      static_cast<unsigned char>(value), rows.width, rows.height, stream);
}

// `set` sets one group of rows.
template <typename Set>
cudaError_t set_slices(const cudaPitchedPtr& pitched, const cudaExtent& extent, Set&& set) {
  if (extent.height > pitched.ysize && extent.depth > 1) return fail(cudaErrorInvalidValue);
  if (extent.height == pitched.ysize || extent.depth <= 1)
    return set(Rows{pitched.ptr, pitched.pitch, extent.width, extent.height * extent.depth});
  for (size_t z = 0; z < extent.depth; ++z) {
    char* slice = static_cast<char*>(pitched.ptr) + z * pitched.pitch * pitched.ysize;
    if (const cudaError_t status = set(Rows{slice, pitched.pitch, extent.width, extent.height}); status != cudaSuccess)
      return status;
  }
  return cudaSuccess;
}

}  // namespace

MAYA_API cudaError_t cudaMemset(void* pointer, int value, size_t bytes) {
  if (bytes == 0) return finish(ensure_context());
  return with_context(MAYA_DRIVER(cuMemsetD8_v2), device_address(pointer), static_cast<unsigned char>(value), bytes);
}
MAYA_API cudaError_t cudaMemset_ptds(void* pointer, int value, size_t bytes) {
  if (bytes == 0) return finish(ensure_context());
  return with_context(MAYA_DRIVER(cuMemsetD8_v2_ptds), device_address(pointer), static_cast<unsigned char>(value),
                      bytes);
}
MAYA_API cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return finish(ensure_context());
  return with_context(MAYA_DRIVER(cuMemsetD8Async), device_address(pointer), static_cast<unsigned char>(value), bytes,
                      stream);
}
MAYA_API cudaError_t cudaMemsetAsync_ptsz(void* pointer, int value, size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return finish(ensure_context());
  return with_context(MAYA_DRIVER(cuMemsetD8Async), device_address(pointer), static_cast<unsigned char>(value), bytes,
                      own_stream(stream));
}

MAYA_API cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  return set_rows<false>({pointer, pitch, width, height}, value);
}
MAYA_API cudaError_t cudaMemset2D_ptds(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  return set_rows<true>({pointer, pitch, width, height}, value);
}
MAYA_API cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                                       cudaStream_t stream) {
  return set_rows_async({pointer, pitch, width, height}, value, stream);
}
MAYA_API cudaError_t cudaMemset2DAsync_ptsz(void* pointer, size_t pitch, int value, size_t width, size_t height,
                                            cudaStream_t stream) {
  return set_rows_async({pointer, pitch, width, height}, value, own_stream(stream));
}

MAYA_API cudaError_t cudaMemset3D(cudaPitchedPtr pitched, int value, cudaExtent extent) {
  return set_slices(pitched, extent, [&](const Rows& rows) { return set_rows<false>(rows, value); });
}
MAYA_API cudaError_t cudaMemset3D_ptds(cudaPitchedPtr pitched, int value, cudaExtent extent) {
  return set_slices(pitched, extent, [&](const Rows& rows) { return set_rows<true>(rows, value); });
}
MAYA_API cudaError_t cudaMemset3DAsync(cudaPitchedPtr pitched, int value, cudaExtent extent, cudaStream_t stream) {
  return set_slices(pitched, extent, [&](const Rows& rows) { return set_rows_async(rows, value, stream); });
}
MAYA_API cudaError_t cudaMemset3DAsync_ptsz(cudaPitchedPtr pitched, int value, cudaExtent extent, cudaStream_t stream) {
  return set_slices(pitched, extent, [&](const Rows& rows) { return set_rows_async(rows, value, own_stream(stream)); });
}
