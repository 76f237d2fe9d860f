// Initialization, version and profiler control.
#include <cuda.h>

#include "driver_shim/cuda/gate.h"

// Declared by the toolkit's cudaProfiler.h, which no wheel carries.
extern "C" {
__attribute__((visibility("default"))) CUresult CUDAAPI cuProfilerStart();
__attribute__((visibility("default"))) CUresult CUDAAPI cuProfilerStop();
}

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
