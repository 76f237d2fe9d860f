// Checks of operations: whether their tensors belong together.
#include <algorithm>
#include <cmath>

#include "driver_shim/cudnn/backend_checks.h"
#include "driver_shim/cudnn/graph_operation.h"
#include "driver_shim/cudnn/handle.h"

namespace maya::cudnn {
namespace {

using Dimensions = std::vector<int64_t>;

cudnnStatus_t mismatch(const char* text) { return bad_parameter(text); }

// Empty when the tensor is not there.
Dimensions dimensions_at(const BackendNode& operation, cudnnBackendAttributeName_t name) {
  const BackendNodePtr tensor = operation.child(name);
  return tensor == nullptr ? Dimensions() : tensor->integers(CUDNN_ATTR_TENSOR_DIMENSIONS);
}

// Every dimension of `part` is that of `whole`, or 1.
bool broadcasts(const Dimensions& part, const Dimensions& whole) {
  if (part.size() != whole.size()) return false;
  for (size_t i = 0; i < part.size(); ++i)
    if (part[i] != 1 && part[i] != whole[i]) return false;
  return true;
}

bool all_one(const BackendNode& operation, cudnnBackendAttributeName_t name) {
  const BackendNodePtr tensor = operation.child(name);
  if (tensor == nullptr) return true;
  const auto one = [](int64_t value) { return value == 1; };
  const Dimensions dimensions = tensor->integers(CUDNN_ATTR_TENSOR_DIMENSIONS),
                   strides = tensor->integers(CUDNN_ATTR_TENSOR_STRIDES);
  return std::all_of(dimensions.begin(), dimensions.end(), one) && std::all_of(strides.begin(), strides.end(), one);
}

cudnnStatus_t check_convolution(const BackendNode& operation) {
  const ConvolutionAttributes names = convolution_attributes(operation.type);
  const Dimensions image = dimensions_at(operation, names.image), filter = dimensions_at(operation, names.filter),
                   result = dimensions_at(operation, names.result);
  const BackendNodePtr convolution = operation.child(names.description);
  const auto rank = static_cast<size_t>(convolution->integer(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS));
  // With one dimension more, groups have a dimension of their own.
  const size_t maps = image.size() - std::min(image.size(), rank);
  if (filter.size() != image.size() || result.size() != image.size() || maps < 2 || maps > 3)
    return mismatch("image, filter and response have not the dimensions of the convolution");
  if (rank < 1 || rank > 3) return fail(CUDNN_STATUS_NOT_SUPPORTED, "number of spatial dimensions");
  if (image[0] != result[0]) return mismatch("image and response differ in their number of samples");
  if (maps == 2 && (image[1] % filter[1] != 0 || filter[0] % (image[1] / filter[1]) != 0 || result[1] != filter[0]))
    return mismatch("the maps of image, filter and response do not go together");
  const Dimensions strides = convolution->integers(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES),
                   dilations = convolution->integers(CUDNN_ATTR_CONVOLUTION_DILATIONS),
                   before = convolution->integers(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS),
                   after = convolution->integers(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
  for (size_t i = 0; i < rank; ++i) {
    const double padded = static_cast<double>(image[i + maps]) + static_cast<double>(before[i] + after[i]);
    const double window = static_cast<double>(filter[i + maps] - 1) * static_cast<double>(dilations[i]) + 1;
    if (padded < window ||
        1 + std::floor((padded - window) / static_cast<double>(strides[i])) != static_cast<double>(result[i + maps]))
      return mismatch("the response has not the size that follows from the image");
  }
  ConvolutionShape shape;
  return convolution_of(operation, &shape) ? CUDNN_STATUS_SUCCESS
                                           : fail(CUDNN_STATUS_NOT_SUPPORTED_SHAPE, "larger than any device");
}

bool is_backward(int mode) {
  return mode >= CUDNN_POINTWISE_RELU_BWD && mode <= CUDNN_POINTWISE_GELU_APPROX_TANH_BWD &&
         mode != CUDNN_POINTWISE_GELU_APPROX_TANH_FWD;
}

cudnnStatus_t check_pointwise(const BackendNode& operation) {
  const int mode = operation.child(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR)->enumerator(CUDNN_ATTR_POINTWISE_MODE);
  const bool backward = is_backward(mode);
  const Dimensions result =
      dimensions_at(operation, backward ? CUDNN_ATTR_OPERATION_POINTWISE_DXDESC : CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  if (result.empty()) return bad_parameter("the operation has no result tensor");
  const auto first = backward ? CUDNN_ATTR_OPERATION_POINTWISE_DYDESC : CUDNN_ATTR_OPERATION_POINTWISE_XDESC;
  if (operation.child(first) == nullptr) return bad_parameter("the operation has no input tensor");
  for (const auto name : {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                          CUDNN_ATTR_OPERATION_POINTWISE_DYDESC, CUDNN_ATTR_OPERATION_POINTWISE_TDESC}) {
    const Dimensions input = dimensions_at(operation, name);
    if (!input.empty() && !broadcasts(input, result))
      return mismatch("an input tensor cannot be broadcast to the result");
  }
  if (mode == CUDNN_POINTWISE_BINARY_SELECT && operation.child(CUDNN_ATTR_OPERATION_POINTWISE_TDESC) == nullptr)
    return bad_parameter("a selection needs CUDNN_ATTR_OPERATION_POINTWISE_TDESC");
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t check_statistics(const BackendNode& operation) {
  const Dimensions x = dimensions_at(operation, CUDNN_ATTR_OPERATION_GENSTATS_XDESC);
  for (const auto name : {CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC}) {
    const Dimensions sums = dimensions_at(operation, name);
    if (sums.size() != x.size()) return mismatch("input and statistics differ in their number of dimensions");
    for (size_t i = 0; i < sums.size(); ++i)
      if (sums[i] != (i == 1 ? x[1] : 1)) return mismatch("statistics have one value for each channel");
  }
  return CUDNN_STATUS_SUCCESS;
}

// Batches are equal, or a factor of C's.
bool batches_fit(const Dimensions& operand, const Dimensions& c) {
  for (size_t i = 0; i + 2 < c.size(); ++i)
    if (c[i] % operand[i] != 0) return false;
  return true;
}

cudnnStatus_t check_product(const BackendNode& operation) {
  const Dimensions a = dimensions_at(operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC),
                   b = dimensions_at(operation, CUDNN_ATTR_OPERATION_MATMUL_BDESC),
                   c = dimensions_at(operation, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
  if (a.size() < 2 || b.size() < 2 || c.size() < 2)
    return fail(CUDNN_STATUS_NOT_SUPPORTED, "matrices have at least two dimensions");
  const int64_t irregular = operation.integer(CUDNN_ATTR_OPERATION_MATMUL_IRREGULARLY_STRIDED_BATCH_COUNT, 1);
  if (irregular < 0) return bad_parameter("the irregularly strided batch count is negative");
  if (a.size() != b.size() || a.size() != c.size()) return mismatch("A, B and C differ in their number of dimensions");
  const size_t m = a.size() - 2, n = a.size() - 1;
  if (a[m] != c[m] || a[n] != b[m] || b[n] != c[n]) return mismatch("A is not M x K, B K x N and C M x N");
  if (!batches_fit(a, c) || !batches_fit(b, c)) return mismatch("the batches of A and B are no factors of C's");
  const bool regular = std::any_of(c.begin(), c.end() - 2, [](int64_t size) { return size != 1; });
  return irregular > 1 && regular ? bad_parameter("batches both regularly and irregularly strided")
                                  : CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t check_reduction(const BackendNode& operation) {
  const Dimensions x = dimensions_at(operation, CUDNN_ATTR_OPERATION_REDUCTION_XDESC),
                   y = dimensions_at(operation, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
  if (x.size() != y.size()) return mismatch("input and result differ in their number of dimensions");
  for (size_t i = 0; i < x.size(); ++i)
    if (x[i] % y[i] != 0) return mismatch("a dimension of the result is neither that of the input nor a factor of it");
  return CUDNN_STATUS_SUCCESS;
}

// y = 1 + (x + post + pre - w) / s, where everything is whole.
cudnnStatus_t check_resample(const BackendNode& operation, bool backward) {
  const Dimensions x = dimensions_at(operation, backward ? CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DXDESC
                                                         : CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC),
                   y = dimensions_at(operation, backward ? CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DYDESC
                                                         : CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC),
                   index = dimensions_at(operation, backward ? CUDNN_ATTR_OPERATION_RESAMPLE_BWD_IDXDESC
                                                             : CUDNN_ATTR_OPERATION_RESAMPLE_FWD_IDXDESC);
  if (x.size() != y.size()) return mismatch("input and result differ in their number of dimensions");
  if (!index.empty() && index != y) return mismatch("result and indices differ in shape");
  const BackendNodePtr resample =
      operation.child(backward ? CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DESC : CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC);
  const std::vector<double> window = resample->fractions(CUDNN_ATTR_RESAMPLE_WINDOW_DIMS),
                            strides = resample->fractions(CUDNN_ATTR_RESAMPLE_STRIDES),
                            before = resample->fractions(CUDNN_ATTR_RESAMPLE_PRE_PADDINGS),
                            after = resample->fractions(CUDNN_ATTR_RESAMPLE_POST_PADDINGS);
  const size_t rank = window.size();
  if (rank + 2 > x.size()) return mismatch("tensors have fewer dimensions than the resampling");
  for (size_t i = 0; i < rank; ++i) {
    const size_t at = x.size() - rank + i;
    const bool whole = strides[i] > 0 && std::floor(strides[i]) == strides[i] && std::floor(window[i]) == window[i];
    if (!whole) continue;
    const double size = 1 + std::floor((static_cast<double>(x[at]) + after[i] + before[i] - window[i]) / strides[i]);
    if (size != static_cast<double>(y[at])) return mismatch("the result has not the size that follows from the input");
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t check_concatenation(const BackendNode& operation) {
  const BackendAttribute* inputs = operation.find(CUDNN_ATTR_OPERATION_CONCAT_INPUT_DESCS);
  const Dimensions output = dimensions_at(operation, CUDNN_ATTR_OPERATION_CONCAT_OUTPUT_DESC);
  const int64_t axis = operation.integer(CUDNN_ATTR_OPERATION_CONCAT_AXIS);
  if (axis < 0 || axis >= static_cast<int64_t>(output.size())) return bad_parameter("the axis is not a dimension");
  const int64_t in_place = operation.integer(CUDNN_ATTR_OPERATION_CONCAT_INPLACE_INDEX, 0);
  if (in_place < 0 || in_place >= inputs->count) return bad_parameter("the in-place index is not an input");
  int64_t total = 0;
  for (const BackendNodePtr& input : inputs->children) {
    Dimensions dimensions = input->integers(CUDNN_ATTR_TENSOR_DIMENSIONS);
    if (dimensions.size() != output.size()) return mismatch("an input has another number of dimensions");
    total += dimensions[static_cast<size_t>(axis)];
    dimensions[static_cast<size_t>(axis)] = output[static_cast<size_t>(axis)];
    if (dimensions != output) return mismatch("an input differs in another dimension than the axis");
  }
  return total == output[static_cast<size_t>(axis)] ? CUDNN_STATUS_SUCCESS
                                                    : mismatch("the inputs do not add up to the result");
}

cudnnStatus_t check_norm(const BackendNode& operation, bool backward) {
  const int mode =
      operation.enumerator(backward ? CUDNN_ATTR_OPERATION_NORM_BWD_MODE : CUDNN_ATTR_OPERATION_NORM_FWD_MODE);
  if (mode < CUDNN_LAYER_NORM || mode > CUDNN_ADA_LAYER_NORM) return bad_parameter("no such normalization");
  if (mode == CUDNN_GROUP_NORM) return fail(CUDNN_STATUS_INTERNAL_ERROR, "group normalization is not supported");
  const Dimensions x =
      dimensions_at(operation, backward ? CUDNN_ATTR_OPERATION_NORM_BWD_XDESC : CUDNN_ATTR_OPERATION_NORM_FWD_XDESC);
  if (backward) {
    if (dimensions_at(operation, CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC) != x ||
        dimensions_at(operation, CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC) != x)
      return mismatch("input and gradients differ in shape");
    return CUDNN_STATUS_SUCCESS;
  }
  if (dimensions_at(operation, CUDNN_ATTR_OPERATION_NORM_FWD_YDESC) != x)
    return mismatch("input and result differ in shape");
  if (mode == CUDNN_BATCH_NORM && operation.enumerator(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE) != CUDNN_NORM_FWD_TRAINING)
    return fail(CUDNN_STATUS_NOT_SUPPORTED, "batch normalization is for training");
  const Dimensions scale = dimensions_at(operation, CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC),
                   bias = dimensions_at(operation, CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC);
  return !scale.empty() && !bias.empty() && scale != bias ? mismatch("scale and bias differ in shape")
                                                          : CUDNN_STATUS_SUCCESS;
}

struct AttentionAttributes {
  cudnnBackendAttributeName_t q, k, v, o;
};

cudnnStatus_t check_attention(const BackendNode& operation, const AttentionAttributes& names, bool paged) {
  const Dimensions q = dimensions_at(operation, names.q), k = dimensions_at(operation, names.k),
                   v = dimensions_at(operation, names.v), o = dimensions_at(operation, names.o);
  if (q.size() != 4 || k.size() != 4 || v.size() != 4 || o.size() != 4)
    return mismatch("queries, keys, values and output have four dimensions");
  if (q[1] % k[1] != 0 || q[1] % v[1] != 0) return mismatch("query heads do not divide into those of keys and values");
  if (k[3] != q[3] && k[2] != q[3]) return mismatch("queries and keys differ in their head size");
  if (o[0] != q[0] || o[1] != q[1] || o[2] != q[2]) return mismatch("queries and output differ in shape");
  if (paged) return CUDNN_STATUS_SUCCESS;
  return k[0] != q[0] || v[0] != q[0] ? mismatch("queries, keys and values differ in their batch")
                                      : CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t check_attention_forward(const BackendNode& operation) {
  const bool paged = operation.child(CUDNN_ATTR_OPERATION_SDPA_FWD_PAGE_TABLE_KDESC) != nullptr ||
                     operation.child(CUDNN_ATTR_OPERATION_SDPA_FWD_PAGE_TABLE_VDESC) != nullptr;
  if (paged && operation.child(CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_KVDESC) == nullptr &&
      operation.child(CUDNN_ATTR_OPERATION_SDPA_FWD_CU_SEQ_LEN_KVDESC) == nullptr)
    return bad_parameter("page tables need CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_KVDESC");
  return check_attention(operation,
                         {CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC,
                          CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC},
                         paged);
}

cudnnStatus_t check_transposition(const BackendNode& operation) {
  const Dimensions x = dimensions_at(operation, CUDNN_ATTR_OPERATION_TRANSPOSE_XDESC),
                   y = dimensions_at(operation, CUDNN_ATTR_OPERATION_TRANSPOSE_YDESC),
                   order = operation.integers(CUDNN_ATTR_OPERATION_TRANSPOSE_PERMUTATION);
  if (x.size() != y.size() || order.size() != x.size()) return mismatch("tensors and permutation differ in length");
  std::vector<bool> seen(x.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] < 0 || order[i] >= static_cast<int64_t>(x.size()) || seen[static_cast<size_t>(order[i])])
      return bad_parameter("not a permutation");
    seen[static_cast<size_t>(order[i])] = true;
    if (y[i] != x[static_cast<size_t>(order[i])]) return mismatch("the result is not the permuted input");
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

cudnnStatus_t check_operation(const BackendNode& node) {
  switch (node.type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return check_convolution(node);
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return check_pointwise(node);
    case CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR:
      return check_statistics(node);
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      return check_product(node);
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      return check_reduction(node);
    case CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR:
      return check_resample(node, false);
    case CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR:
      return check_resample(node, true);
    case CUDNN_BACKEND_OPERATION_CONCAT_DESCRIPTOR:
      return check_concatenation(node);
    case CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR:
      return check_norm(node, false);
    case CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR:
      return check_norm(node, true);
    case CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR:
      return all_one(node, CUDNN_ATTR_OPERATION_RNG_SEED) && all_one(node, CUDNN_ATTR_OPERATION_RNG_OFFSET_DESC)
                 ? CUDNN_STATUS_SUCCESS
                 : bad_parameter("seed and offset are tensors of one element");
    case CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR:
      return check_attention_forward(node);
    case CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR:
      return check_attention(node,
                             {CUDNN_ATTR_OPERATION_SDPA_BWD_QDESC, CUDNN_ATTR_OPERATION_SDPA_BWD_KDESC,
                              CUDNN_ATTR_OPERATION_SDPA_BWD_VDESC, CUDNN_ATTR_OPERATION_SDPA_BWD_ODESC},
                             false);
    case CUDNN_BACKEND_OPERATION_TRANSPOSE_DESCRIPTOR:
      return check_transposition(node);
    default:
      return CUDNN_STATUS_SUCCESS;
  }
}

}  // namespace maya::cudnn
