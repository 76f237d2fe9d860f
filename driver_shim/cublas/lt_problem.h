// The product that a cublasLt descriptor and its four layouts describe, checked and brought into column-major terms.
#pragma once

#include <cublasLt.h>

#include <cstdint>

#include "driver_shim/cublas/lt_descriptors.h"
#include "driver_shim/cublas/matrix_batch.h"

namespace maya::cublas {

struct MatmulProblem {
  int64_t m = 0, n = 0, k = 0, batch = 1;  // grouped: batch is the number of groups and the sizes are zero
  bool transa = false, transb = false;     // with row-major storage taken as a transposition
  bool conjugate_a = false, conjugate_b = false;
  bool grouped = false;
};

// A type, an order and sizes that go together, and that some memory could hold.
bool valid_layout(const MatrixLayout& layout);

// INVALID_VALUE where the descriptors contradict each other: sizes, batch counts, leading dimensions, a missing one. C
// may be missing.
cublasStatus_t make_problem(const MatmulDesc* desc, const MatrixLayout* a, const MatrixLayout* b, const MatrixLayout* c,
                            const MatrixLayout* d, MatmulProblem* problem);

// The matrices of a layout in storage order: the contiguous direction is the columns of a MatrixBatch. Tiled orders are
// taken as whole tiles.
MatrixBatch stored_matrices(const void* address, const MatrixLayout& layout);

// Whether cublasLtMatmul takes these types on a device of this compute capability (major * 10 + minor; 0: not known,
// everything goes): tables of the cuBLAS documentation, "cublasLtMatmul()". 8-bit floats need 8.9 and, up to Hopper, A
// transposed and B not; 4-bit ones 10.0. Grouped products need 10.0, 9.0 since release 13.4.
bool lt_supported(const MatmulDesc& desc, const MatmulProblem& problem, cudaDataType a, cudaDataType b, cudaDataType c,
                  cudaDataType d, int compute_capability);
// The same where there are only types to look at.
bool lt_supported_types(cublasComputeType_t compute, cudaDataType scale, cudaDataType a, cudaDataType b, cudaDataType c,
                        cudaDataType d, int compute_capability);

}  // namespace maya::cublas
