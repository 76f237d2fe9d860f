// One matrix product as cuBLAS takes it, in the form that all GEMM-like entry points share. Column major, C = alpha
// op(A) op(B) + beta C.
#pragma once

#include <cublas_v2.h>

#include <cstdint>

#include "driver_shim/common/recording.h"

namespace maya::cublas {

struct GemmOperand {
  const void* address =
      nullptr;  // matrix; or device array of pointers to matrices when GemmCall::pointer_arrays is set
  cudaDataType type = CUDA_R_32F;
  int64_t leading = 0;  // leading dimension, elements
  int64_t stride = 0;   // between the matrices of a strided batch, elements; may be negative
};

struct GemmCall {
  const char* api = "";
  cublasOperation_t transa = CUBLAS_OP_N;
  cublasOperation_t transb = CUBLAS_OP_N;
  int64_t m = 0, n = 0, k = 0;
  GemmOperand a, b, c;
  const void* alpha = nullptr;  // host or device memory, by the handle's pointer mode
  const void* beta = nullptr;
  cudaDataType alpha_type = CUDA_R_32F, beta_type = CUDA_R_32F;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  int64_t batch = 1;
  bool pointer_arrays = false;
};

// Checks the documented conditions on sizes, operations, leading dimensions and scalars: INVALID_VALUE when one is
// broken.
cublasStatus_t check(const GemmCall& call);

// Records a product whose arguments are checked. `flops` is set where it is not 2 m n k a matrix (triangular and
// symmetric products), in real operations; 0 otherwise.
cublasStatus_t record_product(cublasHandle_t handle, const GemmCall& call, int64_t flops,
                              const shim::WriteList& writes);

// Checks and records the call on the handle's stream. Nothing is recorded when m, n or the batch is zero.
cublasStatus_t run(cublasHandle_t handle, const GemmCall& call);

// CUBLAS_STATUS_NOT_SUPPORTED for a combination outside supported_types(), then as run().
cublasStatus_t run_checked_types(cublasHandle_t handle, const GemmCall& call);

}  // namespace maya::cublas
