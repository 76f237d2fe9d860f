// Products with dense operands: SpMV, SpMM, SDDMM, SpVV and the other operations on sparse vectors.
#include "driver_shim/common/api.h"
#include "driver_shim/cusparse/descriptors.h"
#include "driver_shim/cusparse/handle.h"

namespace maya::cusparse {
namespace {

double real(int64_t n) { return static_cast<double>(n); }

double vector_bytes(const DenseVector& vector) {
  return real(vector.size) * real(static_cast<int64_t>(element_bytes(vector.type)));
}

struct MatrixVector {
  int operation;
  const void* alpha;
  const SparseMatrix* a;
  const DenseVector* x;
  const void* beta;
  const DenseVector* y;
};

int check(const Handle* handle, const MatrixVector& call) {
  if (!usable(handle)) return kNotInitialized;
  if (call.alpha == nullptr || call.beta == nullptr || !alive(call.a) || !alive(call.x) || !alive(call.y) ||
      !valid_operation(call.operation))
    return kInvalidValue;
  const bool fits =
      rows_of(*call.a, call.operation) == call.y->size && columns_of(*call.a, call.operation) == call.x->size;
  return fits ? kSuccess : kInvalidValue;
}

int multiply(const char* api, const Handle* handle, const MatrixVector& call) {
  if (const int status = check(handle, call); status != kSuccess) return status;
  shim::WriteList writes;
  add(*call.y, &writes);
  const Shape shape = {call.y->type, call.y->size, 1, call.x->size, call.a->nonzeros};
  return run(handle, Family::kSparse, api, shape,
             {2 * real(call.a->nonzeros), stored_bytes(*call.a) + vector_bytes(*call.x) + vector_bytes(*call.y),
              vector_bytes(*call.y)},
             writes);
}

struct MatrixMatrix {
  int operation_a, operation_b;
  const void* alpha;
  const SparseMatrix* a;
  const DenseMatrix* b;
  const void* beta;
  const DenseMatrix* c;
};

// C = alpha (op(A) op(B)) o pattern(C) + beta C.
struct Sampled {
  int operation_a, operation_b;
  const void* alpha;
  const DenseMatrix *a, *b;
  const void* beta;
  const SparseMatrix* c;
};

// MatrixMatrix or Sampled: C = op(A) op(B) whichever of the three is sparse.
template <typename Product>
int check_product(const Handle* handle, const Product& call) {
  if (!usable(handle)) return kNotInitialized;
  if (call.alpha == nullptr || call.beta == nullptr || !alive(call.a) || !alive(call.b) || !alive(call.c) ||
      !valid_operation(call.operation_a) || !valid_operation(call.operation_b))
    return kInvalidValue;
  const bool fits = rows_of(*call.a, call.operation_a) == call.c->rows &&
                    columns_of(*call.a, call.operation_a) == rows_of(*call.b, call.operation_b) &&
                    columns_of(*call.b, call.operation_b) == call.c->columns;
  return fits ? kSuccess : kInvalidValue;
}

int check(const Handle* handle, const MatrixMatrix& call) { return check_product(handle, call); }
int check(const Handle* handle, const Sampled& call) { return check_product(handle, call); }

int multiply(const char* api, const Handle* handle, const MatrixMatrix& call) {
  if (const int status = check(handle, call); status != kSuccess) return status;
  shim::WriteList writes;
  add(*call.c, &writes);
  const Shape shape = {call.c->type,     call.c->rows, call.c->columns, rows_of(*call.b, call.operation_b),
                       call.a->nonzeros, call.c->batch};
  return run(handle, Family::kSparse, api, shape,
             {2 * real(call.a->nonzeros) * real(call.c->columns),
              stored_bytes(*call.a) + dense_bytes(*call.b) + dense_bytes(*call.c), dense_bytes(*call.c)},
             writes);
}

int sample(const char* api, const Handle* handle, const Sampled& call) {
  if (const int status = check(handle, call); status != kSuccess) return status;
  shim::WriteList writes;
  add_values(*call.c, &writes);
  const int64_t depth = columns_of(*call.a, call.operation_a);
  const Shape shape = {call.c->type, call.c->rows, call.c->columns, depth, call.c->nonzeros, call.c->batch};
  return run(
      handle, Family::kSparse, api, shape,
      {2 * real(call.c->nonzeros) * real(depth), dense_bytes(*call.a) + dense_bytes(*call.b) + stored_bytes(*call.c),
       real(call.c->nonzeros) * real(static_cast<int64_t>(element_bytes(call.c->type)))},
      writes);
}

template <typename Call>
int size(const Handle* handle, const Call& call, int64_t nonzeros, size_t* bytes) {
  if (const int status = check(handle, call); status != kSuccess) return status;
  if (bytes == nullptr) return kInvalidValue;
  *bytes = partition_bytes(nonzeros);
  return kSuccess;
}

int64_t nonzeros_of(const SparseMatrix* matrix) { return alive(matrix) ? matrix->nonzeros : 0; }

// A sparse and a dense vector of the same size; one of them is written.
int vectors(const char* api, const Handle* handle, const SparseVector* x, const DenseVector* y, double flops,
            bool writes_sparse, bool writes_dense) {
  if (!usable(handle)) return kNotInitialized;
  if (!alive(x) || !alive(y) || x->size != y->size) return kInvalidValue;
  shim::WriteList writes;
  const double element = real(static_cast<int64_t>(element_bytes(x->type)));
  const double moved = real(x->nonzeros) * element;
  if (writes_sparse) writes.add(x->values, static_cast<uint64_t>(moved));
  if (writes_dense) add(*y, &writes);
  const double indices = real(x->nonzeros) * real(static_cast<int64_t>(index_bytes(x->index_type)));
  return run(handle, Family::kSparse, api, {x->type, x->size, 1, 0, x->nonzeros},
             {flops * real(x->nonzeros), indices + 2 * moved, moved * (writes_sparse && writes_dense ? 2 : 1)}, writes);
}

}  // namespace
}  // namespace maya::cusparse

