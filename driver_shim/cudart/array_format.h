// Element formats of CUDA arrays, as the runtime and as the driver name them.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace maya::cudart {

// The driver's format and channel count of a channel descriptor. False for anything but 1, 2 or 4 channels of one width
// that the driver has: 8, 16 or 32 bit integers, 16 or 32 bit floating point.
bool driver_format(const cudaChannelFormatDesc& descriptor, CUarray_format* format, unsigned* channels) noexcept;

// The reverse. Formats that driver_format does not give have kind cudaChannelFormatKindNone.
cudaChannelFormatDesc channel_descriptor(CUarray_format format, unsigned channels) noexcept;

// Bytes of one element of an array.
CUresult array_element_bytes(cudaArray_const_t array, size_t* bytes) noexcept;

}  // namespace maya::cudart
