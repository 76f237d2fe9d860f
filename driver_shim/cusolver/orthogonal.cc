// Orthogonal transformations: geqrf, orgqr and ungqr, ormqr and unmqr, and the reductions to condensed form sytrd,
// hetrd and gebrd.
#include <algorithm>

#include "driver_shim/common/api.h"
#include "driver_shim/cusolver/dense.h"

namespace maya::cusolver {
namespace {

constexpr Operator kOperator = Operator::kFactorization;

int check(const DenseHandle* handle, int64_t m, int64_t n, int64_t lda) {
  if (!usable(handle)) return kNotInitialized;
  return m < 0 || n < 0 || !valid_leading(lda, m) ? kInvalidValue : kSuccess;
}

int blocks_of(const DenseHandle* handle, int m, int n, int lda, int* lwork) {
  if (const int status = check(handle, m, n, lda); status != kSuccess) return status;
  return answer(static_cast<double>(n) * kBlock, lwork);
}

template <typename T>
int geqrf(const char* api, DenseHandle* handle, int m, int n, T* a, int lda, T* tau, int* info) {
  if (const int status = check(handle, m, n, lda); status != kSuccess) return status;
  const int64_t reflectors = std::min(m, n);
  if (reflectors > 0 && (a == nullptr || tau == nullptr)) return kInvalidValue;
  shim::WriteList writes;
  add(a, cublas::kCudaType<T>, m, n, lda, &writes);
  add(tau, cublas::kCudaType<T>, reflectors, 1, reflectors, &writes);
  return run(handle, {api, kOperator, cublas::kCudaType<T>, m, n, 1, qr_flops(m, n), factorization_steps(reflectors)},
             writes, info, 1);
}

// m >= n >= k >= 0.
int check_form(const DenseHandle* handle, int m, int n, int k, int lda) {
  if (const int status = check(handle, m, n, lda); status != kSuccess) return status;
  return n > m || k < 0 || k > n ? kInvalidValue : kSuccess;
}

template <typename T>
int form_q(const char* api, DenseHandle* handle, int m, int n, int k, T* a, int lda, const T* tau, int* info) {
  if (const int status = check_form(handle, m, n, k, lda); status != kSuccess) return status;
  if (n > 0 && (a == nullptr || (k > 0 && tau == nullptr))) return kInvalidValue;
  shim::WriteList writes;
  add(a, cublas::kCudaType<T>, m, n, lda, &writes);
  return run(handle, {api, kOperator, cublas::kCudaType<T>, m, n, 1, form_q_flops(m, n, k), factorization_steps(k)},
             writes, info, 1);
}

int form_q_size(const DenseHandle* handle, int m, int n, int k, int lda, int* lwork) {
  if (const int status = check_form(handle, m, n, k, lda); status != kSuccess) return status;
  return answer(static_cast<double>(n) * kBlock, lwork);
}

// C is m by n; the reflectors lie in the k columns of a matrix of m (left) or n rows.
int check_apply(const DenseHandle* handle, int side, int trans, int m, int n, int k, int lda, int ldc) {
  if (!usable(handle)) return kNotInitialized;
  if ((side != CUBLAS_SIDE_LEFT && side != CUBLAS_SIDE_RIGHT) || trans < 0 || trans > 2) return kInvalidValue;
  const int order = side == CUBLAS_SIDE_LEFT ? m : n;
  const bool valid = m >= 0 && n >= 0 && k >= 0 && k <= order && valid_leading(lda, order) && valid_leading(ldc, m);
  return valid ? kSuccess : kInvalidValue;
}

template <typename T>
int apply_q(const char* api, DenseHandle* handle, int side, int trans, int m, int n, int k, const T* a, int lda,
            const T* tau, T* c, int ldc, int* info) {
  if (const int status = check_apply(handle, side, trans, m, n, k, lda, ldc); status != kSuccess) return status;
  if (m > 0 && n > 0 && (c == nullptr || (k > 0 && (a == nullptr || tau == nullptr)))) return kInvalidValue;
  shim::WriteList writes;
  add(c, cublas::kCudaType<T>, m, n, ldc, &writes);
  return run(handle,
             {api, kOperator, cublas::kCudaType<T>, m, n, 1, apply_q_flops(m, n, k, side == CUBLAS_SIDE_LEFT),
              factorization_steps(k)},
             writes, info, 1);
}

int apply_q_size(const DenseHandle* handle, int side, int trans, int m, int n, int k, int lda, int ldc, int* lwork) {
  if (const int status = check_apply(handle, side, trans, m, n, k, lda, ldc); status != kSuccess) return status;
  return answer(static_cast<double>(side == CUBLAS_SIDE_LEFT ? n : m) * kBlock, lwork);
}

// 4/3 n^3: half of it matrix-vector products, one column after the other.
template <typename T>
int tridiagonal(const char* api, DenseHandle* handle, int uplo, int n, T* a, int lda, Real<T>* d, Real<T>* e, T* tau,
                int* info) {
  if (const int status = check(handle, n, n, lda); status != kSuccess) return status;
  if (!valid_fill(uplo) || (n > 0 && a == nullptr)) return kInvalidValue;
  shim::WriteList writes;
  add(a, cublas::kCudaType<T>, n, n, lda, &writes);
  add(d, cublas::kCudaType<Real<T>>, n, 1, n, &writes);
  add(e, cublas::kCudaType<Real<T>>, n - 1, 1, n, &writes);
  add(tau, cublas::kCudaType<T>, n - 1, 1, n, &writes);
  return run(
      handle,
      {api, Operator::kEigenvalues, cublas::kCudaType<T>, n, n, 1, symmetric_flops(n, false), reduction_steps(n)},
      writes, info, 1);
}

// 4 m n^2 - 4/3 n^3.
template <typename T>
int bidiagonal(const char* api, DenseHandle* handle, int m, int n, T* a, int lda, Real<T>* d, Real<T>* e, T* tau_q,
               T* tau_p, int* info) {
  if (const int status = check(handle, m, n, lda); status != kSuccess) return status;
  const int64_t smaller = std::min(m, n);
  if (smaller > 0 && a == nullptr) return kInvalidValue;
  shim::WriteList writes;
  add(a, cublas::kCudaType<T>, m, n, lda, &writes);
  add(d, cublas::kCudaType<Real<T>>, smaller, 1, smaller, &writes);
  add(e, cublas::kCudaType<Real<T>>, smaller, 1, smaller, &writes);
  add(tau_q, cublas::kCudaType<T>, smaller, 1, smaller, &writes);
  add(tau_p, cublas::kCudaType<T>, smaller, 1, smaller, &writes);
  return run(handle,
             {api, Operator::kSingularValues, cublas::kCudaType<T>, m, n, 1, svd_flops(m, n, Vectors::kNone),
              reduction_steps(smaller)},
             writes, info, 1);
}

}  // namespace
}  // namespace maya::cusolver

