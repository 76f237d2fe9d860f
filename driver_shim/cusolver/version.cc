// cuSOLVER of CUDA 13 and of CUDA 12.
#include "driver_shim/common/api.h"
#include "driver_shim/common/library_handle.h"

namespace {

#if defined(MAYA_CUDA_MAJOR) && MAYA_CUDA_MAJOR == 12
constexpr maya::shim::Version kVersion{11, 7, 5};
#else
constexpr maya::shim::Version kVersion{12, 2, 0};
#endif

}  // namespace

MAYA_API int cusolverGetVersion(int* version) {
  if (version == nullptr) return maya::shim::kInvalidValue;
  *version = kVersion.number();
  return maya::shim::kSuccess;
}

MAYA_API int cusolverGetProperty(int type, int* value) { return maya::shim::get_property(kVersion, type, value); }
