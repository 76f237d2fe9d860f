// Copies with a pitch or an array on one side or both: all come down to the driver's 2D and 3D copies.
#include <algorithm>
#include <cstdint>

#include "driver_shim/cudart/array_format.h"
#include "driver_shim/cudart/copy_shape.h"
#include "driver_shim/cudart/runtime.h"

using namespace maya::cudart;

namespace {

// One side of a copy: an array, or memory with a pitch.
struct Side {
  cudaArray_t array = nullptr;
  const void* pointer = nullptr;
  size_t pitch = 0, rows = 0;  // of memory: bytes between rows, rows between slices
  size_t x_bytes = 0, y = 0, z = 0;
};

Side memory_side(const void* pointer, size_t pitch) { return {nullptr, pointer, pitch, 0, 0, 0, 0}; }
Side array_side(cudaArray_const_t array, size_t x_bytes, size_t y) {
  return {const_cast<cudaArray_t>(array), nullptr, 0, 0, x_bytes, y, 0};
}

CUmemorytype source_type(cudaMemcpyKind kind) {
  if (kind == cudaMemcpyDefault) return CU_MEMORYTYPE_UNIFIED;
  return kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}
CUmemorytype destination_type(cudaMemcpyKind kind) {
  if (kind == cudaMemcpyDefault) return CU_MEMORYTYPE_UNIFIED;
  return kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}
bool is_kind(cudaMemcpyKind kind) { return kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault; }

// Fills either of the driver's descriptors, whose members of one side have the same names.
template <typename Descriptor>
void set_source(const Side& side, CUmemorytype type, Descriptor* descriptor) {
  descriptor->srcXInBytes = side.x_bytes;
  descriptor->srcY = side.y;
  descriptor->srcMemoryType = side.array != nullptr ? CU_MEMORYTYPE_ARRAY : type;
  descriptor->srcArray = reinterpret_cast<CUarray>(side.array);
  descriptor->srcHost = side.pointer;
  descriptor->srcDevice = device_address(side.pointer);
  descriptor->srcPitch = side.pitch;
}
template <typename Descriptor>
void set_destination(const Side& side, CUmemorytype type, Descriptor* descriptor) {
  descriptor->dstXInBytes = side.x_bytes;
  descriptor->dstY = side.y;
  descriptor->dstMemoryType = side.array != nullptr ? CU_MEMORYTYPE_ARRAY : type;
  descriptor->dstArray = reinterpret_cast<CUarray>(side.array);
  descriptor->dstHost = const_cast<void*>(side.pointer);
  descriptor->dstDevice = device_address(side.pointer);
  descriptor->dstPitch = side.pitch;
}

// The checks of 2D copies. True: *status is the result.
bool decided(const Side& to, const Side& from, size_t width, size_t height, cudaMemcpyKind kind, cudaError_t* status) {
  if (!is_kind(kind)) {
    *status = fail(cudaErrorInvalidMemcpyDirection);
  } else if (width == 0 || height == 0) {
    *status = finish(ensure_context());
  } else if ((to.array == nullptr && to.pitch < width) || (from.array == nullptr && from.pitch < width)) {
    *status = fail(cudaErrorInvalidPitchValue);
  } else if ((to.array == nullptr && to.pointer == nullptr) || (from.array == nullptr && from.pointer == nullptr)) {
    *status = fail(cudaErrorInvalidValue);
  } else {
    return false;
  }
  return true;
}

CUDA_MEMCPY2D descriptor_2d(const Side& to, const Side& from, size_t width, size_t height, cudaMemcpyKind kind) {
  CUDA_MEMCPY2D descriptor = {};
  set_source(from, source_type(kind), &descriptor);
  set_destination(to, destination_type(kind), &descriptor);
  descriptor.WidthInBytes = width;
  descriptor.Height = height;
  return descriptor;
}

template <bool kPerThread>
cudaError_t copy_2d(const Side& to, const Side& from, size_t width, size_t height, cudaMemcpyKind kind) {
  cudaError_t status;
  if (decided(to, from, width, height, kind, &status)) return status;
  const CUDA_MEMCPY2D descriptor = descriptor_2d(to, from, width, height, kind);
  if constexpr (kPerThread) return with_context(MAYA_DRIVER(cuMemcpy2DUnaligned_v2_ptds), &descriptor);
  return with_context(MAYA_DRIVER(cuMemcpy2DUnaligned_v2), &descriptor);
}

cudaError_t copy_2d_async(const Side& to, const Side& from, size_t width, size_t height, cudaMemcpyKind kind,
                          cudaStream_t stream) {
  cudaError_t status;
  if (decided(to, from, width, height, kind, &status)) return status;
  const CUDA_MEMCPY2D descriptor = descriptor_2d(to, from, width, height, kind);
  return with_context(MAYA_DRIVER(cuMemcpy2DAsync_v2), &descriptor, stream);
}

// cudaMemcpy3DParms and its peer form count x and width in elements of the array that takes part, else in bytes.
template <typename Parameters, typename Descriptor>
CUresult fill_3d(const Parameters& parameters, CUmemorytype to_type, CUmemorytype from_type, Descriptor* descriptor) {
  size_t to_element = 1;
  size_t from_element = 1;
  if (parameters.dstArray != nullptr) {
    if (const CUresult status = array_element_bytes(parameters.dstArray, &to_element); status != CUDA_SUCCESS)
      return status;
  }
  if (parameters.srcArray != nullptr) {
    if (const CUresult status = array_element_bytes(parameters.srcArray, &from_element); status != CUDA_SUCCESS)
      return status;
  }
  const cudaPitchedPtr& from = parameters.srcPtr;
  const cudaPitchedPtr& to = parameters.dstPtr;
  set_source({parameters.srcArray, from.ptr, from.pitch, 0, parameters.srcPos.x * from_element, parameters.srcPos.y, 0},
             from_type, descriptor);
  set_destination({parameters.dstArray, to.ptr, to.pitch, 0, parameters.dstPos.x * to_element, parameters.dstPos.y, 0},
                  to_type, descriptor);
  descriptor->srcZ = parameters.srcPos.z;
  descriptor->srcHeight = from.ysize;
  descriptor->dstZ = parameters.dstPos.z;
  descriptor->dstHeight = to.ysize;
  descriptor->WidthInBytes = parameters.extent.width * (parameters.srcArray != nullptr ? from_element : to_element);
  descriptor->Height = parameters.extent.height;
  descriptor->Depth = parameters.extent.depth;
  return CUDA_SUCCESS;
}

// Exactly one of array and pointer on each side, as documented; element sizes of two arrays must agree (checked by the
// driver).
template <typename Parameters>
bool sides_are_valid(const Parameters& parameters) {
  return (parameters.srcArray == nullptr) != (parameters.srcPtr.ptr == nullptr) &&
         (parameters.dstArray == nullptr) != (parameters.dstPtr.ptr == nullptr);
}

}  // namespace

