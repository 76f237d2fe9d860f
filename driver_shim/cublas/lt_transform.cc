// cublasLtMatrixTransform: C = alpha op(A) + beta op(B), also from one memory order to another. Recorded as an
// elementwise pass.
#include "driver_shim/common/api.h"
#include "driver_shim/common/recording.h"
#include "driver_shim/cublas/lt_descriptors.h"
#include "driver_shim/cublas/lt_handle.h"
#include "driver_shim/cublas/lt_problem.h"
#include "driver_shim/cublas/types.h"

using namespace maya;
using namespace maya::cublas;

namespace {

bool same_shape(const MatrixLayout& operand, bool transposed, const MatrixLayout& result) {
  return transposed ? operand.rows == result.columns && operand.columns == result.rows
                    : operand.rows == result.rows && operand.columns == result.columns;
}

uint64_t bytes_of(const MatrixLayout& layout) {
  return storage_bytes(layout.data_type(), layout.rows * layout.columns) * layout.batch_count;
}

}  // namespace

MAYA_API cublasStatus_t cublasLtMatrixTransform(cublasLtHandle_t handle, cublasLtMatrixTransformDesc_t desc_handle,
                                                const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                                                const void* beta, const void* b, cublasLtMatrixLayout_t b_layout,
                                                void* c, cublasLtMatrixLayout_t c_layout, cudaStream_t stream) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (desc_handle == nullptr || c == nullptr || c_layout == nullptr ||
      (a != nullptr && (a_layout == nullptr || alpha == nullptr)) ||
      (b != nullptr && (b_layout == nullptr || beta == nullptr)))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!valid_layout(*ours(c_layout)) || (a != nullptr && !valid_layout(*ours(a_layout))) ||
      (b != nullptr && !valid_layout(*ours(b_layout))))
    return CUBLAS_STATUS_INVALID_VALUE;
  const TransformDesc& desc = *ours(desc_handle);
  const MatrixLayout& result = *ours(c_layout);
  if ((a != nullptr && !same_shape(*ours(a_layout), desc.transa != CUBLAS_OP_N, result)) ||
      (b != nullptr && !same_shape(*ours(b_layout), desc.transb != CUBLAS_OP_N, result)))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (result.rows == 0 || result.columns == 0) return CUBLAS_STATUS_SUCCESS;

  const int64_t rows = result.rows, columns = result.columns;
  OperationRecord record(Family::kElementwise, "cublasLtMatrixTransform");
  record.set(Key::kDataType, static_cast<int64_t>(data_type(result.data_type())));
  record.set(Key::kRows, rows).set(Key::kColumns, columns).set(Key::kElements, rows * columns * result.batch_count);
  record.set(Key::kReadBytes,
             (a == nullptr ? 0 : bytes_of(*ours(a_layout))) + (b == nullptr ? 0 : bytes_of(*ours(b_layout))));
  record.set(Key::kWrittenBytes, bytes_of(result));
  shim::WriteList writes;
  add_matrices(stored_matrices(c, result), &writes);
  return status_of(shim::record(reinterpret_cast<CUstream>(stream), record, writes));
}
