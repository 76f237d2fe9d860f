// Convolution descriptors and the sizes that follow from them.
#include <algorithm>

#include "driver_shim/common/api.h"
#include "driver_shim/cudnn/descriptors.h"
#include "driver_shim/cudnn/handle.h"

using namespace maya::cudnn;

namespace {

// cuDNN documentation, cudnnGetConvolutionNdForwardOutputDim.
int64_t output_size(int64_t input, int64_t pad, int64_t window, int64_t stride, int64_t dilation) {
  return 1 + (input + 2 * pad - ((window - 1) * dilation + 1)) / stride;
}

}  // namespace

MAYA_API cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* convolution) {
  return create(convolution);
}
MAYA_API cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t convolution) {
  return destroy(convolution);
}

MAYA_API cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t convolution, int rank,
                                                       const int pads[], const int strides[], const int dilations[],
                                                       cudnnConvolutionMode_t mode, cudnnDataType_t compute_type) {
  if (convolution == nullptr || pads == nullptr || strides == nullptr || dilations == nullptr) return null_pointer();
  if (rank < 1 || rank > CUDNN_DIM_MAX - 2) return fail(CUDNN_STATUS_NOT_SUPPORTED, "number of spatial dimensions");
  for (int i = 0; i < rank; ++i)
    if (pads[i] < 0 || strides[i] < 1 || dilations[i] < 1)
      return bad_parameter("negative padding, or stride or dilation below 1");
  convolution->rank = rank, convolution->mode = mode, convolution->compute_type = compute_type;
  std::copy(pads, pads + rank, convolution->pads);
  std::copy(strides, strides + rank, convolution->strides);
  std::copy(dilations, dilations + rank, convolution->dilations);
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t convolution, int pad_h, int pad_w,
                                                       int stride_h, int stride_w, int dilation_h, int dilation_w,
                                                       cudnnConvolutionMode_t mode, cudnnDataType_t compute_type) {
  const int pads[] = {pad_h, pad_w}, strides[] = {stride_h, stride_w}, dilations[] = {dilation_h, dilation_w};
  return cudnnSetConvolutionNdDescriptor(convolution, 2, pads, strides, dilations, mode, compute_type);
}

MAYA_API cudnnStatus_t cudnnGetConvolution2dDescriptor(const cudnnConvolutionDescriptor_t convolution, int* pad_h,
                                                       int* pad_w, int* stride_h, int* stride_w, int* dilation_h,
                                                       int* dilation_w, cudnnConvolutionMode_t* mode,
                                                       cudnnDataType_t* compute_type) {
  if (convolution == nullptr) return null_pointer();
  if (convolution->rank != 2) return bad_parameter("the convolution has not two spatial dimensions");
  give(pad_h, convolution->pads[0]), give(pad_w, convolution->pads[1]);
  give(stride_h, convolution->strides[0]), give(stride_w, convolution->strides[1]);
  give(dilation_h, convolution->dilations[0]), give(dilation_w, convolution->dilations[1]);
  give(mode, convolution->mode);
  give(compute_type, convolution->compute_type);
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetConvolutionNdDescriptor(const cudnnConvolutionDescriptor_t convolution, int requested,
                                                       int* rank, int pads[], int strides[], int dilations[],
                                                       cudnnConvolutionMode_t* mode, cudnnDataType_t* compute_type) {
  if (convolution == nullptr) return null_pointer();
  if (requested < 0) return bad_parameter("number of dimensions asked for");
  const int count = std::min(requested, convolution->rank);
  give(rank, convolution->rank);
  if (pads != nullptr) std::copy(convolution->pads, convolution->pads + count, pads);
  if (strides != nullptr) std::copy(convolution->strides, convolution->strides + count, strides);
  if (dilations != nullptr) std::copy(convolution->dilations, convolution->dilations + count, dilations);
  give(mode, convolution->mode);
  give(compute_type, convolution->compute_type);
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t convolution, cudnnMathType_t type) {
  if (convolution == nullptr) return null_pointer();
  convolution->math_type = type;
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetConvolutionMathType(cudnnConvolutionDescriptor_t convolution, cudnnMathType_t* type) {
  if (convolution == nullptr || type == nullptr) return null_pointer();
  *type = convolution->math_type;
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t convolution, int groups) {
  if (convolution == nullptr) return null_pointer();
  if (groups < 1) return bad_parameter("fewer than one group");
  convolution->groups = groups;
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetConvolutionGroupCount(cudnnConvolutionDescriptor_t convolution, int* groups) {
  if (convolution == nullptr || groups == nullptr) return null_pointer();
  *groups = convolution->groups;
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnSetConvolutionReorderType(cudnnConvolutionDescriptor_t convolution,
                                                      cudnnReorderType_t reorder) {
  if (convolution == nullptr) return null_pointer();
  convolution->reorder = reorder;
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetConvolutionReorderType(cudnnConvolutionDescriptor_t convolution,
                                                      cudnnReorderType_t* reorder) {
  if (convolution == nullptr || reorder == nullptr) return null_pointer();
  *reorder = convolution->reorder;
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetConvolutionNdForwardOutputDim(const cudnnConvolutionDescriptor_t convolution,
                                                             const cudnnTensorDescriptor_t input,
                                                             const cudnnFilterDescriptor_t filter, int rank,
                                                             int dims[]) {
  if (convolution == nullptr || input == nullptr || filter == nullptr || dims == nullptr) return null_pointer();
  if (input->rank != filter->rank || input->rank != convolution->rank + 2 || rank != input->rank)
    return bad_parameter("tensor, filter and convolution differ in their number of dimensions");
  if (static_cast<int64_t>(filter->dims[1]) * convolution->groups != input->dims[1])
    return bad_parameter("input maps of filter and tensor differ");
  dims[0] = input->dims[0];
  dims[1] = filter->dims[0];
  for (int i = 0; i < convolution->rank; ++i) {
    const int64_t size = output_size(input->dims[i + 2], convolution->pads[i], filter->dims[i + 2],
                                     convolution->strides[i], convolution->dilations[i]);
    if (size < 1 || size > INT32_MAX) return bad_parameter("the window is larger than the padded input");
    dims[i + 2] = static_cast<int>(size);
  }
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetConvolution2dForwardOutputDim(const cudnnConvolutionDescriptor_t convolution,
                                                             const cudnnTensorDescriptor_t input,
                                                             const cudnnFilterDescriptor_t filter, int* n, int* c,
                                                             int* h, int* w) {
  int dims[4] = {};
  const cudnnStatus_t status = cudnnGetConvolutionNdForwardOutputDim(convolution, input, filter, 4, dims);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  give(n, dims[0]), give(c, dims[1]), give(h, dims[2]), give(w, dims[3]);
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetConvolutionForwardAlgorithmMaxCount(cudnnHandle_t handle, int* count) {
  if (!usable(handle) || count == nullptr) return null_pointer();
  *count = CUDNN_CONVOLUTION_FWD_ALGO_COUNT;
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithmMaxCount(cudnnHandle_t handle, int* count) {
  if (!usable(handle) || count == nullptr) return null_pointer();
  *count = CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT;
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithmMaxCount(cudnnHandle_t handle, int* count) {
  if (!usable(handle) || count == nullptr) return null_pointer();
  *count = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT;
  return CUDNN_STATUS_SUCCESS;
}
