// The 64-bit interface, where types are arguments: Xpotrf, Xpotrs, Xgetrf, Xgetrs, Xgeqrf, Xsyevd, XsyevBatched, Xgeev,
// Xgesvd, Xgesvdp, Xsytrs, Xtrtri. All work memory is on the device; none is asked for on the host.
#include <algorithm>

#include "driver_shim/common/api.h"
#include "driver_shim/cusolver/dense.h"

namespace maya::cusolver {
namespace {

bool valid_type(cudaDataType type) {
  return type == CUDA_R_32F || type == CUDA_R_64F || type == CUDA_C_32F || type == CUDA_C_64F;
}

cudaDataType real_of(cudaDataType type) {
  return type == CUDA_C_32F ? CUDA_R_32F : type == CUDA_C_64F ? CUDA_R_64F : type;
}

// Wrong arguments before unsupported types, as the documentation of each routine lists them.
int check(const DenseHandle* handle, bool valid, std::initializer_list<cudaDataType> types) {
  if (!usable(handle)) return kNotInitialized;
  if (!valid) return kInvalidValue;
  for (const cudaDataType type : types)
    if (!valid_type(type)) return kInvalidValue;
  return kSuccess;
}

int answer_bytes(int status, cudaDataType type, double elements, size_t* on_device, size_t* on_host) {
  if (status != kSuccess) return status;
  if (on_device == nullptr || on_host == nullptr) return kInvalidValue;
  *on_device = static_cast<size_t>(std::max(elements, 1.0)) * cublas::storage_bytes(type, 1);
  *on_host = 0;
  return kSuccess;
}

double blocks(int64_t columns) { return static_cast<double>(kBlock) * static_cast<double>(columns); }

double square(int64_t n) { return static_cast<double>(n) * static_cast<double>(n); }

double real(int64_t n) { return static_cast<double>(n); }

int check_triangle(const DenseHandle* handle, int uplo, int64_t n, cudaDataType type, int64_t lda) {
  return check(handle, valid_fill(uplo) && n >= 0 && valid_leading(lda, n), {type});
}

int check_rectangle(const DenseHandle* handle, int64_t m, int64_t n, cudaDataType type, int64_t lda) {
  return check(handle, m >= 0 && n >= 0 && valid_leading(lda, m), {type});
}

int solve(const char* api, DenseHandle* handle, bool valid_mode, int64_t n, int64_t right_sides, cudaDataType type_a,
          const void* a, int64_t lda, cudaDataType type_b, void* b, int64_t ldb, int* info) {
  const bool valid = valid_mode && n >= 0 && right_sides >= 0 && valid_leading(lda, n) && valid_leading(ldb, n) &&
                     (n == 0 || right_sides == 0 || (a != nullptr && b != nullptr));
  if (const int status = check(handle, valid, {type_a, type_b}); status != kSuccess) return status;
  shim::WriteList writes;
  add(b, type_b, n, right_sides, ldb, &writes);
  return run(handle,
             {api, Operator::kTriangularSolve, type_a, n, right_sides, 1, 2 * square(n) * real(right_sides),
              2 * solution_steps(n)},
             writes, info, 1);
}

int symmetric(const char* api, DenseHandle* handle, int job, int uplo, int64_t n, cudaDataType type_a, void* a,
              int64_t lda, cudaDataType type_w, void* w, int* info, int64_t batch) {
  const bool valid = valid_job(job) && valid_fill(uplo) && n >= 0 && valid_leading(lda, n) && batch >= 0 &&
                     (n == 0 || batch == 0 || (a != nullptr && w != nullptr));
  if (const int status = check(handle, valid, {type_a, type_w}); status != kSuccess) return status;
  if (batch == 0) return kSuccess;
  shim::WriteList writes;
  add(a, type_a, n, n, lda, &writes, lda * n, batch);
  add(w, type_w, n, batch, n, &writes);
  return run(handle,
             {api, Operator::kEigenvalues, type_a, n, n, batch, symmetric_flops(real(n), job == 1), reduction_steps(n)},
             writes, info, batch);
}

int symmetric_size(const DenseHandle* handle, int job, int uplo, int64_t n, cudaDataType type_a, int64_t lda,
                   cudaDataType type_w, int64_t batch, size_t* on_device, size_t* on_host) {
  const bool valid = valid_job(job) && valid_fill(uplo) && n >= 0 && valid_leading(lda, n) && batch >= 0;
  const double each = 1 + 6 * real(n) + blocks(n) + (job == 1 ? 2 * square(n) : 0);
  return answer_bytes(check(handle, valid, {type_a, type_w}), type_a, each * real(std::max<int64_t>(batch, 1)),
                      on_device, on_host);
}

struct Singular {
  int64_t m, n;
  cudaDataType type_a;
  const void* a;
  int64_t lda;
  cudaDataType type_s;
  const void* s;
  cudaDataType type_u;
  const void* u;
  int64_t ldu, columns_u;
  cudaDataType type_v;
  const void* v;
  int64_t ldv, rows_v, columns_v;
  Vectors vectors;
};

int check(const DenseHandle* handle, bool valid, const Singular& call) {
  valid = valid && call.m >= 0 && call.n >= 0 && valid_leading(call.lda, call.m) &&
          (call.columns_u == 0 || valid_leading(call.ldu, call.m)) &&
          (call.columns_v == 0 || valid_leading(call.ldv, call.rows_v));
  return check(handle, valid, {call.type_a, call.type_s, call.type_u, call.type_v});
}

int singular(const char* api, DenseHandle* handle, bool valid, const Singular& call, int* info) {
  const int64_t smaller = std::min(call.m, call.n);
  valid = valid && (smaller <= 0 || (call.a != nullptr && call.s != nullptr));
  if (const int status = check(handle, valid, call); status != kSuccess) return status;
  shim::WriteList writes;
  add(call.a, call.type_a, call.m, call.n, call.lda, &writes);
  add(call.s, call.type_s, smaller, 1, smaller, &writes);
  add(call.u, call.type_u, call.m, call.columns_u, call.ldu, &writes);
  add(call.v, call.type_v, call.rows_v, call.columns_v, call.ldv, &writes);
  return run(handle,
             {api, Operator::kSingularValues, call.type_a, call.m, call.n, 1,
              svd_flops(real(call.m), real(call.n), call.vectors), reduction_steps(smaller)},
             writes, info, 1);
}

bool valid_letter(signed char letter) { return letter == 'A' || letter == 'S' || letter == 'O' || letter == 'N'; }

// Xgesvd: letters as LAPACK's; "m >= n".
Singular gesvd_call(signed char job_u, signed char job_vt, int64_t m, int64_t n) {
  Singular call = {};
  call.m = m;
  call.n = n;
  call.columns_u = job_u == 'A' ? m : job_u == 'S' ? n : 0;
  call.rows_v = job_vt == 'A' || job_vt == 'S' ? n : 0;
  call.columns_v = call.rows_v;
  call.vectors = job_u == 'A' ? Vectors::kFull : job_u == 'N' && job_vt == 'N' ? Vectors::kNone : Vectors::kThin;
  return call;
}

// Xgesvdp: the polar decomposition; V itself, thin or not.
Singular gesvdp_call(int job, int thin, int64_t m, int64_t n) {
  Singular call = {};
  call.m = m;
  call.n = n;
  call.columns_u = job == 0 ? 0 : thin != 0 ? std::min(m, n) : m;
  call.rows_v = n;
  call.columns_v = job == 0 ? 0 : thin != 0 ? std::min(m, n) : n;
  call.vectors = job == 0 ? Vectors::kNone : thin != 0 ? Vectors::kThin : Vectors::kFull;
  return call;
}

void set_operands(Singular* call, cudaDataType type_a, const void* a, int64_t lda, cudaDataType type_s, const void* s,
                  cudaDataType type_u, const void* u, int64_t ldu, cudaDataType type_v, const void* v, int64_t ldv) {
  call->type_a = type_a;
  call->a = a;
  call->lda = lda;
  call->type_s = type_s;
  call->s = s;
  call->type_u = type_u;
  call->u = u;
  call->ldu = ldu;
  call->type_v = type_v;
  call->v = v;
  call->ldv = ldv;
}

double singular_elements(int64_t m, int64_t n) { return blocks(m) + blocks(n) + 3 * square(std::min(m, n)); }

bool valid_gesvd(signed char job_u, signed char job_vt, int64_t m, int64_t n) {
  return valid_letter(job_u) && valid_letter(job_vt) && !(job_u == 'O' && job_vt == 'O') && m >= n;
}

// The values of a real matrix are real pairs or complex numbers; its vectors are real.
int check_general(const DenseHandle* handle, int job_left, int job_right, int64_t n, cudaDataType type_a, int64_t lda,
                  cudaDataType type_w, cudaDataType type_vl, int64_t ldvl, cudaDataType type_vr, int64_t ldvr) {
  const bool valid = valid_job(job_left) && valid_job(job_right) && n >= 0 && valid_leading(lda, n) &&
                     (job_left == 0 || valid_leading(ldvl, n)) && (job_right == 0 || valid_leading(ldvr, n));
  if (const int status = check(handle, valid, {type_a, type_w, type_vl, type_vr}); status != kSuccess) return status;
  // "Left eigenvectors are not supported."
  return job_left != 0 ? kInvalidValue : kSuccess;
}

}  // namespace
}  // namespace maya::cusolver

