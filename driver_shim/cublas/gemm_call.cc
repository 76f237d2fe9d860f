#include "driver_shim/cublas/gemm_call.h"

#include <algorithm>

#include "driver_shim/cublas/handle.h"
#include "driver_shim/cublas/matrix_batch.h"
#include "driver_shim/cublas/types.h"

namespace maya::cublas {

cublasStatus_t check(const GemmCall& call) {
  if (call.m < 0 || call.n < 0 || call.k < 0 || call.batch < 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (!valid_operation(call.transa) || !valid_operation(call.transb)) return CUBLAS_STATUS_INVALID_VALUE;
  const int64_t rows_a = call.transa == CUBLAS_OP_N ? call.m : call.k;
  const int64_t rows_b = call.transb == CUBLAS_OP_N ? call.k : call.n;
  if (call.a.leading < std::max<int64_t>(1, rows_a) || call.b.leading < std::max<int64_t>(1, rows_b) ||
      call.c.leading < std::max<int64_t>(1, call.m))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (call.alpha == nullptr || call.beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}

namespace {

// In device pointer mode the scalars cannot be looked at: "other". A product without one of them (trsm has no beta)
// gives null: "zero".
int class_of(const cublasContext& handle, const void* scalar, cudaDataType type) {
  if (scalar == nullptr) return 0;
  return handle.pointer_mode == CUBLAS_POINTER_MODE_HOST ? scalar_class(scalar, type) : 2;
}

bool is_single(cudaDataType type) { return type == CUDA_R_32F || type == CUDA_C_32F; }

}  // namespace

cublasStatus_t record_product(cublasHandle_t handle, const GemmCall& call, int64_t flops,
                              const shim::WriteList& writes) {
  DataType type_a = data_type(call.a.type), type_b = data_type(call.b.type), compute = compute_data_type(call.compute);
  if (is_single(call.a.type) && call.compute == CUBLAS_COMPUTE_32F && tf32_allowed(*handle)) compute = DataType::kTf32;
  if (compute == DataType::kTf32 && call.a.type == CUDA_R_32F) type_a = type_b = DataType::kTf32;

  OperationRecord record(Family::kGemm, call.api);
  record.set(Key::kM, call.m).set(Key::kN, call.n).set(Key::kK, call.k).set(Key::kBatch, call.batch);
  record.set(Key::kTypeA, static_cast<int64_t>(type_a)).set(Key::kTypeB, static_cast<int64_t>(type_b));
  record.set(Key::kTypeC, static_cast<int64_t>(data_type(call.c.type))).set(Key::kTypeD, record.get(Key::kTypeC));
  record.set(Key::kComputeType, static_cast<int64_t>(compute));
  record.set(Key::kTransA, call.transa).set(Key::kTransB, call.transb);
  record.set(Key::kLda, call.a.leading).set(Key::kLdb, call.b.leading).set(Key::kLdc, call.c.leading);
  record.set(Key::kStrideA, call.a.stride).set(Key::kStrideB, call.b.stride).set(Key::kStrideC, call.c.stride);
  record.set(Key::kAlpha, class_of(*handle, call.alpha, call.alpha_type));
  record.set(Key::kBeta, class_of(*handle, call.beta, call.beta_type));
  record.set(Key::kWorkspaceBytes, handle->workspace_bytes).set(Key::kFlops, flops);
  return status_of(shim::record(handle->cu_stream(), record, writes));
}

cublasStatus_t run(cublasHandle_t handle, const GemmCall& call) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (const cublasStatus_t status = check(call); status != CUBLAS_STATUS_SUCCESS) return status;
  if (call.m == 0 || call.n == 0 || call.batch == 0) return CUBLAS_STATUS_SUCCESS;
  shim::WriteList writes;
  add_matrices(
      {call.c.address, call.c.type, call.m, call.n, call.c.leading, call.c.stride, call.batch, call.pointer_arrays},
      &writes);
  return record_product(handle, call, 0, writes);
}

cublasStatus_t run_checked_types(cublasHandle_t handle, const GemmCall& call) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (const cublasStatus_t status = check(call); status != CUBLAS_STATUS_SUCCESS) return status;
  if (!supported_types(call.compute, call.a.type, call.b.type, call.c.type)) return CUBLAS_STATUS_NOT_SUPPORTED;
  return run(handle, call);
}

}  // namespace maya::cublas
