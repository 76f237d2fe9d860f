// Batches of copies, and copies with attributes. Hints (locations, overlap) change nothing here; the order in which
// sources may be read neither, since bytes are read during the call.
#include <cuda.h>

#include "driver_shim/common/api.h"
#include "driver_shim/cuda/array.h"
#include "driver_shim/cuda/stream_call.h"
#include "driver_shim/cuda/volume.h"

using namespace maya::cuda;

namespace {

bool is_order(CUmemcpySrcAccessOrder order) {
  return order >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
}
bool is_valid(const CUmemcpyAttributes& attributes) {
  return is_order(attributes.srcAccessOrder) &&
         (attributes.flags & ~static_cast<unsigned int>(CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE)) == 0;
}
// Documented: "must not be legacy NULL stream".
bool is_batch_stream(CUstream handle, bool per_thread) {
  return handle != CU_STREAM_LEGACY && (handle != nullptr || per_thread);
}

// Attribute k holds from copy indices[k] on.
bool covers_all(const size_t* indices, size_t attributes, size_t copies) {
  if (attributes == 0 || attributes > copies || indices[0] != 0) return false;
  for (size_t i = 1; i < attributes; ++i)
    if (indices[i] <= indices[i - 1] || indices[i] >= copies) return false;
  return true;
}

CUresult batch(CUdeviceptr* destinations, CUdeviceptr* sources, size_t* sizes, size_t count,
               CUmemcpyAttributes* attributes, size_t* indices, size_t attribute_count, size_t* failed, CUstream handle,
               bool per_thread) {
  bool valid = destinations != nullptr && sources != nullptr && sizes != nullptr && count != 0 &&
               attributes != nullptr && indices != nullptr && is_batch_stream(handle, per_thread) &&
               covers_all(indices, attribute_count, count);
  for (size_t i = 0; valid && i < attribute_count; ++i) valid = is_valid(attributes[i]);
  if (failed != nullptr) *failed = SIZE_MAX;  // an error that belongs to no one copy
  return with_copy_stream(handle, per_thread, valid, [&](Call& call, Stream& stream) {
    for (size_t i = 0; i < count; ++i) {
      const CUresult status = copy_linear(call.driver(), stream, unified_place(call.memory(), destinations[i]),
                                          unified_place(call.memory(), sources[i]), sizes[i], true);
      if (status == CUDA_SUCCESS) continue;
      if (failed != nullptr) *failed = i;
      return status;
    }
    return CUDA_SUCCESS;
  });
}

CUresult with_attributes(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUmemcpyAttributes* attributes,
                         CUstream handle, bool per_thread) {
  return with_copy_stream(handle, per_thread, attributes != nullptr && is_valid(*attributes),
                          [&](Call& call, Stream& stream) {
                            return copy_linear(call.driver(), stream, unified_place(call.memory(), destination),
                                               unified_place(call.memory(), source), bytes, true);
                          });
}

// An operand's extents are in elements: those of the array that takes part, else bytes. 0 when an array handle is
// wrong.
size_t element_bytes(const CUDA_MEMCPY3D_BATCH_OP& operation) {
  size_t bytes = 0;
  for (const CUmemcpy3DOperand* operand : {&operation.src, &operation.dst}) {
    if (operand->type != CU_MEMCPY_OPERAND_TYPE_ARRAY) continue;
    const Array* array = array_of(operand->op.array.array);
    if (array == nullptr || (bytes != 0 && bytes != array->element_bytes)) return 0;
    bytes = array->element_bytes;
  }
  return bytes == 0 ? 1 : bytes;
}

bool to_arguments(const CUmemcpy3DOperand& operand, size_t element, const CUextent3D& extent, SideArguments* out) {
  constexpr size_t kMost = SIZE_MAX >> 8;
  if (operand.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
    const auto& array = operand.op.array;
    if (array.offset.x > kMost) return false;
    *out = {CU_MEMORYTYPE_ARRAY, nullptr, 0, array.array, array.offset.x * element, array.offset.y,
            array.offset.z,      0,       0};
    return true;
  }
  if (operand.type != CU_MEMCPY_OPERAND_TYPE_POINTER) return false;
  const auto& pointer = operand.op.ptr;
  if ((pointer.rowLength != 0 && pointer.rowLength < extent.width) ||
      (pointer.layerHeight != 0 && pointer.layerHeight < extent.height))
    return false;
  const size_t row = pointer.rowLength != 0 ? pointer.rowLength : extent.width;
  if (row > kMost) return false;
  *out = {CU_MEMORYTYPE_UNIFIED,
          nullptr,
          pointer.ptr,
          nullptr,
          0,
          0,
          0,
          row * element,
          pointer.layerHeight != 0 ? pointer.layerHeight : extent.height};
  return true;
}

CUresult copy_operation(Call& call, Stream& stream, const CUDA_MEMCPY3D_BATCH_OP& operation) {
  const CUextent3D& extent = operation.extent;
  const size_t element = element_bytes(operation);
  SideArguments to_side, from_side;
  if (element == 0 || !is_order(operation.srcAccessOrder) || extent.width == 0 || extent.height == 0 ||
      extent.depth == 0 || extent.width > SIZE_MAX >> 8 || !to_arguments(operation.dst, element, extent, &to_side) ||
      !to_arguments(operation.src, element, extent, &from_side))
    return CUDA_ERROR_INVALID_VALUE;
  const Extent box{extent.width * element, extent.height, extent.depth};
  VolumeSide to, from;
  if (const CUresult status = resolve_side(call.memory(), to_side, box, &to); status != CUDA_SUCCESS) return status;
  if (const CUresult status = resolve_side(call.memory(), from_side, box, &from); status != CUDA_SUCCESS) return status;
  return copy_volume(call.driver(), stream, to, from, box, true);
}

CUresult batch_3d(size_t count, CUDA_MEMCPY3D_BATCH_OP* operations, size_t* failed, unsigned long long flags,
                  CUstream handle, bool per_thread) {
  const bool valid = count != 0 && operations != nullptr && flags == 0 && is_batch_stream(handle, per_thread);
  if (failed != nullptr) *failed = SIZE_MAX;
  return with_copy_stream(handle, per_thread, valid, [&](Call& call, Stream& stream) {
    for (size_t i = 0; i < count; ++i) {
      const CUresult status = copy_operation(call, stream, operations[i]);
      if (status == CUDA_SUCCESS) continue;
      if (failed != nullptr) *failed = i;
      return status;
    }
    return CUDA_SUCCESS;
  });
}

CUresult one_3d(CUDA_MEMCPY3D_BATCH_OP* operation, unsigned long long flags, CUstream handle, bool per_thread) {
  return with_copy_stream(handle, per_thread, operation != nullptr && flags == 0,
                          [&](Call& call, Stream& stream) { return copy_operation(call, stream, *operation); });
}

}  // namespace

