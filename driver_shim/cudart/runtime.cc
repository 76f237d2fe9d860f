#include "driver_shim/cudart/runtime.h"

#include <atomic>
#include <mutex>

namespace maya::cudart {

constinit thread_local ThreadState thread_state;

namespace {

constinit std::atomic<CUcontext> primary_contexts[kMaxDevices] = {};
constinit std::atomic<CUcontext> reset_contexts[kMaxDevices] = {};  // what cudaDeviceReset destroyed last
constinit std::mutex primary_mutex;

constexpr CUresult kInsufficientDriver = static_cast<CUresult>(cudaErrorInsufficientDriver);

}  // namespace

bool is_sticky(cudaError_t error) noexcept {
  switch (error) {
    case cudaErrorContained:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice:
      return true;
    default:
      return false;
  }
}

cudaError_t fail(cudaError_t error) noexcept {
  if (error != cudaErrorNotReady) thread_state.last_error = error;
  return error;
}

CUresult initialize() noexcept {
  const auto init = MAYA_DRIVER(cuInit);
  return init == nullptr ? kInsufficientDriver : init(0);
}

CUresult primary_context(int device, CUcontext* context) noexcept {
  if (device < 0 || device >= kMaxDevices) return CUDA_ERROR_INVALID_DEVICE;
  *context = primary_contexts[device].load(std::memory_order_acquire);
  if (*context != nullptr) return CUDA_SUCCESS;
  CUdevice handle = 0;
  if (const CUresult status = initialized_call(MAYA_DRIVER(cuDeviceGet), &handle, device); status != CUDA_SUCCESS)
    return status;
  std::lock_guard<std::mutex> lock(primary_mutex);
  *context = primary_contexts[device].load(std::memory_order_acquire);
  if (*context != nullptr) return CUDA_SUCCESS;
  const CUresult status = initialized_call(MAYA_DRIVER(cuDevicePrimaryCtxRetain), context, handle);
  if (status == CUDA_SUCCESS) primary_contexts[device].store(*context, std::memory_order_release);
  return status;
}

CUresult bind_device(int device) noexcept {
  CUcontext context = nullptr;
  if (const CUresult status = primary_context(device, &context); status != CUDA_SUCCESS) return status;
  return initialized_call(MAYA_DRIVER(cuCtxSetCurrent), context);
}

CUresult current_device(int* device) noexcept {
  CUdevice handle = 0;
  const CUresult status = initialized_call(MAYA_DRIVER(cuCtxGetDevice), &handle);
  if (status == CUDA_SUCCESS) {
    *device = handle;
  } else if (needs_context(status) && status != CUDA_ERROR_NOT_INITIALIZED) {
    *device = thread_state.device;
  } else {
    return status;
  }
  return CUDA_SUCCESS;
}

void forget_primary_context(int device) noexcept {
  if (device < 0 || device >= kMaxDevices) return;
  const CUcontext context = primary_contexts[device].exchange(nullptr, std::memory_order_acq_rel);
  if (context != nullptr) reset_contexts[device].store(context, std::memory_order_release);
}

CUresult prepare_context(CUresult status) noexcept {
  if (const CUresult init = initialize(); init != CUDA_SUCCESS) return init;
  CUcontext current = nullptr;
  const CUresult got = MAYA_DRIVER(cuCtxGetCurrent)(&current);
  if (got == CUDA_SUCCESS && current != nullptr) {
    if (status == CUDA_ERROR_NOT_INITIALIZED) return CUDA_SUCCESS;
    // The context of a device that was reset comes back by itself; any other error of a current context is the
    // program's.
    bool was_reset = false;
    for (const auto& context : reset_contexts)
      was_reset = was_reset || context.load(std::memory_order_acquire) == current;
    if (status != CUDA_ERROR_CONTEXT_IS_DESTROYED || !was_reset) return status;
  }
  return bind_device(thread_state.device);
}

CUresult ensure_context() noexcept {
  const auto get_device = MAYA_DRIVER(cuCtxGetDevice);
  if (get_device == nullptr) return kInsufficientDriver;
  return attempt([&] {
    CUdevice device = 0;
    return get_device(&device);
  });
}

}  // namespace maya::cudart