using namespace maya::cusparse;

MAYA_API int cusparseSpMV_bufferSize(Handle* handle, int op, const void* alpha, SparseMatrix* A, DenseVector* x,
                                     const void* beta, DenseVector* y, cudaDataType, int, size_t* bytes) {
  return size(handle, MatrixVector{op, alpha, A, x, beta, y}, nonzeros_of(A), bytes);
}

MAYA_API int cusparseSpMV_preprocess(Handle* handle, int op, const void* alpha, SparseMatrix* A, DenseVector* x,
                                     const void* beta, DenseVector* y, cudaDataType, int, void*) {
  return check(handle, MatrixVector{op, alpha, A, x, beta, y});
}

MAYA_API int cusparseSpMV(Handle* handle, int op, const void* alpha, SparseMatrix* A, DenseVector* x, const void* beta,
                          DenseVector* y, cudaDataType, int, void*) {
  return multiply("cusparseSpMV", handle, MatrixVector{op, alpha, A, x, beta, y});
}

MAYA_API int cusparseSpMM_bufferSize(Handle* handle, int op_a, int op_b, const void* alpha, SparseMatrix* A,
                                     DenseMatrix* B, const void* beta, DenseMatrix* C, cudaDataType, int,
                                     size_t* bytes) {
  return size(handle, MatrixMatrix{op_a, op_b, alpha, A, B, beta, C}, nonzeros_of(A), bytes);
}

MAYA_API int cusparseSpMM_preprocess(Handle* handle, int op_a, int op_b, const void* alpha, SparseMatrix* A,
                                     DenseMatrix* B, const void* beta, DenseMatrix* C, cudaDataType, int, void*) {
  return check(handle, MatrixMatrix{op_a, op_b, alpha, A, B, beta, C});
}

MAYA_API int cusparseSpMM(Handle* handle, int op_a, int op_b, const void* alpha, SparseMatrix* A, DenseMatrix* B,
                          const void* beta, DenseMatrix* C, cudaDataType, int, void*) {
  return multiply("cusparseSpMM", handle, MatrixMatrix{op_a, op_b, alpha, A, B, beta, C});
}

MAYA_API int cusparseSDDMM_bufferSize(Handle* handle, int op_a, int op_b, const void* alpha, DenseMatrix* A,
                                      DenseMatrix* B, const void* beta, SparseMatrix* C, cudaDataType, int,
                                      size_t* bytes) {
  return size(handle, Sampled{op_a, op_b, alpha, A, B, beta, C}, nonzeros_of(C), bytes);
}

MAYA_API int cusparseSDDMM_preprocess(Handle* handle, int op_a, int op_b, const void* alpha, DenseMatrix* A,
                                      DenseMatrix* B, const void* beta, SparseMatrix* C, cudaDataType, int, void*) {
  return check(handle, Sampled{op_a, op_b, alpha, A, B, beta, C});
}

MAYA_API int cusparseSDDMM(Handle* handle, int op_a, int op_b, const void* alpha, DenseMatrix* A, DenseMatrix* B,
                           const void* beta, SparseMatrix* C, cudaDataType, int, void*) {
  return sample("cusparseSDDMM", handle, Sampled{op_a, op_b, alpha, A, B, beta, C});
}

MAYA_API int cusparseGather(Handle* handle, DenseVector* y, SparseVector* x) {
  return vectors("cusparseGather", handle, x, y, 0, true, false);
}

MAYA_API int cusparseScatter(Handle* handle, SparseVector* x, DenseVector* y) {
  return vectors("cusparseScatter", handle, x, y, 0, false, true);
}

MAYA_API int cusparseAxpby(Handle* handle, const void* alpha, SparseVector* x, const void* beta, DenseVector* y) {
  if (usable(handle) && (alpha == nullptr || beta == nullptr)) return kInvalidValue;
  return vectors("cusparseAxpby", handle, x, y, 2, false, true);
}

MAYA_API int cusparseSpVV_bufferSize(Handle* handle, int op, SparseVector* x, DenseVector* y, const void* result,
                                     cudaDataType, size_t* bytes) {
  if (!usable(handle)) return kNotInitialized;
  if (!valid_operation(op) || !alive(x) || !alive(y) || x->size != y->size || result == nullptr || bytes == nullptr)
    return kInvalidValue;
  *bytes = partition_bytes(x->nonzeros);
  return kSuccess;
}

// A result in host memory is zero, as unknown device memory reads.
MAYA_API int cusparseSpVV(Handle* handle, int op, SparseVector* x, DenseVector* y, void* result, cudaDataType type,
                          void*) {
  if (!usable(handle)) return kNotInitialized;
  if (!valid_operation(op) || !alive(x) || !alive(y) || x->size != y->size || result == nullptr) return kInvalidValue;
  maya::shim::WriteList writes;
  const uint64_t bytes = element_bytes(type);
  if (handle->pointer_mode == 1)
    writes.add(result, bytes);
  else
    for (uint64_t i = 0; i < bytes; ++i) static_cast<char*>(result)[i] = 0;
  const double moved = real(x->nonzeros) * real(static_cast<int64_t>(element_bytes(x->type)));
  return run(handle, maya::Family::kSparse, "cusparseSpVV", {x->type, x->size, 1, 0, x->nonzeros},
             {2 * real(x->nonzeros), 2 * moved, real(static_cast<int64_t>(bytes))}, writes);
}
