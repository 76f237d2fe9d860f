// Batches of matrix-vector products: pointer arrays and strided, with the mixed-precision forms (H half, T bfloat16, S
// single: matrix and x, scalars, y), 32-bit and 64-bit sizes.
#include <algorithm>
#include <vector>

#include "driver_shim/common/api.h"
#include "driver_shim/cublas/handle.h"
#include "driver_shim/cublas/types.h"
#include "driver_shim/cublas/vector_call.h"

namespace maya::cublas {
namespace {

struct Sizes {
  cublasOperation_t trans;
  int64_t m, n, leading, incx, incy, batch;

  int64_t x_count() const { return trans == CUBLAS_OP_N ? n : m; }
  int64_t y_count() const { return trans == CUBLAS_OP_N ? m : n; }
};

cublasStatus_t check(cublasHandle_t handle, const Sizes& sizes, const void* alpha, const void* beta) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!valid_operation(sizes.trans) || sizes.m < 0 || sizes.n < 0 || sizes.batch < 0 || sizes.incx == 0 ||
      sizes.incy == 0 || sizes.leading < std::max<int64_t>(1, sizes.m) || alpha == nullptr || beta == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}

// The vectors of the batch count once in all: their bytes matter, not where they lie.
template <typename T, typename Y>
cublasStatus_t record(const char* api, cublasHandle_t handle, const Sizes& sizes, const shim::WriteList& writes) {
  VectorCall call;
  call.api = api;
  call.type = kCudaType<T>;
  call.rows = sizes.m, call.columns = sizes.n, call.batch = sizes.batch;
  call.incx = sizes.incx, call.incy = sizes.incy;
  call.flops = sizes.m * sizes.n * sizes.batch * multiply_add_flops(call.type);
  call.matrix_bytes = sizes.m * sizes.n * sizes.batch * sizeof(T);
  const Vector x{nullptr, kCudaType<T>, sizes.x_count() * sizes.batch, 1},
      y{nullptr, kCudaType<Y>, sizes.y_count() * sizes.batch, 1};
  return run(handle, call, {x, y}, {}, &writes);
}

template <typename T, typename Y>
cublasStatus_t strided(const char* api, cublasHandle_t handle, const Sizes& sizes, const void* alpha, const void* beta,
                       Y* y, int64_t stride) {
  if (const cublasStatus_t status = check(handle, sizes, alpha, beta); status != CUBLAS_STATUS_SUCCESS) return status;
  if (sizes.m == 0 || sizes.n == 0 || sizes.batch == 0) return CUBLAS_STATUS_SUCCESS;
  shim::WriteList writes;
  const int64_t span = (sizes.y_count() - 1) * std::abs(sizes.incy) + 1;
  const Y* lowest = stride < 0 ? y + stride * (sizes.batch - 1) : y;
  if (std::abs(sizes.incy) == 1) {
    writes.add_matrix(lowest, span * sizeof(Y), sizes.batch, std::abs(stride) * sizeof(Y));
  } else {
    writes.add(lowest, ((sizes.batch - 1) * std::abs(stride) + span) * sizeof(Y));
  }
  return record<T, Y>(api, handle, sizes, writes);
}

template <typename T, typename Y>
cublasStatus_t batched(const char* api, cublasHandle_t handle, const Sizes& sizes, const void* alpha, const void* beta,
                       Y* const y[]) {
  if (const cublasStatus_t status = check(handle, sizes, alpha, beta); status != CUBLAS_STATUS_SUCCESS) return status;
  if (sizes.m == 0 || sizes.n == 0 || sizes.batch == 0) return CUBLAS_STATUS_SUCCESS;
  shim::WriteList writes;
  std::vector<void*> vectors;
  if (shim::read_pointer_array(y, sizes.batch, &vectors))
    for (const void* address : vectors) Vector{address, kCudaType<Y>, sizes.y_count(), sizes.incy}.add_to(&writes);
  return record<T, Y>(api, handle, sizes, writes);
}

}  // namespace
}  // namespace maya::cublas

using namespace maya::cublas;

#define GEMV_BATCHED(NAME, T, S, Y, INT)                                                                           \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t trans, INT m, INT n, const S* alpha,       \
                               const T* const[], INT lda, const T* const[], INT incx, const S* beta, Y* const y[], \
                               INT incy, INT batch) {                                                              \
    return batched<T, Y>(#NAME, handle, {trans, m, n, lda, incx, incy, batch}, alpha, beta, y);                    \
  }
#define GEMV_STRIDED(NAME, T, S, Y, INT)                                                                               \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t trans, INT m, INT n, const S* alpha, const T*, \
                               INT lda, long long int, const T*, INT incx, long long int, const S* beta, Y* y,         \
                               INT incy, long long int stride_y, INT batch) {                                          \
    return strided<T, Y>(#NAME, handle, {trans, m, n, lda, incx, incy, batch}, alpha, beta, y, stride_y);              \
  }
#define GEMV_BOTH(PREFIX, T, S, Y)                       \
  GEMV_BATCHED(PREFIX##gemvBatched, T, S, Y, int)        \
  GEMV_BATCHED(PREFIX##gemvBatched_64, T, S, Y, int64_t) \
  GEMV_STRIDED(PREFIX##gemvStridedBatched, T, S, Y, int) \
  GEMV_STRIDED(PREFIX##gemvStridedBatched_64, T, S, Y, int64_t)

GEMV_BOTH(cublasS, float, float, float)
GEMV_BOTH(cublasD, double, double, double)
GEMV_BOTH(cublasC, cuComplex, cuComplex, cuComplex)
GEMV_BOTH(cublasZ, cuDoubleComplex, cuDoubleComplex, cuDoubleComplex)
GEMV_BOTH(cublasHSH, __half, float, __half)
GEMV_BOTH(cublasHSS, __half, float, float)
GEMV_BOTH(cublasTST, __nv_bfloat16, float, __nv_bfloat16)
GEMV_BOTH(cublasTSS, __nv_bfloat16, float, float)
