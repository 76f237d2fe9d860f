// Handles, streams, versions, callbacks, last error.
#include "driver_shim/cudnn/handle.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "driver_shim/common/api.h"
#include "driver_shim/common/current_context.h"
#include "driver_shim/common/driver_access.h"

namespace maya::cudnn {
namespace {

thread_local const char* last_error = "";

struct Callback {
  std::mutex mutex;
  unsigned mask = 0;
  void* data = nullptr;
  cudnnCallback_t function = nullptr;
};

// Never destroyed: calls may come from static destructors.
Callback& callback() {
  static Callback* const made = new Callback;
  return *made;
}

cudnnStatus_t make_context_current() {
  CUcontext context = nullptr;
  return shim::make_context_current(&context) == CUDA_SUCCESS
             ? CUDNN_STATUS_SUCCESS
             : fail(CUDNN_STATUS_NOT_INITIALIZED,
                    "no context can be made current: the driver library is missing or refuses");
}

}  // namespace

cudnnStatus_t fail(cudnnStatus_t status, const char* text) {
  last_error = text;
  return status;
}

cudnnStatus_t status_of(CUresult result) {
  switch (result) {
    case CUDA_SUCCESS:
      return CUDNN_STATUS_SUCCESS;
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_INVALID_CONTEXT:
      return fail(CUDNN_STATUS_NOT_INITIALIZED, "the driver is not initialized or no context is current");
    case CUDA_ERROR_OUT_OF_MEMORY:
      return fail(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED, "out of device memory");
    default:
      return fail(CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER, "the driver refused the operation");
  }
}

}  // namespace maya::cudnn

using namespace maya::cudnn;

MAYA_API size_t cudnnGetVersion(void) { return CUDNN_VERSION; }

MAYA_API size_t cudnnGetMaxDeviceVersion(void) { return CUDNN_MAX_DEVICE_VERSION; }

MAYA_API size_t cudnnGetCudartVersion(void) { return CUDART_VERSION; }

MAYA_API cudnnStatus_t cudnnGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr) return null_pointer();
  switch (type) {
    case MAJOR_VERSION:
      *value = CUDNN_MAJOR;
      return CUDNN_STATUS_SUCCESS;
    case MINOR_VERSION:
      *value = CUDNN_MINOR;
      return CUDNN_STATUS_SUCCESS;
    case PATCH_LEVEL:
      *value = CUDNN_PATCHLEVEL;
      return CUDNN_STATUS_SUCCESS;
  }
  return bad_parameter("no such library property");
}

MAYA_API cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  if (handle == nullptr) return null_pointer();
  *handle = nullptr;
  if (const cudnnStatus_t status = make_context_current(); status != CUDNN_STATUS_SUCCESS) return status;
  return create(handle);
}

MAYA_API cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  if (handle == nullptr) return CUDNN_STATUS_SUCCESS;
  if (!usable(handle)) return bad_parameter("not a cuDNN handle");
  handle->magic = 0;
  return destroy(handle);
}

MAYA_API cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  if (!usable(handle)) return bad_parameter("not a cuDNN handle");
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  if (!usable(handle)) return bad_parameter("not a cuDNN handle");
  if (stream == nullptr) return null_pointer();
  *stream = handle->stream;
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API void cudnnGetLastErrorString(char* message, size_t max_bytes) {
  if (message == nullptr || max_bytes == 0) return;
  const size_t length = std::min(std::strlen(last_error), max_bytes - 1);
  std::memcpy(message, last_error, length);
  message[length] = '\0';
  last_error = "";
}

MAYA_API cudnnStatus_t cudnnQueryRuntimeError(cudnnHandle_t handle, cudnnStatus_t* status, cudnnErrQueryMode_t,
                                              cudnnRuntimeTag_t*) {
  if (!usable(handle)) return bad_parameter("not a cuDNN handle");
  if (status == nullptr) return null_pointer();
  *status = CUDNN_STATUS_SUCCESS;
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnSetCallback(unsigned mask, void* data, cudnnCallback_t function) {
  Callback& current = callback();
  std::lock_guard<std::mutex> lock(current.mutex);
  current.mask = mask, current.data = data, current.function = function;
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetCallback(unsigned* mask, void** data, cudnnCallback_t* function) {
  Callback& current = callback();
  std::lock_guard<std::mutex> lock(current.mutex);
  give(mask, current.mask);
  give(data, current.data);
  give(function, current.function);
  return CUDNN_STATUS_SUCCESS;
}

// All parts come from one build.
MAYA_API cudnnStatus_t cudnnGraphVersionCheck(void) { return CUDNN_STATUS_SUCCESS; }
MAYA_API cudnnStatus_t cudnnOpsVersionCheck(void) { return CUDNN_STATUS_SUCCESS; }
MAYA_API cudnnStatus_t cudnnCnnVersionCheck(void) { return CUDNN_STATUS_SUCCESS; }
MAYA_API cudnnStatus_t cudnnAdvVersionCheck(void) { return CUDNN_STATUS_SUCCESS; }
MAYA_API cudnnStatus_t cudnnSubquadraticOpsVersionCheck(void) { return CUDNN_STATUS_SUCCESS; }
