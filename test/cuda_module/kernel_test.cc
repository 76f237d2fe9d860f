#include "module_helpers.h"

using namespace maya::test;

namespace {

struct Loaded {
  Loaded() {
    current_context();
    const auto image = sample_cubin();
    REQUIRE(cuLibraryLoadData(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0) == CUDA_SUCCESS);
    REQUIRE(cuLibraryGetKernel(&kernel, library, "first") == CUDA_SUCCESS);
  }
  ~Loaded() { cuLibraryUnload(library); }
  int attribute(CUfunction_attribute which) const {
    int value = -1;
    REQUIRE(cuKernelGetAttribute(&value, which, kernel, 0) == CUDA_SUCCESS);
    return value;
  }
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
};

}  // namespace

TEST_CASE("attributes come from the image", "[kernel]") {
  const Loaded loaded;
  CHECK(loaded.attribute(CU_FUNC_ATTRIBUTE_NUM_REGS) == 40);
  CHECK(loaded.attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) == 1200);
  CHECK(loaded.attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) == 1024);
  CHECK(loaded.attribute(CU_FUNC_ATTRIBUTE_BINARY_VERSION) == 90);
  CHECK(loaded.attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) == (48 << 10) - 1200);
  CHECK(loaded.attribute(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) == -1);
  int value = 0;
  CHECK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX, loaded.kernel, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, loaded.kernel, 99) == CUDA_ERROR_INVALID_DEVICE);
  CHECK(cuKernelGetAttribute(nullptr, CU_FUNC_ATTRIBUTE_NUM_REGS, loaded.kernel, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, nullptr, 0) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("dynamic shared memory can be raised to the device's limit of 227 KiB", "[kernel]") {
  const Loaded loaded;
  const auto set = [&](int bytes) {
    return cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes, loaded.kernel, 0);
  };
  CHECK(set((227 << 10) - 1200) == CUDA_SUCCESS);
  CHECK(loaded.attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) == (227 << 10) - 1200);
  CHECK(set((227 << 10) - 1199) == CUDA_ERROR_INVALID_VALUE);
  CHECK(set(-1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_NUM_REGS, 10, loaded.kernel, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101, loaded.kernel, 0) ==
        CUDA_ERROR_INVALID_VALUE);
  CHECK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1, loaded.kernel, 0) == CUDA_SUCCESS);
  CHECK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 2, loaded.kernel, 0) ==
        CUDA_ERROR_INVALID_VALUE);
  CHECK(cuKernelSetCacheConfig(loaded.kernel, CU_FUNC_CACHE_PREFER_SHARED, 0) == CUDA_SUCCESS);
  CHECK(cuKernelSetCacheConfig(loaded.kernel, static_cast<CUfunc_cache>(9), 0) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("parameters, one by one", "[kernel]") {
  const Loaded loaded;
  size_t offset = 0, size = 0, count = 0;
  REQUIRE(cuKernelGetParamInfo(loaded.kernel, 1, &offset, &size) == CUDA_SUCCESS);
  CHECK(offset == 8);
  CHECK(size == 4);
  CHECK(cuKernelGetParamInfo(loaded.kernel, 0, &offset, nullptr) == CUDA_SUCCESS);
  CHECK(cuKernelGetParamInfo(loaded.kernel, 2, &offset, &size) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuKernelGetParamInfo(loaded.kernel, 0, nullptr, &size) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(cuKernelGetParamCount(loaded.kernel, &count) == CUDA_SUCCESS);
  CHECK(count == 2);
}

TEST_CASE("functions, and handles of kernels in their place", "[kernel]") {
  const Loaded loaded;
  CUfunctionLoadingState state = CU_FUNCTION_LOADING_STATE_LOADED;
  const auto as_function = reinterpret_cast<CUfunction>(loaded.kernel);
  REQUIRE(cuFuncIsLoaded(&state, as_function) == CUDA_SUCCESS);
  CHECK(state == CU_FUNCTION_LOADING_STATE_UNLOADED);
  REQUIRE(cuFuncLoad(as_function) == CUDA_SUCCESS);
  REQUIRE(cuFuncIsLoaded(&state, as_function) == CUDA_SUCCESS);
  CHECK(state == CU_FUNCTION_LOADING_STATE_LOADED);
  int value = 0;
  REQUIRE(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, as_function) == CUDA_SUCCESS);
  CHECK(value == 40);
  CHECK(cuFuncSetAttribute(as_function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1000) == CUDA_SUCCESS);
  CHECK(cuFuncSetCacheConfig(as_function, CU_FUNC_CACHE_PREFER_L1) == CUDA_SUCCESS);
  size_t count = 0;
  CHECK(cuFuncGetParamCount(as_function, &count) == CUDA_SUCCESS);
  CHECK(count == 2);
  // Garbage of every kind is found out.
  const auto inside = reinterpret_cast<CUfunction>(reinterpret_cast<char*>(loaded.kernel) + 8);
  for (const CUfunction bad : {static_cast<CUfunction>(nullptr), reinterpret_cast<CUfunction>(uintptr_t{1}), inside,
                               reinterpret_cast<CUfunction>(&count), reinterpret_cast<CUfunction>(~uintptr_t{0})})
    CHECK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, bad) == CUDA_ERROR_INVALID_HANDLE);
}