using namespace maya::cusolver;

MAYA_API int cusolverDnXpotrf_bufferSize(DenseHandle* handle, Parameters*, int uplo, int64_t n, cudaDataType type,
                                         const void*, int64_t lda, cudaDataType, size_t* on_device, size_t* on_host) {
  return answer_bytes(check_triangle(handle, uplo, n, type, lda), type, blocks(n), on_device, on_host);
}

MAYA_API int cusolverDnXpotrf(DenseHandle* handle, Parameters*, int uplo, int64_t n, cudaDataType type, void* A,
                              int64_t lda, cudaDataType, void*, size_t, void*, size_t, int* info) {
  if (const int status = check_triangle(handle, uplo, n, type, lda); status != kSuccess) return status;
  if (n > 0 && A == nullptr) return kInvalidValue;
  maya::shim::WriteList writes;
  add(A, type, n, n, lda, &writes);
  return run(handle,
             {"cusolverDnXpotrf", maya::Operator::kFactorization, type, n, n, 1, cholesky_flops(real(n)),
              factorization_steps(n)},
             writes, info, 1);
}

MAYA_API int cusolverDnXpotrs(DenseHandle* handle, Parameters*, int uplo, int64_t n, int64_t right_sides,
                              cudaDataType type_a, const void* A, int64_t lda, cudaDataType type_b, void* B,
                              int64_t ldb, int* info) {
  return solve("cusolverDnXpotrs", handle, valid_fill(uplo), n, right_sides, type_a, A, lda, type_b, B, ldb, info);
}

