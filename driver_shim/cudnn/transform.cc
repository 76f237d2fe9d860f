// Transformations of tensors and filters: padding and folding, and the folded form of a convolution's backward pass.
#include <algorithm>

#include "driver_shim/common/api.h"
#include "driver_shim/cudnn/recorded.h"

namespace maya::cudnn {
namespace {

OperationRecord copy_record(const char* api, cudnnDataType_t type, int64_t elements) {
  OperationRecord record(Family::kElementwise, api);
  return record.set(Key::kDataType, static_cast<int64_t>(data_type(type)))
      .set(Key::kOperator, static_cast<int64_t>(Operator::kCopy))
      .set(Key::kElements, elements);
}

constexpr int kMapDimensions = 2;  // samples and maps, before the spatial dimensions

int fold_of(const cudnnTensorTransformStruct& transform, int spatial) {
  return static_cast<int>(std::max(transform.fold[spatial], 1u));
}

}  // namespace
}  // namespace maya::cudnn

using namespace maya;
using namespace maya::cudnn;

// Folding moves each block of fold x fold pixels into maps; unfolding is the reverse (cuDNN documentation,
// cudnnTensorTransformDescriptor_t).
MAYA_API cudnnStatus_t cudnnInitTransformDest(const cudnnTensorTransformDescriptor_t transform,
                                              const cudnnTensorDescriptor_t source, cudnnTensorDescriptor_t destination,
                                              size_t* bytes) {
  if (transform == nullptr || source == nullptr || destination == nullptr || bytes == nullptr) return null_pointer();
  if (static_cast<int>(transform->rank) != source->rank)
    return bad_parameter("transformation and tensor differ in their number of dimensions");
  int dims[CUDNN_DIM_MAX] = {};
  int64_t maps = source->rank > 1 ? source->dims[1] : 1;
  for (int i = 0; i < source->rank; ++i) {
    dims[i] = source->dims[i] + transform->pad_before[i] + transform->pad_after[i];
    if (i < kMapDimensions) continue;
    const int fold = fold_of(*transform, i - kMapDimensions);
    if (transform->direction == CUDNN_TRANSFORM_FOLD) {
      dims[i] = (dims[i] + fold - 1) / fold;
      maps *= fold;
    } else {
      dims[i] *= fold;
      maps /= fold;
    }
    if (dims[i] < 1) return bad_parameter("a dimension becomes empty");
  }
  if (source->rank > 1) {
    if (maps < 1 || maps > INT32_MAX) return bad_parameter("the maps do not divide into the folds");
    dims[1] = static_cast<int>(maps) + transform->pad_before[1] + transform->pad_after[1];
  }
  const cudnnStatus_t status =
      cudnnSetTensorNdDescriptorEx(destination, transform->format, source->type, source->rank, dims);
  if (status == CUDNN_STATUS_SUCCESS) *bytes = destination->span_bytes();
  return status;
}

MAYA_API cudnnStatus_t cudnnTransformTensorEx(cudnnHandle_t handle, const cudnnTensorTransformDescriptor_t transform,
                                              const void* alpha, const cudnnTensorDescriptor_t source_desc,
                                              const void* source, const void* beta,
                                              const cudnnTensorDescriptor_t destination_desc, void* destination) {
  if (transform == nullptr || alpha == nullptr || beta == nullptr || source_desc == nullptr || source == nullptr ||
      destination_desc == nullptr || destination == nullptr)
    return null_pointer();
  return run(handle,
             copy_record("cudnnTransformTensorEx", destination_desc->type,
                         std::max(source_desc->elements(), destination_desc->elements())),
             {{source_desc, source}}, {{destination_desc, destination}});
}

MAYA_API cudnnStatus_t cudnnTransformFilter(cudnnHandle_t handle, const cudnnTensorTransformDescriptor_t transform,
                                            const void* alpha, const cudnnFilterDescriptor_t source_desc,
                                            const void* source, const void* beta,
                                            const cudnnFilterDescriptor_t destination_desc, void* destination) {
  if (!usable(handle)) return fail(CUDNN_STATUS_NOT_INITIALIZED, "not a cuDNN handle");
  if (transform == nullptr || alpha == nullptr || beta == nullptr || source_desc == nullptr || source == nullptr ||
      destination_desc == nullptr || destination == nullptr)
    return null_pointer();
  OperationRecord record = copy_record("cudnnTransformFilter", destination_desc->type, destination_desc->elements());
  record.set(Key::kReadBytes, static_cast<int64_t>(source_desc->bytes()))
      .set(Key::kWrittenBytes, static_cast<int64_t>(destination_desc->bytes()));
  shim::WriteList writes;
  writes.add(destination, destination_desc->bytes());
  return status_of(shim::record(handle->cu_stream(), record, writes));
}

