// Checks of tensors and of the parameters of operators.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "driver_shim/cudnn/backend_checks.h"
#include "driver_shim/cudnn/handle.h"
#include "driver_shim/cudnn/types.h"

namespace maya::cudnn {
namespace {

constexpr double kMostElements = 1ull << 52;

cudnnStatus_t check_tensor(const BackendNode& tensor) {
  const auto type = static_cast<cudnnDataType_t>(tensor.enumerator(CUDNN_ATTR_TENSOR_DATA_TYPE));
  const std::vector<int64_t> dimensions = tensor.integers(CUDNN_ATTR_TENSOR_DIMENSIONS);
  const std::vector<int64_t> strides = tensor.integers(CUDNN_ATTR_TENSOR_STRIDES);
  const int64_t alignment = tensor.integer(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  const int64_t vector = tensor.integer(CUDNN_ATTR_TENSOR_VECTOR_COUNT, 1);
  if (storage_bits(type) == 0) return bad_parameter("no such data type");
  if (type == CUDNN_DATA_INT8x4 || type == CUDNN_DATA_UINT8x4 || type == CUDNN_DATA_INT8x32)
    return fail(CUDNN_STATUS_NOT_SUPPORTED, "vectorized data types: set CUDNN_ATTR_TENSOR_VECTOR_COUNT instead");
  if (type == CUDNN_DATA_INT8 && vector != 1 && vector != 4 && vector != 32)
    return fail(CUDNN_STATUS_NOT_SUPPORTED, "8-bit integers come in vectors of 1, 4 or 32");
  if (dimensions.size() != strides.size()) return bad_parameter("dimensions and strides differ in number");
  double elements = 1, last = 1;
  for (size_t i = 0; i < dimensions.size(); ++i) {
    // A stride of 0 repeats what lies there: PyTorch hands masks over so (its expand() of a bias over a batch).
    if (dimensions[i] < 1 || strides[i] < 0) return bad_parameter("a dimension is not positive or a stride negative");
    elements *= static_cast<double>(dimensions[i]);
    last += static_cast<double>(dimensions[i] - 1) * static_cast<double>(strides[i]);
  }
  if (std::max(elements, last) > kMostElements)
    return fail(CUDNN_STATUS_NOT_SUPPORTED_SHAPE, "the tensor is larger than any device");
  const int64_t bytes = std::max<int64_t>(storage_bits(type) / 8, 1);
  if (alignment < 1 || alignment % bytes != 0)
    return bad_parameter("the alignment is not divisible by the size of the data type");
  if (vector < 1) return bad_parameter("a vector of no elements");
  if (vector != 1) {
    const int64_t at = tensor.integer(CUDNN_ATTR_TENSOR_VECTORIZED_DIMENSION, -1);
    if (at < 0 || at >= static_cast<int64_t>(dimensions.size()))
      return bad_parameter("CUDNN_ATTR_TENSOR_VECTORIZED_DIMENSION is not a dimension");
  }
  if (tensor.find(CUDNN_ATTR_TENSOR_RAGGED_OFFSET_MULTIPLIER) != nullptr &&
      tensor.child(CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC) == nullptr)
    return bad_parameter("a ragged offset multiplier needs CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC");
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t check_convolution(const BackendNode& convolution) {
  const int64_t rank = convolution.integer(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
  for (const auto name : {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
                          CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS}) {
    const std::vector<int64_t> values = convolution.integers(name);
    if (static_cast<int64_t>(values.size()) != rank)
      return bad_parameter("a list of the convolution has not CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS elements");
    const bool steps = name == CUDNN_ATTR_CONVOLUTION_DILATIONS || name == CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES;
    for (const int64_t value : values)
      if (value < (steps ? 1 : -INT32_MAX) || value > INT32_MAX)
        return bad_parameter("a stride or dilation below 1, or a value larger than any tensor");
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t check_resample(const BackendNode& resample) {
  const int64_t rank = resample.integer(CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS);
  for (const auto name : {CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, CUDNN_ATTR_RESAMPLE_STRIDES,
                          CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, CUDNN_ATTR_RESAMPLE_POST_PADDINGS}) {
    if (resample.find(name)->count != rank)
      return fail(CUDNN_STATUS_NOT_SUPPORTED,
                  "a list of the resampling has not CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS elements");
  }
  if (resample.enumerator(CUDNN_ATTR_RESAMPLE_MODE, CUDNN_RESAMPLE_NEAREST) == CUDNN_RESAMPLE_BILINEAR) {
    for (const double window : resample.fractions(CUDNN_ATTR_RESAMPLE_WINDOW_DIMS))
      if (window != 2) return fail(CUDNN_STATUS_NOT_SUPPORTED, "bilinear resampling has windows of 2");
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t check_random(const BackendNode& random) {
  switch (random.enumerator(CUDNN_ATTR_RNG_DISTRIBUTION, CUDNN_RNG_DISTRIBUTION_BERNOULLI)) {
    case CUDNN_RNG_DISTRIBUTION_BERNOULLI:
      if (random.number(CUDNN_ATTR_RNG_BERNOULLI_DIST_PROBABILITY, 0) < 0)
        return bad_parameter("the probability is negative");
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_RNG_DISTRIBUTION_UNIFORM:
      if (random.number(CUDNN_ATTR_RNG_UNIFORM_DIST_MAXIMUM, 0) < random.number(CUDNN_ATTR_RNG_UNIFORM_DIST_MINIMUM, 0))
        return bad_parameter("the maximum is below the minimum");
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_RNG_DISTRIBUTION_NORMAL:
      if (random.number(CUDNN_ATTR_RNG_NORMAL_DIST_STANDARD_DEVIATION, 0) < 0)
        return bad_parameter("the standard deviation is negative");
      return CUDNN_STATUS_SUCCESS;
    default:
      return bad_parameter("no such distribution");
  }
}

// What cudnnBackendGetAttribute gave for a device, or any text that is one JSON object.
cudnnStatus_t check_device(const BackendNode& device) {
  const BackendAttribute* text = device.find(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
  if (text == nullptr) return CUDNN_STATUS_SUCCESS;
  const auto first = std::find_if(text->bytes.begin(), text->bytes.end(), [](char c) { return c != ' ' && c != '\n'; });
  return first != text->bytes.end() && *first == '{' ? CUDNN_STATUS_SUCCESS : bad_parameter("not the text of a device");
}

}  // namespace

cudnnStatus_t check_parameters(const BackendNode& node) {
  switch (node.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return check_tensor(node);
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      return check_convolution(node);
    case CUDNN_BACKEND_RESAMPLE_DESCRIPTOR:
      return check_resample(node);
    case CUDNN_BACKEND_RNG_DESCRIPTOR:
      return check_random(node);
    case CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR:
      return check_device(node);
    case CUDNN_BACKEND_POINTWISE_DESCRIPTOR: {
      const int mode = node.enumerator(CUDNN_ATTR_POINTWISE_MODE);
      return mode >= 0 && mode <= CUDNN_POINTWISE_BINARY_SELECT ? CUDNN_STATUS_SUCCESS
                                                                : bad_parameter("no such pointwise mode");
    }
    case CUDNN_BACKEND_REDUCTION_DESCRIPTOR: {
      const int kind = node.enumerator(CUDNN_ATTR_REDUCTION_OPERATOR);
      return kind >= CUDNN_REDUCE_TENSOR_ADD && kind <= CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS
                 ? CUDNN_STATUS_SUCCESS
                 : fail(CUDNN_STATUS_NOT_SUPPORTED, "no such reduction");
    }
    case CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR: {
      const int type = node.enumerator(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE);
      return type >= 0 && type < CUDNN_KNOB_TYPE_COUNTS ? CUDNN_STATUS_SUCCESS : bad_parameter("no such knob");
    }
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      return node.find(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS)->count ==
                     node.find(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS)->count
                 ? CUDNN_STATUS_SUCCESS
                 : bad_parameter("the variant pack needs one data pointer for each unique id");
    case CUDNN_BACKEND_INTERMEDIATE_INFO_DESCRIPTOR:
    case CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR:
    case CUDNN_BACKEND_LAYOUT_INFO_DESCRIPTOR:
      return fail(CUDNN_STATUS_NOT_SUPPORTED, "the descriptor is read-only: get it from an engine");
    default:
      return CUDNN_STATUS_SUCCESS;
  }
}

}  // namespace maya::cudnn