MAYA_API int cusolverDnXgetrf_bufferSize(DenseHandle* handle, Parameters*, int64_t m, int64_t n, cudaDataType type,
                                         const void*, int64_t lda, cudaDataType, size_t* on_device, size_t* on_host) {
  return answer_bytes(check_rectangle(handle, m, n, type, lda), type, blocks(std::max(m, n)), on_device, on_host);
}

MAYA_API int cusolverDnXgetrf(DenseHandle* handle, Parameters*, int64_t m, int64_t n, cudaDataType type, void* A,
                              int64_t lda, int64_t* pivots, cudaDataType, void*, size_t, void*, size_t, int* info) {
  if (const int status = check_rectangle(handle, m, n, type, lda); status != kSuccess) return status;
  const int64_t smaller = std::min(m, n);
  if (smaller > 0 && A == nullptr) return kInvalidValue;
  maya::shim::WriteList writes;
  add(A, type, m, n, lda, &writes);
  writes.add(pivots, sizeof(int64_t) * static_cast<uint64_t>(smaller));
  return run(handle,
             {"cusolverDnXgetrf", maya::Operator::kFactorization, type, m, n, 1, lu_flops(real(m), real(n)),
              factorization_steps(smaller)},
             writes, info, 1);
}

MAYA_API int cusolverDnXgetrs(DenseHandle* handle, Parameters*, int trans, int64_t n, int64_t right_sides,
                              cudaDataType type_a, const void* A, int64_t lda, const int64_t*, cudaDataType type_b,
                              void* B, int64_t ldb, int* info) {
  return solve("cusolverDnXgetrs", handle, trans >= 0 && trans <= 2, n, right_sides, type_a, A, lda, type_b, B, ldb,
               info);
}

