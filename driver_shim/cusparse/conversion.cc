// Conversions and sorting: SparseToDense, DenseToSparse, coordinates to compressed rows and back, sorting of
// coordinates and of compressed rows and columns.
#include "driver_shim/common/api.h"
#include "driver_shim/cusparse/descriptors.h"
#include "driver_shim/cusparse/handle.h"

namespace maya::cusparse {
namespace {

double ints(int64_t n) { return static_cast<double>(n) * sizeof(int); }

int check(const Handle* handle, const SparseMatrix* sparse, const DenseMatrix* dense) {
  if (!usable(handle)) return kNotInitialized;
  return !alive(sparse) || !alive(dense) || sparse->rows != dense->rows || sparse->columns != dense->columns
             ? kInvalidValue
             : kSuccess;
}

int size(int status, const SparseMatrix* sparse, size_t* bytes) {
  if (status != kSuccess) return status;
  if (bytes == nullptr) return kInvalidValue;
  *bytes = partition_bytes(sparse->nonzeros) + static_cast<size_t>(sparse->rows) * sizeof(int);
  return kSuccess;
}

int convert_indices(const char* api, const Handle* handle, const int* from, int64_t nonzeros, int64_t rows, int* to,
                    int64_t written, int base) {
  if (!usable(handle)) return kNotInitialized;
  if (nonzeros < 0 || rows < 0 || base < 0 || base > 1 || to == nullptr || (nonzeros > 0 && from == nullptr))
    return kInvalidValue;
  shim::WriteList writes;
  writes.add(to, static_cast<uint64_t>(written) * sizeof(int));
  return run(handle, Family::kSparse, api, {CUDA_R_32I, rows, 0, 0, nonzeros},
             {0, ints(nonzeros) + ints(rows), ints(written)}, writes);
}

// Radix sort of 64-bit keys, 8 bits a pass, with a permutation beside it.
constexpr double kPasses = 8;

int sort(const char* api, const Handle* handle, int64_t m, int64_t n, int64_t nonzeros, int* first, int64_t first_count,
         int* second, int* permutation, bool first_written) {
  if (!usable(handle)) return kNotInitialized;
  if (m < 0 || n < 0 || nonzeros < 0 || (nonzeros > 0 && (first == nullptr || second == nullptr))) return kInvalidValue;
  if (nonzeros == 0) return kSuccess;
  shim::WriteList writes;
  if (first_written) writes.add(first, static_cast<uint64_t>(first_count) * sizeof(int));
  writes.add(second, static_cast<uint64_t>(nonzeros) * sizeof(int));
  writes.add(permutation, static_cast<uint64_t>(nonzeros) * sizeof(int));
  const double moved = kPasses * 3 * ints(nonzeros);
  return run(handle, Family::kSort, api, {CUDA_R_32I, m, n, 0, nonzeros},
             {0, moved, moved, static_cast<int64_t>(kPasses)}, writes);
}

int sort_size(const Handle* handle, int64_t m, int64_t n, int64_t nonzeros, size_t* bytes) {
  if (!usable(handle)) return kNotInitialized;
  if (m < 0 || n < 0 || nonzeros < 0 || bytes == nullptr) return kInvalidValue;
  // A second copy of keys and permutation.
  *bytes = partition_bytes(nonzeros) + static_cast<size_t>(nonzeros) * 3 * sizeof(int);
  return kSuccess;
}

}  // namespace
}  // namespace maya::cusparse

using namespace maya::cusparse;

MAYA_API int cusparseSparseToDense_bufferSize(Handle* handle, SparseMatrix* A, DenseMatrix* B, int, size_t* bytes) {
  return size(check(handle, A, B), A, bytes);
}

MAYA_API int cusparseSparseToDense(Handle* handle, SparseMatrix* A, DenseMatrix* B, int, void*) {
  if (const int status = check(handle, A, B); status != kSuccess) return status;
  maya::shim::WriteList writes;
  add(*B, &writes);
  return run(handle, maya::Family::kSparse, "cusparseSparseToDense",
             {B->type, B->rows, B->columns, 0, A->nonzeros, B->batch}, {0, stored_bytes(*A), dense_bytes(*B)}, writes);
}

MAYA_API int cusparseDenseToSparse_bufferSize(Handle* handle, DenseMatrix* A, SparseMatrix* B, int, size_t* bytes) {
  return size(check(handle, B, A), B, bytes);
}

