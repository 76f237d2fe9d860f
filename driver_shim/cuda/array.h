// CUDA arrays and mipmapped arrays. Their layout on a device is opaque; here it is plain: rows without padding, slice
// after slice, level after level, in device memory that is charged and recorded like any other.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "driver_shim/cuda/driver.h"
#include "virtual_device/handle_pool.h"

namespace maya::cuda {

struct Array {
  Array(Context* owner, const CUDA_ARRAY3D_DESCRIPTOR& shape, uint32_t bytes_per_element, device::Address start,
        bool has_memory)
      : context(owner), descriptor(shape), element_bytes(bytes_per_element), base(start), owns_memory(has_memory) {}
  Context* const context;
  const CUDA_ARRAY3D_DESCRIPTOR descriptor;  // Height and Depth 0 where the array has fewer dimensions
  const uint32_t element_bytes;
  const device::Address base;
  const bool owns_memory;  // false: a level of a mipmapped array

  uint64_t row_bytes() const { return descriptor.Width * element_bytes; }
  uint64_t rows() const { return descriptor.Height == 0 ? 1 : descriptor.Height; }
  uint64_t slices() const { return descriptor.Depth == 0 ? 1 : descriptor.Depth; }
  uint64_t bytes() const { return row_bytes() * rows() * slices(); }
};

struct MipmappedArray {
  MipmappedArray(Context* owner, device::Address start) : context(owner), base(start) {}
  Context* const context;
  const device::Address base;
  std::vector<CUarray> levels;
};

device::HandlePool<Array>& arrays();
device::HandlePool<MipmappedArray>& mipmapped_arrays();
inline Array* array_of(CUarray handle) { return arrays().get(handle); }

// Bytes of one channel of a format that is one value a channel; 0 for packed, planar and block-compressed formats.
uint32_t channel_bytes(CUarray_format format);

}  // namespace maya::cuda
