// cuFile: the version only; there is no GPUDirect Storage without a device.
#include <cuda.h>

#include "driver_shim/common/api.h"

namespace {

constexpr int kVersion = 1170;                     // cuFile 1.17
constexpr int kSuccess = 0, kInvalidValue = 5022;  // CU_FILE_SUCCESS, CU_FILE_INVALID_VALUE

struct Error {  // CUfileError_t
  int error;
  CUresult driver_error;
};

}  // namespace

MAYA_API Error cuFileGetVersion(int* version) {
  if (version == nullptr) return {kInvalidValue, CUDA_SUCCESS};
  *version = kVersion;
  return {kSuccess, CUDA_SUCCESS};
}
