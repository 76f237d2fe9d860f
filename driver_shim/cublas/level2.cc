// BLAS level 2: matrix with vector, full, banded and packed storage, 32-bit and 64-bit sizes.
#include <algorithm>

#include "driver_shim/common/api.h"
#include "driver_shim/cublas/handle.h"
#include "driver_shim/cublas/types.h"
#include "driver_shim/cublas/vector_call.h"

namespace maya::cublas {
namespace {

// The matrix of a call: its sizes and how many of its elements are stored and therefore read.
struct Matrix {
  int64_t rows, columns, stored;
};

Matrix triangle(int64_t n) { return {n, n, n * (n + 1) / 2}; }
Matrix band(int64_t rows, int64_t columns, int64_t diagonals) {
  return {rows, columns, columns * std::min(rows, diagonals)};
}

bool valid_fill(cublasFillMode_t uplo) { return uplo == CUBLAS_FILL_MODE_LOWER || uplo == CUBLAS_FILL_MODE_UPPER; }
bool valid_diagonal(cublasDiagType_t diag) { return diag == CUBLAS_DIAG_NON_UNIT || diag == CUBLAS_DIAG_UNIT; }
bool valid_leading(int64_t leading, int64_t rows) { return leading >= std::max<int64_t>(1, rows); }

template <typename T>
VectorCall level2(const char* api, const Matrix& matrix, int64_t incx, int64_t incy, int64_t uses) {
  VectorCall call;
  call.api = api;
  call.type = kCudaType<T>;
  call.rows = matrix.rows, call.columns = matrix.columns;
  call.incx = incx, call.incy = incy;
  call.flops = matrix.stored * uses * multiply_add_flops(call.type);
  call.matrix_bytes = storage_bytes(call.type, matrix.stored);
  return call;
}

// y = alpha op(A) x + beta y. `uses` is how often each stored element takes part: twice in a symmetric matrix.
template <typename T>
cublasStatus_t multiply(const char* api, cublasHandle_t handle, bool valid, const Matrix& matrix, int64_t uses,
                        const void* alpha, const void* beta, const T* x, int64_t incx, int64_t x_count, T* y,
                        int64_t incy, int64_t y_count) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!valid || matrix.rows < 0 || matrix.columns < 0 || incx == 0 || incy == 0 || alpha == nullptr || beta == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (matrix.rows == 0 || matrix.columns == 0) return CUBLAS_STATUS_SUCCESS;
  const Vector in{x, kCudaType<T>, x_count, incx}, out{y, kCudaType<T>, y_count, incy};
  return run(handle, level2<T>(api, matrix, incx, incy, uses), {in, out}, {out});
}

// x = op(A) x and the solution of op(A) x = b, A triangular.
template <typename T>
cublasStatus_t triangular(const char* api, cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,
                          cublasDiagType_t diag, bool valid, const Matrix& matrix, T* x, int64_t incx) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!valid || !valid_fill(uplo) || !valid_operation(trans) || !valid_diagonal(diag) || matrix.rows < 0 || incx == 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (matrix.rows == 0) return CUBLAS_STATUS_SUCCESS;
  const Vector both{x, kCudaType<T>, matrix.rows, incx};
  return run(handle, level2<T>(api, matrix, incx, 0, 1), {both}, {both});
}

// Adds the bytes of a matrix that a rank update changes: all of it, one triangle, or packed storage (leading 0).
template <typename T>
void add_matrix(shim::WriteList* writes, const T* a, const Matrix& matrix, int64_t leading, cublasFillMode_t uplo) {
  if (leading == 0) {
    writes->add(a, matrix.stored * sizeof(T));
  } else if (uplo == CUBLAS_FILL_MODE_FULL || matrix.columns > shim::WriteList::kInlineRanges) {
    writes->add_matrix(a, matrix.rows * sizeof(T), matrix.columns, leading * sizeof(T));
  } else {
    for (int64_t column = 0; column < matrix.columns; ++column) {
      const int64_t first = uplo == CUBLAS_FILL_MODE_LOWER ? column : 0;
      const int64_t count = uplo == CUBLAS_FILL_MODE_LOWER ? matrix.rows - column : column + 1;
      writes->add(a + column * leading + first, count * sizeof(T));
    }
  }
}

