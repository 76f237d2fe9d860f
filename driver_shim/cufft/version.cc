// cuFFT of CUDA 13 and of CUDA 12.
#include "driver_shim/common/api.h"
#include "driver_shim/common/library_handle.h"
#include "driver_shim/cufft/plan.h"

namespace {

#if defined(MAYA_CUDA_MAJOR) && MAYA_CUDA_MAJOR == 12
constexpr maya::shim::Version kVersion{11, 4, 1};
#else
constexpr maya::shim::Version kVersion{12, 2, 0};
#endif

}  // namespace

MAYA_API int cufftGetVersion(int* version) {
  if (version == nullptr) return maya::cufft::kInvalidValue;
  *version = kVersion.number();
  return maya::cufft::kSuccess;
}

MAYA_API int cufftGetProperty(int type, int* value) {
  return maya::shim::get_property(kVersion, type, value) == maya::shim::kSuccess ? maya::cufft::kSuccess
                                                                                 : maya::cufft::kInvalidValue;
}