MAYA_API int cusolverDnXgeqrf_bufferSize(DenseHandle* handle, Parameters*, int64_t m, int64_t n, cudaDataType type,
                                         const void*, int64_t lda, cudaDataType, const void*, cudaDataType,
                                         size_t* on_device, size_t* on_host) {
  return answer_bytes(check_rectangle(handle, m, n, type, lda), type, blocks(n), on_device, on_host);
}

MAYA_API int cusolverDnXgeqrf(DenseHandle* handle, Parameters*, int64_t m, int64_t n, cudaDataType type, void* A,
                              int64_t lda, cudaDataType type_tau, void* tau, cudaDataType, void*, size_t, void*, size_t,
                              int* info) {
  if (const int status = check_rectangle(handle, m, n, type, lda); status != kSuccess) return status;
  const int64_t smaller = std::min(m, n);
  if (smaller > 0 && (A == nullptr || tau == nullptr)) return kInvalidValue;
  maya::shim::WriteList writes;
  add(A, type, m, n, lda, &writes);
  add(tau, type_tau, smaller, 1, smaller, &writes);
  return run(handle,
             {"cusolverDnXgeqrf", maya::Operator::kFactorization, type, m, n, 1, qr_flops(real(m), real(n)),
              factorization_steps(smaller)},
             writes, info, 1);
}

MAYA_API int cusolverDnXtrtri_bufferSize(DenseHandle* handle, int uplo, int diagonal, int64_t n, cudaDataType type,
                                         const void*, int64_t lda, size_t* on_device, size_t* on_host) {
  const int status = check_triangle(handle, uplo, n, type, lda);
  return answer_bytes(status == kSuccess && diagonal != 0 && diagonal != 1 ? kInvalidValue : status, type, blocks(n),
                      on_device, on_host);
}

MAYA_API int cusolverDnXtrtri(DenseHandle* handle, int uplo, int diagonal, int64_t n, cudaDataType type, void* A,
                              int64_t lda, void*, size_t, void*, size_t, int* info) {
  if (const int status = check_triangle(handle, uplo, n, type, lda); status != kSuccess) return status;
  if ((diagonal != 0 && diagonal != 1) || (n > 0 && A == nullptr)) return kInvalidValue;
  maya::shim::WriteList writes;
  add(A, type, n, n, lda, &writes);
  return run(
      handle,
      {"cusolverDnXtrtri", maya::Operator::kFactorization, type, n, n, 1, cube(real(n)) / 3, factorization_steps(n)},
      writes, info, 1);
}

