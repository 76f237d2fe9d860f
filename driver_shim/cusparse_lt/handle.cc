// cuSPARSELt: handle, versions, error texts.
#include <cstdint>

#include "driver_shim/common/api.h"
#include "driver_shim/cusparse_lt/objects.h"

using namespace maya::cusparse_lt;

namespace {

constexpr maya::shim::Version kVersion{0, 8, 1};

constexpr const char* kNames[] = {
    "CUSPARSE_STATUS_SUCCESS",          "CUSPARSE_STATUS_NOT_INITIALIZED", "CUSPARSE_STATUS_ALLOC_FAILED",
    "CUSPARSE_STATUS_INVALID_VALUE",    "CUSPARSE_STATUS_ARCH_MISMATCH",   "CUSPARSE_STATUS_MAPPING_ERROR",
    "CUSPARSE_STATUS_EXECUTION_FAILED", "CUSPARSE_STATUS_INTERNAL_ERROR",  "CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED",
    "CUSPARSE_STATUS_ZERO_PIVOT",       "CUSPARSE_STATUS_NOT_SUPPORTED",   "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES"};

const char* name(int status) {
  constexpr int kCount = sizeof kNames / sizeof kNames[0];
  return status < 0 || status >= kCount ? "unrecognized error code" : kNames[status];
}

}  // namespace

MAYA_API int cusparseLtInit(void* handle) {
  if (handle == nullptr) return kInvalidValue;
  store(handle, Handle{});
  return kSuccess;
}

MAYA_API int cusparseLtDestroy(const void* handle) {
  if (const int status = check(handle); status != kSuccess) return status;
  std::memset(const_cast<void*>(handle), 0, sizeof(Handle));
  return kSuccess;
}

MAYA_API int cusparseLtGetVersion(const void* handle, int* version) {
  if (const int status = check(handle); status != kSuccess) return status;
  if (version == nullptr) return kInvalidValue;
  *version = kVersion.number();
  return kSuccess;
}

MAYA_API int cusparseLtGetProperty(int type, int* value) { return maya::shim::get_property(kVersion, type, value); }
MAYA_API const char* cusparseLtGetErrorName(int status) { return name(status); }
MAYA_API const char* cusparseLtGetErrorString(int status) { return name(status); }
