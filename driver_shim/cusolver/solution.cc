// Solutions from a factorization: potrs, potrsBatched, getrs.
#include "driver_shim/common/api.h"
#include "driver_shim/cusolver/dense.h"

namespace maya::cusolver {
namespace {

constexpr Operator kOperator = Operator::kTriangularSolve;

// Two triangular solutions: 2 n^2 operations for each right side.
Routine solution(const char* api, cudaDataType type, int64_t n, int64_t right_sides, int64_t batch) {
  return {api,
          kOperator,
          type,
          n,
          right_sides,
          batch,
          2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(right_sides),
          2 * solution_steps(n)};
}

bool valid(int64_t n, int64_t right_sides, int64_t lda, int64_t ldb) {
  return n >= 0 && right_sides >= 0 && valid_leading(lda, n) && valid_leading(ldb, n);
}

template <typename T>
int solve(const char* api, DenseHandle* handle, bool valid_mode, int n, int right_sides, const T* a, int lda, T* b,
          int ldb, int* info) {
  if (!usable(handle)) return kNotInitialized;
  if (!valid_mode || !valid(n, right_sides, lda, ldb)) return kInvalidValue;
  if (n > 0 && right_sides > 0 && (a == nullptr || b == nullptr)) return kInvalidValue;
  shim::WriteList writes;
  add(b, cublas::kCudaType<T>, n, right_sides, ldb, &writes);
  return run(handle, solution(api, cublas::kCudaType<T>, n, right_sides, 1), writes, info, 1);
}

// "Only nrhs = 1 is supported." info is one integer.
template <typename T>
int potrs_batched(const char* api, DenseHandle* handle, int uplo, int n, int right_sides, T* const* a, int lda,
                  T* const* b, int ldb, int* info, int batch) {
  if (!usable(handle)) return kNotInitialized;
  if (!valid_fill(uplo) || !valid(n, right_sides, lda, ldb) || right_sides > 1 || batch < 0) return kInvalidValue;
  if (batch == 0) return kSuccess;
  if (a == nullptr || b == nullptr) return kInvalidValue;
  shim::WriteList writes;
  cublas::add_matrices({b, cublas::kCudaType<T>, n, right_sides, ldb, 0, batch, true}, &writes);
  return run(handle, solution(api, cublas::kCudaType<T>, n, right_sides, batch), writes, info, 1);
}

}  // namespace
}  // namespace maya::cusolver

using namespace maya::cusolver;

#define SOLUTIONS(P, T)                                                                                               \
  MAYA_API int cusolverDn##P##potrs(DenseHandle* handle, int uplo, int n, int right_sides, const T* A, int lda, T* B, \
                                    int ldb, int* info) {                                                             \
    return solve("cusolverDn" #P "potrs", handle, valid_fill(uplo), n, right_sides, A, lda, B, ldb, info);            \
  }                                                                                                                   \
  MAYA_API int cusolverDn##P##potrsBatched(DenseHandle* handle, int uplo, int n, int right_sides, T* A[], int lda,    \
                                           T* B[], int ldb, int* info, int batch) {                                   \
    return potrs_batched<T>("cusolverDn" #P "potrsBatched", handle, uplo, n, right_sides, A, lda, B, ldb, info,       \
                            batch);                                                                                   \
  }                                                                                                                   \
  MAYA_API int cusolverDn##P##getrs(DenseHandle* handle, int trans, int n, int right_sides, const T* A, int lda,      \
                                    const int*, T* B, int ldb, int* info) {                                           \
    return solve("cusolverDn" #P "getrs", handle, trans >= 0 && trans <= 2, n, right_sides, A, lda, B, ldb, info);    \
  }

SOLUTIONS(S, float)
SOLUTIONS(D, double)
SOLUTIONS(C, cuComplex)
SOLUTIONS(Z, cuDoubleComplex)
