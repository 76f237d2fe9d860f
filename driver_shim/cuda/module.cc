// Module management of the CUDA driver API.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "driver_shim/cuda/gate.h"
#include "driver_shim/cuda/kernel.h"
#include "driver_shim/cuda/loaded_image.h"
#include "driver_shim/cuda/recorder.h"

namespace maya::cuda {

namespace {

// Why a module could not be made, for the error log that the program may have asked for.
const char* load_message(CUresult status) {
  switch (status) {
    case CUDA_SUCCESS:
      return "";
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
      return "maya: the image has no code for the emulated device";
    case CUDA_ERROR_INVALID_PTX:
      return "maya: the PTX text cannot be read";
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
      return "maya: the PTX version is newer than the driver";
    default:
      return "maya: not a fat binary, cubin or PTX text";
  }
}

CUresult load_module(Call& call, device::Bytes bytes, CUmodule* out) {
  if (bytes.empty()) return CUDA_ERROR_INVALID_IMAGE;
  auto image = std::make_unique<LoadedImage>(bytes, false);
  if (const CUresult status = image->parse(call.driver()); status != CUDA_SUCCESS) return status;
  Module* module = module_pool().create(image.get(), &call.context(), false);
  if (module == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  image.release()->module = module;
  *out = reinterpret_cast<CUmodule>(module);
  return CUDA_SUCCESS;
}

void unload_module(Module* module) {
  LoadedImage* owned = module->of_library ? nullptr : module->image;
  if (module_pool().destroy(module)) delete owned;
}

// A context takes its modules with it, and what libraries placed in it.
void release_modules(Driver& driver, Context& context) {
  std::vector<Module*> ending;
  module_pool().for_each([&](Module* module) {
    if (module->context == &context) ending.push_back(module);
  });
  library_pool().for_each([&](Library* library) {
    library->image.release_context(driver, context);
    std::lock_guard<std::mutex> lock(library->mutex);
    library->modules.erase(&context);
  });
  for (Module* module : ending) unload_module(module);
}

[[maybe_unused]] const bool kHookAdded = (add_context_hook(release_modules), true);

template <typename Body>
CUresult with_module(CUmodule handle, Body&& body) {
  return enter(Needs::kContext, [&](Call& call) {
    Module* module = module_pool().get(handle);
    return module == nullptr ? CUDA_ERROR_INVALID_HANDLE : body(call, *module);
  });
}

}  // namespace

}  // namespace maya::cuda

using maya::cuda::Call;
using maya::cuda::Kernel;
using maya::cuda::Module;
using maya::cuda::Needs;
using maya::cuda::with_module;

CUresult cuModuleLoad(CUmodule* module, const char* path) {
  return maya::cuda::enter(Needs::kContext, [&](Call& call) {
    if (module == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::vector<uint8_t> bytes;
    if (const CUresult status = maya::cuda::read_image_file(path, &bytes); status != CUDA_SUCCESS) return status;
    return maya::cuda::load_module(call, bytes, module);
  });
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int count, CUjit_option* options,
                            void** values) {
  return maya::cuda::enter(Needs::kContext, [&](Call& call) {
    if (module == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult status = maya::cuda::check_jit_options(count, options, values); status != CUDA_SUCCESS)
      return status;
    const CUresult status = maya::cuda::load_module(call, maya::device::image_at(image), module);
    maya::cuda::answer_jit_options(count, options, values, maya::cuda::load_message(status));
    return status;
  });
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}

CUresult cuModuleUnload(CUmodule handle) {
  return with_module(handle, [&](Call&, Module& module) {
    // The view of a library ends with the library.
    if (module.of_library) return CUDA_ERROR_NOT_PERMITTED;
    maya::cuda::unload_module(&module);
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  return maya::cuda::enter(Needs::kInitialized, [&](Call&) {
    if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const char* setting = secure_getenv("CUDA_MODULE_LOADING");
    *mode = setting != nullptr && std::strcmp(setting, "EAGER") == 0 ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule handle, const char* name) {
  return with_module(handle, [&](Call& call, Module& module) {
    if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Kernel* kernel = nullptr;
    if (const CUresult status = module.image->kernel(call.driver(), name, &kernel); status != CUDA_SUCCESS)
      return status;
    if (const CUresult status = maya::cuda::load_kernel(*kernel, call.driver(), call.context()); status != CUDA_SUCCESS)
      return status;
    *function = reinterpret_cast<CUfunction>(kernel);
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleGetFunctionCount(unsigned int* count, CUmodule handle) {
  return with_module(handle, [&](Call& call, Module& module) {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return module.image->kernel_count(call.driver(), count);
  });
}

CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned int count, CUmodule handle) {
  return with_module(handle, [&](Call& call, Module& module) {
    if (functions == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return module.image->kernels(call.driver(), count, reinterpret_cast<Kernel**>(functions));
  });
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule handle, const char* name) {
  return with_module(handle, [&](Call& call, Module& module) {
    if (name == nullptr || (address == nullptr && bytes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
    return module.image->global(call.driver(), *module.context, name, false, address, bytes);
  });
}
