// Library management of the CUDA driver API. Loading stores the pointer (or a copy); the code is unpacked and read when
// one of its kernels or variables is asked for first.
#include <cstring>
#include <memory>

#include "driver_shim/common/entry_table.h"
#include "driver_shim/cuda/gate.h"
#include "driver_shim/cuda/kernel.h"
#include "driver_shim/cuda/loaded_image.h"

namespace maya::cuda {

namespace {

CUresult check_library_options(unsigned count, const CUlibraryOption* options, bool* preserved) {
  if (count != 0 && options == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] < 0 || options[i] >= CU_LIBRARY_NUM_OPTIONS) return CUDA_ERROR_INVALID_VALUE;
    if (options[i] == CU_LIBRARY_BINARY_IS_PRESERVED) *preserved = true;
  }
  return CUDA_SUCCESS;
}

// NVIDIA's driver has a compiler that links LTO IR, and objects and archives of the host with code of devices in them.
void name_what_needs_linking(const void* code) {
  // LTO IR as NVRTC writes it, an archive, an object. The comparison ends with the first byte that differs.
  for (const char* magic : {"\xed\x43\x4e\x7f", "!<ar", "\x7f\x45\x4c\x46"}) {
    if (std::strncmp(static_cast<const char*>(code), magic, 4) != 0) continue;
    shim::report_unsupported(shim::kLibraryName, "linking LTO IR, objects and archives (use nvJitLink)",
                             "CUDA_ERROR_INVALID_IMAGE");
    return;
  }
}

CUresult create_library(device::Bytes source, bool copy, CUlibrary* out) {
  Library* library = library_pool().create(source, copy);
  if (library == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  library->image.library = library;
  *out = reinterpret_cast<CUlibrary>(library);
  return CUDA_SUCCESS;
}

// A program's own library, of which the driver keeps a copy: small, and read at once so that this call gives its
// errors.
CUresult load_copy(Driver& driver, device::Bytes bytes, CUlibrary* out) {
  if (bytes.empty()) return CUDA_ERROR_INVALID_IMAGE;
  CUlibrary made = nullptr;
  if (const CUresult status = create_library(bytes, true, &made); status != CUDA_SUCCESS) return status;
  const CUresult status = library_pool().get(made)->image.parse(driver);
  if (status == CUDA_SUCCESS) {
    *out = made;
  } else {
    library_pool().destroy(made);
  }
  return status;
}

template <typename Body>
CUresult with_library(Needs needs, CUlibrary handle, Body&& body) {
  return enter(needs, [&](Call& call) {
    Library* library = library_pool().get(handle);
    return library == nullptr ? CUDA_ERROR_INVALID_HANDLE : body(call, *library);
  });
}

}  // namespace

}  // namespace maya::cuda

using maya::cuda::Call;
using maya::cuda::Kernel;
using maya::cuda::Library;
using maya::cuda::Needs;
using maya::cuda::with_library;

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* jit_options, void** jit_values,
                           unsigned int jit_count, CUlibraryOption* options, void**, unsigned int count) {
  return maya::cuda::enter(Needs::kInitialized, [&](Call& call) {
    if (library == nullptr || code == nullptr) return CUDA_ERROR_INVALID_VALUE;
    bool preserved = false;
    if (const CUresult status = maya::cuda::check_jit_options(jit_count, jit_options, jit_values);
        status != CUDA_SUCCESS)
      return status;
    if (const CUresult status = maya::cuda::check_library_options(count, options, &preserved); status != CUDA_SUCCESS)
      return status;
    maya::cuda::answer_jit_options(jit_count, jit_options, jit_values, "");
    // Code that stays in place is not even looked at: PyTorch registers 320 MB of it before its first line runs.
    if (preserved) return maya::cuda::create_library({static_cast<const uint8_t*>(code), 1}, false, library);
    const CUresult status = maya::cuda::load_copy(call.driver(), maya::device::image_at(code), library);
    if (status == CUDA_ERROR_INVALID_IMAGE) maya::cuda::name_what_needs_linking(code);
    return status;
  });
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option* jit_options, void** jit_values,
                               unsigned int jit_count, CUlibraryOption* options, void**, unsigned int count) {
  return maya::cuda::enter(Needs::kInitialized, [&](Call& call) {
    if (library == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
    bool preserved = false;
    if (const CUresult status = maya::cuda::check_jit_options(jit_count, jit_options, jit_values);
        status != CUDA_SUCCESS)
      return status;
    if (const CUresult status = maya::cuda::check_library_options(count, options, &preserved); status != CUDA_SUCCESS)
      return status;
    if (preserved) return CUDA_ERROR_INVALID_VALUE;
    std::vector<uint8_t> bytes;
    if (const CUresult status = maya::cuda::read_image_file(path, &bytes); status != CUDA_SUCCESS) return status;
    maya::cuda::answer_jit_options(jit_count, jit_options, jit_values, "");
    return maya::cuda::load_copy(call.driver(), bytes, library);
  });
}

CUresult cuLibraryUnload(CUlibrary handle) {
  return with_library(Needs::kInitialized, handle, [&](Call&, Library& library) {
    for (const auto& [context, module] : library.modules) maya::cuda::module_pool().destroy(module);
    maya::cuda::library_pool().destroy(&library);
    return CUDA_SUCCESS;
  });
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary handle, const char* name) {
  return with_library(Needs::kInitialized, handle, [&](Call& call, Library& library) {
    if (kernel == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Kernel* found = nullptr;
    if (const CUresult status = library.image.kernel(call.driver(), name, &found); status != CUDA_SUCCESS)
      return status;
    *kernel = reinterpret_cast<CUkernel>(found);
    return CUDA_SUCCESS;
  });
}

CUresult cuLibraryGetKernelCount(unsigned int* count, CUlibrary handle) {
  return with_library(Needs::kInitialized, handle, [&](Call& call, Library& library) {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return library.image.kernel_count(call.driver(), count);
  });
}

CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int count, CUlibrary handle) {
  return with_library(Needs::kInitialized, handle, [&](Call& call, Library& library) {
    if (kernels == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return library.image.kernels(call.driver(), count, reinterpret_cast<Kernel**>(kernels));
  });
}

CUresult cuLibraryGetModule(CUmodule* module, CUlibrary handle) {
  return with_library(Needs::kContext, handle, [&](Call& call, Library& library) {
    if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult status = library.image.parse(call.driver()); status != CUDA_SUCCESS) return status;
    maya::cuda::Module* made = maya::cuda::library_module(library, call.context());
    if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    *module = reinterpret_cast<CUmodule>(made);
    return CUDA_SUCCESS;
  });
}

CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary handle, const char* name) {
  return with_library(Needs::kContext, handle, [&](Call& call, Library& library) {
    if (name == nullptr || (address == nullptr && bytes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
    return library.image.global(call.driver(), call.context(), name, false, address, bytes);
  });
}

CUresult cuLibraryGetManaged(CUdeviceptr* address, size_t* bytes, CUlibrary handle, const char* name) {
  return with_library(Needs::kContext, handle, [&](Call& call, Library& library) {
    if (name == nullptr || (address == nullptr && bytes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
    return library.image.global(call.driver(), call.context(), name, true, address, bytes);
  });
}

// Unified function pointers exist on systems whose host can run device functions; there is none here.
CUresult cuLibraryGetUnifiedFunction(void** function, CUlibrary handle, const char* symbol) {
  return with_library(Needs::kContext, handle, [&](Call&, Library&) {
    return function == nullptr || symbol == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_FOUND;
  });
}
