// Triangular solutions of the generic interface: SpSV for a vector, SpSM for a matrix of right sides.
#include "driver_shim/common/api.h"
#include "driver_shim/cusparse/descriptors.h"
#include "driver_shim/cusparse/handle.h"

namespace maya::cusparse {
namespace {

// cusparseSpSVDescr_t, cusparseSpSMDescr_t: nothing of the analysis is kept.
struct Analysis {
  bool done = false;
};

double real(int64_t n) { return static_cast<double>(n); }

// What both have in common; sizes of the right side and the solution are compared by the callers.
int check(const Handle* handle, int operation, const void* alpha, const SparseMatrix* a, const Analysis* analysis) {
  if (!usable(handle)) return kNotInitialized;
  if (!valid_operation(operation) || alpha == nullptr || !alive(a) || analysis == nullptr || a->rows != a->columns)
    return kInvalidValue;
  return kSuccess;
}

int check_vectors(const Handle* handle, int operation, const void* alpha, const SparseMatrix* a, const DenseVector* x,
                  const DenseVector* y, const Analysis* analysis) {
  if (const int status = check(handle, operation, alpha, a, analysis); status != kSuccess) return status;
  return !alive(x) || !alive(y) || x->size != a->rows || y->size != a->rows ? kInvalidValue : kSuccess;
}

int check_matrices(const Handle* handle, int operation_a, int operation_b, const void* alpha, const SparseMatrix* a,
                   const DenseMatrix* b, const DenseMatrix* c, const Analysis* analysis) {
  if (const int status = check(handle, operation_a, alpha, a, analysis); status != kSuccess) return status;
  if (!alive(b) || !alive(c) || !valid_operation(operation_b)) return kInvalidValue;
  return rows_of(*b, operation_b) != a->rows || c->rows != a->rows || columns_of(*b, operation_b) != c->columns
             ? kInvalidValue
             : kSuccess;
}

int answer(int status, const SparseMatrix* a, size_t* bytes) {
  if (status != kSuccess) return status;
  if (bytes == nullptr) return kInvalidValue;
  // A level number and a permutation of the rows.
  *bytes = partition_bytes(a->nonzeros) + static_cast<size_t>(a->rows) * 2 * sizeof(int);
  return kSuccess;
}

// Levels of rows are found by a pass over the structure.
int analyse(const char* api, const Handle* handle, const SparseMatrix& a, Analysis* analysis) {
  analysis->done = true;
  const shim::WriteList nothing{};
  return run(handle, Family::kSparse, api, {a.type, a.rows, 0, 0, a.nonzeros, a.batch},
             {0, stored_bytes(a), real(a.rows) * 2 * sizeof(int), solution_steps(a.rows)}, nothing);
}

int solve(const char* api, const Handle* handle, const SparseMatrix& a, int64_t right_sides, double right_bytes,
          int batch, const shim::WriteList& writes) {
  return run(
      handle, Family::kSparse, api, {a.type, a.rows, right_sides, 0, a.nonzeros, batch},
      {2 * real(a.nonzeros) * real(right_sides), stored_bytes(a) + right_bytes, right_bytes, solution_steps(a.rows)},
      writes);
}

int create_analysis(Analysis** analysis) { return shim::create(analysis); }

int destroy_analysis(Analysis* analysis) {
  if (analysis == nullptr) return kInvalidValue;
  delete analysis;
  return kSuccess;
}

// New values for a matrix of the same structure: copied.
int update(const char* api, const Handle* handle, const Analysis* analysis, const void* values, int part) {
  if (!usable(handle)) return kNotInitialized;
  if (analysis == nullptr || values == nullptr || part < 0 || part > 1) return kInvalidValue;
  const shim::WriteList nothing{};
  return run(handle, Family::kSparse, api, {CUDA_R_32F, 0, 0, 0, 0}, {0, 0, 0}, nothing);
}

}  // namespace
}  // namespace maya::cusparse

using namespace maya::cusparse;

MAYA_API int cusparseSpSV_createDescr(Analysis** descriptor) { return create_analysis(descriptor); }
MAYA_API int cusparseSpSV_destroyDescr(Analysis* descriptor) { return destroy_analysis(descriptor); }
MAYA_API int cusparseSpSM_createDescr(Analysis** descriptor) { return create_analysis(descriptor); }
MAYA_API int cusparseSpSM_destroyDescr(Analysis* descriptor) { return destroy_analysis(descriptor); }

MAYA_API int cusparseSpSV_bufferSize(Handle* handle, int op, const void* alpha, SparseMatrix* A, DenseVector* x,
                                     DenseVector* y, cudaDataType, int, Analysis* analysis, size_t* bytes) {
  return answer(check_vectors(handle, op, alpha, A, x, y, analysis), A, bytes);
}

MAYA_API int cusparseSpSV_analysis(Handle* handle, int op, const void* alpha, SparseMatrix* A, DenseVector* x,
                                   DenseVector* y, cudaDataType, int, Analysis* analysis, void*) {
  const int status = check_vectors(handle, op, alpha, A, x, y, analysis);
  return status != kSuccess ? status : analyse("cusparseSpSV_analysis", handle, *A, analysis);
}

MAYA_API int cusparseSpSV_solve(Handle* handle, int op, const void* alpha, SparseMatrix* A, DenseVector* x,
                                DenseVector* y, cudaDataType, int, Analysis* analysis) {
  if (const int status = check_vectors(handle, op, alpha, A, x, y, analysis); status != kSuccess) return status;
  maya::shim::WriteList writes;
  add(*y, &writes);
  return solve("cusparseSpSV_solve", handle, *A, 1, real(y->size) * real(static_cast<int64_t>(element_bytes(y->type))),
               1, writes);
}

MAYA_API int cusparseSpSV_updateMatrix(Handle* handle, Analysis* analysis, void* values, int part) {
  return update("cusparseSpSV_updateMatrix", handle, analysis, values, part);
}

MAYA_API int cusparseSpSM_bufferSize(Handle* handle, int op_a, int op_b, const void* alpha, SparseMatrix* A,
                                     DenseMatrix* B, DenseMatrix* C, cudaDataType, int, Analysis* analysis,
                                     size_t* bytes) {
  return answer(check_matrices(handle, op_a, op_b, alpha, A, B, C, analysis), A, bytes);
}

MAYA_API int cusparseSpSM_analysis(Handle* handle, int op_a, int op_b, const void* alpha, SparseMatrix* A,
                                   DenseMatrix* B, DenseMatrix* C, cudaDataType, int, Analysis* analysis, void*) {
  const int status = check_matrices(handle, op_a, op_b, alpha, A, B, C, analysis);
  return status != kSuccess ? status : analyse("cusparseSpSM_analysis", handle, *A, analysis);
}

MAYA_API int cusparseSpSM_solve(Handle* handle, int op_a, int op_b, const void* alpha, SparseMatrix* A, DenseMatrix* B,
                                DenseMatrix* C, cudaDataType, int, Analysis* analysis) {
  const int status = check_matrices(handle, op_a, op_b, alpha, A, B, C, analysis);
  if (status != kSuccess) return status;
  maya::shim::WriteList writes;
  add(*C, &writes);
  return solve("cusparseSpSM_solve", handle, *A, C->columns, dense_bytes(*C), C->batch, writes);
}

MAYA_API int cusparseSpSM_updateMatrix(Handle* handle, Analysis* analysis, void* values, int part) {
  return update("cusparseSpSM_updateMatrix", handle, analysis, values, part);
}
