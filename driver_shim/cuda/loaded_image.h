// The code behind a CUmodule or a CUlibrary: its kernels and global variables. Unpacked and read at first use.
#pragma once

#include <cuda.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "driver_shim/cuda/driver.h"
#include "driver_shim/cuda/kernel.h"
#include "virtual_device/image/kernel_image.h"

namespace maya::cuda {

// The driver's error for an image that could not be read.
CUresult image_error(device::ImageStatus status);

struct Library;
struct Module;

// Thread safe. Frees its kernels and gives back their memory on destruction.
class LoadedImage {
 public:
  // `source` must stay valid until parse() has returned, or is owned when `copy` is set.
  LoadedImage(device::Bytes source, bool copy);
  ~LoadedImage();
  LoadedImage(const LoadedImage&) = delete;
  LoadedImage& operator=(const LoadedImage&) = delete;

  // Unpacks and reads the image for the process's device model; the outcome is kept. The source is not used afterwards.
  CUresult parse(Driver& driver);

  // The kernel of that name, made at first use. CUDA_ERROR_NOT_FOUND when there is none.
  CUresult kernel(Driver& driver, std::string_view name, Kernel** out);
  CUresult kernel_count(Driver& driver, uint32_t* count);
  // The first `count` kernels in the order of the image.
  CUresult kernels(Driver& driver, uint32_t count, Kernel** out);

  // Address and size of a variable in a context; the image's variables get their memory and initial values at first use
  // there. CUDA_ERROR_NOT_FOUND when there is none. managed_only: finds __managed__ variables only.
  CUresult global(Driver& driver, Context& context, std::string_view name, bool managed_only, CUdeviceptr* address,
                  size_t* bytes);

  // Charges code to the device once a kernel; see load_kernel().
  CUresult load(Driver& driver, Context& context, Kernel& kernel);

  // Gives back the memory of variables that belong to the context.
  void release_context(Driver& driver, const Context& context);

  // Who owns this image: exactly one of the two, set right after construction.
  Library* library = nullptr;
  Module* module = nullptr;

 private:
  struct Variables {
    device::Address block = 0;           // 0: no plain variable
    std::vector<CUdeviceptr> addresses;  // by index in image_.globals
    std::vector<CUdeviceptr> managed;    // first addresses
  };
  CUresult parse_locked(Driver& driver);
  CUresult kernel_at_locked(size_t index, Kernel** out);
  CUresult variables_locked(Driver& driver, Context& context, Variables** out);
  void free_variables(Driver& driver, const Context& context, Variables& variables);

  std::mutex mutex_;
  std::vector<uint8_t> owned_;
  device::Bytes source_;
  bool parsed_ = false;
  CUresult status_ = CUDA_SUCCESS;
  device::KernelImage image_;
  std::unordered_map<std::string_view, size_t> kernel_by_name_;  // views into image_
  std::vector<Kernel*> kernels_;                                 // by index in image_.kernels; null until asked for
  std::map<const Context*, Variables> variables_;
  std::map<int, uint64_t> code_bytes_;  // charged, by device
};

// A CUmodule: made by cuModuleLoad*, or the view that cuLibraryGetModule gives of a library in a context.
struct Module {
  Module(LoadedImage* code, Context* owner, bool library_view)
      : image(code), context(owner), of_library(library_view) {}
  LoadedImage* image;  // owned unless of_library
  Context* context;
  bool of_library;
};

struct Library {
  Library(device::Bytes source, bool copy) : image(source, copy) {}
  LoadedImage image;
  std::mutex mutex;  // guards modules
  std::map<const Context*, Module*> modules;
};

device::HandlePool<Kernel>& kernel_pool();
device::HandlePool<Module>& module_pool();
device::HandlePool<Library>& library_pool();

// The module of `library` in `context`, made at first use; null when there are too many.
Module* library_module(Library& library, Context& context);
// Reads a whole file for cuModuleLoad and its like. CUDA_ERROR_FILE_NOT_FOUND when it cannot be read.
CUresult read_image_file(const char* path, std::vector<uint8_t>* bytes);

// Options of the JIT compiler: the outputs that they ask for (log sizes, times) are set as for a compilation that
// printed `message`. CUDA_ERROR_INVALID_VALUE when arrays are missing or an option is not one.
CUresult check_jit_options(unsigned count, const CUjit_option* options, void** values);
void answer_jit_options(unsigned count, const CUjit_option* options, void** values, std::string_view message);

}  // namespace maya::cuda
