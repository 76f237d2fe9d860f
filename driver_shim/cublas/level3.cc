// BLAS level 3 beside the general product: symmetric, Hermitian and triangular matrices, 32-bit and 64-bit sizes. They
// are recorded as the product that they are, with the number of operations that their structure leaves (BLAS Technical
// Forum's counts).
#include <algorithm>
#include <vector>

#include "driver_shim/common/api.h"
#include "driver_shim/cublas/gemm_call.h"
#include "driver_shim/cublas/handle.h"
#include "driver_shim/cublas/types.h"
#include "driver_shim/cublas/vector_call.h"

namespace maya::cublas {
namespace {

bool valid_fill(cublasFillMode_t uplo) { return uplo == CUBLAS_FILL_MODE_LOWER || uplo == CUBLAS_FILL_MODE_UPPER; }
bool valid_side(cublasSideMode_t side) { return side == CUBLAS_SIDE_LEFT || side == CUBLAS_SIDE_RIGHT; }
bool valid_diagonal(cublasDiagType_t diag) { return diag == CUBLAS_DIAG_NON_UNIT || diag == CUBLAS_DIAG_UNIT; }
bool valid_leading(int64_t leading, int64_t rows) { return leading >= std::max<int64_t>(1, rows); }

struct Scalars {
  template <typename Alpha, typename Beta>
  Scalars(const Alpha* a, const Beta* b)
      : alpha(a), beta(b), alpha_type(kCudaType<Alpha>), beta_type(kCudaType<Beta>) {}

  const void* alpha;
  const void* beta;
  cudaDataType alpha_type, beta_type;  // real where the matrix is Hermitian
};

// C = alpha A B + beta C or alpha B A + beta C, A symmetric or Hermitian.
cublasStatus_t symmetric_product(const char* api, cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                                 int64_t m, int64_t n, Scalars scalars, const GemmOperand& a, const GemmOperand& b,
                                 const GemmOperand& c) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  const int64_t k = side == CUBLAS_SIDE_LEFT ? m : n;
  if (!valid_side(side) || !valid_fill(uplo) || m < 0 || n < 0 || !valid_leading(a.leading, k) ||
      !valid_leading(b.leading, m) || !valid_leading(c.leading, m) || scalars.alpha == nullptr ||
      scalars.beta == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
  GemmCall call;
  call.api = api;
  call.m = m, call.n = n, call.k = k;
  call.a = side == CUBLAS_SIDE_LEFT ? a : b, call.b = side == CUBLAS_SIDE_LEFT ? b : a, call.c = c;
  call.alpha = scalars.alpha, call.beta = scalars.beta;
  call.alpha_type = scalars.alpha_type, call.beta_type = scalars.beta_type;
  call.compute = default_compute_type(c.type);
  shim::WriteList writes;
  writes.add_matrix(c.address, storage_bytes(c.type, m), n, storage_bytes(c.type, c.leading));
  return record_product(handle, call, 0, writes);
}

// One triangle of C = alpha op(A) op(B)' + beta C, n by n: half of the products. `products` is 2 where a second one is
// added (syr2k).
cublasStatus_t rank_update(const char* api, cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,
                           int64_t n, int64_t k, Scalars scalars, const GemmOperand& a, const GemmOperand& b,
                           const GemmOperand& c, int64_t products) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  const int64_t rows = trans == CUBLAS_OP_N ? n : k;
  if (!valid_fill(uplo) || !valid_operation(trans) || n < 0 || k < 0 || !valid_leading(a.leading, rows) ||
      !valid_leading(b.leading, rows) || !valid_leading(c.leading, n) || scalars.alpha == nullptr ||
      scalars.beta == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (storage_bits(a.type) == 0 || storage_bits(c.type) == 0) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (n == 0) return CUBLAS_STATUS_SUCCESS;
  GemmCall call;
  call.api = api;
  call.m = n, call.n = n, call.k = k;
  call.transa = trans, call.transb = trans == CUBLAS_OP_N ? CUBLAS_OP_T : CUBLAS_OP_N;
  call.a = a, call.b = b, call.c = c;
  call.alpha = scalars.alpha, call.beta = scalars.beta;
  call.alpha_type = scalars.alpha_type, call.beta_type = scalars.beta_type;
  call.compute = default_compute_type(c.type);
  shim::WriteList writes;
  const uint64_t element_bytes = storage_bytes(c.type, 1);
  if (n > shim::WriteList::kInlineRanges) {
    writes.add_matrix(c.address, n * element_bytes, n, c.leading * element_bytes);
  } else {
    for (int64_t column = 0; column < n; ++column) {
      const int64_t first = uplo == CUBLAS_FILL_MODE_LOWER ? column : 0;
      const int64_t count = uplo == CUBLAS_FILL_MODE_LOWER ? n - column : column + 1;
      writes.add(static_cast<const char*>(c.address) + (column * c.leading + first) * element_bytes,
                 count * element_bytes);
    }
  }
  const int64_t flops = products * n * (n + 1) / 2 * k * multiply_add_flops(c.type);
  return record_product(handle, call, flops, writes);
}

struct Triangle {
  cublasSideMode_t side;
  cublasFillMode_t uplo;
  cublasOperation_t trans;
  cublasDiagType_t diag;
  bool valid() const { return valid_side(side) && valid_fill(uplo) && valid_operation(trans) && valid_diagonal(diag); }
};

// C = alpha op(A) B and its mirror (trmm), and the solution of op(A) X = alpha B in place (trsm: c is b). Half of the
// products of a full A.
cublasStatus_t triangular_product(const char* api, cublasHandle_t handle, const Triangle& triangle, int64_t m,
                                  int64_t n, const void* alpha, const GemmOperand& a, const GemmOperand& b,
                                  const GemmOperand& c, int64_t batch, bool pointer_arrays) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  const int64_t k = triangle.side == CUBLAS_SIDE_LEFT ? m : n;
  if (!triangle.valid() || m < 0 || n < 0 || batch < 0 || !valid_leading(a.leading, k) ||
      !valid_leading(b.leading, m) || !valid_leading(c.leading, m) || alpha == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (m == 0 || n == 0 || batch == 0) return CUBLAS_STATUS_SUCCESS;
  GemmCall call;
  call.api = api;
  call.m = m, call.n = n, call.k = k, call.batch = batch;
  const bool left = triangle.side == CUBLAS_SIDE_LEFT;
  call.a = left ? a : b, call.b = left ? b : a, call.c = c;
  (left ? call.transa : call.transb) = triangle.trans;
  call.alpha = alpha, call.alpha_type = c.type;
  call.compute = default_compute_type(c.type);
  shim::WriteList writes;
  const uint64_t column_bytes = storage_bytes(c.type, m), pitch_bytes = storage_bytes(c.type, c.leading);
  if (!pointer_arrays) {
    writes.add_matrix(c.address, column_bytes, n, pitch_bytes);
  } else if (std::vector<void*> matrices; shim::read_pointer_array(c.address, batch, &matrices)) {
    for (const void* matrix : matrices) writes.add_matrix(matrix, column_bytes, n, pitch_bytes);
  }
  return record_product(handle, call, m * n * k * batch * multiply_add_flops(c.type) / 2, writes);
}

}  // namespace
}  // namespace maya::cublas

