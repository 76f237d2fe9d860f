// Singular values: gesvd, gesvdj, gesvdjBatched, gesvdaStridedBatched.
#include <algorithm>
#include <cstring>

#include "driver_shim/common/api.h"
#include "driver_shim/cusolver/dense.h"

namespace maya::cusolver {
namespace {

constexpr Operator kOperator = Operator::kSingularValues;
constexpr int kLargestBatchedOrder = 32;  // gesvdjBatched: "m and n are not larger than 32"

// LAPACK's letters: all columns, the leading ones, in the place of A, none.
bool valid_letter(signed char letter) { return letter == 'A' || letter == 'S' || letter == 'O' || letter == 'N'; }

template <typename T>
int gesvd(const char* api, DenseHandle* handle, signed char job_u, signed char job_vt, int m, int n, T* a, int lda,
          Real<T>* s, T* u, int ldu, T* vt, int ldvt, int* info) {
  if (!usable(handle)) return kNotInitialized;
  if (!valid_letter(job_u) || !valid_letter(job_vt) || (job_u == 'O' && job_vt == 'O')) return kInvalidValue;
  // "gesvd only supports m >= n."
  if (n < 0 || m < n || !valid_leading(lda, m) || ldu < 1 || ldvt < 1) return kInvalidValue;
  const int64_t columns_u = job_u == 'A' ? m : job_u == 'S' ? n : 0;
  const int64_t rows_vt = job_vt == 'A' || job_vt == 'S' ? n : 0;
  if ((columns_u > 0 && ldu < m) || ldvt < rows_vt) return kInvalidValue;
  if (n > 0 && (a == nullptr || s == nullptr)) return kInvalidValue;
  shim::WriteList writes;
  add(a, cublas::kCudaType<T>, m, n, lda, &writes);
  add(s, cublas::kCudaType<Real<T>>, n, 1, n, &writes);
  add(u, cublas::kCudaType<T>, m, columns_u, ldu, &writes);
  add(vt, cublas::kCudaType<T>, rows_vt, n, ldvt, &writes);
  const Vectors vectors = job_u == 'N' && job_vt == 'N' ? Vectors::kNone
                          : job_u == 'A'                ? Vectors::kFull
                                                        : Vectors::kThin;
  return run(handle, {api, kOperator, cublas::kCudaType<T>, m, n, 1, svd_flops(m, n, vectors), reduction_steps(n)},
             writes, info, 1);
}

int gesvd_size(const DenseHandle* handle, int m, int n, int* lwork) {
  if (!usable(handle)) return kNotInitialized;
  if (n < 0 || m < n) return kInvalidValue;
  const double order = n;
  return answer(kBlock * (static_cast<double>(m) + n) + 3 * order * order, lwork);
}

// What U, S and V take: all columns, or with `thin` the leading min(m, n). V is n by n or n by min(m, n).
template <typename T>
struct Jacobi {
  const char* api;
  int job;
  bool thin;
  int m, n;
  const T* a;
  int lda;
  const Real<T>* s;
  const T* u;
  int ldu;
  const T* v;
  int ldv;
  int batch;
};

template <typename T>
int check(const DenseHandle* handle, const Jacobi<T>& call, const JacobiInfo* info) {
  if (!usable(handle)) return kNotInitialized;
  if (info == nullptr || !valid_job(call.job) || call.m < 0 || call.n < 0 || call.batch < 0) return kInvalidValue;
  if (!valid_leading(call.lda, call.m)) return kInvalidValue;
  if (call.job == 1 && (!valid_leading(call.ldu, call.m) || !valid_leading(call.ldv, call.n))) return kInvalidValue;
  return kSuccess;
}

template <typename T>
int run_jacobi(DenseHandle* handle, const Jacobi<T>& call, const JacobiInfo* parameters, int* info) {
  if (const int status = check(handle, call, parameters); status != kSuccess) return status;
  const int64_t m = call.m, n = call.n, smaller = std::min(m, n);
  if (smaller > 0 && call.batch > 0 && (call.a == nullptr || call.s == nullptr)) return kInvalidValue;
  if (call.batch == 0) return kSuccess;
  constexpr cudaDataType kType = cublas::kCudaType<T>;
  shim::WriteList writes;
  add(call.a, kType, m, n, call.lda, &writes, static_cast<int64_t>(call.lda) * n, call.batch);
  add(call.s, cublas::kCudaType<Real<T>>, smaller, call.batch, smaller, &writes);
  if (call.job == 1) {
    const int64_t columns_u = call.thin ? smaller : m, columns_v = call.thin ? smaller : n;
    add(call.u, kType, m, columns_u, call.ldu, &writes, static_cast<int64_t>(call.ldu) * columns_u, call.batch);
    add(call.v, kType, n, columns_v, call.ldv, &writes, static_cast<int64_t>(call.ldv) * columns_v, call.batch);
  }
  return run(handle,
             {call.api, kOperator, kType, m, n, call.batch,
              jacobi_svd_flops(static_cast<double>(m), static_cast<double>(n), call.job == 1), jacobi_steps(smaller)},
             writes, info, call.batch);
}

template <typename T>
int jacobi_size(const DenseHandle* handle, const Jacobi<T>& call, const JacobiInfo* parameters, int* lwork) {
  if (const int status = check(handle, call, parameters); status != kSuccess) return status;
  const double m = call.m, n = call.n;
  return answer((m * n + n * n + kBlock * (m + n)) * std::max(call.batch, 1), lwork);
}

// Singular values of tall and thin matrices from the eigenvalues of A^H A, of which the leading `rank` are kept.
template <typename T>
struct Approximate {
  const char* api;
  int job, rank, m, n;
  const T* a;
  int lda;
  long long stride_a;
  const Real<T>* s;
  long long stride_s;
  const T* u;
  int ldu;
  long long stride_u;
  const T* v;
  int ldv;
  long long stride_v;
  int batch;
};

template <typename T>
int check(const DenseHandle* handle, const Approximate<T>& call) {
  if (!usable(handle)) return kNotInitialized;
  const bool valid = valid_job(call.job) && call.m >= 0 && call.n >= 0 && call.rank >= 0 &&
                     call.rank <= std::min(call.m, call.n) && call.batch >= 0 && valid_leading(call.lda, call.m) &&
                     (call.job == 0 || (valid_leading(call.ldu, call.m) && valid_leading(call.ldv, call.n)));
  return valid ? kSuccess : kInvalidValue;
}

template <typename T>
int approximate_size(const DenseHandle* handle, const Approximate<T>& call, int* lwork) {
  if (const int status = check(handle, call); status != kSuccess) return status;
  const double n = call.n;
  return answer((2 * n * n + (6 + kBlock) * n + 1) * std::max(call.batch, 1), lwork);
}

template <typename T>
int approximate(DenseHandle* handle, const Approximate<T>& call, int* info, double* residuals) {
  if (const int status = check(handle, call); status != kSuccess) return status;
  if (call.rank > 0 && call.batch > 0 && (call.a == nullptr || call.s == nullptr)) return kInvalidValue;
  if (call.batch == 0) return kSuccess;
  constexpr cudaDataType kType = cublas::kCudaType<T>;
  shim::WriteList writes;
  add(call.s, cublas::kCudaType<Real<T>>, call.rank, 1, call.rank, &writes, call.stride_s, call.batch);
  if (call.job == 1) {
    add(call.u, kType, call.m, call.rank, call.ldu, &writes, call.stride_u, call.batch);
    add(call.v, kType, call.n, call.rank, call.ldv, &writes, call.stride_v, call.batch);
  }
  // Norms of the residuals, in host memory.
  if (residuals != nullptr) std::memset(residuals, 0, sizeof(double) * static_cast<size_t>(call.batch));
  const double m = call.m, n = call.n, rank = call.rank;
  return run(handle,
             {call.api, kOperator, kType, call.m, call.n, call.batch,
              m * n * n + symmetric_flops(n, call.job == 1) + 2 * m * n * rank, reduction_steps(call.n)},
             writes, info, call.batch);
}

}  // namespace
}  // namespace maya::cusolver

