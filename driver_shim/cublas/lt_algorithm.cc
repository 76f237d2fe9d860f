// cublasLt's algorithms: initialise, capabilities and configuration. Maya has one algorithm per tile of its short list;
// which one a program takes makes no difference to the estimate.
#include "driver_shim/cublas/lt_algorithm.h"

#include "driver_shim/common/api.h"
#include "driver_shim/cublas/lt_attribute.h"
#include "driver_shim/cublas/lt_handle.h"
#include "driver_shim/cublas/lt_problem.h"

namespace maya::cublas {

const AlgorithmTile kAlgorithmTiles[kAlgorithmCount] = {{CUBLASLT_MATMUL_TILE_128x256, 128, 256},
                                                        {CUBLASLT_MATMUL_TILE_128x128, 128, 128},
                                                        {CUBLASLT_MATMUL_TILE_64x64, 64, 64}};

MatmulAlgorithm algorithm(int id) {
  MatmulAlgorithm made;
  made.id = id;
  made.tile = kAlgorithmTiles[id].tile;
  return made;
}

namespace {

#define CONFIG(ID, MEMBER) MAYA_LT_ATTRIBUTE(ID, MatmulAlgorithm, MEMBER)
constexpr Attribute kConfigAttributes[] = {
    {CUBLASLT_ALGO_CONFIG_ID, offsetof(MatmulAlgorithm, id), sizeof(MatmulAlgorithm::id), true},
    CONFIG(CUBLASLT_ALGO_CONFIG_TILE_ID, tile),
    CONFIG(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, split_k),
    CONFIG(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, reduction_scheme),
    CONFIG(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, swizzling),
    CONFIG(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, custom_option),
    CONFIG(CUBLASLT_ALGO_CONFIG_STAGES_ID, stages),
    CONFIG(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, inner_shape),
    CONFIG(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, cluster_shape),
};

constexpr uint32_t kAllPointerModes =
    CUBLASLT_POINTER_MODE_MASK_HOST | CUBLASLT_POINTER_MODE_MASK_DEVICE | CUBLASLT_POINTER_MODE_MASK_DEVICE_VECTOR |
    CUBLASLT_POINTER_MODE_MASK_ALPHA_DEVICE_VECTOR_BETA_ZERO | CUBLASLT_POINTER_MODE_MASK_ALPHA_DEVICE_VECTOR_BETA_HOST;
constexpr uint32_t kAllEpilogues = CUBLASLT_EPILOGUE_RELU_AUX_BIAS | CUBLASLT_EPILOGUE_DRELU_BGRAD |
                                   CUBLASLT_EPILOGUE_GELU_AUX_BIAS | CUBLASLT_EPILOGUE_DGELU_BGRAD |
                                   CUBLASLT_EPILOGUE_BGRADA | CUBLASLT_EPILOGUE_BGRADB;
constexpr uint32_t kMinimumAlignmentBytes = 16;

template <typename T>
cublasStatus_t answer(T capability, void* value, size_t bytes, size_t* written) {
  if (bytes != 0 && bytes != sizeof capability) return CUBLAS_STATUS_INVALID_VALUE;
  return get_value(&capability, sizeof capability, value, bytes, written);
}

}  // namespace
}  // namespace maya::cublas

using namespace maya::cublas;

MAYA_API cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t handle, cublasComputeType_t compute,
                                                 cudaDataType_t scale, cudaDataType_t a, cudaDataType_t b,
                                                 cudaDataType_t c, cudaDataType_t d, int requested, int ids[],
                                                 int* returned) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (requested <= 0 || ids == nullptr || returned == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *returned = 0;
  if (!lt_supported_types(compute, scale, a, b, c, d, compute_capability())) return CUBLAS_STATUS_NOT_SUPPORTED;
  while (*returned < requested && *returned < kAlgorithmCount) ids[*returned] = *returned, ++*returned;
  return CUBLAS_STATUS_SUCCESS;
}

MAYA_API cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t handle, cublasComputeType_t compute,
                                               cudaDataType_t scale, cudaDataType_t a, cudaDataType_t b,
                                               cudaDataType_t c, cudaDataType_t d, int id, cublasLtMatmulAlgo_t* algo) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (algo == nullptr || id < 0 || id >= kAlgorithmCount) return CUBLAS_STATUS_INVALID_VALUE;
  if (!lt_supported_types(compute, scale, a, b, c, d, compute_capability())) return CUBLAS_STATUS_NOT_SUPPORTED;
  return initialize(algo, sizeof *algo, algorithm(id));
}

MAYA_API cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                          cublasLtMatmulAlgoCapAttributes_t id, void* value,
                                                          size_t bytes, size_t* written) {
  if (!valid(algo)) return CUBLAS_STATUS_INVALID_VALUE;
  const uint32_t tile = kAlgorithmTiles[ours(algo)->id].tile, stages = CUBLASLT_MATMUL_STAGES_UNDEFINED;
  switch (id) {
    case CUBLASLT_ALGO_CAP_SPLITK_SUPPORT:
    case CUBLASLT_ALGO_CAP_STRIDED_BATCH_SUPPORT:
    case CUBLASLT_ALGO_CAP_OUT_OF_PLACE_RESULT_SUPPORT:
    case CUBLASLT_ALGO_CAP_POINTER_ARRAY_BATCH_SUPPORT:
      return answer<int32_t>(1, value, bytes, written);
    case CUBLASLT_ALGO_CAP_UPLO_SUPPORT:
    case CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX:
    case CUBLASLT_ALGO_CAP_CUSTOM_MEMORY_ORDER:
    case CUBLASLT_ALGO_CAP_LD_NEGATIVE:
    case CUBLASLT_ALGO_CAP_FLOATING_POINT_EMULATION_SUPPORT:
    case CUBLASLT_ALGO_CAP_POINTER_ARRAY_GROUPED_SUPPORT:
      return answer<int32_t>(0, value, bytes, written);
    case CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK:
      return answer<uint32_t>(CUBLASLT_REDUCTION_SCHEME_MASK, value, bytes, written);
    case CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT:
      return answer<uint32_t>(1, value, bytes, written);
    case CUBLASLT_ALGO_CAP_TILE_IDS:
      return get_value(&tile, sizeof tile, value, bytes, written);
    case CUBLASLT_ALGO_CAP_STAGES_IDS:
      return get_value(&stages, sizeof stages, value, bytes, written);
    case CUBLASLT_ALGO_CAP_POINTER_MODE_MASK:
      return answer(kAllPointerModes, value, bytes, written);
    case CUBLASLT_ALGO_CAP_EPILOGUE_MASK:
      return answer(kAllEpilogues, value, bytes, written);
    case CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS:
      return answer<uint64_t>(CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA | CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F, value,
                              bytes, written);
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES:
      return answer(kMinimumAlignmentBytes, value, bytes, written);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

MAYA_API cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t* algo,
                                                             cublasLtMatmulAlgoConfigAttributes_t id, const void* value,
                                                             size_t bytes) {
  return valid(algo) ? set_attribute(kConfigAttributes, algo, id, value, bytes) : CUBLAS_STATUS_INVALID_VALUE;
}

MAYA_API cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                             cublasLtMatmulAlgoConfigAttributes_t id, void* value,
                                                             size_t bytes, size_t* written) {
  return valid(algo) ? get_attribute(kConfigAttributes, algo, id, value, bytes, written) : CUBLAS_STATUS_INVALID_VALUE;
}
