// cuSPARSELt: handle, version, error texts. The handle is the caller's storage (512 bytes); ours needs no more than a
// mark in it.
#include <cstdint>
#include <cstring>

#include "driver_shim/common/api.h"
#include "driver_shim/stubs/library_handle.h"

using namespace maya::stubs;

namespace {

constexpr Version kVersion{0, 8, 1};
constexpr uint64_t kMagic = 0x6d617961736c7468;

bool usable(const void* handle) {
  uint64_t mark = 0;
  if (handle != nullptr) std::memcpy(&mark, handle, sizeof mark);
  return mark == kMagic;
}

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
  std::memcpy(handle, &kMagic, sizeof kMagic);
  return kSuccess;
}

MAYA_API int cusparseLtDestroy(const void* handle) {
  if (!usable(handle)) return kInvalidValue;
  std::memset(const_cast<void*>(handle), 0, sizeof kMagic);
  return kSuccess;
}

MAYA_API int cusparseLtGetVersion(const void* handle, int* version) {
  if (!usable(handle) || version == nullptr) return kInvalidValue;
  *version = kVersion.number();
  return kSuccess;
}

MAYA_API int cusparseLtGetProperty(int type, int* value) { return get_property(kVersion, type, value); }
MAYA_API const char* cusparseLtGetErrorName(int status) { return name(status); }
MAYA_API const char* cusparseLtGetErrorString(int status) { return name(status); }
