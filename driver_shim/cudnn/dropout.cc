// Dropout: descriptor, states, forward and backward.
#include "driver_shim/common/api.h"
#include "driver_shim/common/driver_access.h"
#include "driver_shim/cudnn/recorded.h"

namespace maya::cudnn {
namespace {

constexpr size_t kGeneratorStateBytes = 48;  // sizeof(curandStateXORWOW_t), curand_kernel.h
constexpr size_t kBitsPerByte = 8;

int device_attribute(CUdevice_attribute attribute) {
  CUdevice device = 0;
  int value = 0;
  const auto get_device = MAYA_DRIVER(cuCtxGetDevice);
  const auto get_attribute = MAYA_DRIVER(cuDeviceGetAttribute);
  if (get_device == nullptr || get_attribute == nullptr || get_device(&device) != CUDA_SUCCESS) return 0;
  return get_attribute(&value, attribute, device) == CUDA_SUCCESS ? value : 0;
}

OperationRecord pass(const char* api, const cudnnTensorStruct& tensor, int64_t direction) {
  OperationRecord record(Family::kElementwise, api);
  record.set(Key::kDataType, static_cast<int64_t>(data_type(tensor.type))).set(Key::kElements, tensor.elements());
  return record.set(Key::kDirection, direction);
}

}  // namespace
}  // namespace maya::cudnn

using namespace maya;
using namespace maya::cudnn;

MAYA_API cudnnStatus_t cudnnCreateDropoutDescriptor(cudnnDropoutDescriptor_t* dropout) { return create(dropout); }
MAYA_API cudnnStatus_t cudnnDestroyDropoutDescriptor(cudnnDropoutDescriptor_t dropout) { return destroy(dropout); }

// One generator state for every thread that the device can hold.
MAYA_API cudnnStatus_t cudnnDropoutGetStatesSize(cudnnHandle_t handle, size_t* bytes) {
  if (!usable(handle)) return fail(CUDNN_STATUS_NOT_INITIALIZED, "not a cuDNN handle");
  if (bytes == nullptr) return null_pointer();
  *bytes = kGeneratorStateBytes * device_attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) *
           device_attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  return CUDNN_STATUS_SUCCESS;
}

// One bit of mask an element.
MAYA_API cudnnStatus_t cudnnDropoutGetReserveSpaceSize(cudnnTensorDescriptor_t x, size_t* bytes) {
  if (x == nullptr || bytes == nullptr) return null_pointer();
  *bytes = (x->elements() + kBitsPerByte - 1) / kBitsPerByte;
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnRestoreDropoutDescriptor(cudnnDropoutDescriptor_t dropout, cudnnHandle_t handle,
                                                     float probability, void* states, size_t state_bytes,
                                                     unsigned long long seed) {
  if (dropout == nullptr) return null_pointer();
  if (!usable(handle)) return fail(CUDNN_STATUS_NOT_INITIALIZED, "not a cuDNN handle");
  *dropout = {probability, states, state_bytes, seed};
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t dropout, cudnnHandle_t handle,
                                                 float probability, void* states, size_t state_bytes,
                                                 unsigned long long seed) {
  const cudnnStatus_t status = cudnnRestoreDropoutDescriptor(dropout, handle, probability, states, state_bytes, seed);
  if (status != CUDNN_STATUS_SUCCESS || states == nullptr) return status;
  size_t needed = 0;
  cudnnDropoutGetStatesSize(handle, &needed);
  if (state_bytes < needed)
    return fail(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, "dropout states smaller than cudnnDropoutGetStatesSize");
  OperationRecord record(Family::kRandom, "cudnnSetDropoutDescriptor");
  record.set(Key::kElements, state_bytes / kGeneratorStateBytes).set(Key::kWrittenBytes, state_bytes);
  shim::WriteList writes;
  writes.add(states, state_bytes);
  return status_of(shim::record(handle->cu_stream(), record, writes));
}

MAYA_API cudnnStatus_t cudnnGetDropoutDescriptor(cudnnDropoutDescriptor_t dropout, cudnnHandle_t, float* probability,
                                                 void** states, unsigned long long* seed) {
  if (dropout == nullptr) return null_pointer();
  give(probability, dropout->dropout), give(seed, dropout->seed);
  if (states != nullptr) *states = dropout->states;
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnDropoutForward(cudnnHandle_t handle, const cudnnDropoutDescriptor_t dropout,
                                           const cudnnTensorDescriptor_t x_desc, const void* x,
                                           const cudnnTensorDescriptor_t y_desc, void* y, void* reserve,
                                           size_t reserve_bytes) {
  if (dropout == nullptr || x_desc == nullptr || y_desc == nullptr || x == nullptr || y == nullptr)
    return null_pointer();
  shim::WriteList writes;
  writes.add(reserve, reserve_bytes);
  writes.add(dropout->states, dropout->state_bytes);
  return run(handle, pass("cudnnDropoutForward", *x_desc, 0), {{x_desc, x}}, {{y_desc, y}}, &writes);
}

MAYA_API cudnnStatus_t cudnnDropoutBackward(cudnnHandle_t handle, const cudnnDropoutDescriptor_t dropout,
                                            const cudnnTensorDescriptor_t dy_desc, const void* dy,
                                            const cudnnTensorDescriptor_t dx_desc, void* dx, void*, size_t) {
  if (dropout == nullptr || dy_desc == nullptr || dx_desc == nullptr || dy == nullptr || dx == nullptr)
    return null_pointer();
  return run(handle, pass("cudnnDropoutBackward", *dx_desc, 1), {{dy_desc, dy}}, {{dx_desc, dx}});
}