cudaError_t maya::cudart::to_driver_copy(const cudaMemcpy3DParms* parameters, CUDA_MEMCPY3D* descriptor,
                                         bool* empty) noexcept {
  if (parameters == nullptr || !sides_are_valid(*parameters)) return fail(cudaErrorInvalidValue);
  if (stored_value(parameters->kind) > cudaMemcpyDefault) return fail(cudaErrorInvalidMemcpyDirection);
  *descriptor = {};
  const CUresult status = attempt([&] {
    return fill_3d(*parameters, destination_type(parameters->kind), source_type(parameters->kind), descriptor);
  });
  *empty = descriptor->WidthInBytes == 0 || descriptor->Height == 0 || descriptor->Depth == 0;
  return finish(status == CUDA_SUCCESS && *empty ? ensure_context() : status);
}

cudaError_t maya::cudart::to_driver_copy(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind,
                                         CUDA_MEMCPY3D* out) noexcept {
  if (!is_kind(kind)) return fail(cudaErrorInvalidMemcpyDirection);
  if (destination == nullptr || source == nullptr || bytes == 0) return fail(cudaErrorInvalidValue);
  *out = {};
  set_source(memory_side(source, bytes), source_type(kind), out);
  set_destination(memory_side(destination, bytes), destination_type(kind), out);
  out->WidthInBytes = bytes;
  out->Height = 1;
  out->Depth = 1;
  return cudaSuccess;
}

