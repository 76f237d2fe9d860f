// Batch normalisation of the operation API, plain and Ex. Recorded with channels and the elements that each channel's
// statistics run over.
#include <algorithm>

#include "driver_shim/common/api.h"
#include "driver_shim/cudnn/recorded.h"

namespace maya::cudnn {
namespace {

enum class Direction : int64_t { kForward = 0, kBackward = 1 };

OperationRecord record_of(const char* api, const cudnnTensorStruct& x, Direction direction) {
  const int64_t channels = x.rank > 1 ? x.dims[1] : 1;
  OperationRecord record(Family::kNormalization, api);
  record.set(Key::kDataType, static_cast<int64_t>(data_type(x.type)))
      .set(Key::kDirection, static_cast<int64_t>(direction));
  record.set(Key::kChannels, channels)
      .set(Key::kColumns, channels)
      .set(Key::kRows, x.elements() / std::max<int64_t>(channels, 1));
  record.set(Key::kElements, x.elements());
  return record;
}

cudnnStatus_t zero_bytes(size_t* bytes) {
  if (bytes == nullptr) return null_pointer();
  *bytes = 0;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace
}  // namespace maya::cudnn

using namespace maya;
using namespace maya::cudnn;

// Mode spatial: one value a channel. Per activation: one value for every element of a sample.
MAYA_API cudnnStatus_t cudnnDeriveBNTensorDescriptor(cudnnTensorDescriptor_t derived, const cudnnTensorDescriptor_t x,
                                                     cudnnBatchNormMode_t mode) {
  if (derived == nullptr || x == nullptr) return null_pointer();
  if (x->rank < 2) return bad_parameter("fewer than two dimensions");
  int dims[CUDNN_DIM_MAX];
  for (int i = 0; i < x->rank; ++i)
    dims[i] = i == 1 || (i > 1 && mode == CUDNN_BATCHNORM_PER_ACTIVATION) ? x->dims[i] : 1;
  // "float for half and float data, double for double data."
  const cudnnDataType_t type = x->type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  return cudnnSetTensorNdDescriptorEx(derived, CUDNN_TENSOR_NCHW, type, x->rank, dims);
}

MAYA_API cudnnStatus_t cudnnBatchNormalizationForwardTraining(cudnnHandle_t handle, cudnnBatchNormMode_t, const void*,
                                                              const void*, const cudnnTensorDescriptor_t x_desc,
                                                              const void* x, const cudnnTensorDescriptor_t y_desc,
                                                              void* y, const cudnnTensorDescriptor_t statistics,
                                                              const void* scale, const void* bias, double,
                                                              void* running_mean, void* running_variance, double,
                                                              void* saved_mean, void* saved_inverse_variance) {
  if (x_desc == nullptr || y_desc == nullptr || statistics == nullptr || x == nullptr || y == nullptr)
    return null_pointer();
  return run(handle, record_of("cudnnBatchNormalizationForwardTraining", *x_desc, Direction::kForward),
             {{x_desc, x}, {statistics, scale}, {statistics, bias}},
             {{y_desc, y},
              {statistics, running_mean},
              {statistics, running_variance},
              {statistics, saved_mean},
              {statistics, saved_inverse_variance}});
}

MAYA_API cudnnStatus_t cudnnBatchNormalizationForwardTrainingEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const void*, const void*,
    const cudnnTensorDescriptor_t x_desc, const void* x, const cudnnTensorDescriptor_t z_desc, const void* z,
    const cudnnTensorDescriptor_t y_desc, void* y, const cudnnTensorDescriptor_t statistics, const void* scale,
    const void* bias, double, void* running_mean, void* running_variance, double, void* saved_mean,
    void* saved_inverse_variance, cudnnActivationDescriptor_t, void*, size_t, void* reserve, size_t reserve_bytes) {
  if (x_desc == nullptr || y_desc == nullptr || statistics == nullptr || x == nullptr || y == nullptr)
    return null_pointer();
  shim::WriteList writes;
  writes.add(reserve, reserve_bytes);
  return run(handle, record_of("cudnnBatchNormalizationForwardTrainingEx", *x_desc, Direction::kForward),
             {{x_desc, x}, {z_desc, z}, {statistics, scale}, {statistics, bias}},
             {{y_desc, y},
              {statistics, running_mean},
              {statistics, running_variance},
              {statistics, saved_mean},
              {statistics, saved_inverse_variance}},
             &writes);
}

MAYA_API cudnnStatus_t cudnnBatchNormalizationForwardInference(cudnnHandle_t handle, cudnnBatchNormMode_t, const void*,
                                                               const void*, const cudnnTensorDescriptor_t x_desc,
                                                               const void* x, const cudnnTensorDescriptor_t y_desc,
                                                               void* y, const cudnnTensorDescriptor_t statistics,
                                                               const void* scale, const void* bias, const void* mean,
                                                               const void* variance, double) {
  if (x_desc == nullptr || y_desc == nullptr || statistics == nullptr || x == nullptr || y == nullptr)
    return null_pointer();
  return run(handle, record_of("cudnnBatchNormalizationForwardInference", *x_desc, Direction::kForward),
             {{x_desc, x}, {statistics, scale}, {statistics, bias}, {statistics, mean}, {statistics, variance}},
             {{y_desc, y}});
}

MAYA_API cudnnStatus_t cudnnBatchNormalizationBackward(
    cudnnHandle_t handle, cudnnBatchNormMode_t, const void*, const void*, const void*, const void*,
    const cudnnTensorDescriptor_t x_desc, const void* x, const cudnnTensorDescriptor_t dy_desc, const void* dy,
    const cudnnTensorDescriptor_t dx_desc, void* dx, const cudnnTensorDescriptor_t statistics, const void* scale,
    void* scale_gradient, void* bias_gradient, double, const void* saved_mean, const void* saved_inverse_variance) {
  if (x_desc == nullptr || dy_desc == nullptr || dx_desc == nullptr || statistics == nullptr) return null_pointer();
  return run(
      handle, record_of("cudnnBatchNormalizationBackward", *x_desc, Direction::kBackward),
      {{x_desc, x}, {dy_desc, dy}, {statistics, scale}, {statistics, saved_mean}, {statistics, saved_inverse_variance}},
      {{dx_desc, dx}, {statistics, scale_gradient}, {statistics, bias_gradient}});
}

MAYA_API cudnnStatus_t cudnnBatchNormalizationBackwardEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const void*, const void*, const void*, const void*,
    const cudnnTensorDescriptor_t x_desc, const void* x, const cudnnTensorDescriptor_t y_desc, const void* y,
    const cudnnTensorDescriptor_t dy_desc, const void* dy, const cudnnTensorDescriptor_t dz_desc, void* dz,
    const cudnnTensorDescriptor_t dx_desc, void* dx, const cudnnTensorDescriptor_t statistics, const void* scale,
    const void* bias, void* scale_gradient, void* bias_gradient, double, const void* saved_mean,
    const void* saved_inverse_variance, cudnnActivationDescriptor_t, void*, size_t, void*, size_t) {
  if (x_desc == nullptr || dy_desc == nullptr || dx_desc == nullptr || statistics == nullptr) return null_pointer();
  return run(handle, record_of("cudnnBatchNormalizationBackwardEx", *x_desc, Direction::kBackward),
             {{x_desc, x},
              {y_desc, y},
              {dy_desc, dy},
              {statistics, scale},
              {statistics, bias},
              {statistics, saved_mean},
              {statistics, saved_inverse_variance}},
             {{dx_desc, dx}, {dz_desc, dz}, {statistics, scale_gradient}, {statistics, bias_gradient}});
}

// None of the recorded forms needs scratch memory; with an activation fused in, the reserve holds one bit an element.
MAYA_API cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnActivationDescriptor_t, size_t* bytes) {
  return zero_bytes(bytes);
}

MAYA_API cudnnStatus_t cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnActivationDescriptor_t, size_t* bytes) {
  return zero_bytes(bytes);
}

MAYA_API cudnnStatus_t cudnnGetBatchNormalizationTrainingExReserveSpaceSize(cudnnHandle_t, cudnnBatchNormMode_t,
                                                                            cudnnBatchNormOps_t operations,
                                                                            const cudnnActivationDescriptor_t,
                                                                            const cudnnTensorDescriptor_t x,
                                                                            size_t* bytes) {
  constexpr size_t kBitsPerByte = 8;
  if (x == nullptr || bytes == nullptr) return null_pointer();
  *bytes = operations == CUDNN_BATCHNORM_OPS_BN ? 0 : (x->elements() + kBitsPerByte - 1) / kBitsPerByte;
  return CUDNN_STATUS_SUCCESS;
}
