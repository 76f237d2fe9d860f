// Eigenvalues of symmetric and Hermitian matrices: syevd, syevj, syevjBatched, sygvd and their complex forms.
#include <algorithm>

#include "driver_shim/common/api.h"
#include "driver_shim/cusolver/dense.h"

namespace maya::cusolver {
namespace {

constexpr Operator kOperator = Operator::kEigenvalues;

int check(const DenseHandle* handle, int job, int uplo, int64_t n, int64_t lda, int64_t batch = 1) {
  if (!usable(handle)) return kNotInitialized;
  return !valid_job(job) || !valid_fill(uplo) || n < 0 || !valid_leading(lda, n) || batch < 0 ? kInvalidValue
                                                                                              : kSuccess;
}

struct Method {
  double flops;
  int64_t steps;
};

Method divide_and_conquer(int64_t n, int job) {
  return {symmetric_flops(static_cast<double>(n), job == 1), reduction_steps(n)};
}
Method jacobi(int64_t n, int job) { return {jacobi_flops(static_cast<double>(n), job == 1), jacobi_steps(n)}; }

// Vectors, or what is left of the triangle, in A; values in W. Matrices of a batch lie one after the other.
template <typename T>
int values(const char* api, DenseHandle* handle, int job, int uplo, int n, T* a, int lda, Real<T>* w,
           const Method& method, int* info, int batch) {
  if (const int status = check(handle, job, uplo, n, lda, batch); status != kSuccess) return status;
  if (n > 0 && batch > 0 && (a == nullptr || w == nullptr)) return kInvalidValue;
  if (batch == 0) return kSuccess;
  shim::WriteList writes;
  add(a, cublas::kCudaType<T>, n, n, lda, &writes, static_cast<int64_t>(lda) * n, batch);
  add(w, cublas::kCudaType<Real<T>>, n, batch, n, &writes);
  return run(handle, {api, kOperator, cublas::kCudaType<T>, n, n, batch, method.flops, method.steps}, writes, info,
             batch);
}

// LAPACK's 1 + 6 n + 2 n^2 of syevd, and blocks for the reduction.
int size(const DenseHandle* handle, int job, int uplo, int n, int lda, int batch, int* lwork) {
  if (const int status = check(handle, job, uplo, n, lda, batch); status != kSuccess) return status;
  const double order = n;
  return answer((1 + (6 + kBlock) * order + (job == 1 ? 2 * order * order : 0)) * std::max(batch, 1), lwork);
}

// A x = lambda B x and its two other forms: a Cholesky factorization of B, n^3 for the reduction to standard form, and
// for vectors a triangular solution.
template <typename T>
int generalized(const char* api, DenseHandle* handle, int form, int job, int uplo, int n, T* a, int lda, T* b, int ldb,
                Real<T>* w, const Method& method, int* info) {
  if (const int status = check(handle, job, uplo, n, lda); status != kSuccess) return status;
  if (form < 1 || form > 3 || !valid_leading(ldb, n)) return kInvalidValue;
  if (n > 0 && (a == nullptr || b == nullptr || w == nullptr)) return kInvalidValue;
  shim::WriteList writes;
  add(a, cublas::kCudaType<T>, n, n, lda, &writes);
  add(b, cublas::kCudaType<T>, n, n, ldb, &writes);
  add(w, cublas::kCudaType<Real<T>>, n, 1, n, &writes);
  const double more = cholesky_flops(n) + (job == 1 ? 2 : 1) * cube(n);
  return run(
      handle,
      {api, kOperator, cublas::kCudaType<T>, n, n, 1, method.flops + more, method.steps + 2 * factorization_steps(n)},
      writes, info, 1);
}

int generalized_size(const DenseHandle* handle, int form, int job, int uplo, int n, int lda, int ldb, int* lwork) {
  if (!usable(handle)) return kNotInitialized;
  if (form < 1 || form > 3 || !valid_leading(ldb, n)) return kInvalidValue;
  return size(handle, job, uplo, n, lda, 1, lwork);
}

int with_info(const JacobiInfo* info, int status) {
  return status == kSuccess && info == nullptr ? kInvalidValue : status;
}

}  // namespace
}  // namespace maya::cusolver

using namespace maya::cusolver;