cudaError_t maya::cudart::from_driver_copy(const CUDA_MEMCPY3D& copy, cudaMemcpy3DParms* out) noexcept {
  size_t from_element = 1;
  size_t to_element = 1;
  *out = {};
  if (copy.srcMemoryType == CU_MEMORYTYPE_ARRAY) {
    out->srcArray = reinterpret_cast<cudaArray_t>(copy.srcArray);
    if (const CUresult status = array_element_bytes(out->srcArray, &from_element); status != CUDA_SUCCESS)
      return finish(status);
  }
  if (copy.dstMemoryType == CU_MEMORYTYPE_ARRAY) {
    out->dstArray = reinterpret_cast<cudaArray_t>(copy.dstArray);
    if (const CUresult status = array_element_bytes(out->dstArray, &to_element); status != CUDA_SUCCESS)
      return finish(status);
  }
  out->srcPos = {copy.srcXInBytes / from_element, copy.srcY, copy.srcZ};
  out->dstPos = {copy.dstXInBytes / to_element, copy.dstY, copy.dstZ};
  const bool from_host = copy.srcMemoryType == CU_MEMORYTYPE_HOST;
  const bool to_host = copy.dstMemoryType == CU_MEMORYTYPE_HOST;
  if (out->srcArray == nullptr)
    out->srcPtr = {from_host ? const_cast<void*>(copy.srcHost) : reinterpret_cast<void*>(copy.srcDevice), copy.srcPitch,
                   copy.WidthInBytes, copy.srcHeight};
  if (out->dstArray == nullptr)
    out->dstPtr = {to_host ? copy.dstHost : reinterpret_cast<void*>(copy.dstDevice), copy.dstPitch, copy.WidthInBytes,
                   copy.dstHeight};
  const size_t element = out->srcArray != nullptr ? from_element : to_element;
  out->extent = {copy.WidthInBytes / element, copy.Height, copy.Depth};
  if (copy.srcMemoryType == CU_MEMORYTYPE_UNIFIED || copy.dstMemoryType == CU_MEMORYTYPE_UNIFIED)
    out->kind = cudaMemcpyDefault;
  else if (from_host)
    out->kind = to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
  else
    out->kind = to_host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
  return cudaSuccess;
}

namespace {

template <bool kPerThread>
cudaError_t copy_3d(const cudaMemcpy3DParms* parameters) {
  CUDA_MEMCPY3D descriptor;
  bool empty = false;
  if (const cudaError_t status = to_driver_copy(parameters, &descriptor, &empty); status != cudaSuccess || empty)
    return status;
  if constexpr (kPerThread) return with_context(MAYA_DRIVER(cuMemcpy3D_v2_ptds), &descriptor);
  return with_context(MAYA_DRIVER(cuMemcpy3D_v2), &descriptor);
}

cudaError_t copy_3d_async(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
  CUDA_MEMCPY3D descriptor;
  bool empty = false;
  if (const cudaError_t status = to_driver_copy(parameters, &descriptor, &empty); status != cudaSuccess || empty)
    return status;
  return with_context(MAYA_DRIVER(cuMemcpy3DAsync_v2), &descriptor, stream);
}

cudaError_t prepare_3d_peer(const cudaMemcpy3DPeerParms* parameters, CUDA_MEMCPY3D_PEER* descriptor) {
  if (parameters == nullptr || !sides_are_valid(*parameters)) return fail(cudaErrorInvalidValue);
  *descriptor = {};
  CUresult status = ensure_context();
  if (status == CUDA_SUCCESS) status = fill_3d(*parameters, CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED, descriptor);
  if (status == CUDA_SUCCESS) status = primary_context(parameters->srcDevice, &descriptor->srcContext);
  if (status == CUDA_SUCCESS) status = primary_context(parameters->dstDevice, &descriptor->dstContext);
  return finish(status);
}

cudaError_t copy_3d_peer_async(const cudaMemcpy3DPeerParms* parameters, cudaStream_t stream) {
  CUDA_MEMCPY3D_PEER descriptor;
  if (const cudaError_t status = prepare_3d_peer(parameters, &descriptor); status != cudaSuccess) return status;
  return with_context(MAYA_DRIVER(cuMemcpy3DPeerAsync), &descriptor, stream);
}

}  // namespace

MAYA_API cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                  size_t height, cudaMemcpyKind kind) {
  return copy_2d<false>(memory_side(to, to_pitch), memory_side(from, from_pitch), width, height, kind);
}
MAYA_API cudaError_t cudaMemcpy2D_ptds(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                       size_t height, cudaMemcpyKind kind) {
  return copy_2d<true>(memory_side(to, to_pitch), memory_side(from, from_pitch), width, height, kind);
}
MAYA_API cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                       size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_2d_async(memory_side(to, to_pitch), memory_side(from, from_pitch), width, height, kind, stream);
}
MAYA_API cudaError_t cudaMemcpy2DAsync_ptsz(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                                            size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_2d_async(memory_side(to, to_pitch), memory_side(from, from_pitch), width, height, kind,
                       own_stream(stream));
}

