// Kernel images from hostile bytes: cubins, fat binaries and PTX text, as cuModuleLoadData, cuLibraryLoadData and the
// linker get them. Each is refused with a documented code, or gives kernels whose attributes can be asked, that can be
// launched, and variables that can be read; after it nothing is left.
#include <cuda.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "test/fuzz/driver.h"
#include "virtual_device/image/kernel_image.h"
#include "virtual_device/launch_effects.h"

namespace {

using namespace maya::device;
using maya::test::expect, maya::test::fail, maya::test::free_memory;

constexpr size_t kMost_bytes = 1 << 16;
constexpr unsigned int kMostKernels = 8;
constexpr const char* kNames[] = {"kernel", "_Z1aPfi", "nothing", "value"};

// One that cuda.h has, and none that stays with the context: then everything that follows would be refused.
CUresult answered(CUresult status, const char* what) {
  const char* name = nullptr;
  if (cuGetErrorName(status, &name) != CUDA_SUCCESS || status == CUDA_ERROR_UNKNOWN) fail(what, status);
  expect(cuCtxSynchronize(), what);
  return status;
}

struct Device {
  CUcontext context = nullptr;
  Device() {
    expect(cuInit(0), "cuInit");
    expect(cuDevicePrimaryCtxRetain(&context, 0), "retain");
    expect(cuCtxSetCurrent(context), "current");
  }
};

void read_parsers(Bytes image) {
  for (const uint32_t architecture : {80u, 90u, 103u}) {
    KernelImage read;
    if (load_image(image, architecture, &read) != ImageStatus::kOk) continue;
    for (const ImageKernel& kernel : read.kernels) classify(kernel.info);
  }
}

void use_kernel(CUfunction function) {
  const char* name = nullptr;
  expect(cuFuncGetName(&name, function), "cuFuncGetName");
  int value = 0;
  for (int attribute = 0; attribute < CU_FUNC_ATTRIBUTE_MAX; ++attribute)
    answered(cuFuncGetAttribute(&value, static_cast<CUfunction_attribute>(attribute), function), "cuFuncGetAttribute");
  std::vector<std::vector<uint64_t>> values;
  std::vector<void*> arguments;
  size_t offset = 0, bytes = 0;
  while (cuFuncGetParamInfo(function, values.size(), &offset, &bytes) == CUDA_SUCCESS) {
    if (bytes > 1 << 18 || values.size() > 1 << 15) fail("parameter", static_cast<int>(bytes));
    values.emplace_back(bytes / 8 + 1, 0);
  }
  for (auto& value_of : values) arguments.push_back(value_of.data());
  int blocks = 0;
  answered(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 64, 1024), "occupancy");
  answered(cuLaunchKernel(function, 2, 1, 1, 64, 1, 1, 0, nullptr, arguments.data(), nullptr), "cuLaunchKernel");
}

void use_module(CUmodule module) {
  unsigned int count = 0;
  expect(cuModuleGetFunctionCount(&count, module), "cuModuleGetFunctionCount");
  CUfunction functions[kMostKernels];
  const unsigned int asked = count < kMostKernels ? count : kMostKernels;
  expect(cuModuleEnumerateFunctions(functions, asked, module), "cuModuleEnumerateFunctions");
  for (unsigned int i = 0; i < asked; ++i) use_kernel(functions[i]);
  for (const char* name : kNames) {
    CUfunction function = nullptr;
    answered(cuModuleGetFunction(&function, module, name), "cuModuleGetFunction");
    CUdeviceptr variable = 0;
    size_t bytes = 0;
    if (answered(cuModuleGetGlobal(&variable, &bytes, module, name), "cuModuleGetGlobal") != CUDA_SUCCESS) continue;
    char read[16];
    answered(cuMemcpyDtoH(read, variable, bytes < sizeof read ? bytes : sizeof read), "cuMemcpyDtoH");
  }
}

void load(const std::vector<uint8_t>& image, size_t size) {
  // These functions get no length: an image whose own headers lie about it is the caller's fault.
  const Bytes told = image_at(image.data());
  const bool inside = told.size() <= size;
  const size_t before = free_memory();
  CUmodule module = nullptr;
  if (inside && answered(cuModuleLoadData(&module, image.data()), "cuModuleLoadData") == CUDA_SUCCESS) {
    use_module(module);
    expect(cuModuleUnload(module), "cuModuleUnload");
  }
  CUlibrary library = nullptr;
  if (inside && answered(cuLibraryLoadData(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
                         "cuLibraryLoadData") == CUDA_SUCCESS) {
    CUkernel kernels[kMostKernels];
    answered(cuLibraryEnumerateKernels(kernels, kMostKernels, library), "cuLibraryEnumerateKernels");
    expect(cuLibraryUnload(library), "cuLibraryUnload");
  }
  CUlinkState link = nullptr;
  expect(cuLinkCreate(0, nullptr, nullptr, &link), "cuLinkCreate");
  for (const CUjitInputType type : {CU_JIT_INPUT_CUBIN, CU_JIT_INPUT_PTX, CU_JIT_INPUT_FATBINARY})
    answered(cuLinkAddData(link, type, const_cast<uint8_t*>(image.data()), size, "image", 0, nullptr, nullptr),
             "cuLinkAddData");
  void* linked = nullptr;
  size_t bytes = 0;
  answered(cuLinkComplete(link, &linked, &bytes), "cuLinkComplete");
  expect(cuLinkDestroy(link), "cuLinkDestroy");
  if (free_memory() != before) fail("memory left, bytes", static_cast<int>(before - free_memory()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Device device;
  if (size > kMost_bytes) size = kMost_bytes;
  const std::vector<uint8_t> exact(data, data + size);
  read_parsers(exact);
  // An ELF file's headers stand where its first bytes say, so behind it there are zeros to read.
  std::vector<uint8_t> padded = exact;
  padded.resize(size + 64);
  KernelImage read;
  if (load_image(exact, 90, &read) != ImageStatus::kOk) return 0;
  load(padded, size);
  return 0;
}
