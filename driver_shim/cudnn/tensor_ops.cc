// Operations on whole tensors: activation, softmax, pooling, tensor arithmetic, reduction. Each is one pass, recorded
// with its bytes.
#include <algorithm>

#include "driver_shim/common/api.h"
#include "driver_shim/cudnn/recorded.h"

namespace maya::cudnn {
namespace {

enum class Direction : int64_t { kForward = 0, kBackward = 1 };

OperationRecord pass(Family family, const char* api, const cudnnTensorStruct& tensor,
                     Direction direction = Direction::kForward) {
  OperationRecord record(family, api);
  record.set(Key::kDataType, static_cast<int64_t>(data_type(tensor.type))).set(Key::kElements, tensor.elements());
  record.set(Key::kDirection, static_cast<int64_t>(direction));
  return record;
}

// Softmax over the channels of each position, or over all of a sample.
OperationRecord softmax_pass(const char* api, const cudnnTensorStruct& tensor, cudnnSoftmaxMode_t mode,
                             Direction direction) {
  OperationRecord record = pass(Family::kSoftmax, api, tensor, direction);
  const int64_t samples = tensor.rank > 0 ? tensor.dims[0] : 1, channels = tensor.rank > 1 ? tensor.dims[1] : 1;
  const int64_t columns =
      mode == CUDNN_SOFTMAX_MODE_CHANNEL ? channels : tensor.elements() / std::max<int64_t>(samples, 1);
  return record.set(Key::kColumns, columns).set(Key::kRows, tensor.elements() / std::max<int64_t>(columns, 1));
}

}  // namespace
}  // namespace maya::cudnn

using namespace maya;
using namespace maya::cudnn;

MAYA_API cudnnStatus_t cudnnActivationForward(cudnnHandle_t handle, cudnnActivationDescriptor_t activation, const void*,
                                              const cudnnTensorDescriptor_t x_desc, const void* x, const void*,
                                              const cudnnTensorDescriptor_t y_desc, void* y) {
  if (activation == nullptr || x_desc == nullptr || y_desc == nullptr || x == nullptr || y == nullptr)
    return null_pointer();
  return run(handle, pass(Family::kElementwise, "cudnnActivationForward", *x_desc), {{x_desc, x}}, {{y_desc, y}});
}

MAYA_API cudnnStatus_t cudnnActivationBackward(cudnnHandle_t handle, cudnnActivationDescriptor_t activation,
                                               const void*, const cudnnTensorDescriptor_t y_desc, const void* y,
                                               const cudnnTensorDescriptor_t dy_desc, const void* dy,
                                               const cudnnTensorDescriptor_t x_desc, const void* x, const void*,
                                               const cudnnTensorDescriptor_t dx_desc, void* dx) {
  if (activation == nullptr || dy_desc == nullptr || dx_desc == nullptr || dy == nullptr || dx == nullptr)
    return null_pointer();
  return run(handle, pass(Family::kElementwise, "cudnnActivationBackward", *dx_desc, Direction::kBackward),
             {{y_desc, y}, {dy_desc, dy}, {x_desc, x}}, {{dx_desc, dx}});
}

MAYA_API cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t, cudnnSoftmaxMode_t mode,
                                           const void*, const cudnnTensorDescriptor_t x_desc, const void* x,
                                           const void*, const cudnnTensorDescriptor_t y_desc, void* y) {
  if (x_desc == nullptr || y_desc == nullptr || x == nullptr || y == nullptr) return null_pointer();
  return run(handle, softmax_pass("cudnnSoftmaxForward", *x_desc, mode, Direction::kForward), {{x_desc, x}},
             {{y_desc, y}});
}

MAYA_API cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t, cudnnSoftmaxMode_t mode,
                                            const void*, const cudnnTensorDescriptor_t y_desc, const void* y,
                                            const cudnnTensorDescriptor_t dy_desc, const void* dy, const void*,
                                            const cudnnTensorDescriptor_t dx_desc, void* dx) {
  if (y_desc == nullptr || dy_desc == nullptr || dx_desc == nullptr) return null_pointer();
  return run(handle, softmax_pass("cudnnSoftmaxBackward", *dx_desc, mode, Direction::kBackward),
             {{y_desc, y}, {dy_desc, dy}}, {{dx_desc, dx}});
}

MAYA_API cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t pooling, const void*,
                                           const cudnnTensorDescriptor_t x_desc, const void* x, const void*,
                                           const cudnnTensorDescriptor_t y_desc, void* y) {
  if (pooling == nullptr || x_desc == nullptr || y_desc == nullptr || x == nullptr || y == nullptr)
    return null_pointer();
  return run(handle, pass(Family::kPooling, "cudnnPoolingForward", *y_desc), {{x_desc, x}}, {{y_desc, y}});
}

