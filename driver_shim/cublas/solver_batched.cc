// Batched factorisations and solutions of small systems (getrf, getri, getrs, matinv, geqrf, gels). Operation counts
// are LAPACK's (LAPACK Working Note 41, appendix C) in their leading terms. Their info arrays become unknown, which
// reads as zero: success.
#include <algorithm>
#include <vector>

#include "driver_shim/common/api.h"
#include "driver_shim/cublas/handle.h"
#include "driver_shim/cublas/types.h"
#include "driver_shim/cublas/vector_call.h"

namespace maya::cublas {
namespace {

bool valid_leading(int64_t leading, int64_t rows) { return leading >= std::max<int64_t>(1, rows); }

// Matrices of `rows` by `columns` that are written, reached through a device array of pointers.
struct Output {
  const void* array;
  int64_t rows, columns, leading;
};

struct Solver {
  const char* api;
  cudaDataType type;
  int64_t rows, columns, batch;
  double multiply_adds;  // of one problem
};

cublasStatus_t record_solver(cublasHandle_t handle, const Solver& solver, std::initializer_list<Output> outputs,
                             std::initializer_list<MemoryRange> arrays) {
  const uint64_t element_bytes = storage_bytes(solver.type, 1);
  shim::WriteList writes;
  for (const Output& output : outputs) {
    std::vector<void*> matrices;
    if (!shim::read_pointer_array(output.array, solver.batch, &matrices)) continue;
    for (const void* matrix : matrices)
      writes.add_matrix(matrix, output.rows * element_bytes, output.columns, output.leading * element_bytes);
  }
  for (const MemoryRange& range : arrays) writes.add(reinterpret_cast<const void*>(range.address), range.bytes);
  OperationRecord record(Family::kSolver, solver.api);
  record.set(Key::kDataType, static_cast<int64_t>(data_type(solver.type)));
  record.set(Key::kRows, solver.rows).set(Key::kColumns, solver.columns).set(Key::kBatch, solver.batch);
  record.set(Key::kFlops, static_cast<int64_t>(solver.multiply_adds * multiply_add_flops(solver.type) * solver.batch));
  const int64_t bytes = solver.rows * solver.columns * solver.batch * static_cast<int64_t>(element_bytes);
  record.set(Key::kReadBytes, bytes).set(Key::kWrittenBytes, bytes);
  return status_of(shim::record(handle->cu_stream(), record, writes));
}

MemoryRange range(const void* address, uint64_t bytes) { return {reinterpret_cast<CUdeviceptr>(address), bytes}; }

// Factor in place, pivots and info on the device. The largest order that cuBLAS documents for these is not limited;
// matinv's is 32.
template <typename T>
cublasStatus_t getrf(const char* api, cublasHandle_t handle, int n, T* const a[], int lda, int* pivots, int* info,
                     int batch) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (n < 0 || batch < 0 || !valid_leading(lda, n)) return CUBLAS_STATUS_INVALID_VALUE;
  if (n == 0 || batch == 0) return CUBLAS_STATUS_SUCCESS;
  const double order = n;
  return record_solver(
      handle, {api, kCudaType<T>, n, n, batch, order * order * order / 3}, {{a, n, n, lda}},
      {range(pivots, sizeof(int) * order * batch), range(info, sizeof(int) * static_cast<uint64_t>(batch))});
}

template <typename T>
cublasStatus_t invert(const char* api, cublasHandle_t handle, int n, int lda, T* const c[], int ldc, int* info,
                      int batch, int largest, double multiply_adds) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (n < 0 || n > largest || batch < 0 || !valid_leading(lda, n) || !valid_leading(ldc, n))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (n == 0 || batch == 0) return CUBLAS_STATUS_SUCCESS;
  return record_solver(handle, {api, kCudaType<T>, n, n, batch, multiply_adds}, {{c, n, n, ldc}},
                       {range(info, sizeof(int) * static_cast<uint64_t>(batch))});
}