// A strided convolution backwards for data becomes one of stride 1: filters and gradient are folded by the stride, so
// that maps are multiplied and windows divided by it; the response's gradient is padded.
MAYA_API cudnnStatus_t cudnnGetFoldedConvBackwardDataDescriptors(
    const cudnnHandle_t handle, const cudnnFilterDescriptor_t filter, const cudnnTensorDescriptor_t diff,
    const cudnnConvolutionDescriptor_t convolution, const cudnnTensorDescriptor_t gradient,
    const cudnnTensorFormat_t format, cudnnFilterDescriptor_t folded_filter, cudnnTensorDescriptor_t padded_diff,
    cudnnConvolutionDescriptor_t folded_convolution, cudnnTensorDescriptor_t folded_gradient,
    cudnnTensorTransformDescriptor_t filter_fold, cudnnTensorTransformDescriptor_t diff_pad,
    cudnnTensorTransformDescriptor_t gradient_fold, cudnnTensorTransformDescriptor_t gradient_unfold) {
  if (!usable(handle)) return fail(CUDNN_STATUS_NOT_INITIALIZED, "not a cuDNN handle");
  if (filter == nullptr || diff == nullptr || convolution == nullptr || gradient == nullptr ||
      folded_filter == nullptr || padded_diff == nullptr || folded_convolution == nullptr ||
      folded_gradient == nullptr || filter_fold == nullptr || diff_pad == nullptr || gradient_fold == nullptr ||
      gradient_unfold == nullptr)
    return null_pointer();
  const int rank = gradient->rank;
  if (rank != convolution->rank + kMapDimensions || rank != filter->rank || rank != diff->rank)
    return bad_parameter("tensors, filter and convolution differ in their number of dimensions");
  uint32_t folds[CUDNN_DIM_MAX] = {};
  int32_t no_pads[CUDNN_DIM_MAX] = {}, diff_after[CUDNN_DIM_MAX] = {}, gradient_before[CUDNN_DIM_MAX] = {};
  int filter_dims[CUDNN_DIM_MAX] = {filter->dims[0], filter->dims[1]};
  int pads[CUDNN_DIM_MAX] = {}, ones[CUDNN_DIM_MAX] = {};
  for (int i = 0; i < convolution->rank; ++i) {
    if (convolution->dilations[i] != 1) return fail(CUDNN_STATUS_NOT_SUPPORTED, "a folded convolution has dilation 1");
    const int stride = convolution->strides[i], at = i + kMapDimensions;
    folds[i] = static_cast<uint32_t>(stride), ones[i] = 1;
    gradient_before[at] = convolution->pads[i];
    filter_dims[1] *= stride;
    filter_dims[at] = (filter->dims[at] + stride - 1) / stride;
    const int folded = (gradient->dims[at] + convolution->pads[i] + stride - 1) / stride;
    diff_after[at] = std::max(folded - filter_dims[at] + 1 - diff->dims[at], 0);
  }
  const auto set = [&](cudnnTensorTransformDescriptor_t transform, const int32_t* before, const int32_t* after,
                       const uint32_t* fold, cudnnFoldingDirection_t direction) {
    return cudnnSetTensorTransformDescriptor(transform, static_cast<uint32_t>(rank), format, before, after, fold,
                                             direction);
  };
  uint32_t no_folds[CUDNN_DIM_MAX];
  std::fill(std::begin(no_folds), std::end(no_folds), 1u);
  set(filter_fold, no_pads, no_pads, folds, CUDNN_TRANSFORM_FOLD);
  set(diff_pad, no_pads, diff_after, no_folds, CUDNN_TRANSFORM_FOLD);
  set(gradient_fold, gradient_before, no_pads, folds, CUDNN_TRANSFORM_FOLD);
  set(gradient_unfold, no_pads, no_pads, folds, CUDNN_TRANSFORM_UNFOLD);
  size_t bytes = 0;
  cudnnStatus_t status = cudnnSetFilterNdDescriptor(folded_filter, filter->type, format, rank, filter_dims);
  if (status == CUDNN_STATUS_SUCCESS) status = cudnnInitTransformDest(diff_pad, diff, padded_diff, &bytes);
  if (status == CUDNN_STATUS_SUCCESS) status = cudnnInitTransformDest(gradient_fold, gradient, folded_gradient, &bytes);
  if (status == CUDNN_STATUS_SUCCESS)
    status = cudnnSetConvolutionNdDescriptor(folded_convolution, convolution->rank, pads, ones, ones, convolution->mode,
                                             convolution->compute_type);
  return status;
}
