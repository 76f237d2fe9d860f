// Versions, status texts and the logger: what needs no handle state.
#include <atomic>

#include "driver_shim/common/api.h"
#include "driver_shim/cublas/handle.h"
#include "driver_shim/cublas/release.h"

namespace {

std::atomic<cublasLogCallback> logger_callback{nullptr};

}  // namespace

MAYA_API cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int* version) {
  if (version == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *version = maya::cublas::kVersion;
  return CUBLAS_STATUS_SUCCESS;
}

MAYA_API cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  switch (type) {
    case MAJOR_VERSION:
      *value = maya::cublas::kMajor;
      return CUBLAS_STATUS_SUCCESS;
    case MINOR_VERSION:
      *value = maya::cublas::kMinor;
      return CUBLAS_STATUS_SUCCESS;
    case PATCH_LEVEL:
      *value = maya::cublas::kPatch;
      return CUBLAS_STATUS_SUCCESS;
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

MAYA_API size_t cublasGetCudartVersion(void) { return maya::cublas::kRuntimeVersion; }

MAYA_API const char* cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_LICENSE_ERROR:
      return "CUBLAS_STATUS_LICENSE_ERROR";
  }
  return "unknown cuBLAS status";
}

MAYA_API const char* cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "success";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "the library was not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "the resource allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "an unsupported value or parameter was passed to the function";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "the function needs a feature that the device lacks";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "an access to GPU memory space failed";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "the function failed to launch on the GPU";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "an internal operation failed";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "the functionality requested is not supported";
    case CUBLAS_STATUS_LICENSE_ERROR:
      return "the functionality requested requires a license";
  }
  return "unknown cuBLAS status";
}

MAYA_API cublasStatus_t cublasLoggerConfigure(int, int, int, const char*) { return CUBLAS_STATUS_SUCCESS; }

MAYA_API cublasStatus_t cublasSetLoggerCallback(cublasLogCallback callback) {
  logger_callback = callback;
  return CUBLAS_STATUS_SUCCESS;
}

MAYA_API cublasStatus_t cublasGetLoggerCallback(cublasLogCallback* callback) {
  if (callback == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *callback = logger_callback;
  return CUBLAS_STATUS_SUCCESS;
}
