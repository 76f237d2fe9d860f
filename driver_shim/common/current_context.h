// The context that a call of a replacement library works in.
#pragma once

#include <cuda.h>

#include "driver_shim/common/driver_access.h"

namespace maya::shim {

// As the runtime inside NVIDIA's libraries does first: where the calling thread has no current context, the primary
// context of device 0 becomes current. *context is the current one. CUDA_ERROR_NOT_INITIALIZED without a driver.
inline CUresult make_context_current(CUcontext* context) {
  const auto get_current = MAYA_DRIVER(cuCtxGetCurrent);
  if (get_current == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  if (get_current(context) == CUDA_SUCCESS && *context != nullptr) return CUDA_SUCCESS;
  if (const CUresult status = MAYA_DRIVER(cuInit)(0); status != CUDA_SUCCESS) return status;
  CUdevice device = 0;
  if (const CUresult status = MAYA_DRIVER(cuDeviceGet)(&device, 0); status != CUDA_SUCCESS) return status;
  if (const CUresult status = MAYA_DRIVER(cuDevicePrimaryCtxRetain)(context, device); status != CUDA_SUCCESS)
    return status;
  return MAYA_DRIVER(cuCtxSetCurrent)(*context);
}

}  // namespace maya::shim
