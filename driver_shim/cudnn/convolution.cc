// Convolutions of the operation API: forward, backward for data, filters and bias, and forward with bias and
// activation.
#include "driver_shim/common/api.h"
#include "driver_shim/cudnn/convolution_operands.h"
#include "driver_shim/cudnn/recorded.h"

namespace maya::cudnn {
namespace {

struct Scratch {
  void* address;
  size_t bytes;
};

// What a convolution writes: where, and how many bytes from first to last.
struct Result {
  void* address;
  uint64_t span_bytes;
};

bool is_zero(const void* factor, cudnnDataType_t type) {
  if (factor == nullptr) return true;
  return type == CUDNN_DATA_DOUBLE ? *static_cast<const double*>(factor) == 0 : *static_cast<const float*>(factor) == 0;
}

template <typename Algorithm>
cudnnStatus_t run_convolution(cudnnHandle_t handle, const ConvolutionShape& shape, Algorithm algorithm,
                              const Scratch& scratch, const Result& result, uint64_t also_read_bytes, const char* api) {
  ConvolutionMethod method;
  if (!method_of(algorithm, &method) || !supports(shape, method, compute_capability_major()))
    return fail(CUDNN_STATUS_NOT_SUPPORTED, "the algorithm does not support this convolution");
  const uint64_t needed = workspace_bytes(shape, method);
  if (needed > scratch.bytes)
    return fail(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, "workspace smaller than the algorithm needs");
  if (needed > 0 && scratch.address == nullptr) return null_pointer();
  OperationRecord record = convolution_record(shape, method, api);
  const int64_t read = record.get(Key::kReadBytes) + static_cast<int64_t>(also_read_bytes);
  record.clear(Key::kReadBytes);
  record.set(Key::kReadBytes, read);
  shim::WriteList writes;
  writes.add(result.address, result.span_bytes);
  writes.add(scratch.address, needed);
  return status_of(shim::record(handle->cu_stream(), record, writes));
}

}  // namespace
}  // namespace maya::cudnn

using namespace maya;
using namespace maya::cudnn;

MAYA_API cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha,
                                               const cudnnTensorDescriptor_t x_desc, const void* x,
                                               const cudnnFilterDescriptor_t w_desc, const void* w,
                                               const cudnnConvolutionDescriptor_t convolution,
                                               cudnnConvolutionFwdAlgo_t algorithm, void* workspace,
                                               size_t workspace_size, const void* beta,
                                               const cudnnTensorDescriptor_t y_desc, void* y) {
  if (!usable(handle)) return fail(CUDNN_STATUS_NOT_INITIALIZED, "not a cuDNN handle");
  if (alpha == nullptr || beta == nullptr || x == nullptr || w == nullptr || y == nullptr) return null_pointer();
  ConvolutionShape shape;
  if (const cudnnStatus_t status =
          convolution_shape(ConvolutionDirection::kForward, x_desc, w_desc, convolution, y_desc, &shape);
      status != CUDNN_STATUS_SUCCESS)
    return status;
  return run_convolution(handle, shape, algorithm, {workspace, workspace_size}, {y, y_desc->span_bytes()},
                         is_zero(beta, shape.type) ? 0 : y_desc->bytes(), "cudnnConvolutionForward");
}

MAYA_API cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha,
                                                    const cudnnFilterDescriptor_t w_desc, const void* w,
                                                    const cudnnTensorDescriptor_t dy_desc, const void* dy,
                                                    const cudnnConvolutionDescriptor_t convolution,
                                                    cudnnConvolutionBwdDataAlgo_t algorithm, void* workspace,
                                                    size_t workspace_size, const void* beta,
                                                    const cudnnTensorDescriptor_t dx_desc, void* dx) {
  if (!usable(handle)) return fail(CUDNN_STATUS_NOT_INITIALIZED, "not a cuDNN handle");
  if (alpha == nullptr || beta == nullptr || w == nullptr || dy == nullptr || dx == nullptr) return null_pointer();
  ConvolutionShape shape;
  if (const cudnnStatus_t status =
          convolution_shape(ConvolutionDirection::kBackwardData, dx_desc, w_desc, convolution, dy_desc, &shape);
      status != CUDNN_STATUS_SUCCESS)
    return status;
  return run_convolution(handle, shape, algorithm, {workspace, workspace_size}, {dx, dx_desc->span_bytes()},
                         is_zero(beta, shape.type) ? 0 : dx_desc->bytes(), "cudnnConvolutionBackwardData");
}

