// cublasLtMatmul: recorded with its epilogue; outputs are D, and what the epilogue and the scaling write beside it.
#include "driver_shim/common/api.h"
#include "driver_shim/common/recording.h"
#include "driver_shim/cublas/lt_algorithm.h"
#include "driver_shim/cublas/lt_grouped.h"
#include "driver_shim/cublas/lt_handle.h"
#include "driver_shim/cublas/lt_problem.h"
#include "driver_shim/cublas/matrix_batch.h"
#include "driver_shim/cublas/types.h"

namespace maya::cublas {
namespace {

constexpr uint32_t kAuxBit = 128;           // an auxiliary matrix takes part
constexpr uint32_t kBackwardBits = 8 | 64;  // DRELU, DGELU: it is read, not written
constexpr uint32_t kReluBits = 2 | 8;       // it is a bit mask
constexpr uint32_t kBiasGradientBit = 16;

int64_t whole_blocks(int64_t count, int64_t block) { return (count + block - 1) / block; }

void add_aux(const MatmulDesc& desc, const MatrixLayout& d, shim::WriteList* writes) {
  if ((desc.epilogue & kAuxBit) == 0 || (desc.epilogue & kBackwardBits) != 0) return;
  const int64_t batch = d.batch_count, rows = d.rows, columns = d.columns;
  if ((desc.epilogue & kReluBits) != 0) {
    constexpr int64_t kBitsPerByte = 8;
    const auto column_bytes = static_cast<uint64_t>(desc.aux_leading / kBitsPerByte);
    const uint64_t matrix_bytes = shim::times(column_bytes, d.columns);
    writes->add_matrix(desc.aux, matrix_bytes, static_cast<uint64_t>(batch),
                       batch > 1 ? static_cast<uint64_t>(desc.aux_batch_stride / kBitsPerByte) : matrix_bytes);
  } else {
    const cudaDataType type = desc.aux_type < 0 ? d.data_type() : static_cast<cudaDataType>(desc.aux_type);
    add_matrices({desc.aux, type, rows, columns, desc.aux_leading, desc.aux_batch_stride, batch, false}, writes);
  }
}

void add_bias_gradient(const MatmulDesc& desc, const MatrixLayout& d, shim::WriteList* writes) {
  const bool of_a = desc.epilogue == CUBLASLT_EPILOGUE_BGRADA, of_b = desc.epilogue == CUBLASLT_EPILOGUE_BGRADB;
  if (!of_a && !of_b && (desc.epilogue & kBiasGradientBit) == 0) return;
  const cudaDataType type = desc.bias_type < 0 ? d.data_type() : static_cast<cudaDataType>(desc.bias_type);
  const int64_t length = of_b ? d.columns : d.rows;
  add_matrices({desc.bias, type, length, 1, length, desc.bias_batch_stride, d.batch_count, false}, writes);
}

// Scale factors that are computed with D: one byte a block, in tiles of 128 by 4 (cuBLAS documentation, "1D Block
// Scaling Factors Layout").
void add_output_scales(const MatmulDesc& desc, const MatrixLayout& d, shim::WriteList* writes) {
  constexpr int64_t kTileRows = 128, kTileColumns = 4;
  const int64_t block = desc.d_out_scale_mode == CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3   ? 16
                        : desc.d_out_scale_mode == CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0 ? 32
                                                                                            : 0;
  if (block == 0 || desc.d_out_scale == nullptr) return;
  const int64_t inner = whole_blocks(whole_blocks(d.rows, block), kTileColumns) * kTileColumns;
  const int64_t outer = whole_blocks(d.columns, kTileRows) * kTileRows;
  writes->add(desc.d_out_scale, inner * outer * d.batch_count);
}

int class_of(const MatmulDesc& desc, const void* scalar, bool is_beta) {
  const bool host = desc.pointer_mode == CUBLASLT_POINTER_MODE_HOST ||
                    (is_beta && desc.pointer_mode == CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST);
  if (is_beta && desc.pointer_mode == CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO) return 0;
  return host ? scalar_class(scalar, static_cast<cudaDataType>(desc.scale_type)) : 2;
}

int64_t operation(bool transposed, bool conjugate) {
  return conjugate ? CUBLAS_OP_C : transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

}  // namespace
}  // namespace maya::cublas

using namespace maya;
using namespace maya::cublas;

MAYA_API cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc_handle, const void* alpha,
                                       const void* a_matrix, cublasLtMatrixLayout_t a_layout, const void* b_matrix,
                                       cublasLtMatrixLayout_t b_layout, const void* beta, const void*,
                                       cublasLtMatrixLayout_t c_layout, void* d_matrix, cublasLtMatrixLayout_t d_layout,
                                       const cublasLtMatmulAlgo_t* algo, void*, size_t workspace_bytes,
                                       cudaStream_t stream) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  MatmulProblem problem;
  const cublasStatus_t status =
      make_problem(ours(desc_handle), ours(a_layout), ours(b_layout), ours(c_layout), ours(d_layout), &problem);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  if (alpha == nullptr || beta == nullptr || a_matrix == nullptr || b_matrix == nullptr || d_matrix == nullptr ||
      (algo != nullptr && !valid(algo)))
    return CUBLAS_STATUS_INVALID_VALUE;
  const MatmulDesc& desc = *ours(desc_handle);
  const MatrixLayout &a = *ours(a_layout), &b = *ours(b_layout), &d = *ours(d_layout);
  const cudaDataType c_type = c_layout == nullptr ? d.data_type() : ours(c_layout)->data_type();
  if (!lt_supported(desc, problem, a.data_type(), b.data_type(), c_type, d.data_type(), compute_capability()))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  const auto cu_stream = reinterpret_cast<CUstream>(stream);
  if (problem.grouped) return record_grouped(desc, a, b, d, d_matrix, workspace_bytes, cu_stream);
  if (problem.m == 0 || problem.n == 0) return CUBLAS_STATUS_SUCCESS;

  const DataType compute = compute_data_type(static_cast<cublasComputeType_t>(desc.compute_type));
  const bool tf32 = compute == DataType::kTf32 && a.data_type() == CUDA_R_32F;
  OperationRecord record(Family::kGemm, "cublasLtMatmul");
  record.set(Key::kM, problem.m).set(Key::kN, problem.n).set(Key::kK, problem.k).set(Key::kBatch, problem.batch);
  record.set(Key::kTypeA, static_cast<int64_t>(tf32 ? DataType::kTf32 : data_type(a.data_type())));
  record.set(Key::kTypeB, static_cast<int64_t>(tf32 ? DataType::kTf32 : data_type(b.data_type())));
  record.set(Key::kTypeC, static_cast<int64_t>(data_type(c_type)))
      .set(Key::kTypeD, static_cast<int64_t>(data_type(d.data_type())));
  record.set(Key::kComputeType, static_cast<int64_t>(compute));
  record.set(Key::kTransA, operation(problem.transa, problem.conjugate_a));
  record.set(Key::kTransB, operation(problem.transb, problem.conjugate_b));
  record.set(Key::kLda, a.leading).set(Key::kLdb, b.leading).set(Key::kLdc, d.leading);
  if (problem.batch > 1)
    record.set(Key::kStrideA, a.batch_stride).set(Key::kStrideB, b.batch_stride).set(Key::kStrideC, d.batch_stride);
  record.set(Key::kAlpha, class_of(desc, alpha, false)).set(Key::kBeta, class_of(desc, beta, true));
  record.set(Key::kEpilogue, desc.epilogue == CUBLASLT_EPILOGUE_DEFAULT ? 0 : desc.epilogue);
  record.set(Key::kWorkspaceBytes, workspace_bytes);

  shim::WriteList writes;
  add_matrices(stored_matrices(d_matrix, d), &writes);
  add_aux(desc, d, &writes);
  add_bias_gradient(desc, d, &writes);
  add_output_scales(desc, d, &writes);
  writes.add(desc.d_amax, sizeof(float));
  writes.add(desc.aux_amax, sizeof(float));
  return status_of(shim::record(cu_stream, record, writes));
}