MAYA_API int cusolverDnXsytrs_bufferSize(DenseHandle* handle, int uplo, int64_t n, int64_t right_sides,
                                         cudaDataType type_a, const void*, int64_t lda, const int64_t*,
                                         cudaDataType type_b, void*, int64_t ldb, size_t* on_device, size_t* on_host) {
  const bool valid = valid_fill(uplo) && n >= 0 && right_sides >= 0 && valid_leading(lda, n) && valid_leading(ldb, n);
  return answer_bytes(check(handle, valid, {type_a, type_b}), type_a, blocks(n), on_device, on_host);
}

MAYA_API int cusolverDnXsytrs(DenseHandle* handle, int uplo, int64_t n, int64_t right_sides, cudaDataType type_a,
                              const void* A, int64_t lda, const int64_t*, cudaDataType type_b, void* B, int64_t ldb,
                              void*, size_t, void*, size_t, int* info) {
  return solve("cusolverDnXsytrs", handle, valid_fill(uplo), n, right_sides, type_a, A, lda, type_b, B, ldb, info);
}

MAYA_API int cusolverDnXsyevd_bufferSize(DenseHandle* handle, Parameters*, int job, int uplo, int64_t n,
                                         cudaDataType type_a, const void*, int64_t lda, cudaDataType type_w,
                                         const void*, cudaDataType, size_t* on_device, size_t* on_host) {
  return symmetric_size(handle, job, uplo, n, type_a, lda, type_w, 1, on_device, on_host);
}

MAYA_API int cusolverDnXsyevd(DenseHandle* handle, Parameters*, int job, int uplo, int64_t n, cudaDataType type_a,
                              void* A, int64_t lda, cudaDataType type_w, void* W, cudaDataType, void*, size_t, void*,
                              size_t, int* info) {
  return symmetric("cusolverDnXsyevd", handle, job, uplo, n, type_a, A, lda, type_w, W, info, 1);
}

MAYA_API int cusolverDnXsyevBatched_bufferSize(DenseHandle* handle, Parameters*, int job, int uplo, int64_t n,
                                               cudaDataType type_a, const void*, int64_t lda, cudaDataType type_w,
                                               const void*, cudaDataType, size_t* on_device, size_t* on_host,
                                               int64_t batch) {
  return symmetric_size(handle, job, uplo, n, type_a, lda, type_w, batch, on_device, on_host);
}

MAYA_API int cusolverDnXsyevBatched(DenseHandle* handle, Parameters*, int job, int uplo, int64_t n, cudaDataType type_a,
                                    void* A, int64_t lda, cudaDataType type_w, void* W, cudaDataType, void*, size_t,
                                    void*, size_t, int* info, int64_t batch) {
  return symmetric("cusolverDnXsyevBatched", handle, job, uplo, n, type_a, A, lda, type_w, W, info, batch);
}

MAYA_API int cusolverDnXgeev_bufferSize(DenseHandle* handle, Parameters*, int job_left, int job_right, int64_t n,
                                        cudaDataType type_a, const void*, int64_t lda, cudaDataType type_w, const void*,
                                        cudaDataType type_vl, const void*, int64_t ldvl, cudaDataType type_vr,
                                        const void*, int64_t ldvr, cudaDataType, size_t* on_device, size_t* on_host) {
  return answer_bytes(check_general(handle, job_left, job_right, n, type_a, lda, type_w, type_vl, ldvl, type_vr, ldvr),
                      type_a, 2 * square(n) + blocks(n), on_device, on_host);
}

