#include "driver_shim/cublas/vector_call.h"

#include <cstdlib>
#include <cstring>

#include "driver_shim/common/driver_access.h"
#include "driver_shim/cublas/handle.h"
#include "driver_shim/cublas/types.h"

namespace maya::cublas {

uint64_t Vector::bytes() const { return count <= 0 ? 0 : storage_bytes(type, increment == 0 ? 1 : count); }

void Vector::add_to(shim::WriteList* writes) const {
  if (count <= 0) return;
  const uint64_t element_bytes = storage_bytes(type, 1);
  writes->add_matrix(address, element_bytes, increment == 0 ? 1 : count,
                     element_bytes * static_cast<uint64_t>(std::llabs(increment)));
}

namespace {

cublasStatus_t record_call(cublasHandle_t handle, const VectorCall& call, std::initializer_list<Vector> reads,
                           uint64_t written_bytes, const shim::WriteList& writes) {
  uint64_t read_bytes = call.matrix_bytes;
  for (const Vector& vector : reads) read_bytes += vector.bytes();
  OperationRecord record(Family::kVector, call.api);
  record.set(Key::kDataType, static_cast<int64_t>(data_type(call.type)));
  record.set(Key::kRows, call.rows)
      .set(Key::kColumns, call.columns)
      .set(Key::kElements, call.elements)
      .set(Key::kBatch, call.batch);
  record.set(Key::kIncx, call.incx).set(Key::kIncy, call.incy).set(Key::kFlops, call.flops);
  record.set(Key::kReadBytes, read_bytes).set(Key::kWrittenBytes, written_bytes);
  return status_of(shim::record(handle->cu_stream(), record, writes));
}

}  // namespace

cublasStatus_t run(cublasHandle_t handle, const VectorCall& call, std::initializer_list<Vector> reads,
                   std::initializer_list<Vector> written, const shim::WriteList* extra) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  shim::WriteList writes;
  uint64_t written_bytes = 0;
  for (const Vector& vector : written) {
    vector.add_to(&writes);
    written_bytes += vector.bytes();
  }
  for (uint32_t i = 0; extra != nullptr && i < extra->size(); ++i) {
    writes.add(reinterpret_cast<const void*>(extra->data()[i].address), extra->data()[i].bytes);
    written_bytes += extra->data()[i].bytes;
  }
  return record_call(handle, call, reads, written_bytes, writes);
}

cublasStatus_t run_with_result(cublasHandle_t handle, const VectorCall& call, std::initializer_list<Vector> reads,
                               void* result, const void* value, uint64_t bytes) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (result == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const bool host = handle->pointer_mode == CUBLAS_POINTER_MODE_HOST;
  shim::WriteList writes;
  if (!host) writes.add(result, bytes);
  if (call.elements > 0) {
    if (const cublasStatus_t status = record_call(handle, call, reads, bytes, writes); status != CUBLAS_STATUS_SUCCESS)
      return status;
  } else if (!host) {
    // The result of an empty vector is zero.
    const auto fill = MAYA_DRIVER(cuMemsetD8Async);
    if (fill == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    return status_of(fill(reinterpret_cast<CUdeviceptr>(result), 0, bytes, handle->cu_stream()));
  }
  if (!host) return CUBLAS_STATUS_SUCCESS;
  const auto synchronize = MAYA_DRIVER(cuStreamSynchronize);
  if (synchronize == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (const cublasStatus_t status = status_of(synchronize(handle->cu_stream())); status != CUBLAS_STATUS_SUCCESS)
    return status;
  std::memcpy(result, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace maya::cublas
