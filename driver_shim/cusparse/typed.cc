// Typed routines: products and triangular solutions with block matrices (bsrmv, bsrmm, bsrsv2, bsrsm2), sums of sparse
// matrices (csrgeam2), tridiagonal systems (gtsv2).
#include <cuComplex.h>

#include <algorithm>

#include "driver_shim/common/api.h"
#include "driver_shim/common/driver_access.h"
#include "driver_shim/cublas/matrix_batch.h"
#include "driver_shim/cublas/types.h"
#include "driver_shim/cusparse/handle.h"

namespace maya::cusparse {
namespace {

double real(int64_t n) { return static_cast<double>(n); }
double ints(int64_t n) { return real(n) * sizeof(int); }

// bsrsv2Info_t, bsrsm2Info_t: nothing of the analysis is kept.
struct SolveInfo {};

struct Blocks {
  int direction, operation;
  int block_rows, block_columns, blocks;
  const MatrixDescriptor* descriptor;
  const void* values;
  const int* offsets;
  const int* indices;
  int block;

  int64_t rows() const { return static_cast<int64_t>(block_rows) * block; }
  int64_t columns() const { return static_cast<int64_t>(block_columns) * block; }
  int64_t nonzeros() const {
    return shim::counted(
        shim::times(static_cast<uint64_t>(blocks), static_cast<uint64_t>(block) * static_cast<uint64_t>(block)));
  }
  double bytes(cudaDataType type) const {
    return ints(int64_t{block_rows} + 1) + ints(blocks) +
           real(nonzeros()) * real(static_cast<int64_t>(cublas::storage_bytes(type, 1)));
  }
};

// A block of 2^20 by 2^20 fills the memory of any device: what is larger would only overflow.
constexpr int kLargestBlock = 1 << 20;

// Products of one block matrix need general matrices; solutions take any kind.
int check(const Handle* handle, const Blocks& a) {
  if (!usable(handle)) return kNotInitialized;
  const bool valid = (a.direction == 0 || a.direction == 1) && valid_operation(a.operation) && a.block_rows >= 0 &&
                     a.block_columns >= 0 && a.blocks >= 0 && a.descriptor != nullptr && a.block >= 1 &&
                     a.block <= kLargestBlock && (a.blocks == 0 || (a.values != nullptr && a.indices != nullptr)) &&
                     a.offsets != nullptr;
  return valid ? kSuccess : kInvalidValue;
}

template <typename T>
int multiply_vector(const char* api, const Handle* handle, const Blocks& a, const T* alpha, const T* x, const T* beta,
                    T* y) {
  if (const int status = check(handle, a); status != kSuccess) return status;
  if (alpha == nullptr || beta == nullptr || x == nullptr || y == nullptr) return kInvalidValue;
  const int64_t rows = a.operation == 0 ? a.rows() : a.columns(), depth = a.operation == 0 ? a.columns() : a.rows();
  shim::WriteList writes;
  writes.add(y, static_cast<uint64_t>(rows) * sizeof(T));
  return run(
      handle, Family::kSparse, api, {cublas::kCudaType<T>, rows, 1, depth, a.nonzeros()},
      {2 * real(a.nonzeros()), a.bytes(cublas::kCudaType<T>) + real(depth + rows) * sizeof(T), real(rows) * sizeof(T)},
      writes);
}

template <typename T>
int multiply_matrix(const char* api, const Handle* handle, const Blocks& a, int operation_b, int n, const T* alpha,
                    const T* b, int ldb, const T* beta, T* c, int ldc) {
  if (const int status = check(handle, a); status != kSuccess) return status;
  // "Only CUSPARSE_OPERATION_NON_TRANSPOSE is supported" for A.
  if (a.operation != 0) return kNotSupported;
  if (!valid_operation(operation_b) || n < 0 || alpha == nullptr || beta == nullptr || b == nullptr || c == nullptr)
    return kInvalidValue;
  const int64_t rows = a.rows(), depth = a.columns();
  if (ldc < std::max<int64_t>(rows, 1) || ldb < std::max<int64_t>(operation_b == 0 ? depth : n, 1))
    return kInvalidValue;
  shim::WriteList writes;
  cublas::add_matrices({c, cublas::kCudaType<T>, rows, n, ldc}, &writes);
  return run(handle, Family::kSparse, api, {cublas::kCudaType<T>, rows, n, depth, a.nonzeros()},
             {2 * real(a.nonzeros()) * n, a.bytes(cublas::kCudaType<T>) + real(depth + rows) * n * sizeof(T),
              real(rows) * n * sizeof(T)},
             writes);
}

int solve_size(const Handle* handle, const Blocks& a, const SolveInfo* info, int right_sides, size_t element,
               int* bytes) {
  if (const int status = check(handle, a); status != kSuccess) return status;
  if (info == nullptr || bytes == nullptr || right_sides < 0) return kInvalidValue;
  const double all = 256 + ints(2 * static_cast<int64_t>(a.block_rows)) +
                     real(a.rows()) * real(right_sides) * real(static_cast<int64_t>(element));
  *bytes = static_cast<int>(std::min(all, 2147483647.0));
  return kSuccess;
}

template <typename T>
int analyse(const char* api, const Handle* handle, const Blocks& a, const SolveInfo* info) {
  if (const int status = check(handle, a); status != kSuccess) return status;
  if (info == nullptr) return kInvalidValue;
  const shim::WriteList nothing{};
  return run(
      handle, Family::kSparse, api, {cublas::kCudaType<T>, a.rows(), 0, 0, a.nonzeros()},
      {0, a.bytes(cublas::kCudaType<T>), ints(2 * static_cast<int64_t>(a.block_rows)), solution_steps(a.block_rows)},
      nothing);
}

template <typename T>
int solve(const char* api, const Handle* handle, const Blocks& a, const SolveInfo* info, int right_sides,
          const T* alpha, const T* right, T* solution, int64_t ld) {
  if (const int status = check(handle, a); status != kSuccess) return status;
  if (info == nullptr || alpha == nullptr || right == nullptr || solution == nullptr || right_sides < 0 ||
      ld < std::max<int64_t>(a.rows(), 1))
    return kInvalidValue;
  shim::WriteList writes;
  cublas::add_matrices({solution, cublas::kCudaType<T>, a.rows(), right_sides, ld}, &writes);
  const double moved = real(a.rows()) * right_sides * sizeof(T);
  return run(handle, Family::kSparse, api, {cublas::kCudaType<T>, a.rows(), right_sides, 0, a.nonzeros()},
             {2 * real(a.nonzeros()) * right_sides, a.bytes(cublas::kCudaType<T>) + moved, moved,
              solution_steps(a.block_rows)},
             writes);
}

int create_info(SolveInfo** info) { return shim::create(info); }

int destroy_info(SolveInfo* info) {
  if (info == nullptr) return kInvalidValue;
  delete info;
  return kSuccess;
}

// No zero pivot: -1, in host or device memory as the pointer mode says.
int zero_pivot(const Handle* handle, const SolveInfo* info, int* position) {
  if (!usable(handle)) return kNotInitialized;
  if (info == nullptr || position == nullptr) return kInvalidValue;
  constexpr int kNone = -1;
  if (handle->pointer_mode == 0) {
    *position = kNone;
    return kSuccess;
  }
  if (shim::driver() == nullptr) return kNotInitialized;
  return shim::status_of(shim::driver()->write(reinterpret_cast<CUdeviceptr>(position), &kNone, sizeof kNone));
}

struct Sum {
  int m, n;
  const MatrixDescriptor* descriptor_a;
  int nonzeros_a;
  const int *offsets_a, *indices_a;
  const MatrixDescriptor* descriptor_b;
  int nonzeros_b;
  const int *offsets_b, *indices_b;
  const MatrixDescriptor* descriptor_c;
};

int check(const Handle* handle, const Sum& call) {
  if (!usable(handle)) return kNotInitialized;
  const bool valid = call.m >= 0 && call.n >= 0 && call.nonzeros_a >= 0 && call.nonzeros_b >= 0 &&
                     call.descriptor_a != nullptr && call.descriptor_b != nullptr && call.descriptor_c != nullptr;
  return valid ? kSuccess : kInvalidValue;
}

int64_t elements(const Sum& call) { return static_cast<int64_t>(call.nonzeros_a) + call.nonzeros_b; }

int sum_size(const Handle* handle, const Sum& call, size_t* bytes) {
  if (const int status = check(handle, call); status != kSuccess) return status;
  if (bytes == nullptr) return kInvalidValue;
  *bytes = partition_bytes(elements(call)) + (static_cast<size_t>(call.m) + 1) * sizeof(int);
  return kSuccess;
}

// Only the offsets of C are written: kernels counted its elements, and they counted none. Times are those of as many
// elements as A and B have together.
template <typename T>
int sum(const char* api, const Handle* handle, const Sum& call, const T* alpha, const T* beta, int* offsets) {
  if (const int status = check(handle, call); status != kSuccess) return status;
  if (alpha == nullptr || beta == nullptr || offsets == nullptr) return kInvalidValue;
  shim::WriteList writes;
  writes.add(offsets, (static_cast<uint64_t>(call.m) + 1) * sizeof(int));
  const double moved = real(elements(call)) * (sizeof(T) + sizeof(int)) + 2 * ints(int64_t{call.m} + 1);
  return run(handle, Family::kSparse, api, {cublas::kCudaType<T>, call.m, call.n, 0, elements(call)},
             {2 * real(elements(call)), moved, moved}, writes);
}

// Cyclic reduction: 17 operations a row and right side (Hockney, 1965), log2(m) dependent steps.
template <typename T>
int tridiagonal(const char* api, const Handle* handle, int m, int n, const T* lower, const T* diagonal, const T* upper,
                T* b, int ldb, int64_t batch, int64_t stride, int smallest) {
  if (!usable(handle)) return kNotInitialized;
  if (m < smallest || n < 0 || ldb < std::max(m, 1) || batch < 0) return kInvalidValue;
  if (n > 0 && batch > 0 && (lower == nullptr || diagonal == nullptr || upper == nullptr || b == nullptr))
    return kInvalidValue;
  if (n == 0 || batch == 0) return kSuccess;
  shim::WriteList writes;
  cublas::add_matrices({b, cublas::kCudaType<T>, m, n, ldb, stride, batch}, &writes);
  int64_t steps = 1;
  while (int64_t{1} << steps < m) ++steps;
  const double moved = real(m) * n * sizeof(T);
  return run(handle, Family::kSparse, api, {cublas::kCudaType<T>, m, n, 0, 3 * static_cast<int64_t>(m), batch},
             {17 * real(m) * n, 3 * real(m) * sizeof(T) + moved, moved, steps}, writes);
}

int tridiagonal_size(const Handle* handle, int64_t m, int64_t n, int64_t batch, int64_t ldb, size_t element,
                     int smallest, size_t* bytes) {
  if (!usable(handle)) return kNotInitialized;
  if (m < smallest || n < 0 || batch < 0 || ldb < std::max<int64_t>(m, 1) || bytes == nullptr) return kInvalidValue;
  const uint64_t elements = shim::times(shim::times(static_cast<uint64_t>(m), static_cast<uint64_t>(n + 3)),
                                        static_cast<uint64_t>(std::max<int64_t>(batch, 1)));
  *bytes = shim::plus(256, shim::times(elements, element));
  return kSuccess;
}

constexpr int kSmallestSystem = 3;  // "m: the size of the linear system (must be >= 3)"

}  // namespace
}  // namespace maya::cusparse