#define EIGENVALUES(P, T, evd, evj, gvd, gvj)                                                                        \
  MAYA_API int cusolverDn##P##evd##_bufferSize(DenseHandle* handle, int job, int uplo, int n, const T*, int lda,     \
                                               const Real<T>*, int* lwork) {                                         \
    return size(handle, job, uplo, n, lda, 1, lwork);                                                                \
  }                                                                                                                  \
  MAYA_API int cusolverDn##P##evd(DenseHandle* handle, int job, int uplo, int n, T* A, int lda, Real<T>* W, T*, int, \
                                  int* info) {                                                                       \
    return values("cusolverDn" #P #evd, handle, job, uplo, n, A, lda, W, divide_and_conquer(n, job), info, 1);       \
  }                                                                                                                  \
  MAYA_API int cusolverDn##P##evj##_bufferSize(DenseHandle* handle, int job, int uplo, int n, const T*, int lda,     \
                                               const Real<T>*, int* lwork, JacobiInfo* parameters) {                 \
    return with_info(parameters, size(handle, job, uplo, n, lda, 1, lwork));                                         \
  }                                                                                                                  \
  MAYA_API int cusolverDn##P##evj(DenseHandle* handle, int job, int uplo, int n, T* A, int lda, Real<T>* W, T*, int, \
                                  int* info, JacobiInfo* parameters) {                                               \
    if (usable(handle) && parameters == nullptr) return kInvalidValue;                                               \
    return values("cusolverDn" #P #evj, handle, job, uplo, n, A, lda, W, jacobi(n, job), info, 1);                   \
  }                                                                                                                  \
  MAYA_API int cusolverDn##P##evj##Batched_bufferSize(DenseHandle* handle, int job, int uplo, int n, const T*,       \
                                                      int lda, const Real<T>*, int* lwork, JacobiInfo* parameters,   \
                                                      int batch) {                                                   \
    return with_info(parameters, size(handle, job, uplo, n, lda, batch, lwork));                                     \
  }                                                                                                                  \
  MAYA_API int cusolverDn##P##evj##Batched(DenseHandle* handle, int job, int uplo, int n, T* A, int lda, Real<T>* W, \
                                           T*, int, int* info, JacobiInfo* parameters, int batch) {                  \
    if (usable(handle) && parameters == nullptr) return kInvalidValue;                                               \
    return values("cusolverDn" #P #evj "Batched", handle, job, uplo, n, A, lda, W, jacobi(n, job), info, batch);     \
  }                                                                                                                  \
  MAYA_API int cusolverDn##P##gvd##_bufferSize(DenseHandle* handle, int form, int job, int uplo, int n, const T*,    \
                                               int lda, const T*, int ldb, const Real<T>*, int* lwork) {             \
    return generalized_size(handle, form, job, uplo, n, lda, ldb, lwork);                                            \
  }                                                                                                                  \
  MAYA_API int cusolverDn##P##gvd(DenseHandle* handle, int form, int job, int uplo, int n, T* A, int lda, T* B,      \
                                  int ldb, Real<T>* W, T*, int, int* info) {                                         \
    return generalized("cusolverDn" #P #gvd, handle, form, job, uplo, n, A, lda, B, ldb, W,                          \
                       divide_and_conquer(n, job), info);                                                            \
  }                                                                                                                  \
  MAYA_API int cusolverDn##P##gvj##_bufferSize(DenseHandle* handle, int form, int job, int uplo, int n, const T*,    \
                                               int lda, const T*, int ldb, const Real<T>*, int* lwork,               \
                                               JacobiInfo* parameters) {                                             \
    return with_info(parameters, generalized_size(handle, form, job, uplo, n, lda, ldb, lwork));                     \
  }                                                                                                                  \
  MAYA_API int cusolverDn##P##gvj(DenseHandle* handle, int form, int job, int uplo, int n, T* A, int lda, T* B,      \
                                  int ldb, Real<T>* W, T*, int, int* info, JacobiInfo* parameters) {                 \
    if (usable(handle) && parameters == nullptr) return kInvalidValue;                                               \
    return generalized("cusolverDn" #P #gvj, handle, form, job, uplo, n, A, lda, B, ldb, W, jacobi(n, job), info);   \
  }

EIGENVALUES(S, float, syevd, syevj, sygvd, sygvj)
EIGENVALUES(D, double, syevd, syevj, sygvd, sygvj)
EIGENVALUES(C, cuComplex, heevd, heevj, hegvd, hegvj)
EIGENVALUES(Z, cuDoubleComplex, heevd, heevj, hegvd, hegvj)