using namespace maya::cublas;

#define SYMM(NAME, T, INT)                                                                                        \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, INT m, INT n, \
                               const T* alpha, const T* A, INT lda, const T* B, INT ldb, const T* beta, T* C,     \
                               INT ldc) {                                                                         \
    return symmetric_product(#NAME, handle, side, uplo, m, n, {alpha, beta}, {A, kCudaType<T>, lda, 0},           \
                             {B, kCudaType<T>, ldb, 0}, {C, kCudaType<T>, ldc, 0});                               \
  }
#define SYRK(NAME, S, T, INT)                                                                                       \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, INT n, INT k, \
                               const S* alpha, const T* A, INT lda, const S* beta, T* C, INT ldc) {                 \
    return rank_update(#NAME, handle, uplo, trans, n, k, {alpha, beta}, {A, kCudaType<T>, lda, 0},                  \
                       {A, kCudaType<T>, lda, 0}, {C, kCudaType<T>, ldc, 0}, 1);                                    \
  }
#define SYRK_EX(NAME, S, INT)                                                                                       \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, INT n, INT k, \
                               const S* alpha, const void* A, cudaDataType a_type, INT lda, const S* beta, void* C, \
                               cudaDataType c_type, INT ldc) {                                                      \
    return rank_update(#NAME, handle, uplo, trans, n, k, {alpha, beta}, {A, a_type, lda, 0}, {A, a_type, lda, 0},   \
                       {C, c_type, ldc, 0}, 1);                                                                     \
  }
#define SYR2K(NAME, B_SCALAR, T, PRODUCTS, INT)                                                                      \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, INT n, INT k,  \
                               const T* alpha, const T* A, INT lda, const T* B, INT ldb, const B_SCALAR* beta, T* C, \
                               INT ldc) {                                                                            \
    return rank_update(#NAME, handle, uplo, trans, n, k, {alpha, beta}, {A, kCudaType<T>, lda, 0},                   \
                       {B, kCudaType<T>, ldb, 0}, {C, kCudaType<T>, ldc, 0}, PRODUCTS);                              \
  }