using namespace maya::cusparse;

MAYA_API int cusparseCreateBsrsv2Info(SolveInfo** info) { return create_info(info); }
MAYA_API int cusparseDestroyBsrsv2Info(SolveInfo* info) { return destroy_info(info); }
MAYA_API int cusparseCreateBsrsm2Info(SolveInfo** info) { return create_info(info); }
MAYA_API int cusparseDestroyBsrsm2Info(SolveInfo* info) { return destroy_info(info); }
MAYA_API int cusparseXbsrsv2_zeroPivot(Handle* handle, SolveInfo* info, int* position) {
  return zero_pivot(handle, info, position);
}
MAYA_API int cusparseXbsrsm2_zeroPivot(Handle* handle, SolveInfo* info, int* position) {
  return zero_pivot(handle, info, position);
}

// The nonzeros of the sum are counted by a kernel: none, which agrees with row offsets that read as zero.
MAYA_API int cusparseXcsrgeam2Nnz(Handle* handle, int m, int n, const MatrixDescriptor* descr_a, int nnz_a,
                                  const int* offsets_a, const int* indices_a, const MatrixDescriptor* descr_b,
                                  int nnz_b, const int* offsets_b, const int* indices_b,
                                  const MatrixDescriptor* descr_c, int* offsets_c, int* total, void*) {
  const Sum call = {m, n, descr_a, nnz_a, offsets_a, indices_a, descr_b, nnz_b, offsets_b, indices_b, descr_c};
  if (const int status = check(handle, call); status != kSuccess) return status;
  if (offsets_c == nullptr || total == nullptr) return kInvalidValue;
  maya::shim::WriteList writes;
  writes.add(offsets_c, (static_cast<uint64_t>(m) + 1) * sizeof(int));
  if (handle->pointer_mode == 0)
    *total = 0;
  else
    writes.add(total, sizeof *total);
  return run(handle, maya::Family::kSparse, "cusparseXcsrgeam2Nnz", {CUDA_R_32I, m, n, 0, elements(call)},
             {0, ints(elements(call)) + 2 * ints(int64_t{m} + 1), ints(int64_t{m} + 1)}, writes);
}

