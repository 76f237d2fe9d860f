// Plans of the older fused operations: a convolution with scale, bias and activation before it and statistics behind
// it, the gradient of its filters, and the two steps that finish batch statistics. The header marks the others as
// reserved.
#include <algorithm>

#include "driver_shim/common/api.h"
#include "driver_shim/cudnn/convolution_operands.h"
#include "driver_shim/cudnn/fused_ops.h"
#include "driver_shim/cudnn/recorded.h"

namespace maya::cudnn {
namespace {

const cudnnTensorStruct* tensor_of(const cudnnFusedOpsConstParamStruct& parameters,
                                   cudnnFusedOpsConstParamLabel_t label) {
  return parameters.tensors[label].has_value() ? &*parameters.tensors[label] : nullptr;
}

const cudnnFilterStruct* filter_of(const cudnnFusedOpsConstParamStruct& parameters,
                                   cudnnFusedOpsConstParamLabel_t label) {
  return parameters.filters[label].has_value() ? &*parameters.filters[label] : nullptr;
}

bool is_convolution(cudnnFusedOps_t operation) {
  return operation == CUDNN_FUSED_SCALE_BIAS_ACTIVATION_CONV_BNSTATS ||
         operation == CUDNN_FUSED_SCALE_BIAS_ACTIVATION_WGRAD;
}

cudnnStatus_t shape_of(const cudnnFusedOpsConstParamStruct& parameters, ConvolutionShape* shape) {
  const bool forward = parameters.operation == CUDNN_FUSED_SCALE_BIAS_ACTIVATION_CONV_BNSTATS;
  const cudnnConvolutionStruct* convolution = parameters.convolution.has_value() ? &*parameters.convolution : nullptr;
  return convolution_shape(forward ? ConvolutionDirection::kForward : ConvolutionDirection::kBackwardFilter,
                           tensor_of(parameters, CUDNN_PARAM_XDESC),
                           filter_of(parameters, forward ? CUDNN_PARAM_WDESC : CUDNN_PARAM_DWDESC), convolution,
                           tensor_of(parameters, forward ? CUDNN_PARAM_YDESC : CUDNN_PARAM_DYDESC), shape);
}

constexpr auto kMethod = ConvolutionMethod::kImplicitProduct;

cudnnStatus_t execute_convolution(cudnnHandle_t handle, const cudnnFusedOpsPlanStruct& plan,
                                  const cudnnFusedOpsVariantParamStruct& values) {
  const cudnnFusedOpsConstParamStruct& parameters = plan.parameters;
  ConvolutionShape shape;
  if (const cudnnStatus_t status = shape_of(parameters, &shape); status != CUDNN_STATUS_SUCCESS) return status;
  const bool forward = shape.direction == ConvolutionDirection::kForward;
  if (values.workspace_bytes < plan.workspace_bytes)
    return fail(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, "workspace smaller than the plan needs");
  void* result = values.pointers[forward ? CUDNN_PTR_YDATA : CUDNN_PTR_DWDATA];
  if (values.pointers[CUDNN_PTR_XDATA] == nullptr || result == nullptr ||
      values.pointers[forward ? CUDNN_PTR_WDATA : CUDNN_PTR_DYDATA] == nullptr)
    return null_pointer();
  OperationRecord record = convolution_record(shape, kMethod, "cudnnFusedOpsExecute");
  shim::WriteList writes;
  writes.add(result, forward ? tensor_of(parameters, CUDNN_PARAM_YDESC)->span_bytes()
                             : filter_of(parameters, CUDNN_PARAM_DWDESC)->bytes());
  if (const cudnnTensorStruct* statistics = tensor_of(parameters, CUDNN_PARAM_YSTATS_DESC);
      forward && statistics != nullptr) {
    writes.add(values.pointers[CUDNN_PTR_YSUM], statistics->span_bytes());
    writes.add(values.pointers[CUDNN_PTR_YSQSUM], statistics->span_bytes());
  }
  writes.add(values.pointers[CUDNN_PTR_WORKSPACE], plan.workspace_bytes);
  return status_of(shim::record(handle->cu_stream(), record, writes));
}

// From sums to mean, inverse deviation, and the scale and bias that apply them: a handful of values a channel.
cudnnStatus_t execute_statistics(cudnnHandle_t handle, const cudnnFusedOpsPlanStruct& plan,
                                 const cudnnFusedOpsVariantParamStruct& values) {
  const cudnnFusedOpsConstParamStruct& parameters = plan.parameters;
  const cudnnTensorStruct* statistics = tensor_of(parameters, CUDNN_PARAM_BN_SCALEBIAS_MEANVAR_DESC);
  const cudnnTensorStruct* applied = tensor_of(parameters, CUDNN_PARAM_BN_EQSCALEBIAS_DESC);
  const cudnnTensorStruct* sums = tensor_of(parameters, CUDNN_PARAM_YSTATS_DESC);
  OperationRecord record(Family::kElementwise, "cudnnFusedOpsExecute");
  record.set(Key::kElements, statistics->elements())
      .set(Key::kDataType, static_cast<int64_t>(data_type(statistics->type)));
  const auto at = [&](cudnnFusedOpsVariantParamLabel_t label) { return values.pointers[label]; };
  return run(handle, record,
             {{sums, at(CUDNN_PTR_YSUM)},
              {sums, at(CUDNN_PTR_YSQSUM)},
              {statistics, at(CUDNN_PTR_BN_SCALE)},
              {statistics, at(CUDNN_PTR_BN_BIAS)}},
             {{statistics, at(CUDNN_PTR_BN_SAVED_MEAN)},
              {statistics, at(CUDNN_PTR_BN_SAVED_INVSTD)},
              {statistics, at(CUDNN_PTR_BN_RUNNING_MEAN)},
              {statistics, at(CUDNN_PTR_BN_RUNNING_VAR)},
              {applied, at(CUDNN_PTR_BN_EQSCALE)},
              {applied, at(CUDNN_PTR_BN_EQBIAS)}});
}

}  // namespace
}  // namespace maya::cudnn

