// What Maya keeps inside cublasLt's semi-opaque descriptors. Plain values: a program may copy them byte by byte.
#pragma once

#include <cublasLt.h>

#include <cstdint>

namespace maya::cublas {

struct MatrixLayout {
  uint32_t type = CUDA_R_32F;
  int32_t order = CUBLASLT_ORDER_COL;
  uint64_t rows = 0;
  uint64_t columns = 0;
  int64_t leading = 0;
  int32_t batch_count = 1;  // groups, in a grouped layout
  uint32_t batch_mode = CUBLASLT_BATCH_MODE_STRIDED;
  int64_t batch_stride = 0;
  int64_t plane_offset = 0;
  const void* rows_array = nullptr;  // device arrays of a grouped layout
  const void* columns_array = nullptr;
  const void* leading_array = nullptr;
  int32_t sizes_width = CUBLASLT_INTEGER_WIDTH_32;
  int32_t leading_width = CUBLASLT_INTEGER_WIDTH_32;

  cudaDataType data_type() const { return static_cast<cudaDataType>(type); }
};

struct MatmulDesc {
  int32_t compute_type = CUBLAS_COMPUTE_32F;
  int32_t scale_type = CUDA_R_32F;
  int32_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  int32_t transa = CUBLAS_OP_N;
  int32_t transb = CUBLAS_OP_N;
  int32_t transc = CUBLAS_OP_N;
  int32_t fill_mode = CUBLAS_FILL_MODE_FULL;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void* bias = nullptr;  // read, or written where the epilogue gives a bias gradient
  int64_t bias_batch_stride = 0;
  void* aux = nullptr;  // read by backward epilogues, written by forward ones
  int64_t aux_leading = 0;
  int64_t aux_batch_stride = 0;
  int64_t alpha_vector_batch_stride = 0;
  int32_t sm_count_target = 0;
  int8_t fast_accumulation = 0;
  const void* a_scale = nullptr;
  const void* b_scale = nullptr;
  const void* c_scale = nullptr;
  const void* d_scale = nullptr;
  void* d_amax = nullptr;
  void* aux_scale = nullptr;
  void* aux_amax = nullptr;
  int32_t aux_type = -1;   // -1: D's type
  int32_t bias_type = -1;  // -1: D's type
  int32_t a_scale_mode = 0;
  int32_t b_scale_mode = 0;
  int32_t c_scale_mode = 0;
  int32_t d_scale_mode = 0;
  int32_t aux_scale_mode = 0;
  int32_t d_out_scale_mode = 0;
  void* d_out_scale = nullptr;
  cublasLtEmulationDesc_t emulation = nullptr;
  int64_t alpha_batch_stride = 0;
  int64_t beta_batch_stride = 0;
};

struct TransformDesc {
  int32_t scale_type = CUDA_R_32F;
  int32_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  int32_t transa = CUBLAS_OP_N;
  int32_t transb = CUBLAS_OP_N;
};

struct MatmulPreference {
  uint32_t search_mode = CUBLASLT_SEARCH_BEST_FIT;
  uint32_t reduction_scheme_mask = CUBLASLT_REDUCTION_SCHEME_MASK;
  uint64_t max_workspace_bytes = 0;
  uint32_t min_alignment_a = 256;
  uint32_t min_alignment_b = 256;
  uint32_t min_alignment_c = 256;
  uint32_t min_alignment_d = 256;
  float max_waves = 0;
  uint32_t average_reduction = 0;
  uint64_t implementation_mask = ~uint64_t{0};
  uint32_t average_rows = 0;
  uint32_t average_columns = 0;
};

struct EmulationDesc {
  int32_t strategy = CUBLAS_EMULATION_STRATEGY_DEFAULT;
  int32_t special_values = CUDA_EMULATION_SPECIAL_VALUES_SUPPORT_DEFAULT;
  int32_t mantissa_control = CUDA_EMULATION_MANTISSA_CONTROL_DYNAMIC;
  int32_t max_mantissa_bits = 0;
  int32_t mantissa_bit_offset = 0;
  int32_t reserved = 0;
  int32_t* mantissa_bit_count = nullptr;
};

struct MatmulAlgorithm {
  static constexpr uint32_t kMagic = 0x6d61796c;

  uint32_t magic = kMagic;
  int32_t id = 0;
  uint32_t tile = CUBLASLT_MATMUL_TILE_UNDEFINED;
  int32_t split_k = 1;
  uint32_t reduction_scheme = CUBLASLT_REDUCTION_SCHEME_NONE;
  uint32_t swizzling = 0;
  uint32_t custom_option = 0;
  uint32_t stages = CUBLASLT_MATMUL_STAGES_UNDEFINED;
  uint16_t inner_shape = CUBLASLT_MATMUL_INNER_SHAPE_UNDEFINED;
  uint16_t cluster_shape = CUBLASLT_CLUSTER_SHAPE_AUTO;
};

inline const MatrixLayout* ours(cublasLtMatrixLayout_t layout) { return reinterpret_cast<const MatrixLayout*>(layout); }
inline const MatmulDesc* ours(cublasLtMatmulDesc_t desc) { return reinterpret_cast<const MatmulDesc*>(desc); }
inline const TransformDesc* ours(cublasLtMatrixTransformDesc_t desc) {
  return reinterpret_cast<const TransformDesc*>(desc);
}
inline const MatmulPreference* ours(cublasLtMatmulPreference_t preference) {
  return reinterpret_cast<const MatmulPreference*>(preference);
}
inline const MatmulAlgorithm* ours(const cublasLtMatmulAlgo_t* algo) {
  return reinterpret_cast<const MatmulAlgorithm*>(algo);
}

}  // namespace maya::cublas