MAYA_API int cusolverDnXgeev(DenseHandle* handle, Parameters*, int job_left, int job_right, int64_t n,
                             cudaDataType type_a, void* A, int64_t lda, cudaDataType type_w, void* W,
                             cudaDataType type_vl, void*, int64_t ldvl, cudaDataType type_vr, void* VR, int64_t ldvr,
                             cudaDataType, void*, size_t, void*, size_t, int* info) {
  const int status = check_general(handle, job_left, job_right, n, type_a, lda, type_w, type_vl, ldvl, type_vr, ldvr);
  if (status != kSuccess) return status;
  if (n > 0 && (A == nullptr || W == nullptr)) return kInvalidValue;
  maya::shim::WriteList writes;
  add(A, type_a, n, n, lda, &writes);
  // Real values come as real parts and then imaginary parts.
  const int64_t values = type_w == real_of(type_w) ? 2 * n : n;
  add(W, type_w, values, 1, values, &writes);
  if (job_right == 1) add(VR, type_vr, n, n, ldvr, &writes);
  return run(handle,
             {"cusolverDnXgeev", maya::Operator::kEigenvalues, type_a, n, n, 1, general_flops(real(n), job_right == 1),
              2 * reduction_steps(n)},
             writes, info, 1);
}

MAYA_API int cusolverDnXgesvd_bufferSize(DenseHandle* handle, Parameters*, signed char job_u, signed char job_vt,
                                         int64_t m, int64_t n, cudaDataType type_a, const void* A, int64_t lda,
                                         cudaDataType type_s, const void* S, cudaDataType type_u, const void* U,
                                         int64_t ldu, cudaDataType type_vt, const void* VT, int64_t ldvt, cudaDataType,
                                         size_t* on_device, size_t* on_host) {
  Singular call = gesvd_call(job_u, job_vt, m, n);
  set_operands(&call, type_a, A, lda, type_s, S, type_u, U, ldu, type_vt, VT, ldvt);
  return answer_bytes(check(handle, valid_gesvd(job_u, job_vt, m, n), call), type_a, singular_elements(m, n), on_device,
                      on_host);
}

MAYA_API int cusolverDnXgesvd(DenseHandle* handle, Parameters*, signed char job_u, signed char job_vt, int64_t m,
                              int64_t n, cudaDataType type_a, void* A, int64_t lda, cudaDataType type_s, void* S,
                              cudaDataType type_u, void* U, int64_t ldu, cudaDataType type_vt, void* VT, int64_t ldvt,
                              cudaDataType, void*, size_t, void*, size_t, int* info) {
  Singular call = gesvd_call(job_u, job_vt, m, n);
  set_operands(&call, type_a, A, lda, type_s, S, type_u, U, ldu, type_vt, VT, ldvt);
  return singular("cusolverDnXgesvd", handle, valid_gesvd(job_u, job_vt, m, n), call, info);
}

MAYA_API int cusolverDnXgesvdp_bufferSize(DenseHandle* handle, Parameters*, int job, int thin, int64_t m, int64_t n,
                                          cudaDataType type_a, const void* A, int64_t lda, cudaDataType type_s,
                                          const void* S, cudaDataType type_u, const void* U, int64_t ldu,
                                          cudaDataType type_v, const void* V, int64_t ldv, cudaDataType,
                                          size_t* on_device, size_t* on_host) {
  Singular call = gesvdp_call(job, thin, m, n);
  set_operands(&call, type_a, A, lda, type_s, S, type_u, U, ldu, type_v, V, ldv);
  return answer_bytes(check(handle, valid_job(job), call), type_a, singular_elements(m, n), on_device, on_host);
}

MAYA_API int cusolverDnXgesvdp(DenseHandle* handle, Parameters*, int job, int thin, int64_t m, int64_t n,
                               cudaDataType type_a, void* A, int64_t lda, cudaDataType type_s, void* S,
                               cudaDataType type_u, void* U, int64_t ldu, cudaDataType type_v, void* V, int64_t ldv,
                               cudaDataType, void*, size_t, void*, size_t, int* info, double* error) {
  Singular call = gesvdp_call(job, thin, m, n);
  set_operands(&call, type_a, A, lda, type_s, S, type_u, U, ldu, type_v, V, ldv);
  if (error != nullptr) *error = 0;
  return singular("cusolverDnXgesvdp", handle, valid_job(job), call, info);
}