// A += alpha x y^T and its symmetric forms (y null: x x^T; `vectors` 2: x y^T + y x^T).
template <typename T>
cublasStatus_t rank_update(const char* api, cublasHandle_t handle, bool valid, const Matrix& matrix, const void* alpha,
                           const T* x, int64_t incx, const T* y, int64_t incy, T* a, int64_t leading,
                           cublasFillMode_t uplo, int64_t vectors) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!valid || matrix.rows < 0 || matrix.columns < 0 || incx == 0 || (y != nullptr && incy == 0) || alpha == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (matrix.rows == 0 || matrix.columns == 0) return CUBLAS_STATUS_SUCCESS;
  shim::WriteList changed;
  add_matrix(&changed, a, matrix, leading, uplo);
  const Vector left{x, kCudaType<T>, matrix.rows, incx},
      right{y, kCudaType<T>, y == nullptr ? 0 : matrix.columns, incy};
  return run(handle, level2<T>(api, matrix, incx, incy, vectors), {left, right}, {}, &changed);
}

}  // namespace
}  // namespace maya::cublas

using namespace maya::cublas;

#define GEMV(NAME, T, INT)                                                                                             \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t trans, INT m, INT n, const T* alpha, const T*, \
                               INT lda, const T* x, INT incx, const T* beta, T* y, INT incy) {                         \
    const bool plain = trans == CUBLAS_OP_N;                                                                           \
    return multiply<T>(#NAME, handle, valid_operation(trans) && valid_leading(lda, m), {m, n, int64_t{m} * n}, 1,      \
                       alpha, beta, x, incx, plain ? n : m, y, incy, plain ? m : n);                                   \
  }
#define GBMV(NAME, T, INT)                                                                                           \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t trans, INT m, INT n, INT kl, INT ku,         \
                               const T* alpha, const T*, INT lda, const T* x, INT incx, const T* beta, T* y,         \
                               INT incy) {                                                                           \
    const bool plain = trans == CUBLAS_OP_N;                                                                         \
    const int64_t diagonals = int64_t{kl} + ku + 1;                                                                  \
    return multiply<T>(#NAME, handle, valid_operation(trans) && kl >= 0 && ku >= 0 && valid_leading(lda, diagonals), \
                       band(m, n, diagonals), 1, alpha, beta, x, incx, plain ? n : m, y, incy, plain ? m : n);       \
  }
#define SYMV(NAME, T, INT)                                                                                             \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasFillMode_t uplo, INT n, const T* alpha, const T*, INT lda, \
                               const T* x, INT incx, const T* beta, T* y, INT incy) {                                  \
    return multiply<T>(#NAME, handle, valid_fill(uplo) && valid_leading(lda, n), triangle(n), 2, alpha, beta, x, incx, \
                       n, y, incy, n);                                                                                 \
  }
#define SBMV(NAME, T, INT)                                                                                           \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasFillMode_t uplo, INT n, INT k, const T* alpha, const T*, \
                               INT lda, const T* x, INT incx, const T* beta, T* y, INT incy) {                       \
    return multiply<T>(#NAME, handle, valid_fill(uplo) && k >= 0 && valid_leading(lda, int64_t{k} + 1),              \
                       band(n, n, int64_t{k} + 1), 2, alpha, beta, x, incx, n, y, incy, n);                          \
  }
#define SPMV(NAME, T, INT)                                                                                    \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasFillMode_t uplo, INT n, const T* alpha, const T*, \
                               const T* x, INT incx, const T* beta, T* y, INT incy) {                         \
    return multiply<T>(#NAME, handle, valid_fill(uplo), triangle(n), 2, alpha, beta, x, incx, n, y, incy, n); \
  }
#define TRMV(NAME, T, INT)                                                                               \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,    \
                               cublasDiagType_t diag, INT n, const T*, INT lda, T* x, INT incx) {        \
    return triangular<T>(#NAME, handle, uplo, trans, diag, valid_leading(lda, n), triangle(n), x, incx); \
  }
#define TBMV(NAME, T, INT)                                                                               \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,    \
                               cublasDiagType_t diag, INT n, INT k, const T*, INT lda, T* x, INT incx) { \
    return triangular<T>(#NAME, handle, uplo, trans, diag, k >= 0 && valid_leading(lda, int64_t{k} + 1), \
                         band(n, n, int64_t{k} + 1), x, incx);                                           \
  }
#define TPMV(NAME, T, INT)                                                                            \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, \
                               cublasDiagType_t diag, INT n, const T*, T* x, INT incx) {              \
    return triangular<T>(#NAME, handle, uplo, trans, diag, true, triangle(n), x, incx);               \
  }
#define GER(NAME, T, INT)                                                                                             \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, INT m, INT n, const T* alpha, const T* x, INT incx, const T* y, \
                               INT incy, T* A, INT lda) {                                                             \
    return rank_update<T>(#NAME, handle, valid_leading(lda, m), {m, n, int64_t{m} * n}, alpha, x, incx, y, incy, A,   \
                          lda, CUBLAS_FILL_MODE_FULL, 1);                                                             \
  }
