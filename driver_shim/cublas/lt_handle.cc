// cublasLt's handle, versions, status texts, cache and logger settings.
#include "driver_shim/cublas/lt_handle.h"

#include <cuda_runtime_api.h>

#include <atomic>
#include <new>

#include "driver_shim/common/api.h"
#include "driver_shim/common/driver_access.h"

namespace maya::cublas {

int compute_capability() {
  const auto get_device = MAYA_DRIVER(cuCtxGetDevice);
  const auto get_attribute = MAYA_DRIVER(cuDeviceGetAttribute);
  CUdevice device = 0;
  if (get_device == nullptr || get_attribute == nullptr || get_device(&device) != CUDA_SUCCESS) return 0;
  int major = 0, minor = 0;
  get_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  get_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  return major * 10 + minor;
}

namespace {

constexpr size_t kDefaultCacheCapacity = 8192;
std::atomic<size_t> cache_capacity{kDefaultCacheCapacity};

constexpr int kHighestLogLevel = 5;

}  // namespace
}  // namespace maya::cublas

using namespace maya::cublas;

MAYA_API cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = nullptr;
  if (maya::shim::driver() == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new (std::nothrow) cublasLtContext;
  return *handle == nullptr ? CUBLAS_STATUS_ALLOC_FAILED : CUBLAS_STATUS_SUCCESS;
}

MAYA_API cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  if (handle == nullptr || handle->magic != cublasLtContext::kMagic) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->magic = 0;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

MAYA_API cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int* value) {
  return cublasGetProperty(type, value);
}

MAYA_API const char* cublasLtGetStatusName(cublasStatus_t status) { return cublasGetStatusName(status); }

MAYA_API const char* cublasLtGetStatusString(cublasStatus_t status) { return cublasGetStatusString(status); }

MAYA_API cublasStatus_t cublasLtHeuristicsCacheGetCapacity(size_t* capacity) {
  if (capacity == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *capacity = cache_capacity;
  return CUBLAS_STATUS_SUCCESS;
}

MAYA_API cublasStatus_t cublasLtHeuristicsCacheSetCapacity(size_t capacity) {
  cache_capacity = capacity;
  return CUBLAS_STATUS_SUCCESS;
}

MAYA_API cublasStatus_t cublasLtLoggerSetCallback(cublasLtLoggerCallback_t) { return CUBLAS_STATUS_SUCCESS; }

MAYA_API cublasStatus_t cublasLtLoggerSetFile(FILE*) { return CUBLAS_STATUS_SUCCESS; }

MAYA_API cublasStatus_t cublasLtLoggerOpenFile(const char*) { return CUBLAS_STATUS_SUCCESS; }

MAYA_API cublasStatus_t cublasLtLoggerSetLevel(int level) {
  return level < 0 || level > kHighestLogLevel ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}

MAYA_API cublasStatus_t cublasLtLoggerSetMask(int) { return CUBLAS_STATUS_SUCCESS; }

MAYA_API cublasStatus_t cublasLtLoggerForceDisable() { return CUBLAS_STATUS_SUCCESS; }
