// Initialization and version.
#include <cuda.h>

#include "driver_shim/cuda/gate.h"

using maya::cuda::Call;
using maya::cuda::Driver;
using maya::cuda::enter;
using maya::cuda::Needs;

CUresult cuInit(unsigned int flags) {
  return enter(Needs::kNothing, [&](Call&) { return flags != 0 ? CUDA_ERROR_INVALID_VALUE : Driver::initialize(); });
}

CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}