MAYA_API cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                         size_t width, size_t height, cudaMemcpyKind kind) {
  return copy_2d<false>(array_side(to, x, y), memory_side(from, pitch), width, height, kind);
}
MAYA_API cudaError_t cudaMemcpy2DToArray_ptds(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                              size_t width, size_t height, cudaMemcpyKind kind) {
  return copy_2d<true>(array_side(to, x, y), memory_side(from, pitch), width, height, kind);
}
MAYA_API cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                              size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_2d_async(array_side(to, x, y), memory_side(from, pitch), width, height, kind, stream);
}
MAYA_API cudaError_t cudaMemcpy2DToArrayAsync_ptsz(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                                   size_t width, size_t height, cudaMemcpyKind kind,
                                                   cudaStream_t stream) {
  return copy_2d_async(array_side(to, x, y), memory_side(from, pitch), width, height, kind, own_stream(stream));
}
MAYA_API cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                           size_t width, size_t height, cudaMemcpyKind kind) {
  return copy_2d<false>(memory_side(to, pitch), array_side(from, x, y), width, height, kind);
}
MAYA_API cudaError_t cudaMemcpy2DFromArray_ptds(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                                size_t width, size_t height, cudaMemcpyKind kind) {
  return copy_2d<true>(memory_side(to, pitch), array_side(from, x, y), width, height, kind);
}
MAYA_API cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                                size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_2d_async(memory_side(to, pitch), array_side(from, x, y), width, height, kind, stream);
}
MAYA_API cudaError_t cudaMemcpy2DFromArrayAsync_ptsz(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                                     size_t width, size_t height, cudaMemcpyKind kind,
                                                     cudaStream_t stream) {
  return copy_2d_async(memory_side(to, pitch), array_side(from, x, y), width, height, kind, own_stream(stream));
}
MAYA_API cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                              size_t from_x, size_t from_y, size_t width, size_t height,
                                              cudaMemcpyKind kind) {
  return copy_2d<false>(array_side(to, to_x, to_y), array_side(from, from_x, from_y), width, height, kind);
}
MAYA_API cudaError_t cudaMemcpy2DArrayToArray_ptds(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                                   size_t from_x, size_t from_y, size_t width, size_t height,
                                                   cudaMemcpyKind kind) {
  return copy_2d<true>(array_side(to, to_x, to_y), array_side(from, from_x, from_y), width, height, kind);
}

MAYA_API cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters) { return copy_3d<false>(parameters); }
MAYA_API cudaError_t cudaMemcpy3D_ptds(const cudaMemcpy3DParms* parameters) { return copy_3d<true>(parameters); }
MAYA_API cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
  return copy_3d_async(parameters, stream);
}
MAYA_API cudaError_t cudaMemcpy3DAsync_ptsz(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
  return copy_3d_async(parameters, own_stream(stream));
}
MAYA_API cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* parameters) {
  CUDA_MEMCPY3D_PEER descriptor;
  if (const cudaError_t status = prepare_3d_peer(parameters, &descriptor); status != cudaSuccess) return status;
  return with_context(MAYA_DRIVER(cuMemcpy3DPeer), &descriptor);
}
MAYA_API cudaError_t cudaMemcpy3DPeer_ptds(const cudaMemcpy3DPeerParms* parameters) {
  CUDA_MEMCPY3D_PEER descriptor;
  if (const cudaError_t status = prepare_3d_peer(parameters, &descriptor); status != cudaSuccess) return status;
  return with_context(MAYA_DRIVER(cuMemcpy3DPeer_ptds), &descriptor);
}
MAYA_API cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* parameters, cudaStream_t stream) {
  return copy_3d_peer_async(parameters, stream);
}
MAYA_API cudaError_t cudaMemcpy3DPeerAsync_ptsz(const cudaMemcpy3DPeerParms* parameters, cudaStream_t stream) {
  return copy_3d_peer_async(parameters, own_stream(stream));
}

// --- deprecated: a run of bytes that goes on in the next row of an array ---

namespace {

// Bytes of a row of an array.
CUresult row_bytes(cudaArray_const_t array, size_t* bytes) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  size_t element = 0;
  if (const CUresult status = initialized_call(MAYA_DRIVER(cuArray3DGetDescriptor_v2), &descriptor,
                                               reinterpret_cast<CUarray>(const_cast<cudaArray_t>(array)));
      status != CUDA_SUCCESS)
    return status;
  if (const CUresult status = array_element_bytes(array, &element); status != CUDA_SUCCESS) return status;
  *bytes = descriptor.Width * element;
  return CUDA_SUCCESS;
}

