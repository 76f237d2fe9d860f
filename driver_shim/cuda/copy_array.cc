// Linear copies from and to CUDA arrays: the array is taken as one row of bytes.
#include <cuda.h>

#include "driver_shim/common/api.h"
#include "driver_shim/cuda/array.h"
#include "driver_shim/cuda/stream_call.h"
#include "driver_shim/cuda/transfer.h"

using namespace maya::cuda;

namespace {

// One side: an array and an offset, or a pointer.
struct Side {
  enum Kind { kHost, kDevice, kArray } kind;
  const void* host;
  CUdeviceptr device;
  CUarray array;
  size_t offset;
};
Side host(const void* pointer) { return {Side::kHost, pointer, 0, nullptr, 0}; }
Side pointer(CUdeviceptr address) { return {Side::kDevice, nullptr, address, nullptr, 0}; }
Side part(CUarray array, size_t offset) { return {Side::kArray, nullptr, 0, array, offset}; }

CUresult resolve(const maya::device::Memory& memory, const Side& side, size_t bytes, Place* out) {
  if (side.kind == Side::kHost) {
    *out = host_place(side.host);
    return CUDA_SUCCESS;
  }
  if (side.kind == Side::kDevice) {
    *out = unified_place(memory, side.device);
    return is_device_accessible(memory, side.device, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  const Array* array = array_of(side.array);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (side.offset > array->bytes() || bytes > array->bytes() - side.offset || side.offset % array->element_bytes != 0)
    return CUDA_ERROR_INVALID_VALUE;
  *out = {true, array->base + side.offset};
  return CUDA_SUCCESS;
}

CUresult copy(const Side& destination, const Side& source, size_t bytes, CUstream handle, bool asynchronous,
              bool per_thread) {
  return with_copy_stream(handle, per_thread, true, [&](Call& call, Stream& stream) -> CUresult {
    Place to, from;
    if (const CUresult status = resolve(call.memory(), destination, bytes, &to); status != CUDA_SUCCESS) return status;
    if (const CUresult status = resolve(call.memory(), source, bytes, &from); status != CUDA_SUCCESS) return status;
    return copy_linear(call.driver(), stream, to, from, bytes, asynchronous);
  });
}

}  // namespace

CUresult cuMemcpyDtoA_v2(CUarray to, size_t offset, CUdeviceptr from, size_t bytes) {
  return copy(part(to, offset), pointer(from), bytes, nullptr, false, false);
}
MAYA_API CUresult cuMemcpyDtoA_v2_ptds(CUarray to, size_t offset, CUdeviceptr from, size_t bytes) {
  return copy(part(to, offset), pointer(from), bytes, nullptr, false, true);
}
CUresult cuMemcpyAtoD_v2(CUdeviceptr to, CUarray from, size_t offset, size_t bytes) {
  return copy(pointer(to), part(from, offset), bytes, nullptr, false, false);
}
MAYA_API CUresult cuMemcpyAtoD_v2_ptds(CUdeviceptr to, CUarray from, size_t offset, size_t bytes) {
  return copy(pointer(to), part(from, offset), bytes, nullptr, false, true);
}
CUresult cuMemcpyHtoA_v2(CUarray to, size_t offset, const void* from, size_t bytes) {
  return copy(part(to, offset), host(from), bytes, nullptr, false, false);
}
MAYA_API CUresult cuMemcpyHtoA_v2_ptds(CUarray to, size_t offset, const void* from, size_t bytes) {
  return copy(part(to, offset), host(from), bytes, nullptr, false, true);
}
CUresult cuMemcpyHtoAAsync_v2(CUarray to, size_t offset, const void* from, size_t bytes, CUstream stream) {
  return copy(part(to, offset), host(from), bytes, stream, true, false);
}
MAYA_API CUresult cuMemcpyHtoAAsync_v2_ptsz(CUarray to, size_t offset, const void* from, size_t bytes,
                                            CUstream stream) {
  return copy(part(to, offset), host(from), bytes, stream, true, true);
}
CUresult cuMemcpyAtoH_v2(void* to, CUarray from, size_t offset, size_t bytes) {
  return copy(host(to), part(from, offset), bytes, nullptr, false, false);
}
MAYA_API CUresult cuMemcpyAtoH_v2_ptds(void* to, CUarray from, size_t offset, size_t bytes) {
  return copy(host(to), part(from, offset), bytes, nullptr, false, true);
}
CUresult cuMemcpyAtoHAsync_v2(void* to, CUarray from, size_t offset, size_t bytes, CUstream stream) {
  return copy(host(to), part(from, offset), bytes, stream, true, false);
}
MAYA_API CUresult cuMemcpyAtoHAsync_v2_ptsz(void* to, CUarray from, size_t offset, size_t bytes, CUstream stream) {
  return copy(host(to), part(from, offset), bytes, stream, true, true);
}
CUresult cuMemcpyAtoA_v2(CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t bytes) {
  return copy(part(to, to_offset), part(from, from_offset), bytes, nullptr, false, false);
}
MAYA_API CUresult cuMemcpyAtoA_v2_ptds(CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t bytes) {
  return copy(part(to, to_offset), part(from, from_offset), bytes, nullptr, false, true);
}