CUresult cuMemcpyBatchAsync(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes, size_t count,
                            CUmemcpyAttributes* attributes, size_t* indices, size_t attribute_count, size_t* failed,
                            CUstream stream) {
  return batch(to, from, sizes, count, attributes, indices, attribute_count, failed, stream, false);
}
CUresult cuMemcpyBatchAsync_ptsz(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes, size_t count,
                                 CUmemcpyAttributes* attributes, size_t* indices, size_t attribute_count,
                                 size_t* failed, CUstream stream) {
  return batch(to, from, sizes, count, attributes, indices, attribute_count, failed, stream, true);
}
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes, size_t count,
                               CUmemcpyAttributes* attributes, size_t* indices, size_t attribute_count,
                               CUstream stream) {
  return batch(to, from, sizes, count, attributes, indices, attribute_count, nullptr, stream, false);
}
MAYA_API CUresult cuMemcpyBatchAsync_v2_ptsz(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes, size_t count,
                                             CUmemcpyAttributes* attributes, size_t* indices, size_t attribute_count,
                                             CUstream stream) {
  return batch(to, from, sizes, count, attributes, indices, attribute_count, nullptr, stream, true);
}

CUresult cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP* operations, size_t* failed,
                              unsigned long long flags, CUstream stream) {
  return batch_3d(count, operations, failed, flags, stream, false);
}
CUresult cuMemcpy3DBatchAsync_ptsz(size_t count, CUDA_MEMCPY3D_BATCH_OP* operations, size_t* failed,
                                   unsigned long long flags, CUstream stream) {
  return batch_3d(count, operations, failed, flags, stream, true);
}
CUresult cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP* operations, unsigned long long flags,
                                 CUstream stream) {
  return batch_3d(count, operations, nullptr, flags, stream, false);
}
MAYA_API CUresult cuMemcpy3DBatchAsync_v2_ptsz(size_t count, CUDA_MEMCPY3D_BATCH_OP* operations,
                                               unsigned long long flags, CUstream stream) {
  return batch_3d(count, operations, nullptr, flags, stream, true);
}

CUresult cuMemcpyWithAttributesAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUmemcpyAttributes* attributes,
                                     CUstream stream) {
  return with_attributes(to, from, bytes, attributes, stream, false);
}
MAYA_API CUresult cuMemcpyWithAttributesAsync_ptsz(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                                   CUmemcpyAttributes* attributes, CUstream stream) {
  return with_attributes(to, from, bytes, attributes, stream, true);
}
CUresult cuMemcpy3DWithAttributesAsync(CUDA_MEMCPY3D_BATCH_OP* operation, unsigned long long flags, CUstream stream) {
  return one_3d(operation, flags, stream, false);
}
MAYA_API CUresult cuMemcpy3DWithAttributesAsync_ptsz(CUDA_MEMCPY3D_BATCH_OP* operation, unsigned long long flags,
                                                     CUstream stream) {
  return one_3d(operation, flags, stream, true);
}
