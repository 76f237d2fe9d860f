// Sparse times sparse: SpGEMM in its three phases. How many elements the product has is counted by kernels, which did
// not run: the product has none, and its row offsets read as zero, which agrees. Times are those of the products that
// evenly spread elements would give.
#include <algorithm>

#include "driver_shim/common/api.h"
#include "driver_shim/common/sizes.h"
#include "driver_shim/cusparse/descriptors.h"
#include "driver_shim/cusparse/handle.h"

namespace maya::cusparse {
namespace {

struct Product {
  double products = 0;  // multiplications, expected
};

double real(int64_t n) { return static_cast<double>(n); }

// Only A and B as they are, in compressed rows, as documented.
int check(const Handle* handle, int operation_a, int operation_b, const SparseMatrix* a, const SparseMatrix* b,
          const SparseMatrix* c, const Product* descriptor) {
  if (!usable(handle)) return kNotInitialized;
  if (!valid_operation(operation_a) || !valid_operation(operation_b) || !alive(a) || !alive(b) || !alive(c) ||
      descriptor == nullptr)
    return kInvalidValue;
  if (operation_a != 0 || operation_b != 0 || a->format != kCsr || b->format != kCsr || c->format != kCsr)
    return kNotSupported;
  return a->columns != b->rows || c->rows != a->rows || c->columns != b->columns ? kInvalidValue : kSuccess;
}

// Every element of A meets the elements of one row of B.
double expected_products(const SparseMatrix& a, const SparseMatrix& b) {
  return a.columns == 0 ? 0 : real(a.nonzeros) * real(b.nonzeros) / real(a.columns);
}

double pair_bytes(const SparseMatrix& matrix) {
  return real(static_cast<int64_t>(element_bytes(matrix.type) + index_bytes(matrix.index_type)));
}

// A null buffer asks for its size.
int phase(const char* api, const Handle* handle, const SparseMatrix& a, const SparseMatrix& b, const SparseMatrix& c,
          double flops, double read_bytes, double written_bytes, double buffer_bytes, size_t* bytes, const void* buffer,
          const shim::WriteList& writes) {
  if (bytes == nullptr) return kInvalidValue;
  if (buffer == nullptr) {
    *bytes = static_cast<size_t>(shim::counted(std::max(buffer_bytes, 256.0)));
    return kSuccess;
  }
  return run(handle, Family::kSparse, api, {c.type, c.rows, c.columns, a.columns, a.nonzeros + b.nonzeros},
             {flops, read_bytes, written_bytes, 2}, writes);
}

}  // namespace
}  // namespace maya::cusparse

using namespace maya::cusparse;

MAYA_API int cusparseSpGEMM_createDescr(Product** descriptor) { return maya::shim::create(descriptor); }

MAYA_API int cusparseSpGEMM_destroyDescr(Product* descriptor) {
  if (descriptor == nullptr) return kInvalidValue;
  delete descriptor;
  return kSuccess;
}

MAYA_API int cusparseSpGEMM_getNumProducts(Product* descriptor, int64_t* products) {
  if (descriptor == nullptr || products == nullptr) return kInvalidValue;
  *products = maya::shim::counted(descriptor->products);
  return kSuccess;
}

MAYA_API int cusparseSpGEMM_workEstimation(Handle* handle, int op_a, int op_b, const void* alpha, SparseMatrix* A,
                                           SparseMatrix* B, const void* beta, SparseMatrix* C, cudaDataType, int,
                                           Product* descriptor, size_t* bytes, void* buffer) {
  if (const int status = check(handle, op_a, op_b, A, B, C, descriptor); status != kSuccess) return status;
  if (alpha == nullptr || beta == nullptr) return kInvalidValue;
  descriptor->products = expected_products(*A, *B);
  const maya::shim::WriteList nothing{};
  const double rows = real(A->rows) * sizeof(int64_t);
  return phase("cusparseSpGEMM_workEstimation", handle, *A, *B, *C, 0, stored_bytes(*A) + rows, rows, 2 * rows, bytes,
               buffer, nothing);
}

MAYA_API int cusparseSpGEMM_estimateMemory(Handle* handle, int op_a, int op_b, const void* alpha, SparseMatrix* A,
                                           SparseMatrix* B, const void* beta, SparseMatrix* C, cudaDataType, int,
                                           Product* descriptor, float fraction, size_t* third, void* third_buffer,
                                           size_t* second) {
  if (const int status = check(handle, op_a, op_b, A, B, C, descriptor); status != kSuccess) return status;
  if (alpha == nullptr || beta == nullptr || third == nullptr || !(fraction > 0 && fraction <= 1)) return kInvalidValue;
  const double all = descriptor->products * pair_bytes(*C);
  if (third_buffer == nullptr) {
    *third = static_cast<size_t>(maya::shim::counted(std::max(all * static_cast<double>(fraction), 256.0)));
    return kSuccess;
  }
  if (second == nullptr) return kInvalidValue;
  *second = static_cast<size_t>(maya::shim::counted(std::max(all, 256.0)));
  const maya::shim::WriteList nothing{};
  return run(handle, maya::Family::kSparse, "cusparseSpGEMM_estimateMemory",
             {C->type, C->rows, C->columns, A->columns, A->nonzeros + B->nonzeros},
             {0, stored_bytes(*A) + stored_bytes(*B), real(A->rows) * sizeof(int64_t)}, nothing);
}

MAYA_API int cusparseSpGEMM_compute(Handle* handle, int op_a, int op_b, const void* alpha, SparseMatrix* A,
                                    SparseMatrix* B, const void* beta, SparseMatrix* C, cudaDataType, int,
                                    Product* descriptor, size_t* bytes, void* buffer) {
  if (const int status = check(handle, op_a, op_b, A, B, C, descriptor); status != kSuccess) return status;
  if (alpha == nullptr || beta == nullptr) return kInvalidValue;
  const double moved = descriptor->products * pair_bytes(*C);
  const maya::shim::WriteList nothing{};  // the buffer alone, which nobody reads
  return phase("cusparseSpGEMM_compute", handle, *A, *B, *C, 2 * descriptor->products, stored_bytes(*A) + 2 * moved,
               moved, moved, bytes, buffer, nothing);
}

MAYA_API int cusparseSpGEMM_copy(Handle* handle, int op_a, int op_b, const void* alpha, SparseMatrix* A,
                                 SparseMatrix* B, const void* beta, SparseMatrix* C, cudaDataType, int,
                                 Product* descriptor) {
  if (const int status = check(handle, op_a, op_b, A, B, C, descriptor); status != kSuccess) return status;
  if (alpha == nullptr || beta == nullptr) return kInvalidValue;
  maya::shim::WriteList writes;
  add_structure(*C, &writes);
  add_values(*C, &writes);
  const double moved = descriptor->products * pair_bytes(*C);
  return run(handle, maya::Family::kSparse, "cusparseSpGEMM_copy",
             {C->type, C->rows, C->columns, A->columns, A->nonzeros + B->nonzeros},
             {0, moved, moved + real(C->rows) * sizeof(int)}, writes);
}
