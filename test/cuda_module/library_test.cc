#include <cstring>

#include "module_helpers.h"

using namespace maya::test;

namespace {

CUresult load(CUlibrary* library, const void* code, CUlibraryOption* options = nullptr, unsigned count = 0) {
  return cuLibraryLoadData(library, code, nullptr, nullptr, 0, options, nullptr, count);
}

}  // namespace

TEST_CASE("library, kernel, function", "[library]") {
  current_context();
  auto image = sample_fat_binary();
  CUlibrary library = nullptr;
  REQUIRE(load(&library, image.data()) == CUDA_SUCCESS);
  std::fill(image.begin(), image.end(), 0);  // the driver has its own copy
  CUkernel kernel = nullptr, other = nullptr;
  REQUIRE(cuLibraryGetKernel(&kernel, library, "first") == CUDA_SUCCESS);
  CHECK(cuLibraryGetKernel(&other, library, "nothing") == CUDA_ERROR_NOT_FOUND);
  CHECK(cuLibraryGetKernel(&other, library, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuLibraryGetKernel(&other, nullptr, "first") == CUDA_ERROR_INVALID_HANDLE);
  CUfunction function = nullptr;
  REQUIRE(cuKernelGetFunction(&function, kernel) == CUDA_SUCCESS);
  CUlibrary owner = nullptr;
  REQUIRE(cuKernelGetLibrary(&owner, kernel) == CUDA_SUCCESS);
  CHECK(owner == library);
  const char* name = nullptr;
  REQUIRE(cuFuncGetName(&name, function) == CUDA_SUCCESS);
  CHECK(std::strcmp(name, "first") == 0);
  CUmodule module = nullptr, from_function = nullptr;
  REQUIRE(cuLibraryGetModule(&module, library) == CUDA_SUCCESS);
  REQUIRE(cuFuncGetModule(&from_function, function) == CUDA_SUCCESS);
  CHECK(module == from_function);
  CHECK(cuModuleUnload(module) == CUDA_ERROR_NOT_PERMITTED);
  unsigned count = 0;
  REQUIRE(cuLibraryGetKernelCount(&count, library) == CUDA_SUCCESS);
  CHECK(count == 2);
  CUkernel kernels[2] = {};
  REQUIRE(cuLibraryEnumerateKernels(kernels, 2, library) == CUDA_SUCCESS);
  CHECK(kernels[0] == kernel);
  REQUIRE(cuLibraryUnload(library) == CUDA_SUCCESS);
  CHECK(cuLibraryUnload(library) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuKernelGetFunction(&function, kernel) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("preserved code is read at the first kernel only", "[library]") {
  current_context();
  std::vector<uint8_t> image(sample_fat_binary().size(), 0xee);  // nothing that could be loaded, yet
  CUlibraryOption preserved = CU_LIBRARY_BINARY_IS_PRESERVED;
  CUlibrary library = nullptr;
  REQUIRE(load(&library, image.data(), &preserved, 1) == CUDA_SUCCESS);
  const auto late = sample_fat_binary();
  std::copy(late.begin(), late.end(), image.begin());
  CUkernel kernel = nullptr;
  CHECK(cuLibraryGetKernel(&kernel, library, "second") == CUDA_SUCCESS);
  CHECK(cuLibraryUnload(library) == CUDA_SUCCESS);
  // Through the wrapper that compiled programs register (public header fatbinary_section.h).
  struct {
    uint32_t magic = 0x466243b1, version = 1;
    const void* data;
    void* other = nullptr;
  } wrapper{.data = late.data()};
  REQUIRE(load(&library, &wrapper, &preserved, 1) == CUDA_SUCCESS);
  CHECK(cuLibraryGetKernel(&kernel, library, "first") == CUDA_SUCCESS);
  CHECK(cuLibraryUnload(library) == CUDA_SUCCESS);
}

TEST_CASE("libraries that cannot be loaded", "[library]") {
  current_context();
  CUlibrary library = nullptr;
  CHECK(load(&library, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(load(nullptr, "x") == CUDA_ERROR_INVALID_VALUE);
  CHECK(load(&library, "garbage") == CUDA_ERROR_INVALID_IMAGE);
  CHECK(load(&library, ".version 99.9\n.target sm_90\n") == CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  const auto other = build_fat_binary({{2, 80, 0x11, sample_cubin(80)}});
  CHECK(load(&library, other.data()) == CUDA_ERROR_NO_BINARY_FOR_GPU);
  auto wrong = static_cast<CUlibraryOption>(77);
  CHECK(load(&library, other.data(), &wrong, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(load(&library, other.data(), nullptr, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuLibraryLoadFromFile(&library, "/no/such/file", nullptr, nullptr, 0, nullptr, nullptr, 0) ==
        CUDA_ERROR_FILE_NOT_FOUND);
  CUlibraryOption preserved = CU_LIBRARY_BINARY_IS_PRESERVED;
  CHECK(cuLibraryLoadFromFile(&library, "/dev/null", nullptr, nullptr, 0, &preserved, nullptr, 1) ==
        CUDA_ERROR_INVALID_VALUE);
  CHECK(cuLibraryLoadFromFile(&library, "/dev/null", nullptr, nullptr, 0, nullptr, nullptr, 0) ==
        CUDA_ERROR_INVALID_IMAGE);
}

TEST_CASE("variables of a library are separate in each context", "[library]") {
  const CUcontext kept = current_context();
  const auto image = sample_cubin();
  CUlibrary library = nullptr;
  REQUIRE(load(&library, image.data()) == CUDA_SUCCESS);
  CUdeviceptr here = 0, there = 0, managed = 0;
  size_t bytes = 0;
  REQUIRE(cuLibraryGetGlobal(&here, &bytes, library, "table") == CUDA_SUCCESS);
  CHECK(bytes == 400);
  REQUIRE(cuLibraryGetManaged(&managed, &bytes, library, "both") == CUDA_SUCCESS);
  CHECK(*reinterpret_cast<int32_t*>(managed) == 9);
  CHECK(cuLibraryGetManaged(&managed, &bytes, library, "table") == CUDA_ERROR_NOT_FOUND);
  CUcontext context = nullptr;
  REQUIRE(cuCtxCreate_v2(&context, 0, 1) == CUDA_SUCCESS);
  REQUIRE(cuLibraryGetGlobal(&there, nullptr, library, "table") == CUDA_SUCCESS);
  CHECK(here != there);
  REQUIRE(cuCtxDestroy_v2(context) == CUDA_SUCCESS);
  REQUIRE(cuCtxSetCurrent(kept) == CUDA_SUCCESS);
  CHECK(cuLibraryGetGlobal(&there, nullptr, library, "nothing") == CUDA_ERROR_NOT_FOUND);
  void* unified = nullptr;
  CHECK(cuLibraryGetUnifiedFunction(&unified, library, "first") == CUDA_ERROR_NOT_FOUND);
  CHECK(cuLibraryUnload(library) == CUDA_SUCCESS);
}
