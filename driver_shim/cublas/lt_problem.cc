#include "driver_shim/cublas/lt_problem.h"

#include <cmath>

#include "driver_shim/common/sizes.h"
#include "driver_shim/cublas/release.h"
#include "driver_shim/cublas/types.h"

namespace maya::cublas {
namespace {

// Whether the matrices of a layout can lie in memory at all: everything is multiplied up from these sizes.
bool addressable(const MatrixLayout& layout) {
  const auto real = [](auto size) { return static_cast<double>(size); };
  const double rows = real(layout.rows), columns = real(layout.columns), leading = real(layout.leading);
  const double elements = std::fmax(rows * columns, leading * (layout.order == CUBLASLT_ORDER_ROW ? rows : columns));
  const double batch = std::fmax(elements, std::fabs(real(layout.batch_stride))) * real(layout.batch_count);
  constexpr double kBitsPerByte = 8;
  return std::fmax(std::fmax(rows, columns), std::fmax(leading, batch)) * storage_bits(layout.data_type()) <=
         shim::kMostBytes * kBitsPerByte;
}

}  // namespace

bool valid_layout(const MatrixLayout& layout) {
  if (storage_bits(layout.data_type()) == 0 || layout.batch_count < 1 || layout.order < CUBLASLT_ORDER_COL ||
      layout.order > CUBLASLT_ORDER_COL32_2R_4R4)
    return false;
  if (layout.batch_mode == CUBLASLT_BATCH_MODE_GROUPED) return true;
  // CUBLASLT_MATRIX_LAYOUT_LD: "Currently only non-negative values are supported."
  if (layout.leading < 0 || !addressable(layout)) return false;
  const int64_t rows = layout.rows, columns = layout.columns;
  if (layout.order == CUBLASLT_ORDER_COL) return layout.leading >= rows;
  if (layout.order == CUBLASLT_ORDER_ROW) return layout.leading >= columns;
  return true;
}

namespace {

bool is_8_bit_float(cudaDataType type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }

bool is_wide_float(cudaDataType type) { return type == CUDA_R_16F || type == CUDA_R_16BF || type == CUDA_R_32F; }

}  // namespace

cublasStatus_t make_problem(const MatmulDesc* desc, const MatrixLayout* a, const MatrixLayout* b, const MatrixLayout* c,
                            const MatrixLayout* d, MatmulProblem* problem) {
  if (desc == nullptr || a == nullptr || b == nullptr || d == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (!valid_layout(*a) || !valid_layout(*b) || !valid_layout(*d) || (c != nullptr && !valid_layout(*c)))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (desc->transa < CUBLAS_OP_N || desc->transa > CUBLAS_OP_C || desc->transb < CUBLAS_OP_N ||
      desc->transb > CUBLAS_OP_C)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (a->batch_count != d->batch_count || b->batch_count != d->batch_count) return CUBLAS_STATUS_INVALID_VALUE;
  problem->batch = d->batch_count;
  problem->grouped = d->batch_mode == CUBLASLT_BATCH_MODE_GROUPED;
  problem->transa = (desc->transa != CUBLAS_OP_N) != (a->order == CUBLASLT_ORDER_ROW);
  problem->transb = (desc->transb != CUBLAS_OP_N) != (b->order == CUBLASLT_ORDER_ROW);
  problem->conjugate_a = desc->transa == CUBLAS_OP_C && is_complex(a->data_type());
  problem->conjugate_b = desc->transb == CUBLAS_OP_C && is_complex(b->data_type());
  if (problem->grouped) return CUBLAS_STATUS_SUCCESS;
  const uint64_t rows_a = desc->transa == CUBLAS_OP_N ? a->rows : a->columns,
                 inner_a = desc->transa == CUBLAS_OP_N ? a->columns : a->rows;
  const uint64_t inner_b = desc->transb == CUBLAS_OP_N ? b->rows : b->columns,
                 columns_b = desc->transb == CUBLAS_OP_N ? b->columns : b->rows;
  if (rows_a != d->rows || columns_b != d->columns || inner_a != inner_b) return CUBLAS_STATUS_INVALID_VALUE;
  if (c != nullptr && (c->rows != d->rows || c->columns != d->columns)) return CUBLAS_STATUS_INVALID_VALUE;
  problem->m = d->rows, problem->n = d->columns, problem->k = inner_a;
  return CUBLAS_STATUS_SUCCESS;
}

MatrixBatch stored_matrices(const void* address, const MatrixLayout& layout) {
  constexpr int64_t kTileColumns = 32;
  const int64_t rows = layout.rows, columns = layout.columns;
  MatrixBatch matrices;
  matrices.address = address, matrices.type = layout.data_type();
  matrices.leading = layout.leading, matrices.stride = layout.batch_stride, matrices.batch = layout.batch_count;
  matrices.pointer_array = layout.batch_mode == CUBLASLT_BATCH_MODE_POINTER_ARRAY;
  switch (layout.order) {
    case CUBLASLT_ORDER_COL:
      matrices.rows = rows, matrices.columns = columns;
      break;
    case CUBLASLT_ORDER_ROW:
      matrices.rows = columns, matrices.columns = rows;
      break;
    default:
      matrices.rows = layout.leading, matrices.columns = (columns + kTileColumns - 1) / kTileColumns;
  }
  return matrices;
}

bool lt_supported_types(cublasComputeType_t compute, cudaDataType scale, cudaDataType a, cudaDataType b, cudaDataType c,
                        cudaDataType d, int compute_capability) {
  const auto at_least = [&](int needed) { return compute_capability == 0 || compute_capability >= needed; };
  const bool compute_32 = compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_PEDANTIC;
  if (is_8_bit_float(a) && is_8_bit_float(b)) {
    if (a == CUDA_R_8F_E5M2 && b == CUDA_R_8F_E5M2) return false;
    return compute_32 && scale == CUDA_R_32F && is_wide_float(c) && (d == c || is_8_bit_float(d)) && at_least(89);
  }
  if (a == CUDA_R_4F_E2M1 && b == CUDA_R_4F_E2M1)
    return compute_32 && scale == CUDA_R_32F && is_wide_float(c) && (d == c || d == CUDA_R_4F_E2M1) && at_least(100);
  if (a != b || c != d) return false;
  if (compute == CUBLAS_COMPUTE_32I || compute == CUBLAS_COMPUTE_32I_PEDANTIC)
    return a == CUDA_R_8I && ((scale == CUDA_R_32I && d == CUDA_R_32I) || (scale == CUDA_R_32F && d == CUDA_R_8I));
  if (a == CUDA_C_16F || a == CUDA_C_16BF) return compute_32 && scale == CUDA_C_32F && (d == a || d == CUDA_C_32F);
  return supported_types(compute, a, b, d) && scale == scalar_type(compute, d);
}

bool lt_supported(const MatmulDesc& desc, const MatmulProblem& problem, cudaDataType a, cudaDataType b, cudaDataType c,
                  cudaDataType d, int compute_capability) {
  constexpr int kBlackwell = 100;
  if (!lt_supported_types(static_cast<cublasComputeType_t>(desc.compute_type),
                          static_cast<cudaDataType>(desc.scale_type), a, b, c, d, compute_capability))
    return false;
  if (is_8_bit_float(a) && compute_capability != 0 && compute_capability < kBlackwell &&
      !(problem.transa && !problem.transb))
    return false;
  // Hopper since cuBLAS 13.4, as Transformer Engine's public source has it.
  constexpr int kHopper = 90, kHopperToo = 130400;
  return !problem.grouped || compute_capability == 0 ||
         compute_capability >= (kVersion >= kHopperToo ? kHopper : kBlackwell);
}

}  // namespace maya::cublas
