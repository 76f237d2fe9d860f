#include "driver_shim/cudnn/convolution_operands.h"

#include <algorithm>

#include "driver_shim/common/driver_access.h"

namespace maya::cudnn {
namespace {

bool has_negative_stride(const cudnnTensorStruct& tensor) {
  return std::any_of(tensor.strides, tensor.strides + tensor.rank, [](int stride) { return stride < 0; });
}

bool float_sums(cudnnDataType_t tensors, cudnnDataType_t sums) {
  switch (tensors) {
    case CUDNN_DATA_DOUBLE:
      return sums == CUDNN_DATA_DOUBLE;
    case CUDNN_DATA_HALF:
      return sums == CUDNN_DATA_HALF || sums == CUDNN_DATA_FLOAT;
    case CUDNN_DATA_FLOAT:
    case CUDNN_DATA_BFLOAT16:
      return sums == CUDNN_DATA_FLOAT;
    default:
      return true;
  }
}

}  // namespace

cudnnStatus_t convolution_shape(ConvolutionDirection direction, const cudnnTensorStruct* image,
                                const cudnnFilterStruct* filter, const cudnnConvolutionStruct* convolution,
                                const cudnnTensorStruct* result, ConvolutionShape* shape) {
  if (image == nullptr || filter == nullptr || convolution == nullptr || result == nullptr) return null_pointer();
  constexpr int kMapDimensions = 2;  // samples and maps
  if (image->rank != filter->rank || image->rank != result->rank || image->rank != convolution->rank + kMapDimensions)
    return bad_parameter("tensors, filter and convolution differ in their number of dimensions");
  if (image->rank < 4 || image->rank > 5)
    return fail(CUDNN_STATUS_NOT_SUPPORTED, "convolutions have tensors of 4 or 5 dimensions");
  if (image->type != filter->type) return bad_parameter("the data types of tensor and filter differ");
  if (has_negative_stride(*image) || has_negative_stride(*result))
    return fail(CUDNN_STATUS_NOT_SUPPORTED, "a tensor has a negative stride");
  if (!float_sums(image->type, convolution->compute_type))
    return fail(CUDNN_STATUS_NOT_SUPPORTED, "the compute type does not go with the data type");
  int dims[CUDNN_DIM_MAX] = {};
  const auto mutable_of = [](const auto* descriptor) {
    return const_cast<std::remove_const_t<std::remove_pointer_t<decltype(descriptor)>>*>(descriptor);
  };
  const cudnnStatus_t status = cudnnGetConvolutionNdForwardOutputDim(mutable_of(convolution), mutable_of(image),
                                                                     mutable_of(filter), image->rank, dims);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  if (!std::equal(dims, dims + image->rank, result->dims))
    return fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "the response has not the size that follows from the image");
  if (filter->dims[0] % convolution->groups != 0) return bad_parameter("filters do not divide into the groups");
  *shape = {};
  shape->direction = direction;
  shape->type = image->type, shape->compute_type = convolution->compute_type;
  shape->tensor_cores_allowed = convolution->math_type != CUDNN_FMA_MATH;
  shape->rank = convolution->rank;
  shape->batch = image->dims[0], shape->channels = image->dims[1];
  shape->filters = filter->dims[0], shape->groups = convolution->groups;
  for (int i = 0; i < convolution->rank; ++i) {
    shape->input[i] = image->dims[i + kMapDimensions], shape->output[i] = result->dims[i + kMapDimensions];
    shape->window[i] = filter->dims[i + kMapDimensions];
    shape->pads[i] = convolution->pads[i], shape->strides[i] = convolution->strides[i];
    shape->dilations[i] = convolution->dilations[i];
  }
  shape->channels_first = image->strides[1] != 1;
  return shape->is_sane() ? CUDNN_STATUS_SUCCESS
                          : fail(CUDNN_STATUS_NOT_SUPPORTED_SHAPE, "a tensor is larger than any device");
}

bool method_of(cudnnConvolutionFwdAlgo_t algorithm, ConvolutionMethod* method) {
  switch (algorithm) {
    case CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM:
      *method = ConvolutionMethod::kDirectProduct;
      return true;
    case CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM:
      *method = ConvolutionMethod::kImplicitProduct;
      return true;
    case CUDNN_CONVOLUTION_FWD_ALGO_GEMM:
      *method = ConvolutionMethod::kExplicitProduct;
      return true;
    case CUDNN_CONVOLUTION_FWD_ALGO_FFT:
      *method = ConvolutionMethod::kFourier;
      return true;
    case CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING:
      *method = ConvolutionMethod::kFourierTiles;
      return true;
    case CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD:
      *method = ConvolutionMethod::kWinograd;
      return true;
    case CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED:
      *method = ConvolutionMethod::kWinogradTiles;
      return true;
    default:
      return false;
  }
}

bool method_of(cudnnConvolutionBwdDataAlgo_t algorithm, ConvolutionMethod* method) {
  switch (algorithm) {
    case CUDNN_CONVOLUTION_BWD_DATA_ALGO_0:
      *method = ConvolutionMethod::kAtomicProduct;
      return true;
    case CUDNN_CONVOLUTION_BWD_DATA_ALGO_1:
      *method = ConvolutionMethod::kImplicitProduct;
      return true;
    case CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT:
      *method = ConvolutionMethod::kFourier;
      return true;
    case CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING:
      *method = ConvolutionMethod::kFourierTiles;
      return true;
    case CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD:
      *method = ConvolutionMethod::kWinograd;
      return true;
    case CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED:
      *method = ConvolutionMethod::kWinogradTiles;
      return true;
    default:
      return false;
  }
}

bool method_of(cudnnConvolutionBwdFilterAlgo_t algorithm, ConvolutionMethod* method) {
  switch (algorithm) {
    case CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0:
    case CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3:
      *method = ConvolutionMethod::kAtomicProduct;
      return true;
    case CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1:
      *method = ConvolutionMethod::kImplicitProduct;
      return true;
    case CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT:
      *method = ConvolutionMethod::kFourier;
      return true;
    case CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING:
      *method = ConvolutionMethod::kFourierTiles;
      return true;
    case CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED:
      *method = ConvolutionMethod::kWinogradTiles;
      return true;
    default:
      return false;
  }
}

int compute_capability_major() {
  CUdevice device = 0;
  int value = 0;
  const auto get_device = MAYA_DRIVER(cuCtxGetDevice);
  const auto get_attribute = MAYA_DRIVER(cuDeviceGetAttribute);
  if (get_device == nullptr || get_attribute == nullptr || get_device(&device) != CUDA_SUCCESS) return 0;
  return get_attribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) == CUDA_SUCCESS ? value : 0;
}

}  // namespace maya::cudnn