MAYA_API cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t pooling, const void*,
                                            const cudnnTensorDescriptor_t y_desc, const void* y,
                                            const cudnnTensorDescriptor_t dy_desc, const void* dy,
                                            const cudnnTensorDescriptor_t x_desc, const void* x, const void*,
                                            const cudnnTensorDescriptor_t dx_desc, void* dx) {
  if (pooling == nullptr || dy_desc == nullptr || dx_desc == nullptr) return null_pointer();
  return run(handle, pass(Family::kPooling, "cudnnPoolingBackward", *dx_desc, Direction::kBackward),
             {{y_desc, y}, {dy_desc, dy}, {x_desc, x}}, {{dx_desc, dx}});
}

MAYA_API cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void*, const cudnnTensorDescriptor_t a_desc,
                                      const void* a, const void*, const cudnnTensorDescriptor_t c_desc, void* c) {
  if (a_desc == nullptr || c_desc == nullptr || a == nullptr || c == nullptr) return null_pointer();
  return run(handle, pass(Family::kElementwise, "cudnnAddTensor", *c_desc), {{a_desc, a}, {c_desc, c}}, {{c_desc, c}});
}

MAYA_API cudnnStatus_t cudnnOpTensor(cudnnHandle_t handle, const cudnnOpTensorDescriptor_t operation, const void*,
                                     const cudnnTensorDescriptor_t a_desc, const void* a, const void*,
                                     const cudnnTensorDescriptor_t b_desc, const void* b, const void*,
                                     const cudnnTensorDescriptor_t c_desc, void* c) {
  if (operation == nullptr || a_desc == nullptr || c_desc == nullptr || a == nullptr || c == nullptr)
    return null_pointer();
  return run(handle, pass(Family::kElementwise, "cudnnOpTensor", *c_desc), {{a_desc, a}, {b_desc, b}}, {{c_desc, c}});
}

MAYA_API cudnnStatus_t cudnnScaleTensor(cudnnHandle_t handle, const cudnnTensorDescriptor_t y_desc, void* y,
                                        const void*) {
  if (y_desc == nullptr || y == nullptr) return null_pointer();
  return run(handle, pass(Family::kElementwise, "cudnnScaleTensor", *y_desc), {{y_desc, y}}, {{y_desc, y}});
}

MAYA_API cudnnStatus_t cudnnSetTensor(cudnnHandle_t handle, const cudnnTensorDescriptor_t y_desc, void* y,
                                      const void* value) {
  if (y_desc == nullptr || y == nullptr || value == nullptr) return null_pointer();
  return run(handle, pass(Family::kFill, "cudnnSetTensor", *y_desc), {}, {{y_desc, y}});
}

MAYA_API cudnnStatus_t cudnnTransformTensor(cudnnHandle_t handle, const void*, const cudnnTensorDescriptor_t x_desc,
                                            const void* x, const void*, const cudnnTensorDescriptor_t y_desc, void* y) {
  if (x_desc == nullptr || y_desc == nullptr || x == nullptr || y == nullptr) return null_pointer();
  return run(handle, pass(Family::kElementwise, "cudnnTransformTensor", *y_desc), {{x_desc, x}}, {{y_desc, y}});
}

MAYA_API cudnnStatus_t cudnnGetReductionWorkspaceSize(cudnnHandle_t, const cudnnReduceTensorDescriptor_t reduction,
                                                      const cudnnTensorDescriptor_t a, const cudnnTensorDescriptor_t c,
                                                      size_t* bytes) {
  if (reduction == nullptr || a == nullptr || c == nullptr || bytes == nullptr) return null_pointer();
  *bytes = 0;
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetReductionIndicesSize(cudnnHandle_t, const cudnnReduceTensorDescriptor_t reduction,
                                                    const cudnnTensorDescriptor_t a, const cudnnTensorDescriptor_t c,
                                                    size_t* bytes) {
  if (reduction == nullptr || a == nullptr || c == nullptr || bytes == nullptr) return null_pointer();
  *bytes = reduction->indices == CUDNN_REDUCE_TENSOR_NO_INDICES ? 0 : c->elements() * sizeof(uint32_t);
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnReduceTensor(cudnnHandle_t handle, const cudnnReduceTensorDescriptor_t reduction,
                                         void* indices, size_t indices_bytes, void*, size_t, const void*,
                                         const cudnnTensorDescriptor_t a_desc, const void* a, const void*,
                                         const cudnnTensorDescriptor_t c_desc, void* c) {
  if (reduction == nullptr || a_desc == nullptr || c_desc == nullptr || a == nullptr || c == nullptr)
    return null_pointer();
  shim::WriteList writes;
  if (reduction->indices != CUDNN_REDUCE_TENSOR_NO_INDICES) writes.add(indices, indices_bytes);
  return run(handle, pass(Family::kReduction, "cudnnReduceTensor", *a_desc), {{a_desc, a}}, {{c_desc, c}}, &writes);
}
