// Factorizations and inverses of square matrices: Cholesky (potrf, potri), LU (getrf), symmetric indefinite (sytrf,
// sytri).
#include <algorithm>
#include <vector>

#include "driver_shim/common/api.h"
#include "driver_shim/cusolver/dense.h"

namespace maya::cusolver {
namespace {

constexpr Operator kOperator = Operator::kFactorization;

// Arguments that all routines on one triangle share.
int check(const DenseHandle* handle, int uplo, int64_t n, const void* a, int64_t lda) {
  if (!usable(handle)) return kNotInitialized;
  return !valid_fill(uplo) || n < 0 || !valid_leading(lda, n) || (n > 0 && a == nullptr) ? kInvalidValue : kSuccess;
}

template <typename T>
int factor_triangle(const char* api, DenseHandle* handle, int uplo, int n, T* a, int lda, int* pivots, int* info,
                    double flops) {
  if (const int status = check(handle, uplo, n, a, lda); status != kSuccess) return status;
  shim::WriteList writes;
  add(a, cublas::kCudaType<T>, n, n, lda, &writes);
  if (pivots != nullptr) writes.add(pivots, sizeof(int) * static_cast<uint64_t>(n));
  return run(handle, {api, kOperator, cublas::kCudaType<T>, n, n, 1, flops, factorization_steps(n)}, writes, info, 1);
}

template <typename T>
int triangle_size(const DenseHandle* handle, int uplo, int n, const T* a, int lda, int* lwork) {
  if (const int status = check(handle, uplo, n, a, lda); status != kSuccess) return status;
  return answer(static_cast<double>(n) * kBlock, lwork);
}

template <typename T>
int potrf_batched(const char* api, DenseHandle* handle, int uplo, int n, T* const* a, int lda, int* info, int batch) {
  if (const int status = check(handle, uplo, n, a, lda); status != kSuccess) return status;
  if (batch < 0) return kInvalidValue;
  if (batch == 0) return kSuccess;
  shim::WriteList writes;
  cublas::add_matrices({a, cublas::kCudaType<T>, n, n, lda, 0, batch, true}, &writes);
  return run(handle, {api, kOperator, cublas::kCudaType<T>, n, n, batch, cholesky_flops(n), factorization_steps(n)},
             writes, info, batch);
}

template <typename T>
int getrf(const char* api, DenseHandle* handle, int m, int n, T* a, int lda, int* pivots, int* info) {
  if (!usable(handle)) return kNotInitialized;
  if (m < 0 || n < 0 || !valid_leading(lda, m) || (m > 0 && n > 0 && a == nullptr)) return kInvalidValue;
  const int64_t smaller = std::min(m, n);
  shim::WriteList writes;
  add(a, cublas::kCudaType<T>, m, n, lda, &writes);
  if (pivots != nullptr) writes.add(pivots, sizeof(int) * static_cast<uint64_t>(smaller));
  return run(handle, {api, kOperator, cublas::kCudaType<T>, m, n, 1, lu_flops(m, n), factorization_steps(smaller)},
             writes, info, 1);
}

template <typename T>
int getrf_size(const DenseHandle* handle, int m, int n, const T*, int lda, int* lwork) {
  if (!usable(handle)) return kNotInitialized;
  if (m < 0 || n < 0 || !valid_leading(lda, m)) return kInvalidValue;
  return answer(static_cast<double>(std::max(m, n)) * kBlock, lwork);
}

}  // namespace
}  // namespace maya::cusolver

using namespace maya::cusolver;

#define FACTORIZATIONS(P, T)                                                                                        \
  MAYA_API int cusolverDn##P##potrf_bufferSize(DenseHandle* handle, int uplo, int n, T* A, int lda, int* lwork) {   \
    return triangle_size(handle, uplo, n, A, lda, lwork);                                                           \
  }                                                                                                                 \
  MAYA_API int cusolverDn##P##potrf(DenseHandle* handle, int uplo, int n, T* A, int lda, T*, int, int* info) {      \
    return factor_triangle("cusolverDn" #P "potrf", handle, uplo, n, A, lda, nullptr, info, cholesky_flops(n));     \
  }                                                                                                                 \
  MAYA_API int cusolverDn##P##potrfBatched(DenseHandle* handle, int uplo, int n, T* A[], int lda, int* info,        \
                                           int batch) {                                                             \
    return potrf_batched<T>("cusolverDn" #P "potrfBatched", handle, uplo, n, A, lda, info, batch);                  \
  }                                                                                                                 \
  MAYA_API int cusolverDn##P##potri_bufferSize(DenseHandle* handle, int uplo, int n, T* A, int lda, int* lwork) {   \
    return triangle_size(handle, uplo, n, A, lda, lwork);                                                           \
  }                                                                                                                 \
  MAYA_API int cusolverDn##P##potri(DenseHandle* handle, int uplo, int n, T* A, int lda, T*, int, int* info) {      \
    return factor_triangle("cusolverDn" #P "potri", handle, uplo, n, A, lda, nullptr, info, 2 * cube(n) / 3);       \
  }                                                                                                                 \
  MAYA_API int cusolverDn##P##sytrf_bufferSize(DenseHandle* handle, int n, T* A, int lda, int* lwork) {             \
    return triangle_size(handle, CUBLAS_FILL_MODE_LOWER, n, A, lda, lwork);                                         \
  }                                                                                                                 \
  MAYA_API int cusolverDn##P##sytrf(DenseHandle* handle, int uplo, int n, T* A, int lda, int* pivots, T*, int,      \
                                    int* info) {                                                                    \
    return factor_triangle("cusolverDn" #P "sytrf", handle, uplo, n, A, lda, pivots, info, cube(n) / 3);            \
  }                                                                                                                 \
  MAYA_API int cusolverDn##P##sytri_bufferSize(DenseHandle* handle, int uplo, int n, T* A, int lda, const int*,     \
                                               int* lwork) {                                                        \
    return triangle_size(handle, uplo, n, A, lda, lwork);                                                           \
  }                                                                                                                 \
  MAYA_API int cusolverDn##P##sytri(DenseHandle* handle, int uplo, int n, T* A, int lda, const int*, T*, int,       \
                                    int* info) {                                                                    \
    return factor_triangle("cusolverDn" #P "sytri", handle, uplo, n, A, lda, nullptr, info, 2 * cube(n) / 3);       \
  }                                                                                                                 \
  MAYA_API int cusolverDn##P##getrf_bufferSize(DenseHandle* handle, int m, int n, T* A, int lda, int* lwork) {      \
    return getrf_size(handle, m, n, A, lda, lwork);                                                                 \
  }                                                                                                                 \
  MAYA_API int cusolverDn##P##getrf(DenseHandle* handle, int m, int n, T* A, int lda, T*, int* pivots, int* info) { \
    return getrf("cusolverDn" #P "getrf", handle, m, n, A, lda, pivots, info);                                      \
  }

FACTORIZATIONS(S, float)
FACTORIZATIONS(D, double)
FACTORIZATIONS(C, cuComplex)
FACTORIZATIONS(Z, cuDoubleComplex)