// Counts the elements of each row; the offsets read as zero, as they must where there are none.
MAYA_API int cusparseDenseToSparse_analysis(Handle* handle, DenseMatrix* A, SparseMatrix* B, int, void*) {
  if (const int status = check(handle, B, A); status != kSuccess) return status;
  maya::shim::WriteList writes;
  add_structure(*B, &writes);
  return run(handle, maya::Family::kSparse, "cusparseDenseToSparse_analysis",
             {A->type, A->rows, A->columns, 0, B->nonzeros, A->batch}, {0, dense_bytes(*A), ints(A->rows)}, writes);
}

MAYA_API int cusparseDenseToSparse_convert(Handle* handle, DenseMatrix* A, SparseMatrix* B, int, void*) {
  if (const int status = check(handle, B, A); status != kSuccess) return status;
  maya::shim::WriteList writes;
  add_structure(*B, &writes);
  add_values(*B, &writes);
  return run(handle, maya::Family::kSparse, "cusparseDenseToSparse_convert",
             {A->type, A->rows, A->columns, 0, B->nonzeros, A->batch}, {0, dense_bytes(*A), stored_bytes(*B)}, writes);
}

MAYA_API int cusparseXcoo2csr(Handle* handle, const int* row_indices, int nonzeros, int m, int* offsets, int base) {
  return convert_indices("cusparseXcoo2csr", handle, row_indices, nonzeros, m, offsets, static_cast<int64_t>(m) + 1,
                         base);
}

MAYA_API int cusparseXcsr2coo(Handle* handle, const int* offsets, int nonzeros, int m, int* row_indices, int base) {
  return convert_indices("cusparseXcsr2coo", handle, offsets, nonzeros, m, row_indices, nonzeros, base);
}

MAYA_API int cusparseXcoosort_bufferSizeExt(Handle* handle, int m, int n, int nonzeros, const int*, const int*,
                                            size_t* bytes) {
  return sort_size(handle, m, n, nonzeros, bytes);
}

MAYA_API int cusparseXcoosortByRow(Handle* handle, int m, int n, int nonzeros, int* rows, int* columns,
                                   int* permutation, void*) {
  return sort("cusparseXcoosortByRow", handle, m, n, nonzeros, rows, nonzeros, columns, permutation, true);
}

MAYA_API int cusparseXcoosortByColumn(Handle* handle, int m, int n, int nonzeros, int* rows, int* columns,
                                      int* permutation, void*) {
  return sort("cusparseXcoosortByColumn", handle, m, n, nonzeros, rows, nonzeros, columns, permutation, true);
}

MAYA_API int cusparseXcsrsort_bufferSizeExt(Handle* handle, int m, int n, int nonzeros, const int*, const int*,
                                            size_t* bytes) {
  return sort_size(handle, m, n, nonzeros, bytes);
}

MAYA_API int cusparseXcsrsort(Handle* handle, int m, int n, int nonzeros, const MatrixDescriptor* descriptor,
                              const int* offsets, int* columns, int* permutation, void*) {
  if (usable(handle) && descriptor == nullptr) return kInvalidValue;
  return sort("cusparseXcsrsort", handle, m, n, nonzeros, const_cast<int*>(offsets), 0, columns, permutation, false);
}

MAYA_API int cusparseXcscsort_bufferSizeExt(Handle* handle, int m, int n, int nonzeros, const int*, const int*,
                                            size_t* bytes) {
  return sort_size(handle, m, n, nonzeros, bytes);
}

MAYA_API int cusparseXcscsort(Handle* handle, int m, int n, int nonzeros, const MatrixDescriptor* descriptor,
                              const int* offsets, int* rows, int* permutation, void*) {
  if (usable(handle) && descriptor == nullptr) return kInvalidValue;
  return sort("cusparseXcscsort", handle, m, n, nonzeros, const_cast<int*>(offsets), 0, rows, permutation, false);
}

MAYA_API int cusparseCreateIdentityPermutation(Handle* handle, int n, int* permutation) {
  if (!usable(handle)) return kNotInitialized;
  if (n < 0 || (n > 0 && permutation == nullptr)) return kInvalidValue;
  if (n == 0) return kSuccess;
  maya::shim::WriteList writes;
  writes.add(permutation, static_cast<uint64_t>(n) * sizeof(int));
  return run(handle, maya::Family::kSparse, "cusparseCreateIdentityPermutation", {CUDA_R_32I, n, 0, 0, 0},
             {0, 0, ints(n)}, writes);
}
