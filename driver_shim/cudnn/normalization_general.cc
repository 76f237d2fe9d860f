// cudnnNormalization*: batch normalisation under its newer names. One group: what other group counts mean is not
// documented, and cuDNN supports none.
#include <algorithm>

#include "driver_shim/common/api.h"
#include "driver_shim/cudnn/descriptors.h"
#include "driver_shim/cudnn/handle.h"

namespace maya::cudnn {
namespace {

cudnnBatchNormMode_t batch_mode(cudnnNormMode_t mode, cudnnNormAlgo_t algorithm) {
  if (mode == CUDNN_NORM_PER_ACTIVATION) return CUDNN_BATCHNORM_PER_ACTIVATION;
  return algorithm == CUDNN_NORM_ALGO_PERSIST ? CUDNN_BATCHNORM_SPATIAL_PERSISTENT : CUDNN_BATCHNORM_SPATIAL;
}

cudnnBatchNormOps_t batch_operations(cudnnNormOps_t operations) {
  switch (operations) {
    case CUDNN_NORM_OPS_NORM_ACTIVATION:
      return CUDNN_BATCHNORM_OPS_BN_ACTIVATION;
    case CUDNN_NORM_OPS_NORM_ADD_ACTIVATION:
      return CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION;
    default:
      return CUDNN_BATCHNORM_OPS_BN;
  }
}

cudnnStatus_t check(cudnnNormMode_t mode, cudnnNormOps_t operations, cudnnNormAlgo_t algorithm, int groups) {
  if (mode != CUDNN_NORM_PER_ACTIVATION && mode != CUDNN_NORM_PER_CHANNEL) return bad_parameter("no such mode");
  if (operations < CUDNN_NORM_OPS_NORM || operations > CUDNN_NORM_OPS_NORM_ADD_ACTIVATION)
    return bad_parameter("no such combination of operations");
  if (algorithm != CUDNN_NORM_ALGO_STANDARD && algorithm != CUDNN_NORM_ALGO_PERSIST)
    return bad_parameter("no such algorithm");
  return groups == 1 ? CUDNN_STATUS_SUCCESS : fail(CUDNN_STATUS_NOT_SUPPORTED, "more than one group");
}

}  // namespace
}  // namespace maya::cudnn

using namespace maya::cudnn;

MAYA_API cudnnStatus_t cudnnDeriveNormTensorDescriptor(cudnnTensorDescriptor_t scale_and_bias,
                                                       cudnnTensorDescriptor_t mean_and_variance,
                                                       const cudnnTensorDescriptor_t x, cudnnNormMode_t mode,
                                                       int groups) {
  if (const cudnnStatus_t status = check(mode, CUDNN_NORM_OPS_NORM, CUDNN_NORM_ALGO_STANDARD, groups);
      status != CUDNN_STATUS_SUCCESS)
    return status;
  const cudnnBatchNormMode_t batch = batch_mode(mode, CUDNN_NORM_ALGO_STANDARD);
  const cudnnStatus_t status = cudnnDeriveBNTensorDescriptor(scale_and_bias, x, batch);
  return status != CUDNN_STATUS_SUCCESS ? status : cudnnDeriveBNTensorDescriptor(mean_and_variance, x, batch);
}

MAYA_API cudnnStatus_t cudnnGetNormalizationForwardTrainingWorkspaceSize(
    cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t operations, cudnnNormAlgo_t algorithm,
    const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t z, const cudnnTensorDescriptor_t y,
    const cudnnTensorDescriptor_t scale_and_bias, const cudnnActivationDescriptor_t activation,
    const cudnnTensorDescriptor_t, size_t* bytes, int groups) {
  if (const cudnnStatus_t status = check(mode, operations, algorithm, groups); status != CUDNN_STATUS_SUCCESS)
    return status;
  return cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
      handle, batch_mode(mode, algorithm), batch_operations(operations), x, z, y, scale_and_bias, activation, bytes);
}

MAYA_API cudnnStatus_t cudnnGetNormalizationBackwardWorkspaceSize(
    cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t operations, cudnnNormAlgo_t algorithm,
    const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t y, const cudnnTensorDescriptor_t dy,
    const cudnnTensorDescriptor_t dz, const cudnnTensorDescriptor_t dx, const cudnnTensorDescriptor_t scale_and_bias,
    const cudnnActivationDescriptor_t activation, const cudnnTensorDescriptor_t, size_t* bytes, int groups) {
  if (const cudnnStatus_t status = check(mode, operations, algorithm, groups); status != CUDNN_STATUS_SUCCESS)
    return status;
  return cudnnGetBatchNormalizationBackwardExWorkspaceSize(handle, batch_mode(mode, algorithm),
                                                           batch_operations(operations), x, y, dy, dz, dx,
                                                           scale_and_bias, activation, bytes);
}

