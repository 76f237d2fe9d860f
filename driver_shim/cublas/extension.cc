// BLAS-like extensions that move and scale matrices: geam, dgmm, packed to full and back, 32-bit and 64-bit sizes.
#include <algorithm>

#include "driver_shim/common/api.h"
#include "driver_shim/cublas/handle.h"
#include "driver_shim/cublas/types.h"
#include "driver_shim/cublas/vector_call.h"

namespace maya::cublas {
namespace {

bool valid_leading(int64_t leading, int64_t rows) { return leading >= std::max<int64_t>(1, rows); }

// One element-by-element pass over matrices of rows by columns.
struct Pass {
  const char* api;
  cudaDataType type;
  int64_t rows, columns;
  int64_t flops_per_element;
  uint64_t read_elements, written_elements;
};

cublasStatus_t record_pass(cublasHandle_t handle, const Pass& pass, const shim::WriteList& writes) {
  OperationRecord record(Family::kElementwise, pass.api);
  record.set(Key::kDataType, static_cast<int64_t>(data_type(pass.type)));
  record.set(Key::kRows, pass.rows).set(Key::kColumns, pass.columns).set(Key::kElements, pass.rows * pass.columns);
  record.set(Key::kFlops, pass.rows * pass.columns * pass.flops_per_element);
  record.set(Key::kReadBytes, storage_bytes(pass.type, pass.read_elements));
  record.set(Key::kWrittenBytes, storage_bytes(pass.type, pass.written_elements));
  return status_of(shim::record(handle->cu_stream(), record, writes));
}

// C = alpha op(A) + beta op(B).
template <typename T>
cublasStatus_t geam(const char* api, cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                    int64_t m, int64_t n, const T* alpha, int64_t lda, const T* beta, int64_t ldb, T* c, int64_t ldc) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (m < 0 || n < 0 || !valid_operation(transa) || !valid_operation(transb) ||
      !valid_leading(lda, transa == CUBLAS_OP_N ? m : n) || !valid_leading(ldb, transb == CUBLAS_OP_N ? m : n) ||
      !valid_leading(ldc, m) || alpha == nullptr || beta == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
  // A matrix whose scalar is zero is not read: documented.
  const bool host = handle->pointer_mode == CUBLAS_POINTER_MODE_HOST;
  const uint64_t operands = (host && scalar_class(alpha, kCudaType<T>) == 0 ? 0 : 1) +
                            (host && scalar_class(beta, kCudaType<T>) == 0 ? 0 : 1);
  shim::WriteList writes;
  writes.add_matrix(c, m * sizeof(T), n, ldc * sizeof(T));
  const uint64_t elements = m * n;
  return record_pass(handle, {api, kCudaType<T>, m, n, multiply_add_flops(kCudaType<T>), operands * elements, elements},
                     writes);
}

// C = A diag(x) or diag(x) A.
template <typename T>
cublasStatus_t dgmm(const char* api, cublasHandle_t handle, cublasSideMode_t side, int64_t m, int64_t n, int64_t lda,
                    T* c, int64_t ldc) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (m < 0 || n < 0 || (side != CUBLAS_SIDE_LEFT && side != CUBLAS_SIDE_RIGHT) || !valid_leading(lda, m) ||
      !valid_leading(ldc, m))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
  shim::WriteList writes;
  writes.add_matrix(c, m * sizeof(T), n, ldc * sizeof(T));
  const uint64_t elements = m * n, diagonal = side == CUBLAS_SIDE_LEFT ? m : n;
  return record_pass(
      handle, {api, kCudaType<T>, m, n, multiply_add_flops(kCudaType<T>) / 2, elements + diagonal, elements}, writes);
}

// Triangle between packed and full storage; `full` null: the packed one is written.
template <typename T>
cublasStatus_t repack(const char* api, cublasHandle_t handle, cublasFillMode_t uplo, int64_t n, T* packed, T* full,
                      int64_t lda) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if ((uplo != CUBLAS_FILL_MODE_LOWER && uplo != CUBLAS_FILL_MODE_UPPER) || n < 0 || !valid_leading(lda, n))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (n == 0) return CUBLAS_STATUS_SUCCESS;
  const uint64_t elements = n * (n + 1) / 2;
  shim::WriteList writes;
  if (full == nullptr) {
    writes.add(packed, elements * sizeof(T));
  } else if (n > shim::WriteList::kInlineRanges) {
    writes.add_matrix(full, n * sizeof(T), n, lda * sizeof(T));
  } else {
    for (int64_t column = 0; column < n; ++column) {
      const int64_t first = uplo == CUBLAS_FILL_MODE_LOWER ? column : 0;
      writes.add(full + column * lda + first, (uplo == CUBLAS_FILL_MODE_LOWER ? n - column : column + 1) * sizeof(T));
    }
  }
  return record_pass(handle, {api, kCudaType<T>, n, n, 0, elements, elements}, writes);
}

}  // namespace
}  // namespace maya::cublas

using namespace maya::cublas;

#define GEAM(NAME, T, INT)                                                                                       \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, INT m, \
                               INT n, const T* alpha, const T*, INT lda, const T* beta, const T*, INT ldb, T* C, \
                               INT ldc) {                                                                        \
    return geam<T>(#NAME, handle, transa, transb, m, n, alpha, lda, beta, ldb, C, ldc);                          \
  }
#define DGMM(NAME, T, INT)                                                                                    \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasSideMode_t side, INT m, INT n, const T*, INT lda, \
                               const T*, INT, T* C, INT ldc) {                                                \
    return dgmm<T>(#NAME, handle, side, m, n, lda, C, ldc);                                                   \
  }
#define TPTTR(NAME, T, INT)                                                                                    \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasFillMode_t uplo, INT n, const T*, T* A, INT lda) { \
    return repack<T>(#NAME, handle, uplo, n, nullptr, A, lda);                                                 \
  }
#define TRTTP(NAME, T, INT)                                                                                     \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasFillMode_t uplo, INT n, const T*, INT lda, T* AP) { \
    return repack<T>(#NAME, handle, uplo, n, AP, nullptr, lda);                                                 \
  }

#define SMALL_TYPES(KIND, NAME)       \
  KIND(cublasS##NAME, float, int)     \
  KIND(cublasD##NAME, double, int)    \
  KIND(cublasC##NAME, cuComplex, int) \
  KIND(cublasZ##NAME, cuDoubleComplex, int)
#define LARGE_TYPES(KIND, NAME)                \
  KIND(cublasS##NAME##_64, float, int64_t)     \
  KIND(cublasD##NAME##_64, double, int64_t)    \
  KIND(cublasC##NAME##_64, cuComplex, int64_t) \
  KIND(cublasZ##NAME##_64, cuDoubleComplex, int64_t)

SMALL_TYPES(GEAM, geam)
LARGE_TYPES(GEAM, geam)
SMALL_TYPES(DGMM, dgmm)
LARGE_TYPES(DGMM, dgmm)
SMALL_TYPES(TPTTR, tpttr)
SMALL_TYPES(TRTTP, trttp)