using namespace maya;
using namespace maya::cudnn;

MAYA_API cudnnStatus_t cudnnCreateFusedOpsPlan(cudnnFusedOpsPlan_t* plan, cudnnFusedOps_t operation) {
  if (operation < CUDNN_FUSED_SCALE_BIAS_ACTIVATION_CONV_BNSTATS || operation > CUDNN_FUSED_DACTIVATION_FORK_DBATCHNORM)
    return bad_parameter("no such fused operation");
  const cudnnStatus_t status = create(plan);
  if (status == CUDNN_STATUS_SUCCESS) (*plan)->operation = operation;
  return status;
}
MAYA_API cudnnStatus_t cudnnDestroyFusedOpsPlan(cudnnFusedOpsPlan_t plan) { return destroy(plan); }

MAYA_API cudnnStatus_t cudnnMakeFusedOpsPlan(cudnnHandle_t handle, cudnnFusedOpsPlan_t plan,
                                             const cudnnFusedOpsConstParamPack_t parameters, size_t* workspace_bytes_) {
  if (!usable(handle)) return fail(CUDNN_STATUS_NOT_INITIALIZED, "not a cuDNN handle");
  if (plan == nullptr || parameters == nullptr || workspace_bytes_ == nullptr) return null_pointer();
  if (plan->operation != parameters->operation) return bad_parameter("plan and parameters are of different operations");
  size_t needed = 0;
  if (is_convolution(plan->operation)) {
    ConvolutionShape shape;
    if (const cudnnStatus_t status = shape_of(*parameters, &shape); status != CUDNN_STATUS_SUCCESS) return status;
    needed = workspace_bytes(shape, kMethod);
  } else if (plan->operation == CUDNN_FUSED_BN_FINALIZE_STATISTICS_TRAINING ||
             plan->operation == CUDNN_FUSED_BN_FINALIZE_STATISTICS_INFERENCE) {
    if (tensor_of(*parameters, CUDNN_PARAM_BN_SCALEBIAS_MEANVAR_DESC) == nullptr)
      return bad_parameter("CUDNN_PARAM_BN_SCALEBIAS_MEANVAR_DESC is not set");
  } else {
    return fail(CUDNN_STATUS_NOT_SUPPORTED, "the fused operation is reserved for future use");
  }
  plan->parameters = *parameters;
  plan->workspace_bytes = needed;
  plan->made = true;
  *workspace_bytes_ = needed;
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnFusedOpsExecute(cudnnHandle_t handle, const cudnnFusedOpsPlan_t plan,
                                            cudnnFusedOpsVariantParamPack_t values) {
  if (!usable(handle)) return fail(CUDNN_STATUS_NOT_INITIALIZED, "not a cuDNN handle");
  if (plan == nullptr || values == nullptr) return null_pointer();
  if (!plan->made) return bad_parameter("the plan was not made");
  if (plan->operation != values->operation) return bad_parameter("plan and values are of different operations");
  return is_convolution(plan->operation) ? execute_convolution(handle, *plan, *values)
                                         : execute_statistics(handle, *plan, *values);
}