MAYA_API cudnnStatus_t cudnnGetNormalizationTrainingReserveSpaceSize(
    cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t operations, cudnnNormAlgo_t algorithm,
    const cudnnActivationDescriptor_t activation, const cudnnTensorDescriptor_t x, size_t* bytes, int groups) {
  if (const cudnnStatus_t status = check(mode, operations, algorithm, groups); status != CUDNN_STATUS_SUCCESS)
    return status;
  return cudnnGetBatchNormalizationTrainingExReserveSpaceSize(handle, batch_mode(mode, algorithm),
                                                              batch_operations(operations), activation, x, bytes);
}

MAYA_API cudnnStatus_t cudnnNormalizationForwardInference(
    cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t operations, cudnnNormAlgo_t algorithm, const void* alpha,
    const void* beta, const cudnnTensorDescriptor_t x_desc, const void* x, const cudnnTensorDescriptor_t scale_and_bias,
    const void* scale, const void* bias, const cudnnTensorDescriptor_t, const void* mean, const void* variance,
    const cudnnTensorDescriptor_t, const void*, cudnnActivationDescriptor_t, const cudnnTensorDescriptor_t y_desc,
    void* y, double epsilon, int groups) {
  if (const cudnnStatus_t status = check(mode, operations, algorithm, groups); status != CUDNN_STATUS_SUCCESS)
    return status;
  return cudnnBatchNormalizationForwardInference(handle, batch_mode(mode, algorithm), alpha, beta, x_desc, x, y_desc, y,
                                                 scale_and_bias, scale, bias, mean, variance, epsilon);
}

MAYA_API cudnnStatus_t cudnnNormalizationForwardTraining(
    cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t operations, cudnnNormAlgo_t algorithm, const void* alpha,
    const void* beta, const cudnnTensorDescriptor_t x_desc, const void* x, const cudnnTensorDescriptor_t scale_and_bias,
    const void* scale, const void* bias, double factor, const cudnnTensorDescriptor_t, void* running_mean,
    void* running_variance, double epsilon, void* saved_mean, void* saved_inverse_variance,
    cudnnActivationDescriptor_t activation, const cudnnTensorDescriptor_t z_desc, const void* z,
    const cudnnTensorDescriptor_t y_desc, void* y, void* workspace, size_t workspace_size, void* reserve,
    size_t reserve_size, int groups) {
  if (const cudnnStatus_t status = check(mode, operations, algorithm, groups); status != CUDNN_STATUS_SUCCESS)
    return status;
  return cudnnBatchNormalizationForwardTrainingEx(
      handle, batch_mode(mode, algorithm), batch_operations(operations), alpha, beta, x_desc, x, z_desc, z, y_desc, y,
      scale_and_bias, scale, bias, factor, running_mean, running_variance, epsilon, saved_mean, saved_inverse_variance,
      activation, workspace, workspace_size, reserve, reserve_size);
}

MAYA_API cudnnStatus_t cudnnNormalizationBackward(
    cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t operations, cudnnNormAlgo_t algorithm,
    const void* data_alpha, const void* data_beta, const void* parameter_alpha, const void* parameter_beta,
    const cudnnTensorDescriptor_t x_desc, const void* x, const cudnnTensorDescriptor_t y_desc, const void* y,
    const cudnnTensorDescriptor_t dy_desc, const void* dy, const cudnnTensorDescriptor_t dz_desc, void* dz,
    const cudnnTensorDescriptor_t dx_desc, void* dx, const cudnnTensorDescriptor_t scale_and_bias, const void* scale,
    const void* bias, void* scale_gradient, void* bias_gradient, double epsilon, const cudnnTensorDescriptor_t,
    const void* saved_mean, const void* saved_inverse_variance, cudnnActivationDescriptor_t activation, void* workspace,
    size_t workspace_size, void* reserve, size_t reserve_size, int groups) {
  if (const cudnnStatus_t status = check(mode, operations, algorithm, groups); status != CUDNN_STATUS_SUCCESS)
    return status;
  return cudnnBatchNormalizationBackwardEx(handle, batch_mode(mode, algorithm), batch_operations(operations),
                                           data_alpha, data_beta, parameter_alpha, parameter_beta, x_desc, x, y_desc, y,
                                           dy_desc, dy, dz_desc, dz, dx_desc, dx, scale_and_bias, scale, bias,
                                           scale_gradient, bias_gradient, epsilon, saved_mean, saved_inverse_variance,
                                           activation, workspace, workspace_size, reserve, reserve_size);
}