using namespace maya::cusolver;

// Real matrices have orthogonal factors (or...), complex ones unitary factors (un...).
#define ORTHOGONAL(P, T, form, apply, reduce)                                                                          \
  MAYA_API int cusolverDn##P##geqrf_bufferSize(DenseHandle* handle, int m, int n, T*, int lda, int* lwork) {           \
    return blocks_of(handle, m, n, lda, lwork);                                                                        \
  }                                                                                                                    \
  MAYA_API int cusolverDn##P##geqrf(DenseHandle* handle, int m, int n, T* A, int lda, T* tau, T*, int, int* info) {    \
    return geqrf("cusolverDn" #P "geqrf", handle, m, n, A, lda, tau, info);                                            \
  }                                                                                                                    \
  MAYA_API int cusolverDn##P##form##_bufferSize(DenseHandle* handle, int m, int n, int k, const T*, int lda, const T*, \
                                                int* lwork) {                                                          \
    return form_q_size(handle, m, n, k, lda, lwork);                                                                   \
  }                                                                                                                    \
  MAYA_API int cusolverDn##P##form(DenseHandle* handle, int m, int n, int k, T* A, int lda, const T* tau, T*, int,     \
                                   int* info) {                                                                        \
    return form_q("cusolverDn" #P #form, handle, m, n, k, A, lda, tau, info);                                          \
  }                                                                                                                    \
  MAYA_API int cusolverDn##P##apply##_bufferSize(DenseHandle* handle, int side, int trans, int m, int n, int k,        \
                                                 const T*, int lda, const T*, const T*, int ldc, int* lwork) {         \
    return apply_q_size(handle, side, trans, m, n, k, lda, ldc, lwork);                                                \
  }                                                                                                                    \
  MAYA_API int cusolverDn##P##apply(DenseHandle* handle, int side, int trans, int m, int n, int k, const T* A,         \
                                    int lda, const T* tau, T* C, int ldc, T*, int, int* info) {                        \
    return apply_q("cusolverDn" #P #apply, handle, side, trans, m, n, k, A, lda, tau, C, ldc, info);                   \
  }                                                                                                                    \
  MAYA_API int cusolverDn##P##reduce##_bufferSize(DenseHandle* handle, int uplo, int n, const T*, int lda,             \
                                                  const Real<T>*, const Real<T>*, const T*, int* lwork) {              \
    return !usable(handle)     ? kNotInitialized                                                                       \
           : !valid_fill(uplo) ? kInvalidValue                                                                         \
                               : blocks_of(handle, n, n, lda, lwork);                                                  \
  }                                                                                                                    \
  MAYA_API int cusolverDn##P##reduce(DenseHandle* handle, int uplo, int n, T* A, int lda, Real<T>* d, Real<T>* e,      \
                                     T* tau, T*, int, int* info) {                                                     \
    return tridiagonal("cusolverDn" #P #reduce, handle, uplo, n, A, lda, d, e, tau, info);                             \
  }                                                                                                                    \
  MAYA_API int cusolverDn##P##gebrd_bufferSize(DenseHandle* handle, int m, int n, int* lwork) {                        \
    return blocks_of(handle, m, n < 0 ? n : m + n, m > 1 ? m : 1, lwork);                                              \
  }                                                                                                                    \
  MAYA_API int cusolverDn##P##gebrd(DenseHandle* handle, int m, int n, T* A, int lda, Real<T>* d, Real<T>* e,          \
                                    T* tau_q, T* tau_p, T*, int, int* info) {                                          \
    return bidiagonal("cusolverDn" #P "gebrd", handle, m, n, A, lda, d, e, tau_q, tau_p, info);                        \
  }

ORTHOGONAL(S, float, orgqr, ormqr, sytrd)
ORTHOGONAL(D, double, orgqr, ormqr, sytrd)
ORTHOGONAL(C, cuComplex, ungqr, unmqr, hetrd)
ORTHOGONAL(Z, cuDoubleComplex, ungqr, unmqr, hetrd)
