// CUfunction functions of the execution control group. Handles of kernels are accepted too.
#include "driver_shim/cuda/gate.h"
#include "driver_shim/cuda/kernel.h"
#include "driver_shim/cuda/loaded_image.h"

namespace maya::cuda {

namespace {

template <typename Body>
CUresult with_function(CUfunction handle, Body&& body) {
  return enter(Needs::kContext, [&](Call& call) {
    Kernel* kernel = resolve_kernel(handle);
    return kernel == nullptr ? CUDA_ERROR_INVALID_HANDLE : body(call, *kernel);
  });
}

}  // namespace

}  // namespace maya::cuda

using maya::cuda::Call;
using maya::cuda::Kernel;
using maya::cuda::with_function;

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction handle) {
  return with_function(handle, [&](Call& call, Kernel& kernel) {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return maya::cuda::kernel_attribute(kernel, call.driver().profile(call.context().device), attribute, value);
  });
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  return with_function(handle, [&](Call& call, Kernel& kernel) {
    return maya::cuda::set_kernel_attribute(kernel, call.driver().profile(call.context().device), attribute, value);
  });
}

CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config) {
  return with_function(handle, [&](Call&, Kernel& kernel) {
    if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
    kernel.cache_preference.store(config, std::memory_order_relaxed);
    return CUDA_SUCCESS;
  });
}

// Shared memory banks have one width since compute capability 5.0: accepted, no effect.
CUresult cuFuncSetSharedMemConfig(CUfunction handle, CUsharedconfig config) {
  return with_function(handle, [&](Call&, Kernel&) {
    const bool known =
        config >= CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE && config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE;
    return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuFuncGetModule(CUmodule* module, CUfunction handle) {
  return with_function(handle, [&](Call& call, Kernel& kernel) {
    if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
    maya::cuda::Module* owner = kernel.image->module;
    if (owner == nullptr) owner = maya::cuda::library_module(*kernel.image->library, call.context());
    if (owner == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    *module = reinterpret_cast<CUmodule>(owner);
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncGetName(const char** name, CUfunction handle) {
  // Documented for a null name and a null function alike.
  if (name == nullptr || handle == nullptr)
    return maya::cuda::enter(maya::cuda::Needs::kInitialized, [](Call&) { return CUDA_ERROR_INVALID_VALUE; });
  return with_function(handle, [&](Call&, Kernel& kernel) {
    *name = kernel.info.name.c_str();
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t* offset, size_t* size) {
  return with_function(
      handle, [&](Call&, Kernel& kernel) { return maya::cuda::kernel_parameter(kernel, index, offset, size); });
}

CUresult cuFuncGetParamCount(CUfunction handle, size_t* count) {
  return with_function(handle, [&](Call&, Kernel& kernel) {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = kernel.info.parameters.size();
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction handle) {
  return with_function(handle, [&](Call& call, Kernel& kernel) {
    if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const uint64_t devices = kernel.loaded_devices.load(std::memory_order_relaxed);
    *state = (devices >> call.context().device & 1) != 0 ? CU_FUNCTION_LOADING_STATE_LOADED
                                                         : CU_FUNCTION_LOADING_STATE_UNLOADED;
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncLoad(CUfunction handle) {
  return with_function(handle, [&](Call& call, Kernel& kernel) {
    return maya::cuda::load_kernel(kernel, call.driver(), call.context());
  });
}