#define BLOCK_PARAMETERS(T) \
  const MatrixDescriptor *descriptor, T *values, const int *offsets, const int *indices, int block
#define TYPED(P, T)                                                                                                    \
  MAYA_API int cusparse##P##bsrmv(Handle* handle, int direction, int op, int block_rows, int block_columns,            \
                                  int blocks, const T* alpha, BLOCK_PARAMETERS(const T), const T* x, const T* beta,    \
                                  T* y) {                                                                              \
    return multiply_vector(                                                                                            \
        "cusparse" #P "bsrmv", handle,                                                                                 \
        {direction, op, block_rows, block_columns, blocks, descriptor, values, offsets, indices, block}, alpha, x,     \
        beta, y);                                                                                                      \
  }                                                                                                                    \
  MAYA_API int cusparse##P##bsrmm(Handle* handle, int direction, int op_a, int op_b, int block_rows, int n,            \
                                  int block_columns, int blocks, const T* alpha, BLOCK_PARAMETERS(const T),            \
                                  const T* B, int ldb, const T* beta, T* C, int ldc) {                                 \
    return multiply_matrix(                                                                                            \
        "cusparse" #P "bsrmm", handle,                                                                                 \
        {direction, op_a, block_rows, block_columns, blocks, descriptor, values, offsets, indices, block}, op_b, n,    \
        alpha, B, ldb, beta, C, ldc);                                                                                  \
  }                                                                                                                    \
  MAYA_API int cusparse##P##bsrsv2_bufferSize(Handle* handle, int direction, int op, int block_rows, int blocks,       \
                                              BLOCK_PARAMETERS(T), SolveInfo* info, int* bytes) {                      \
    return solve_size(handle,                                                                                          \
                      {direction, op, block_rows, block_rows, blocks, descriptor, values, offsets, indices, block},    \
                      info, 1, sizeof(T), bytes);                                                                      \
  }                                                                                                                    \
  MAYA_API int cusparse##P##bsrsv2_analysis(Handle* handle, int direction, int op, int block_rows, int blocks,         \
                                            BLOCK_PARAMETERS(const T), SolveInfo* info, int, void*) {                  \
    return analyse<T>("cusparse" #P "bsrsv2_analysis", handle,                                                         \
                      {direction, op, block_rows, block_rows, blocks, descriptor, values, offsets, indices, block},    \
                      info);                                                                                           \
  }                                                                                                                    \
  MAYA_API int cusparse##P##bsrsv2_solve(Handle* handle, int direction, int op, int block_rows, int blocks,            \
                                         const T* alpha, BLOCK_PARAMETERS(const T), SolveInfo* info, const T* f, T* x, \
                                         int, void*) {                                                                 \
    const Blocks a = {direction, op, block_rows, block_rows, blocks, descriptor, values, offsets, indices, block};     \
    return solve("cusparse" #P "bsrsv2_solve", handle, a, info, 1, alpha, f, x, std::max<int64_t>(a.rows(), 1));       \
  }                                                                                                                    \
  MAYA_API int cusparse##P##bsrsm2_bufferSize(Handle* handle, int direction, int op_a, int op_x, int block_rows,       \
                                              int n, int blocks, BLOCK_PARAMETERS(T), SolveInfo* info, int* bytes) {   \
    if (usable(handle) && !valid_operation(op_x)) return kInvalidValue;                                                \
    return solve_size(handle,                                                                                          \
                      {direction, op_a, block_rows, block_rows, blocks, descriptor, values, offsets, indices, block},  \
                      info, n, sizeof(T), bytes);                                                                      \
  }                                                                                                                    \
  MAYA_API int cusparse##P##bsrsm2_analysis(Handle* handle, int direction, int op_a, int op_x, int block_rows, int,    \
                                            int blocks, BLOCK_PARAMETERS(const T), SolveInfo* info, int, void*) {      \
    if (usable(handle) && !valid_operation(op_x)) return kInvalidValue;                                                \
    return analyse<T>("cusparse" #P "bsrsm2_analysis", handle,                                                         \
                      {direction, op_a, block_rows, block_rows, blocks, descriptor, values, offsets, indices, block},  \
                      info);                                                                                           \
  }                                                                                                                    \
  MAYA_API int cusparse##P##bsrsm2_solve(Handle* handle, int direction, int op_a, int op_x, int block_rows, int n,     \
                                         int blocks, const T* alpha, BLOCK_PARAMETERS(const T), SolveInfo* info,       \
                                         const T* B, int, T* X, int ldx, int, void*) {                                 \
    if (usable(handle) && !valid_operation(op_x)) return kInvalidValue;                                                \
    return solve("cusparse" #P "bsrsm2_solve", handle,                                                                 \
                 {direction, op_a, block_rows, block_rows, blocks, descriptor, values, offsets, indices, block}, info, \
                 n, alpha, B, X, ldx);                                                                                 \
  }                                                                                                                    \
  MAYA_API int cusparse##P##csrgeam2_bufferSizeExt(                                                                    \
      Handle* handle, int m, int n, const T*, const MatrixDescriptor* descr_a, int nnz_a, const T*,                    \
      const int* offsets_a, const int* indices_a, const T*, const MatrixDescriptor* descr_b, int nnz_b, const T*,      \
      const int* offsets_b, const int* indices_b, const MatrixDescriptor* descr_c, const T*, const int*, const int*,   \
      size_t* bytes) {                                                                                                 \
    return sum_size(                                                                                                   \
        handle, {m, n, descr_a, nnz_a, offsets_a, indices_a, descr_b, nnz_b, offsets_b, indices_b, descr_c}, bytes);   \
  }                                                                                                                    \
  MAYA_API int cusparse##P##csrgeam2(                                                                                  \
      Handle* handle, int m, int n, const T* alpha, const MatrixDescriptor* descr_a, int nnz_a, const T*,              \
      const int* offsets_a, const int* indices_a, const T* beta, const MatrixDescriptor* descr_b, int nnz_b, const T*, \
      const int* offsets_b, const int* indices_b, const MatrixDescriptor* descr_c, T*, int* offsets_c, int*, void*) {  \
    return sum("cusparse" #P "csrgeam2", handle,                                                                       \
               {m, n, descr_a, nnz_a, offsets_a, indices_a, descr_b, nnz_b, offsets_b, indices_b, descr_c}, alpha,     \
               beta, offsets_c);                                                                                       \
  }                                                                                                                    \
  MAYA_API int cusparse##P##gtsv2_bufferSizeExt(Handle* handle, int m, int n, const T*, const T*, const T*, const T*,  \
                                                int ldb, size_t* bytes) {                                              \
    return tridiagonal_size(handle, m, n, 1, ldb, sizeof(T), kSmallestSystem, bytes);                                  \
  }                                                                                                                    \
  MAYA_API int cusparse##P##gtsv2(Handle* handle, int m, int n, const T* lower, const T* diagonal, const T* upper,     \
                                  T* B, int ldb, void*) {                                                              \
    return tridiagonal("cusparse" #P "gtsv2", handle, m, n, lower, diagonal, upper, B, ldb, 1, 0, kSmallestSystem);    \
  }                                                                                                                    \
  MAYA_API int cusparse##P##gtsv2_nopivot_bufferSizeExt(Handle* handle, int m, int n, const T*, const T*, const T*,    \
                                                        const T*, int ldb, size_t* bytes) {                            \
    return tridiagonal_size(handle, m, n, 1, ldb, sizeof(T), kSmallestSystem, bytes);                                  \
  }                                                                                                                    \
  MAYA_API int cusparse##P##gtsv2_nopivot(Handle* handle, int m, int n, const T* lower, const T* diagonal,             \
                                          const T* upper, T* B, int ldb, void*) {                                      \
    return tridiagonal("cusparse" #P "gtsv2_nopivot", handle, m, n, lower, diagonal, upper, B, ldb, 1, 0,              \
                       kSmallestSystem);                                                                               \
  }                                                                                                                    \
  MAYA_API int cusparse##P##gtsv2StridedBatch_bufferSizeExt(Handle* handle, int m, const T*, const T*, const T*,       \
                                                            const T*, int batch, int stride, size_t* bytes) {          \
    if (usable(handle) && stride < m) return kInvalidValue;                                                            \
    return tridiagonal_size(handle, m, 1, batch, m, sizeof(T), kSmallestSystem, bytes);                                \
  }                                                                                                                    \
  MAYA_API int cusparse##P##gtsv2StridedBatch(Handle* handle, int m, const T* lower, const T* diagonal,                \
                                              const T* upper, T* x, int batch, int stride, void*) {                    \
    if (usable(handle) && stride < m) return kInvalidValue;                                                            \
    return tridiagonal("cusparse" #P "gtsv2StridedBatch", handle, m, 1, lower, diagonal, upper, x, m, batch, stride,   \
                       kSmallestSystem);                                                                               \
  }

TYPED(S, float)
TYPED(D, double)
TYPED(C, cuComplex)
TYPED(Z, cuDoubleComplex)
