// Parameter packs of the older fused operations: setting and getting.
#include "driver_shim/common/api.h"
#include "driver_shim/cudnn/fused_ops.h"
#include "driver_shim/cudnn/handle.h"

namespace maya::cudnn {

FusedKind kind_of(cudnnFusedOpsConstParamLabel_t label) {
  switch (label) {
    case CUDNN_PARAM_XDESC:
    case CUDNN_PARAM_BN_EQSCALEBIAS_DESC:
    case CUDNN_PARAM_YDESC:
    case CUDNN_PARAM_DYDESC:
    case CUDNN_PARAM_YSTATS_DESC:
    case CUDNN_PARAM_BN_SCALEBIAS_MEANVAR_DESC:
    case CUDNN_PARAM_ZDESC:
    case CUDNN_PARAM_BN_Z_EQSCALEBIAS_DESC:
    case CUDNN_PARAM_ACTIVATION_BITMASK_DESC:
    case CUDNN_PARAM_DXDESC:
    case CUDNN_PARAM_DZDESC:
      return FusedKind::kTensor;
    case CUDNN_PARAM_WDESC:
    case CUDNN_PARAM_DWDESC:
      return FusedKind::kFilter;
    case CUDNN_PARAM_CONV_DESC:
      return FusedKind::kConvolution;
    case CUDNN_PARAM_ACTIVATION_DESC:
      return FusedKind::kActivation;
    case CUDNN_PARAM_BN_MODE:
      return FusedKind::kMode;
    default:
      return FusedKind::kPlaceholder;
  }
}

namespace {

bool known(cudnnFusedOps_t operation) {
  return operation >= CUDNN_FUSED_SCALE_BIAS_ACTIVATION_CONV_BNSTATS &&
         operation <= CUDNN_FUSED_DACTIVATION_FORK_DBATCHNORM;
}

bool known(cudnnFusedOpsConstParamLabel_t label) {
  return label >= CUDNN_PARAM_XDESC && label <= CUDNN_PARAM_BN_DBIAS_PLACEHOLDER;
}

template <typename T>
cudnnStatus_t create_for(T** object, cudnnFusedOps_t operation) {
  if (object == nullptr) return null_pointer();
  if (!known(operation)) return bad_parameter("no such fused operation");
  const cudnnStatus_t status = create(object);
  if (status == CUDNN_STATUS_SUCCESS) (*object)->operation = operation;
  return status;
}

// Null stands for a parameter that is not there.
template <typename Descriptor, typename Slot>
void keep(Slot* slot, const void* parameter) {
  if (parameter == nullptr)
    slot->reset();
  else
    *slot = *static_cast<const Descriptor*>(parameter);
}

template <typename Descriptor, typename Slot>
void give_back(const Slot& slot, void* parameter, int* is_null) {
  give(is_null, slot.has_value() ? 0 : 1);
  if (slot.has_value()) *static_cast<Descriptor*>(parameter) = *slot;
}

}  // namespace
}  // namespace maya::cudnn

using namespace maya::cudnn;

MAYA_API cudnnStatus_t cudnnCreateFusedOpsConstParamPack(cudnnFusedOpsConstParamPack_t* pack,
                                                         cudnnFusedOps_t operation) {
  return create_for(pack, operation);
}
MAYA_API cudnnStatus_t cudnnDestroyFusedOpsConstParamPack(cudnnFusedOpsConstParamPack_t pack) { return destroy(pack); }
MAYA_API cudnnStatus_t cudnnCreateFusedOpsVariantParamPack(cudnnFusedOpsVariantParamPack_t* pack,
                                                           cudnnFusedOps_t operation) {
  return create_for(pack, operation);
}
MAYA_API cudnnStatus_t cudnnDestroyFusedOpsVariantParamPack(cudnnFusedOpsVariantParamPack_t pack) {
  return destroy(pack);
}