template <typename T>
cublasStatus_t getrs(const char* api, cublasHandle_t handle, cublasOperation_t trans, int n, int right_sides, int lda,
                     T* const b[], int ldb, int* info, int batch) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (info == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  // Negative: the position of the argument that is wrong, as documented.
  *info = !valid_operation(trans)  ? -1
          : n < 0                  ? -2
          : right_sides < 0        ? -3
          : !valid_leading(lda, n) ? -5
          : !valid_leading(ldb, n) ? -8
          : batch < 0              ? -10
                                   : 0;
  if (*info != 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (n == 0 || right_sides == 0 || batch == 0) return CUBLAS_STATUS_SUCCESS;
  return record_solver(handle, {api, kCudaType<T>, n, right_sides, batch, static_cast<double>(n) * n * right_sides},
                       {{b, n, right_sides, ldb}}, {});
}

// Householder QR of m by n; also the least squares solution, which starts with it.
double qr_multiply_adds(double m, double n) { return m >= n ? n * n * (m - n / 3) : m * m * (n - m / 3); }

template <typename T>
cublasStatus_t geqrf(const char* api, cublasHandle_t handle, int m, int n, T* const a[], int lda, T* const tau[],
                     int* info, int batch) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (info == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *info = m < 0 ? -1 : n < 0 ? -2 : !valid_leading(lda, m) ? -4 : batch < 0 ? -7 : 0;
  if (*info != 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (m == 0 || n == 0 || batch == 0) return CUBLAS_STATUS_SUCCESS;
  const int64_t reflectors = std::min(m, n);
  return record_solver(handle, {api, kCudaType<T>, m, n, batch, qr_multiply_adds(m, n)},
                       {{a, m, n, lda}, {tau, reflectors, 1, reflectors}}, {});
}

template <typename T>
cublasStatus_t gels(const char* api, cublasHandle_t handle, cublasOperation_t trans, int m, int n, int right_sides,
                    T* const a[], int lda, T* const c[], int ldc, int* info, int* device_info, int batch) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (info == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *info = m < 0                    ? -2
          : n < 0                  ? -3
          : right_sides < 0        ? -4
          : !valid_leading(lda, m) ? -6
          : !valid_leading(ldc, m) ? -8
          : batch < 0              ? -11
                                   : 0;
  if (*info != 0) return CUBLAS_STATUS_INVALID_VALUE;
  // "Only the non-transpose operation and over-determined systems (m >= n) are supported."
  if (trans != CUBLAS_OP_N || m < n) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (m == 0 || n == 0 || batch == 0) return CUBLAS_STATUS_SUCCESS;
  const double solve = static_cast<double>(m) * n * right_sides * 2;
  return record_solver(handle, {api, kCudaType<T>, m, n, batch, qr_multiply_adds(m, n) + solve},
                       {{a, m, n, lda}, {c, m, right_sides, ldc}},
                       {range(device_info, sizeof(int) * static_cast<uint64_t>(batch))});
}

constexpr int kNoLimit = 0x7fffffff;
constexpr int kLargestInverse = 32;
double cube(double n) { return n * n * n; }

}  // namespace
}  // namespace maya::cublas

using namespace maya::cublas;

#define SOLVERS(P, T)                                                                                                  \
  MAYA_API cublasStatus_t cublas##P##getrfBatched(cublasHandle_t handle, int n, T* const A[], int lda, int* pivots,    \
                                                  int* info, int batch) {                                              \
    return getrf<T>("cublas" #P "getrfBatched", handle, n, A, lda, pivots, info, batch);                               \
  }                                                                                                                    \
  MAYA_API cublasStatus_t cublas##P##getriBatched(cublasHandle_t handle, int n, const T* const[], int lda, const int*, \
                                                  T* const C[], int ldc, int* info, int batch) {                       \
    return invert<T>("cublas" #P "getriBatched", handle, n, lda, C, ldc, info, batch, kNoLimit, cube(n) * 2 / 3);      \
  }                                                                                                                    \
  MAYA_API cublasStatus_t cublas##P##matinvBatched(cublasHandle_t handle, int n, const T* const[], int lda,            \
                                                   T* const C[], int ldc, int* info, int batch) {                      \
    return invert<T>("cublas" #P "matinvBatched", handle, n, lda, C, ldc, info, batch, kLargestInverse, cube(n));      \
  }                                                                                                                    \
  MAYA_API cublasStatus_t cublas##P##getrsBatched(cublasHandle_t handle, cublasOperation_t trans, int n,               \
                                                  int right_sides, const T* const[], int lda, const int*,              \
                                                  T* const B[], int ldb, int* info, int batch) {                       \
    return getrs<T>("cublas" #P "getrsBatched", handle, trans, n, right_sides, lda, B, ldb, info, batch);              \
  }                                                                                                                    \
  MAYA_API cublasStatus_t cublas##P##geqrfBatched(cublasHandle_t handle, int m, int n, T* const A[], int lda,          \
                                                  T* const tau[], int* info, int batch) {                              \
    return geqrf<T>("cublas" #P "geqrfBatched", handle, m, n, A, lda, tau, info, batch);                               \
  }                                                                                                                    \
  MAYA_API cublasStatus_t cublas##P##gelsBatched(cublasHandle_t handle, cublasOperation_t trans, int m, int n,         \
                                                 int right_sides, T* const A[], int lda, T* const C[], int ldc,        \
                                                 int* info, int* device_info, int batch) {                             \
    return gels<T>("cublas" #P "gelsBatched", handle, trans, m, n, right_sides, A, lda, C, ldc, info, device_info,     \
                   batch);                                                                                             \
  }

SOLVERS(S, float)
SOLVERS(D, double)
SOLVERS(C, cuComplex)
SOLVERS(Z, cuDoubleComplex)
