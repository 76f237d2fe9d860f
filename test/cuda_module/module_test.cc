#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "module_helpers.h"

using namespace maya::test;

TEST_CASE("load, look up, unload", "[module]") {
  current_context();
  const auto image = sample_fat_binary();
  CUmodule module = nullptr;
  REQUIRE(cuModuleLoadData(&module, image.data()) == CUDA_SUCCESS);
  CUfunction function = nullptr, again = nullptr;
  REQUIRE(cuModuleGetFunction(&function, module, "first") == CUDA_SUCCESS);
  REQUIRE(cuModuleGetFunction(&again, module, "first") == CUDA_SUCCESS);
  CHECK(function == again);
  CHECK(cuModuleGetFunction(&again, module, "third") == CUDA_ERROR_NOT_FOUND);
  CHECK(cuModuleGetFunction(&again, module, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuModuleGetFunction(nullptr, module, "first") == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuModuleGetFunction(&again, nullptr, "first") == CUDA_ERROR_INVALID_HANDLE);
  unsigned count = 0;
  REQUIRE(cuModuleGetFunctionCount(&count, module) == CUDA_SUCCESS);
  CHECK(count == 2);
  CUfunction functions[2] = {};
  REQUIRE(cuModuleEnumerateFunctions(functions, 2, module) == CUDA_SUCCESS);
  CHECK(functions[0] == function);
  CUmodule owner = nullptr;
  REQUIRE(cuFuncGetModule(&owner, function) == CUDA_SUCCESS);
  CHECK(owner == module);
  REQUIRE(cuModuleUnload(module) == CUDA_SUCCESS);
  CHECK(cuModuleUnload(module) == CUDA_ERROR_INVALID_HANDLE);
  int value = 0;
  CHECK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, function) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("images that cannot be loaded give the documented errors", "[module]") {
  current_context();
  CUmodule module = nullptr;
  CHECK(cuModuleLoadData(&module, "no image") == CUDA_ERROR_INVALID_IMAGE);
  CHECK(cuModuleLoadData(&module, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuModuleLoadData(nullptr, "x") == CUDA_ERROR_INVALID_VALUE);
  const auto other = build_fat_binary({{2, 80, 0x11, sample_cubin(80)}});
  CHECK(cuModuleLoadData(&module, other.data()) == CUDA_ERROR_NO_BINARY_FOR_GPU);
  CHECK(cuModuleLoadData(&module, ".version 8.0\n.target sm_80\n.entry f( {") == CUDA_ERROR_INVALID_PTX);
  CHECK(cuModuleLoadData(&module, ".version 77.0\n.target sm_80\n") == CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  CHECK(cuModuleLoad(&module, "/no/such/file.cubin") == CUDA_ERROR_FILE_NOT_FOUND);
  CHECK(cuModuleLoad(&module, nullptr) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a file as a module", "[module]") {
  current_context();
  char path[] = "/tmp/maya_module_test_XXXXXX";
  const int descriptor = mkstemp(path);
  REQUIRE(descriptor >= 0);
  const auto image = sample_cubin();
  REQUIRE(write(descriptor, image.data(), image.size()) == static_cast<ssize_t>(image.size()));
  close(descriptor);
  CUmodule module = nullptr;
  CHECK(cuModuleLoad(&module, path) == CUDA_SUCCESS);
  CHECK(cuModuleUnload(module) == CUDA_SUCCESS);
  unlink(path);
}

TEST_CASE("the error log of a failed load, and sizes of logs", "[module]") {
  current_context();
  char log[64] = "untouched";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                            CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof(log)), reinterpret_cast<void*>(uintptr_t{100})};
  CUmodule module = nullptr;
  CHECK(cuModuleLoadDataEx(&module, ".version 8.0\n", 3, options, values) == CUDA_ERROR_INVALID_PTX);
  CHECK(std::strlen(log) > 0);
  CHECK(std::strlen(log) == reinterpret_cast<uintptr_t>(values[1]));
  CHECK(values[2] == nullptr);
  CHECK(cuModuleLoadDataEx(&module, ".version 8.0\n", 3, nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
  options[0] = static_cast<CUjit_option>(9999);
  CHECK(cuModuleLoadDataEx(&module, ".version 8.0\n", 3, options, values) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("variables have addresses, sizes and initial values", "[module]") {
  current_context();
  const auto image = sample_cubin();
  CUmodule module = nullptr;
  REQUIRE(cuModuleLoadData(&module, image.data()) == CUDA_SUCCESS);
  CUdeviceptr address = 0;
  size_t bytes = 0;
  int32_t value = 0;
  REQUIRE(cuModuleGetGlobal_v2(&address, &bytes, module, "counter") == CUDA_SUCCESS);
  CHECK(bytes == 4);
  REQUIRE(cuMemcpyDtoH_v2(&value, address, 4) == CUDA_SUCCESS);
  CHECK(value == 7);
  value = 1234;
  REQUIRE(cuMemcpyHtoD_v2(address, &value, 4) == CUDA_SUCCESS);
  CUdeviceptr again = 0;
  REQUIRE(cuModuleGetGlobal_v2(&again, nullptr, module, "counter") == CUDA_SUCCESS);
  CHECK(again == address);
  REQUIRE(cuModuleGetGlobal_v2(&address, &bytes, module, "table") == CUDA_SUCCESS);
  CHECK(bytes == 400);
  std::vector<uint8_t> table(400, 1);
  REQUIRE(cuMemcpyDtoH_v2(table.data(), address, 400) == CUDA_SUCCESS);
  CHECK(table == std::vector<uint8_t>(400, 0));
  REQUIRE(cuModuleGetGlobal_v2(&address, nullptr, module, "limits") == CUDA_SUCCESS);
  REQUIRE(cuMemcpyDtoH_v2(&value, address, 4) == CUDA_SUCCESS);
  CHECK(value == 0x04030201);
  REQUIRE(cuModuleGetGlobal_v2(&address, nullptr, module, "both") == CUDA_SUCCESS);
  CHECK(*reinterpret_cast<int32_t*>(address) == 9);  // managed: the host reads it in place
  const CUdeviceptr managed = address;
  unsigned int is_managed = 0;
  CHECK(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, managed) == CUDA_SUCCESS);
  CHECK(is_managed == 1);
  CHECK(cuModuleGetGlobal_v2(&address, nullptr, module, "first") == CUDA_ERROR_NOT_FOUND);
  CHECK(cuModuleGetGlobal_v2(nullptr, nullptr, module, "table") == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuModuleGetGlobal_v2(&address, nullptr, module, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuModuleUnload(module) == CUDA_SUCCESS);
  CHECK(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, managed) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("code takes device memory at first use, and gives it back", "[module]") {
  current_context();
  KernelText big{"big", {}};
  big.code_bytes = 5 << 20;
  const auto image = build_cubin(90, {big});
  size_t before = 0, loaded = 0, used = 0, after = 0, total = 0;
  REQUIRE(cuMemGetInfo_v2(&before, &total) == CUDA_SUCCESS);
  CUmodule module = nullptr;
  REQUIRE(cuModuleLoadData(&module, image.data()) == CUDA_SUCCESS);
  REQUIRE(cuMemGetInfo_v2(&loaded, &total) == CUDA_SUCCESS);
  CHECK(loaded == before);
  CUfunction function = nullptr;
  REQUIRE(cuModuleGetFunction(&function, module, "big") == CUDA_SUCCESS);
  REQUIRE(cuMemGetInfo_v2(&used, &total) == CUDA_SUCCESS);
  CHECK(before - used >= 4 << 20);
  CHECK(before - used <= 8 << 20);
  REQUIRE(cuModuleUnload(module) == CUDA_SUCCESS);
  REQUIRE(cuMemGetInfo_v2(&after, &total) == CUDA_SUCCESS);
  CHECK(after == before);
}

TEST_CASE("a destroyed context takes its modules with it", "[module]") {
  const CUcontext kept = current_context();
  CUcontext context = nullptr;
  REQUIRE(cuCtxCreate_v2(&context, 0, 1) == CUDA_SUCCESS);
  const auto image = sample_cubin();
  CUmodule module = nullptr;
  REQUIRE(cuModuleLoadData(&module, image.data()) == CUDA_SUCCESS);
  CUdeviceptr address = 0;
  REQUIRE(cuModuleGetGlobal_v2(&address, nullptr, module, "table") == CUDA_SUCCESS);
  REQUIRE(cuCtxDestroy_v2(context) == CUDA_SUCCESS);
  REQUIRE(cuCtxSetCurrent(kept) == CUDA_SUCCESS);
  CHECK(cuModuleUnload(module) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("loading mode", "[module]") {
  current_context();
  CUmoduleLoadingMode mode = CU_MODULE_EAGER_LOADING;
  REQUIRE(cuModuleGetLoadingMode(&mode) == CUDA_SUCCESS);
  CHECK(mode == CU_MODULE_LAZY_LOADING);
  CHECK(cuModuleGetLoadingMode(nullptr) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("without a context a module cannot be loaded", "[module]") {
  const CUcontext kept = current_context();
  REQUIRE(cuCtxSetCurrent(nullptr) == CUDA_SUCCESS);
  const auto image = sample_cubin();
  CUmodule module = nullptr;
  CHECK(cuModuleLoadData(&module, image.data()) == CUDA_ERROR_INVALID_CONTEXT);
  REQUIRE(cuCtxSetCurrent(kept) == CUDA_SUCCESS);
}