MAYA_API cudnnStatus_t cudnnSetFusedOpsConstParamPackAttribute(cudnnFusedOpsConstParamPack_t pack,
                                                               cudnnFusedOpsConstParamLabel_t label,
                                                               const void* parameter) {
  if (pack == nullptr) return null_pointer();
  if (!known(label)) return bad_parameter("no such parameter");
  switch (kind_of(label)) {
    case FusedKind::kTensor:
      keep<cudnnTensorStruct>(&pack->tensors[label], parameter);
      break;
    case FusedKind::kFilter:
      keep<cudnnFilterStruct>(&pack->filters[label], parameter);
      break;
    case FusedKind::kConvolution:
      keep<cudnnConvolutionStruct>(&pack->convolution, parameter);
      break;
    case FusedKind::kActivation:
      keep<cudnnActivationStruct>(&pack->activation, parameter);
      break;
    case FusedKind::kMode:
      if (parameter == nullptr) return null_pointer();
      pack->mode = *static_cast<const cudnnBatchNormMode_t*>(parameter);
      break;
    case FusedKind::kPlaceholder:
      if (parameter == nullptr) return null_pointer();
      pack->placeholders[label] = *static_cast<const cudnnFusedOpsPointerPlaceHolder_t*>(parameter);
      break;
  }
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetFusedOpsConstParamPackAttribute(const cudnnFusedOpsConstParamPack_t pack,
                                                               cudnnFusedOpsConstParamLabel_t label, void* parameter,
                                                               int* is_null) {
  if (pack == nullptr || parameter == nullptr || is_null == nullptr) return null_pointer();
  if (!known(label)) return bad_parameter("no such parameter");
  switch (kind_of(label)) {
    case FusedKind::kTensor:
      give_back<cudnnTensorStruct>(pack->tensors[label], parameter, is_null);
      break;
    case FusedKind::kFilter:
      give_back<cudnnFilterStruct>(pack->filters[label], parameter, is_null);
      break;
    case FusedKind::kConvolution:
      give_back<cudnnConvolutionStruct>(pack->convolution, parameter, is_null);
      break;
    case FusedKind::kActivation:
      give_back<cudnnActivationStruct>(pack->activation, parameter, is_null);
      break;
    case FusedKind::kMode:
      *static_cast<cudnnBatchNormMode_t*>(parameter) = pack->mode;
      *is_null = 0;
      break;
    case FusedKind::kPlaceholder:
      *static_cast<cudnnFusedOpsPointerPlaceHolder_t*>(parameter) = pack->placeholders[label];
      *is_null = 0;
      break;
  }
  return CUDNN_STATUS_SUCCESS;
}

// Pointers come as themselves, scalars as the address of their value.
MAYA_API cudnnStatus_t cudnnSetFusedOpsVariantParamPackAttribute(cudnnFusedOpsVariantParamPack_t pack,
                                                                 cudnnFusedOpsVariantParamLabel_t label, void* value) {
  if (pack == nullptr) return null_pointer();
  const int index = label;
  if (index >= 0 && index < kFusedPointers) {
    pack->pointers[index] = value;
    return CUDNN_STATUS_SUCCESS;
  }
  if (value == nullptr) return null_pointer();
  switch (label) {
    case CUDNN_SCALAR_SIZE_T_WORKSPACE_SIZE_IN_BYTES:
      pack->workspace_bytes = *static_cast<const size_t*>(value);
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_SCALAR_INT64_T_BN_ACCUMULATION_COUNT:
      pack->accumulation_count = *static_cast<const int64_t*>(value);
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_SCALAR_DOUBLE_BN_EXP_AVG_FACTOR:
      pack->average_factor = *static_cast<const double*>(value);
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_SCALAR_DOUBLE_BN_EPSILON:
      pack->epsilon = *static_cast<const double*>(value);
      return CUDNN_STATUS_SUCCESS;
    default:
      return bad_parameter("no such parameter");
  }
}

MAYA_API cudnnStatus_t cudnnGetFusedOpsVariantParamPackAttribute(const cudnnFusedOpsVariantParamPack_t pack,
                                                                 cudnnFusedOpsVariantParamLabel_t label, void* value) {
  if (pack == nullptr || value == nullptr) return null_pointer();
  const int index = label;
  if (index >= 0 && index < kFusedPointers) {
    *static_cast<void**>(value) = pack->pointers[index];
    return CUDNN_STATUS_SUCCESS;
  }
  switch (label) {
    case CUDNN_SCALAR_SIZE_T_WORKSPACE_SIZE_IN_BYTES:
      *static_cast<size_t*>(value) = pack->workspace_bytes;
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_SCALAR_INT64_T_BN_ACCUMULATION_COUNT:
      *static_cast<int64_t*>(value) = pack->accumulation_count;
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_SCALAR_DOUBLE_BN_EXP_AVG_FACTOR:
      *static_cast<double*>(value) = pack->average_factor;
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_SCALAR_DOUBLE_BN_EPSILON:
      *static_cast<double*>(value) = pack->epsilon;
      return CUDNN_STATUS_SUCCESS;
    default:
      return bad_parameter("no such parameter");
  }
}
