// Primary context management.
#include <cuda.h>

#include "driver_shim/cuda/context_flags.h"
#include "driver_shim/cuda/gate.h"

using maya::cuda::Call;
using maya::cuda::Context;
using maya::cuda::enter;
using maya::cuda::Needs;

namespace {

template <typename Body>
CUresult with_device(CUdevice device, bool valid, Body&& body) {
  return enter(Needs::kInitialized, [&](Call& call) -> CUresult {
    if (!valid) return CUDA_ERROR_INVALID_VALUE;
    if (device < 0 || device >= call.driver().device_count()) return CUDA_ERROR_INVALID_DEVICE;
    return body(call);
  });
}

}  // namespace

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return with_device(device, context != nullptr, [&](Call& call) {
    Context* retained = nullptr;
    const CUresult status = call.driver().retain_primary(device, &retained);
    if (status == CUDA_SUCCESS) *context = reinterpret_cast<CUcontext>(retained);
    return status;
  });
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return with_device(device, true, [&](Call& call) { return call.driver().release_primary(device); });
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) { return cuDevicePrimaryCtxRelease_v2(device); }

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return with_device(device, true, [&](Call& call) { return call.driver().reset_primary(device); });
}

CUresult cuDevicePrimaryCtxReset(CUdevice device) { return cuDevicePrimaryCtxReset_v2(device); }

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active) {
  return with_device(device, flags != nullptr && active != nullptr, [&](Call& call) {
    bool is_active = false;
    const CUresult status = call.driver().primary_state(device, flags, &is_active);
    *active = is_active;
    return status;
  });
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags) {
  return with_device(device, maya::cuda::valid_context_flags(flags),
                     [&](Call& call) { return call.driver().set_primary_flags(device, flags); });
}

// Before CUDA 11.0 the flags of an active primary context could not be changed.
CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags) {
  return with_device(device, maya::cuda::valid_context_flags(flags), [&](Call& call) {
    unsigned int now = 0;
    bool active = false;
    call.driver().primary_state(device, &now, &active);
    return active ? CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE : call.driver().set_primary_flags(device, flags);
  });
}