MAYA_API cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void* alpha,
                                                      const cudnnTensorDescriptor_t x_desc, const void* x,
                                                      const cudnnTensorDescriptor_t dy_desc, const void* dy,
                                                      const cudnnConvolutionDescriptor_t convolution,
                                                      cudnnConvolutionBwdFilterAlgo_t algorithm, void* workspace,
                                                      size_t workspace_size, const void* beta,
                                                      const cudnnFilterDescriptor_t dw_desc, void* dw) {
  if (!usable(handle)) return fail(CUDNN_STATUS_NOT_INITIALIZED, "not a cuDNN handle");
  if (alpha == nullptr || beta == nullptr || x == nullptr || dy == nullptr || dw == nullptr) return null_pointer();
  ConvolutionShape shape;
  if (const cudnnStatus_t status =
          convolution_shape(ConvolutionDirection::kBackwardFilter, x_desc, dw_desc, convolution, dy_desc, &shape);
      status != CUDNN_STATUS_SUCCESS)
    return status;
  return run_convolution(handle, shape, algorithm, {workspace, workspace_size}, {dw, dw_desc->bytes()},
                         is_zero(beta, shape.type) ? 0 : dw_desc->bytes(), "cudnnConvolutionBackwardFilter");
}

// "The residual z may be y itself; the activation is ReLU, or identity, which only the implicit product with
// precomputed indices supports."
MAYA_API cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t handle, const void* alpha1, const cudnnTensorDescriptor_t x_desc, const void* x,
    const cudnnFilterDescriptor_t w_desc, const void* w, const cudnnConvolutionDescriptor_t convolution,
    cudnnConvolutionFwdAlgo_t algorithm, void* workspace, size_t workspace_size, const void* alpha2,
    const cudnnTensorDescriptor_t z_desc, const void* z, const cudnnTensorDescriptor_t bias_desc, const void* bias,
    const cudnnActivationDescriptor_t activation, const cudnnTensorDescriptor_t y_desc, void* y) {
  if (!usable(handle)) return fail(CUDNN_STATUS_NOT_INITIALIZED, "not a cuDNN handle");
  if (alpha1 == nullptr || alpha2 == nullptr || x == nullptr || w == nullptr || z_desc == nullptr || z == nullptr ||
      bias_desc == nullptr || bias == nullptr || activation == nullptr || y == nullptr)
    return null_pointer();
  ConvolutionShape shape;
  if (const cudnnStatus_t status =
          convolution_shape(ConvolutionDirection::kForward, x_desc, w_desc, convolution, y_desc, &shape);
      status != CUDNN_STATUS_SUCCESS)
    return status;
  if (activation->mode != CUDNN_ACTIVATION_RELU && activation->mode != CUDNN_ACTIVATION_IDENTITY)
    return fail(CUDNN_STATUS_NOT_SUPPORTED, "the activation is neither ReLU nor identity");
  if (activation->mode == CUDNN_ACTIVATION_IDENTITY && algorithm != CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM)
    return fail(CUDNN_STATUS_NOT_SUPPORTED, "identity needs CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM");
  if (bias_desc->elements() != shape.filters)
    return fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "the bias has not one value for each filter");
  if (z_desc->elements() != y_desc->elements())
    return fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "residual and result differ in size");
  const uint64_t also = bias_desc->bytes() + (is_zero(alpha2, shape.type) ? 0 : z_desc->bytes());
  return run_convolution(handle, shape, algorithm, {workspace, workspace_size}, {y, y_desc->span_bytes()}, also,
                         "cudnnConvolutionBiasActivationForward");
}