#define TRMM(NAME, T, INT)                                                                                      \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,             \
                               cublasOperation_t trans, cublasDiagType_t diag, INT m, INT n, const T* alpha,    \
                               const T* A, INT lda, const T* B, INT ldb, T* C, INT ldc) {                       \
    return triangular_product(#NAME, handle, {side, uplo, trans, diag}, m, n, alpha, {A, kCudaType<T>, lda, 0}, \
                              {B, kCudaType<T>, ldb, 0}, {C, kCudaType<T>, ldc, 0}, 1, false);                  \
  }
#define TRSM(NAME, T, INT)                                                                                            \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,                   \
                               cublasOperation_t trans, cublasDiagType_t diag, INT m, INT n, const T* alpha,          \
                               const T* A, INT lda, T* B, INT ldb) {                                                  \
    const GemmOperand b{B, kCudaType<T>, ldb, 0};                                                                     \
    return triangular_product(#NAME, handle, {side, uplo, trans, diag}, m, n, alpha, {A, kCudaType<T>, lda, 0}, b, b, \
                              1, false);                                                                              \
  }
#define TRSM_BATCHED(NAME, T, INT)                                                                                    \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,                   \
                               cublasOperation_t trans, cublasDiagType_t diag, INT m, INT n, const T* alpha,          \
                               const T* const A[], INT lda, T* const B[], INT ldb, INT batch) {                       \
    const GemmOperand b{B, kCudaType<T>, ldb, 0};                                                                     \
    return triangular_product(#NAME, handle, {side, uplo, trans, diag}, m, n, alpha, {A, kCudaType<T>, lda, 0}, b, b, \
                              batch, true);                                                                           \
  }

#define BOTH(KIND, NAME, ...) KIND(NAME, __VA_ARGS__, int) KIND(NAME##_64, __VA_ARGS__, int64_t)
#define ALL_TYPES(KIND, NAME)          \
  BOTH(KIND, cublasS##NAME, float)     \
  BOTH(KIND, cublasD##NAME, double)    \
  BOTH(KIND, cublasC##NAME, cuComplex) \
  BOTH(KIND, cublasZ##NAME, cuDoubleComplex)

ALL_TYPES(SYMM, symm_v2)
BOTH(SYMM, cublasChemm_v2, cuComplex)
BOTH(SYMM, cublasZhemm_v2, cuDoubleComplex)

BOTH(SYRK, cublasSsyrk_v2, float, float)
BOTH(SYRK, cublasDsyrk_v2, double, double)
BOTH(SYRK, cublasCsyrk_v2, cuComplex, cuComplex)
BOTH(SYRK, cublasZsyrk_v2, cuDoubleComplex, cuDoubleComplex)
BOTH(SYRK, cublasCherk_v2, float, cuComplex)
BOTH(SYRK, cublasZherk_v2, double, cuDoubleComplex)
BOTH(SYRK_EX, cublasCsyrkEx, cuComplex)
BOTH(SYRK_EX, cublasCsyrk3mEx, cuComplex)
BOTH(SYRK_EX, cublasCherkEx, float)
BOTH(SYRK_EX, cublasCherk3mEx, float)

BOTH(SYR2K, cublasSsyr2k_v2, float, float, 2)
BOTH(SYR2K, cublasDsyr2k_v2, double, double, 2)
BOTH(SYR2K, cublasCsyr2k_v2, cuComplex, cuComplex, 2)
BOTH(SYR2K, cublasZsyr2k_v2, cuDoubleComplex, cuDoubleComplex, 2)
BOTH(SYR2K, cublasCher2k_v2, float, cuComplex, 2)
BOTH(SYR2K, cublasZher2k_v2, double, cuDoubleComplex, 2)
BOTH(SYR2K, cublasSsyrkx, float, float, 1)
BOTH(SYR2K, cublasDsyrkx, double, double, 1)
BOTH(SYR2K, cublasCsyrkx, cuComplex, cuComplex, 1)
BOTH(SYR2K, cublasZsyrkx, cuDoubleComplex, cuDoubleComplex, 1)
BOTH(SYR2K, cublasCherkx, float, cuComplex, 1)
BOTH(SYR2K, cublasZherkx, double, cuDoubleComplex, 1)

ALL_TYPES(TRMM, trmm_v2)
ALL_TYPES(TRSM, trsm_v2)
ALL_TYPES(TRSM_BATCHED, trsmBatched)
