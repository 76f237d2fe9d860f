// Descriptors of the single operations: activation, local response normalisation, tensor arithmetic, reduction,
// transform, spatial transformer, CTC loss.
#include <algorithm>

#include "driver_shim/common/api.h"
#include "driver_shim/cudnn/descriptors.h"
#include "driver_shim/cudnn/handle.h"

using namespace maya::cudnn;

MAYA_API cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t* activation) {
  return create(activation);
}
MAYA_API cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t activation) {
  return destroy(activation);
}

MAYA_API cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t activation, cudnnActivationMode_t mode,
                                                    cudnnNanPropagation_t nan, double coefficient) {
  if (activation == nullptr) return null_pointer();
  if (mode < CUDNN_ACTIVATION_SIGMOID || mode > CUDNN_ACTIVATION_SWISH) return bad_parameter("no such activation");
  activation->mode = mode, activation->nan = nan, activation->coefficient = coefficient;
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetActivationDescriptor(const cudnnActivationDescriptor_t activation,
                                                    cudnnActivationMode_t* mode, cudnnNanPropagation_t* nan,
                                                    double* coefficient) {
  if (activation == nullptr) return null_pointer();
  give(mode, activation->mode), give(nan, activation->nan), give(coefficient, activation->coefficient);
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnSetActivationDescriptorSwishBeta(cudnnActivationDescriptor_t activation, double beta) {
  if (activation == nullptr) return null_pointer();
  activation->swish_beta = beta;
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetActivationDescriptorSwishBeta(cudnnActivationDescriptor_t activation, double* beta) {
  if (activation == nullptr || beta == nullptr) return null_pointer();
  *beta = activation->swish_beta;
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnCreateLRNDescriptor(cudnnLRNDescriptor_t* normalization) { return create(normalization); }
MAYA_API cudnnStatus_t cudnnDestroyLRNDescriptor(cudnnLRNDescriptor_t normalization) { return destroy(normalization); }

MAYA_API cudnnStatus_t cudnnSetLRNDescriptor(cudnnLRNDescriptor_t normalization, unsigned n, double alpha, double beta,
                                             double k) {
  if (normalization == nullptr) return null_pointer();
  if (n < CUDNN_LRN_MIN_N || n > CUDNN_LRN_MAX_N || k < CUDNN_LRN_MIN_K || beta < CUDNN_LRN_MIN_BETA)
    return bad_parameter("a parameter is outside its documented range");
  normalization->n = n, normalization->alpha = alpha, normalization->beta = beta, normalization->k = k;
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetLRNDescriptor(cudnnLRNDescriptor_t normalization, unsigned* n, double* alpha,
                                             double* beta, double* k) {
  if (normalization == nullptr) return null_pointer();
  give(n, normalization->n), give(alpha, normalization->alpha), give(beta, normalization->beta),
      give(k, normalization->k);
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnCreateOpTensorDescriptor(cudnnOpTensorDescriptor_t* operation) { return create(operation); }
MAYA_API cudnnStatus_t cudnnDestroyOpTensorDescriptor(cudnnOpTensorDescriptor_t operation) {
  return destroy(operation);
}

MAYA_API cudnnStatus_t cudnnSetOpTensorDescriptor(cudnnOpTensorDescriptor_t operation, cudnnOpTensorOp_t kind,
                                                  cudnnDataType_t compute_type, cudnnNanPropagation_t nan) {
  if (operation == nullptr) return null_pointer();
  if (kind < CUDNN_OP_TENSOR_ADD || kind > CUDNN_OP_TENSOR_NOT) return bad_parameter("no such operation");
  operation->operation = kind, operation->compute_type = compute_type, operation->nan = nan;
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetOpTensorDescriptor(const cudnnOpTensorDescriptor_t operation, cudnnOpTensorOp_t* kind,
                                                  cudnnDataType_t* compute_type, cudnnNanPropagation_t* nan) {
  if (operation == nullptr) return null_pointer();
  give(kind, operation->operation), give(compute_type, operation->compute_type), give(nan, operation->nan);
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnCreateReduceTensorDescriptor(cudnnReduceTensorDescriptor_t* reduction) {
  return create(reduction);
}
MAYA_API cudnnStatus_t cudnnDestroyReduceTensorDescriptor(cudnnReduceTensorDescriptor_t reduction) {
  return destroy(reduction);
}

MAYA_API cudnnStatus_t cudnnSetReduceTensorDescriptor(cudnnReduceTensorDescriptor_t reduction,
                                                      cudnnReduceTensorOp_t kind, cudnnDataType_t compute_type,
                                                      cudnnNanPropagation_t nan, cudnnReduceTensorIndices_t indices,
                                                      cudnnIndicesType_t indices_type) {
  if (reduction == nullptr) return null_pointer();
  if (kind < CUDNN_REDUCE_TENSOR_ADD || kind > CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS)
    return bad_parameter("no such reduction");
  *reduction = {kind, compute_type, nan, indices, indices_type};
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetReduceTensorDescriptor(const cudnnReduceTensorDescriptor_t reduction,
                                                      cudnnReduceTensorOp_t* kind, cudnnDataType_t* compute_type,
                                                      cudnnNanPropagation_t* nan, cudnnReduceTensorIndices_t* indices,
                                                      cudnnIndicesType_t* indices_type) {
  if (reduction == nullptr) return null_pointer();
  give(kind, reduction->operation), give(compute_type, reduction->compute_type), give(nan, reduction->nan);
  give(indices, reduction->indices), give(indices_type, reduction->indices_type);
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnCreateTensorTransformDescriptor(cudnnTensorTransformDescriptor_t* transform) {
  return create(transform);
}
MAYA_API cudnnStatus_t cudnnDestroyTensorTransformDescriptor(cudnnTensorTransformDescriptor_t transform) {
  return destroy(transform);
}

MAYA_API cudnnStatus_t cudnnSetTensorTransformDescriptor(cudnnTensorTransformDescriptor_t transform,
                                                         const uint32_t rank, const cudnnTensorFormat_t format,
                                                         const int32_t pad_before[], const int32_t pad_after[],
                                                         const uint32_t fold[],
                                                         const cudnnFoldingDirection_t direction) {
  if (transform == nullptr) return null_pointer();
  if (rank < 1 || rank > CUDNN_DIM_MAX) return bad_parameter("rank outside 1 to CUDNN_DIM_MAX");
  *transform = {};
  transform->rank = rank, transform->format = format, transform->direction = direction;
  if (pad_before != nullptr) std::copy(pad_before, pad_before + rank, transform->pad_before);
  if (pad_after != nullptr) std::copy(pad_after, pad_after + rank, transform->pad_after);
  if (fold != nullptr) std::copy(fold, fold + rank - std::min<uint32_t>(rank, 2), transform->fold);
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetTensorTransformDescriptor(cudnnTensorTransformDescriptor_t transform, uint32_t requested,
                                                         cudnnTensorFormat_t* format, int32_t pad_before[],
                                                         int32_t pad_after[], uint32_t fold[],
                                                         cudnnFoldingDirection_t* direction) {
  if (transform == nullptr) return null_pointer();
  const uint32_t count = std::min(requested, transform->rank);
  give(format, transform->format), give(direction, transform->direction);
  if (pad_before != nullptr) std::copy(transform->pad_before, transform->pad_before + count, pad_before);
  if (pad_after != nullptr) std::copy(transform->pad_after, transform->pad_after + count, pad_after);
  if (fold != nullptr) std::copy(transform->fold, transform->fold + count - std::min<uint32_t>(count, 2), fold);
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnCreateSpatialTransformerDescriptor(cudnnSpatialTransformerDescriptor_t* transformer) {
  return create(transformer);
}
MAYA_API cudnnStatus_t cudnnDestroySpatialTransformerDescriptor(cudnnSpatialTransformerDescriptor_t transformer) {
  return destroy(transformer);
}

MAYA_API cudnnStatus_t cudnnSetSpatialTransformerNdDescriptor(cudnnSpatialTransformerDescriptor_t transformer,
                                                              cudnnSamplerType_t sampler, cudnnDataType_t type,
                                                              const int rank, const int dims[]) {
  if (transformer == nullptr || dims == nullptr) return null_pointer();
  if (rank < 1 || rank > CUDNN_DIM_MAX) return bad_parameter("rank outside 1 to CUDNN_DIM_MAX");
  transformer->sampler = sampler, transformer->type = type, transformer->rank = rank;
  std::copy(dims, dims + rank, transformer->dims);
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnCreateCTCLossDescriptor(cudnnCTCLossDescriptor_t* loss) { return create(loss); }
MAYA_API cudnnStatus_t cudnnDestroyCTCLossDescriptor(cudnnCTCLossDescriptor_t loss) { return destroy(loss); }

MAYA_API cudnnStatus_t cudnnSetCTCLossDescriptor(cudnnCTCLossDescriptor_t loss, cudnnDataType_t compute_type) {
  if (loss == nullptr) return null_pointer();
  loss->compute_type = compute_type;
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnSetCTCLossDescriptorEx(cudnnCTCLossDescriptor_t loss, cudnnDataType_t compute_type,
                                                   cudnnLossNormalizationMode_t normalization,
                                                   cudnnNanPropagation_t nan) {
  if (loss == nullptr) return null_pointer();
  loss->compute_type = compute_type, loss->normalization = normalization, loss->nan = nan;
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnSetCTCLossDescriptor_v8(cudnnCTCLossDescriptor_t loss, cudnnDataType_t compute_type,
                                                    cudnnLossNormalizationMode_t normalization,
                                                    cudnnNanPropagation_t nan, int max_label_length) {
  const cudnnStatus_t status = cudnnSetCTCLossDescriptorEx(loss, compute_type, normalization, nan);
  if (status == CUDNN_STATUS_SUCCESS) loss->max_label_length = max_label_length;
  return status;
}

MAYA_API cudnnStatus_t cudnnSetCTCLossDescriptor_v9(cudnnCTCLossDescriptor_t loss, cudnnDataType_t compute_type,
                                                    cudnnLossNormalizationMode_t normalization,
                                                    cudnnCTCGradMode_t gradient, int max_label_length) {
  if (loss == nullptr) return null_pointer();
  loss->compute_type = compute_type, loss->normalization = normalization, loss->gradient = gradient;
  loss->max_label_length = max_label_length;
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetCTCLossDescriptor(cudnnCTCLossDescriptor_t loss, cudnnDataType_t* compute_type) {
  if (loss == nullptr) return null_pointer();
  give(compute_type, loss->compute_type);
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetCTCLossDescriptorEx(cudnnCTCLossDescriptor_t loss, cudnnDataType_t* compute_type,
                                                   cudnnLossNormalizationMode_t* normalization,
                                                   cudnnNanPropagation_t* nan) {
  if (loss == nullptr) return null_pointer();
  give(compute_type, loss->compute_type), give(normalization, loss->normalization), give(nan, loss->nan);
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetCTCLossDescriptor_v8(cudnnCTCLossDescriptor_t loss, cudnnDataType_t* compute_type,
                                                    cudnnLossNormalizationMode_t* normalization,
                                                    cudnnNanPropagation_t* nan, int* max_label_length) {
  const cudnnStatus_t status = cudnnGetCTCLossDescriptorEx(loss, compute_type, normalization, nan);
  if (status == CUDNN_STATUS_SUCCESS) give(max_label_length, loss->max_label_length);
  return status;
}

MAYA_API cudnnStatus_t cudnnGetCTCLossDescriptor_v9(cudnnCTCLossDescriptor_t loss, cudnnDataType_t* compute_type,
                                                    cudnnLossNormalizationMode_t* normalization,
                                                    cudnnCTCGradMode_t* gradient, int* max_label_length) {
  if (loss == nullptr) return null_pointer();
  give(compute_type, loss->compute_type), give(normalization, loss->normalization), give(gradient, loss->gradient);
  give(max_label_length, loss->max_label_length);
  return CUDNN_STATUS_SUCCESS;
}
