// Parameter packs and plans of the older fused operations. Packs keep copies of the descriptors, as documented.
#pragma once

#include <cudnn.h>

#include <optional>

#include "driver_shim/cudnn/descriptors.h"

namespace maya::cudnn {

inline constexpr int kFusedLabels = CUDNN_PARAM_BN_DBIAS_PLACEHOLDER + 1;
inline constexpr int kFusedPointers = CUDNN_PTR_BN_DBIAS + 1;

// What the parameter of a label is.
enum class FusedKind : uint8_t { kTensor, kFilter, kConvolution, kActivation, kMode, kPlaceholder };
FusedKind kind_of(cudnnFusedOpsConstParamLabel_t label);

}  // namespace maya::cudnn

struct cudnnFusedOpsConstParamStruct {
  cudnnFusedOps_t operation = CUDNN_FUSED_SCALE_BIAS_ACTIVATION_CONV_BNSTATS;
  std::optional<cudnnTensorStruct> tensors[maya::cudnn::kFusedLabels];
  std::optional<cudnnFilterStruct> filters[maya::cudnn::kFusedLabels];
  std::optional<cudnnConvolutionStruct> convolution;
  std::optional<cudnnActivationStruct> activation;
  cudnnBatchNormMode_t mode = CUDNN_BATCHNORM_PER_ACTIVATION;
  cudnnFusedOpsPointerPlaceHolder_t placeholders[maya::cudnn::kFusedLabels] = {};  // default CUDNN_PTR_NULL
};

struct cudnnFusedOpsVariantParamStruct {
  cudnnFusedOps_t operation = CUDNN_FUSED_SCALE_BIAS_ACTIVATION_CONV_BNSTATS;
  void* pointers[maya::cudnn::kFusedPointers] = {};
  size_t workspace_bytes = 0;
  int64_t accumulation_count = 0;
  double average_factor = 0, epsilon = 0;
};

struct cudnnFusedOpsPlanStruct {
  cudnnFusedOps_t operation = CUDNN_FUSED_SCALE_BIAS_ACTIVATION_CONV_BNSTATS;
  bool made = false;
  size_t workspace_bytes = 0;
  cudnnFusedOpsConstParamStruct parameters;
};