using namespace maya::cusolver;

#define SINGULAR_VALUES(P, T)                                                                                          \
  MAYA_API int cusolverDn##P##gesvd_bufferSize(DenseHandle* handle, int m, int n, int* lwork) {                        \
    return gesvd_size(handle, m, n, lwork);                                                                            \
  }                                                                                                                    \
  MAYA_API int cusolverDn##P##gesvd(DenseHandle* handle, signed char job_u, signed char job_vt, int m, int n, T* A,    \
                                    int lda, Real<T>* S, T* U, int ldu, T* VT, int ldvt, T*, int, Real<T>*,            \
                                    int* info) {                                                                       \
    return gesvd("cusolverDn" #P "gesvd", handle, job_u, job_vt, m, n, A, lda, S, U, ldu, VT, ldvt, info);             \
  }                                                                                                                    \
  MAYA_API int cusolverDn##P##gesvdj_bufferSize(DenseHandle* handle, int job, int thin, int m, int n, const T* A,      \
                                                int lda, const Real<T>* S, const T* U, int ldu, const T* V, int ldv,   \
                                                int* lwork, JacobiInfo* parameters) {                                  \
    return jacobi_size<T>(handle, {"", job, thin != 0, m, n, A, lda, S, U, ldu, V, ldv, 1}, parameters, lwork);        \
  }                                                                                                                    \
  MAYA_API int cusolverDn##P##gesvdj(DenseHandle* handle, int job, int thin, int m, int n, T* A, int lda, Real<T>* S,  \
                                     T* U, int ldu, T* V, int ldv, T*, int, int* info, JacobiInfo* parameters) {       \
    return run_jacobi<T>(handle, {"cusolverDn" #P "gesvdj", job, thin != 0, m, n, A, lda, S, U, ldu, V, ldv, 1},       \
                         parameters, info);                                                                            \
  }                                                                                                                    \
  MAYA_API int cusolverDn##P##gesvdjBatched_bufferSize(DenseHandle* handle, int job, int m, int n, const T* A,         \
                                                       int lda, const Real<T>* S, const T* U, int ldu, const T* V,     \
                                                       int ldv, int* lwork, JacobiInfo* parameters, int batch) {       \
    if (usable(handle) && (m > kLargestBatchedOrder || n > kLargestBatchedOrder)) return kInvalidValue;                \
    return jacobi_size<T>(handle, {"", job, false, m, n, A, lda, S, U, ldu, V, ldv, batch}, parameters, lwork);        \
  }                                                                                                                    \
  MAYA_API int cusolverDn##P##gesvdjBatched(DenseHandle* handle, int job, int m, int n, T* A, int lda, Real<T>* S,     \
                                            T* U, int ldu, T* V, int ldv, T*, int, int* info, JacobiInfo* parameters,  \
                                            int batch) {                                                               \
    if (usable(handle) && (m > kLargestBatchedOrder || n > kLargestBatchedOrder)) return kInvalidValue;                \
    return run_jacobi<T>(handle,                                                                                       \
                         {"cusolverDn" #P "gesvdjBatched", job, false, m, n, A, lda, S, U, ldu, V, ldv, batch},        \
                         parameters, info);                                                                            \
  }                                                                                                                    \
  MAYA_API int cusolverDn##P##gesvdaStridedBatched_bufferSize(                                                         \
      DenseHandle* handle, int job, int rank, int m, int n, const T* A, int lda, long long stride_a, const Real<T>* S, \
      long long stride_s, const T* U, int ldu, long long stride_u, const T* V, int ldv, long long stride_v,            \
      int* lwork, int batch) {                                                                                         \
    return approximate_size<T>(                                                                                        \
        handle, {"", job, rank, m, n, A, lda, stride_a, S, stride_s, U, ldu, stride_u, V, ldv, stride_v, batch},       \
        lwork);                                                                                                        \
  }                                                                                                                    \
  MAYA_API int cusolverDn##P##gesvdaStridedBatched(DenseHandle* handle, int job, int rank, int m, int n, const T* A,   \
                                                   int lda, long long stride_a, Real<T>* S, long long stride_s, T* U,  \
                                                   int ldu, long long stride_u, T* V, int ldv, long long stride_v, T*, \
                                                   int, int* info, double* residuals, int batch) {                     \
    return approximate<T>(handle,                                                                                      \
                          {"cusolverDn" #P "gesvdaStridedBatched", job, rank, m, n, A, lda, stride_a, S, stride_s, U,  \
                           ldu, stride_u, V, ldv, stride_v, batch},                                                    \
                          info, residuals);                                                                            \
  }

SINGULAR_VALUES(S, float)
SINGULAR_VALUES(D, double)
SINGULAR_VALUES(C, cuComplex)
SINGULAR_VALUES(Z, cuDoubleComplex)