#define SYR(NAME, S, T, INT)                                                                                     \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasFillMode_t uplo, INT n, const S* alpha, const T* x,  \
                               INT incx, T* A, INT lda) {                                                        \
    return rank_update<T>(#NAME, handle, valid_fill(uplo) && valid_leading(lda, n), triangle(n), alpha, x, incx, \
                          nullptr, 0, A, lda, uplo, 1);                                                          \
  }
#define SPR(NAME, S, T, INT)                                                                                         \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasFillMode_t uplo, INT n, const S* alpha, const T* x,      \
                               INT incx, T* AP) {                                                                    \
    return rank_update<T>(#NAME, handle, valid_fill(uplo), triangle(n), alpha, x, incx, nullptr, 0, AP, 0, uplo, 1); \
  }
#define SYR2(NAME, T, INT)                                                                                          \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasFillMode_t uplo, INT n, const T* alpha, const T* x,     \
                               INT incx, const T* y, INT incy, T* A, INT lda) {                                     \
    return rank_update<T>(#NAME, handle, valid_fill(uplo) && valid_leading(lda, n), triangle(n), alpha, x, incx, y, \
                          incy, A, lda, uplo, 2);                                                                   \
  }
#define SPR2(NAME, T, INT)                                                                                        \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasFillMode_t uplo, INT n, const T* alpha, const T* x,   \
                               INT incx, const T* y, INT incy, T* AP) {                                           \
    return rank_update<T>(#NAME, handle, valid_fill(uplo), triangle(n), alpha, x, incx, y, incy, AP, 0, uplo, 2); \
  }

#define BOTH(KIND, NAME, ...) KIND(NAME, __VA_ARGS__, int) KIND(NAME##_64, __VA_ARGS__, int64_t)
#define REAL_TYPES(KIND, NAME) BOTH(KIND, cublasS##NAME, float) BOTH(KIND, cublasD##NAME, double)
#define COMPLEX_TYPES(KIND, NAME) BOTH(KIND, cublasC##NAME, cuComplex) BOTH(KIND, cublasZ##NAME, cuDoubleComplex)
#define ALL_TYPES(KIND, NAME) REAL_TYPES(KIND, NAME) COMPLEX_TYPES(KIND, NAME)

ALL_TYPES(GEMV, gemv_v2)
ALL_TYPES(GBMV, gbmv_v2)
ALL_TYPES(SYMV, symv_v2)
COMPLEX_TYPES(SYMV, hemv_v2)
REAL_TYPES(SBMV, sbmv_v2)
COMPLEX_TYPES(SBMV, hbmv_v2)
REAL_TYPES(SPMV, spmv_v2)
COMPLEX_TYPES(SPMV, hpmv_v2)

ALL_TYPES(TRMV, trmv_v2)
ALL_TYPES(TRMV, trsv_v2)
ALL_TYPES(TBMV, tbmv_v2)
ALL_TYPES(TBMV, tbsv_v2)
ALL_TYPES(TPMV, tpmv_v2)
ALL_TYPES(TPMV, tpsv_v2)

REAL_TYPES(GER, ger_v2)
COMPLEX_TYPES(GER, geru_v2)
COMPLEX_TYPES(GER, gerc_v2)
BOTH(SYR, cublasSsyr_v2, float, float)
BOTH(SYR, cublasDsyr_v2, double, double)
BOTH(SYR, cublasCsyr_v2, cuComplex, cuComplex)
BOTH(SYR, cublasZsyr_v2, cuDoubleComplex, cuDoubleComplex)
BOTH(SYR, cublasCher_v2, float, cuComplex)
BOTH(SYR, cublasZher_v2, double, cuDoubleComplex)
BOTH(SPR, cublasSspr_v2, float, float)
BOTH(SPR, cublasDspr_v2, double, double)
BOTH(SPR, cublasChpr_v2, float, cuComplex)
BOTH(SPR, cublasZhpr_v2, double, cuDoubleComplex)
ALL_TYPES(SYR2, syr2_v2)
COMPLEX_TYPES(SYR2, her2_v2)
REAL_TYPES(SPR2, spr2_v2)
COMPLEX_TYPES(SPR2, hpr2_v2)
