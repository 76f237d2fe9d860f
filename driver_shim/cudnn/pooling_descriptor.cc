// Pooling descriptors and the sizes that follow from them.
#include <algorithm>

#include "driver_shim/common/api.h"
#include "driver_shim/cudnn/descriptors.h"
#include "driver_shim/cudnn/handle.h"

using namespace maya::cudnn;

MAYA_API cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t* pooling) { return create(pooling); }
MAYA_API cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t pooling) { return destroy(pooling); }

MAYA_API cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t pooling, const cudnnPoolingMode_t mode,
                                                   const cudnnNanPropagation_t nan, int rank, const int window[],
                                                   const int pads[], const int strides[]) {
  if (pooling == nullptr || window == nullptr || pads == nullptr || strides == nullptr) return null_pointer();
  if (rank < 1 || rank > CUDNN_DIM_MAX - 2) return fail(CUDNN_STATUS_NOT_SUPPORTED, "number of spatial dimensions");
  for (int i = 0; i < rank; ++i)
    if (window[i] < 1 || pads[i] < 0 || strides[i] < 1)
      return bad_parameter("window or stride below 1, or negative padding");
  pooling->mode = mode, pooling->nan = nan, pooling->rank = rank;
  std::copy(window, window + rank, pooling->window);
  std::copy(pads, pads + rank, pooling->pads);
  std::copy(strides, strides + rank, pooling->strides);
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t pooling, cudnnPoolingMode_t mode,
                                                   cudnnNanPropagation_t nan, int window_h, int window_w, int pad_h,
                                                   int pad_w, int stride_h, int stride_w) {
  const int window[] = {window_h, window_w}, pads[] = {pad_h, pad_w}, strides[] = {stride_h, stride_w};
  return cudnnSetPoolingNdDescriptor(pooling, mode, nan, 2, window, pads, strides);
}

MAYA_API cudnnStatus_t cudnnGetPooling2dDescriptor(const cudnnPoolingDescriptor_t pooling, cudnnPoolingMode_t* mode,
                                                   cudnnNanPropagation_t* nan, int* window_h, int* window_w, int* pad_h,
                                                   int* pad_w, int* stride_h, int* stride_w) {
  if (pooling == nullptr) return null_pointer();
  if (pooling->rank != 2) return bad_parameter("the pooling has not two spatial dimensions");
  give(mode, pooling->mode);
  give(nan, pooling->nan);
  give(window_h, pooling->window[0]), give(window_w, pooling->window[1]);
  give(pad_h, pooling->pads[0]), give(pad_w, pooling->pads[1]);
  give(stride_h, pooling->strides[0]), give(stride_w, pooling->strides[1]);
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetPoolingNdDescriptor(const cudnnPoolingDescriptor_t pooling, int requested,
                                                   cudnnPoolingMode_t* mode, cudnnNanPropagation_t* nan, int* rank,
                                                   int window[], int pads[], int strides[]) {
  if (pooling == nullptr) return null_pointer();
  if (requested < 0) return bad_parameter("number of dimensions asked for");
  const int count = std::min(requested, pooling->rank);
  give(mode, pooling->mode);
  give(nan, pooling->nan);
  give(rank, pooling->rank);
  if (window != nullptr) std::copy(pooling->window, pooling->window + count, window);
  if (pads != nullptr) std::copy(pooling->pads, pooling->pads + count, pads);
  if (strides != nullptr) std::copy(pooling->strides, pooling->strides + count, strides);
  return CUDNN_STATUS_SUCCESS;
}

// Output size: cuDNN documentation, cudnnGetPoolingNdForwardOutputDim.
MAYA_API cudnnStatus_t cudnnGetPoolingNdForwardOutputDim(const cudnnPoolingDescriptor_t pooling,
                                                         const cudnnTensorDescriptor_t input, int rank, int dims[]) {
  if (pooling == nullptr || input == nullptr || dims == nullptr) return null_pointer();
  if (input->rank != pooling->rank + 2 || rank != input->rank)
    return bad_parameter("tensor and pooling differ in their number of dimensions");
  dims[0] = input->dims[0], dims[1] = input->dims[1];
  for (int i = 0; i < pooling->rank; ++i) {
    const int64_t padded = input->dims[i + 2] + 2ll * pooling->pads[i];
    const int64_t size = 1 + (padded - pooling->window[i]) / pooling->strides[i];
    if (size < INT32_MIN || size > INT32_MAX) return bad_parameter("the padded input is larger than any tensor");
    dims[i + 2] = static_cast<int>(size);
  }
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetPooling2dForwardOutputDim(const cudnnPoolingDescriptor_t pooling,
                                                         const cudnnTensorDescriptor_t input, int* n, int* c, int* h,
                                                         int* w) {
  int dims[4] = {};
  const cudnnStatus_t status = cudnnGetPoolingNdForwardOutputDim(pooling, input, 4, dims);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  give(n, dims[0]), give(c, dims[1]), give(h, dims[2]), give(w, dims[3]);
  return CUDNN_STATUS_SUCCESS;
}