MAYA_API cudnnStatus_t cudnnConvolutionBackwardBias(cudnnHandle_t handle, const void* alpha,
                                                    const cudnnTensorDescriptor_t dy_desc, const void* dy,
                                                    const void* beta, const cudnnTensorDescriptor_t db_desc, void* db) {
  if (alpha == nullptr || beta == nullptr || dy_desc == nullptr || dy == nullptr || db_desc == nullptr || db == nullptr)
    return null_pointer();
  if (dy_desc->type != db_desc->type) return bad_parameter("the data types of the gradients differ");
  if (dy_desc->rank < 2 || db_desc->rank < 2 || db_desc->elements() != db_desc->dims[1] ||
      db_desc->dims[1] != dy_desc->dims[1])
    return bad_parameter("the bias has not one value for each map");
  OperationRecord record(Family::kReduction, "cudnnConvolutionBackwardBias");
  record.set(Key::kDataType, static_cast<int64_t>(data_type(dy_desc->type)))
      .set(Key::kOperator, static_cast<int64_t>(Operator::kSum))
      .set(Key::kElements, dy_desc->elements());
  return run(handle, record, {{dy_desc, dy}}, {{db_desc, db}});
}

// The columns of every image: each result pixel's window of all channels.
MAYA_API cudnnStatus_t cudnnIm2Col(cudnnHandle_t handle, const cudnnTensorDescriptor_t x_desc, const void* x,
                                   const cudnnFilterDescriptor_t w_desc, const cudnnConvolutionDescriptor_t convolution,
                                   void* columns) {
  if (!usable(handle)) return fail(CUDNN_STATUS_NOT_INITIALIZED, "not a cuDNN handle");
  if (x_desc == nullptr || x == nullptr || w_desc == nullptr || convolution == nullptr || columns == nullptr)
    return null_pointer();
  int dims[CUDNN_DIM_MAX] = {};
  if (const cudnnStatus_t status =
          cudnnGetConvolutionNdForwardOutputDim(convolution, x_desc, w_desc, x_desc->rank, dims);
      status != CUDNN_STATUS_SUCCESS)
    return status;
  uint64_t elements = static_cast<uint64_t>(dims[0]) * w_desc->dims[1] * convolution->groups;
  for (int i = 2; i < x_desc->rank; ++i) elements *= static_cast<uint64_t>(dims[i]) * w_desc->dims[i];
  const uint64_t bytes = storage_bytes(x_desc->type, elements);
  OperationRecord record(Family::kIndex, "cudnnIm2Col");
  record.set(Key::kDataType, static_cast<int64_t>(data_type(x_desc->type)))
      .set(Key::kElements, static_cast<int64_t>(elements))
      .set(Key::kReadBytes, static_cast<int64_t>(x_desc->bytes()))
      .set(Key::kWrittenBytes, static_cast<int64_t>(bytes));
  shim::WriteList writes;
  writes.add(columns, bytes);
  return status_of(shim::record(handle->cu_stream(), record, writes));
}

MAYA_API cudnnStatus_t cudnnReorderFilterAndBias(cudnnHandle_t handle, const cudnnFilterDescriptor_t filter_desc,
                                                 cudnnReorderType_t, const void* filter, void* reordered_filter,
                                                 int reorder_bias, const void* bias, void* reordered_bias) {
  if (!usable(handle)) return fail(CUDNN_STATUS_NOT_INITIALIZED, "not a cuDNN handle");
  if (filter_desc == nullptr || filter == nullptr || reordered_filter == nullptr ||
      (reorder_bias != 0 && (bias == nullptr || reordered_bias == nullptr)))
    return null_pointer();
  const uint64_t bias_bytes = reorder_bias != 0 ? static_cast<uint64_t>(filter_desc->dims[0]) * sizeof(float) : 0;
  const auto bytes = static_cast<int64_t>(filter_desc->bytes() + bias_bytes);
  OperationRecord record(Family::kElementwise, "cudnnReorderFilterAndBias");
  record.set(Key::kDataType, static_cast<int64_t>(data_type(filter_desc->type)))
      .set(Key::kOperator, static_cast<int64_t>(Operator::kCopy))
      .set(Key::kElements, filter_desc->elements())
      .set(Key::kReadBytes, bytes)
      .set(Key::kWrittenBytes, bytes);
  shim::WriteList writes;
  writes.add(reordered_filter, filter_desc->bytes());
  writes.add(reordered_bias, bias_bytes);
  return status_of(shim::record(handle->cu_stream(), record, writes));
}