// One side of such a copy: how much of the run is left in the row, and the step past a part of it.
struct Run {
  Side side;
  size_t row = SIZE_MAX;  // bytes; of memory: all in one
  size_t left() const { return row - side.x_bytes; }
  void advance(size_t bytes) {
    if (side.array == nullptr) {
      side.pointer = static_cast<const char*>(side.pointer) + bytes;
      return;
    }
    side.x_bytes += bytes;
    if (side.x_bytes < row) return;
    side.x_bytes = 0;
    ++side.y;
  }
};

// False with *status set where the side cannot be used.
bool make_run(const Side& side, Run* out, cudaError_t* status) {
  out->side = side;
  if (side.array == nullptr) return true;
  if (const CUresult result = row_bytes(side.array, &out->row); result != CUDA_SUCCESS) {
    *status = finish(result);
    return false;
  }
  if (side.x_bytes < out->row) return true;
  *status = fail(cudaErrorInvalidValue);
  return false;
}

template <typename Copy>
cudaError_t copy_run(const Side& to_side, const Side& from_side, size_t bytes, Copy&& copy) {
  Run to, from;
  cudaError_t status = cudaSuccess;
  if (!make_run(to_side, &to, &status) || !make_run(from_side, &from, &status)) return status;
  while (bytes != 0) {
    const size_t part = std::min({bytes, to.left(), from.left()});
    // Memory has no pitch here: the part is one row.
    if (to.side.array == nullptr) to.side.pitch = part;
    if (from.side.array == nullptr) from.side.pitch = part;
    if (status = copy(to.side, from.side, part); status != cudaSuccess) return status;
    to.advance(part), from.advance(part), bytes -= part;
  }
  return cudaSuccess;
}

template <bool kPerThread>
cudaError_t copy_run_now(const Side& to, const Side& from, size_t bytes, cudaMemcpyKind kind) {
  return copy_run(to, from, bytes, [&](const Side& part_to, const Side& part_from, size_t part) {
    return copy_2d<kPerThread>(part_to, part_from, part, 1, kind);
  });
}

cudaError_t copy_run_async(const Side& to, const Side& from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_run(to, from, bytes, [&](const Side& part_to, const Side& part_from, size_t part) {
    return copy_2d_async(part_to, part_from, part, 1, kind, stream);
  });
}

}  // namespace

MAYA_API cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes,
                                       cudaMemcpyKind kind) {
  return copy_run_now<false>(array_side(to, x, y), memory_side(from, 0), bytes, kind);
}
MAYA_API cudaError_t cudaMemcpyToArray_ptds(cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes,
                                            cudaMemcpyKind kind) {
  return copy_run_now<true>(array_side(to, x, y), memory_side(from, 0), bytes, kind);
}
MAYA_API cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes,
                                            cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_run_async(array_side(to, x, y), memory_side(from, 0), bytes, kind, stream);
}
MAYA_API cudaError_t cudaMemcpyToArrayAsync_ptsz(cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes,
                                                 cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_run_async(array_side(to, x, y), memory_side(from, 0), bytes, kind, own_stream(stream));
}
MAYA_API cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                         cudaMemcpyKind kind) {
  return copy_run_now<false>(memory_side(to, 0), array_side(from, x, y), bytes, kind);
}
MAYA_API cudaError_t cudaMemcpyFromArray_ptds(void* to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                              cudaMemcpyKind kind) {
  return copy_run_now<true>(memory_side(to, 0), array_side(from, x, y), bytes, kind);
}
MAYA_API cudaError_t cudaMemcpyFromArrayAsync(void* to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                              cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_run_async(memory_side(to, 0), array_side(from, x, y), bytes, kind, stream);
}
MAYA_API cudaError_t cudaMemcpyFromArrayAsync_ptsz(void* to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                                   cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_run_async(memory_side(to, 0), array_side(from, x, y), bytes, kind, own_stream(stream));
}
MAYA_API cudaError_t cudaMemcpyArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                            size_t from_x, size_t from_y, size_t bytes, cudaMemcpyKind kind) {
  return copy_run_now<false>(array_side(to, to_x, to_y), array_side(from, from_x, from_y), bytes, kind);
}
MAYA_API cudaError_t cudaMemcpyArrayToArray_ptds(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                                 size_t from_x, size_t from_y, size_t bytes, cudaMemcpyKind kind) {
  return copy_run_now<true>(array_side(to, to_x, to_y), array_side(from, from_x, from_y), bytes, kind);
}
