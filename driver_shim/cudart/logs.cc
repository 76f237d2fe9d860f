// The error log of CUDA 12.8 and later: this runtime writes none, so there is nothing to call back or dump.
#include "driver_shim/cudart/runtime.h"

using namespace maya::cudart;

namespace {
char callback_token;  // its address is the handle of every registration
}

MAYA_API cudaError_t cudaLogsRegisterCallback(cudaLogsCallback_t callback, void*, cudaLogsCallbackHandle* handle) {
  if (callback == nullptr) return fail(cudaErrorInvalidValue);
  if (handle != nullptr) *handle = reinterpret_cast<cudaLogsCallbackHandle>(&callback_token);
  return cudaSuccess;
}
MAYA_API cudaError_t cudaLogsUnregisterCallback(cudaLogsCallbackHandle handle) {
  return handle == reinterpret_cast<cudaLogsCallbackHandle>(&callback_token) ? cudaSuccess
                                                                             : fail(cudaErrorInvalidValue);
}
MAYA_API cudaError_t cudaLogsCurrent(cudaLogIterator* iterator, unsigned flags) {
  if (iterator == nullptr || flags != 0) return fail(cudaErrorInvalidValue);
  *iterator = 0;
  return cudaSuccess;
}
MAYA_API cudaError_t cudaLogsDumpToFile(cudaLogIterator*, const char* path, unsigned flags) {
  return path != nullptr && flags == 0 ? cudaSuccess : fail(cudaErrorInvalidValue);
}
MAYA_API cudaError_t cudaLogsDumpToMemory(cudaLogIterator*, char* buffer, size_t* size, unsigned flags) {
  if (buffer == nullptr || size == nullptr || flags != 0) return fail(cudaErrorInvalidValue);
  if (*size > 0) *buffer = '\0';
  *size = 0;
  return cudaSuccess;
}
