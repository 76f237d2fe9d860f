#include <cstring>
#include <string>

#include "module_helpers.h"

using namespace maya::test;

namespace {

const char* const kFirst = ".version 8.0\n.target sm_80\n.visible .entry first(.param .u64 a) { ret; }\n";
const char* const kSecond = ".version 8.0\n.target sm_80\n.visible .entry second() { ret; }\n";

CUlinkState make_link() {
  current_context();
  CUlinkState state = nullptr;
  REQUIRE(cuLinkCreate_v2(0, nullptr, nullptr, &state) == CUDA_SUCCESS);
  return state;
}

CUresult add(CUlinkState state, CUjitInputType type, const void* data, size_t bytes) {
  return cuLinkAddData_v2(state, type, const_cast<void*>(data), bytes, "input", 0, nullptr, nullptr);
}

}  // namespace

TEST_CASE("PTX goes through the linker into a module", "[link]") {
  const CUlinkState state = make_link();
  REQUIRE(add(state, CU_JIT_INPUT_PTX, kFirst, std::strlen(kFirst) + 1) == CUDA_SUCCESS);
  REQUIRE(add(state, CU_JIT_INPUT_PTX, kSecond, std::strlen(kSecond)) == CUDA_SUCCESS);  // without its NUL
  void* image = nullptr;
  size_t bytes = 0;
  REQUIRE(cuLinkComplete(state, &image, &bytes) == CUDA_SUCCESS);
  CHECK(bytes > 0);
  CUmodule module = nullptr;
  REQUIRE(cuModuleLoadData(&module, image) == CUDA_SUCCESS);
  CUfunction function = nullptr;
  CHECK(cuModuleGetFunction(&function, module, "first") == CUDA_SUCCESS);
  CHECK(cuModuleGetFunction(&function, module, "second") == CUDA_SUCCESS);
  CHECK(cuModuleUnload(module) == CUDA_SUCCESS);
  CHECK(cuLinkDestroy(state) == CUDA_SUCCESS);
  CHECK(cuLinkDestroy(state) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("a cubin passes through unchanged", "[link]") {
  const CUlinkState state = make_link();
  const auto image = sample_cubin();
  REQUIRE(add(state, CU_JIT_INPUT_CUBIN, image.data(), image.size()) == CUDA_SUCCESS);
  void* linked = nullptr;
  size_t bytes = 0;
  REQUIRE(cuLinkComplete(state, &linked, &bytes) == CUDA_SUCCESS);
  REQUIRE(bytes == image.size());
  CHECK(std::memcmp(linked, image.data(), bytes) == 0);
  CHECK(cuLinkDestroy(state) == CUDA_SUCCESS);
}

TEST_CASE("errors of the linker", "[link]") {
  const CUlinkState state = make_link();
  void* linked = nullptr;
  CHECK(cuLinkComplete(state, &linked, nullptr) == CUDA_ERROR_INVALID_VALUE);  // nothing was added
  CHECK(add(state, CU_JIT_INPUT_PTX, "no text of that kind", 20) == CUDA_ERROR_INVALID_PTX);
  CHECK(add(state, CU_JIT_INPUT_CUBIN, "garbage", 7) == CUDA_ERROR_INVALID_IMAGE);
  CHECK(add(state, CU_JIT_INPUT_PTX, nullptr, 7) == CUDA_ERROR_INVALID_VALUE);
  CHECK(add(state, static_cast<CUjitInputType>(50), kFirst, 7) == CUDA_ERROR_INVALID_VALUE);
  CHECK(add(nullptr, CU_JIT_INPUT_PTX, kFirst, 7) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuLinkAddFile_v2(state, CU_JIT_INPUT_PTX, "/no/such/file", 0, nullptr, nullptr) == CUDA_ERROR_FILE_NOT_FOUND);
  const auto image = sample_cubin();
  CHECK(add(state, CU_JIT_INPUT_CUBIN, image.data(), image.size()) == CUDA_SUCCESS);
  CHECK(add(state, CU_JIT_INPUT_CUBIN, image.data(), image.size()) == CUDA_ERROR_NOT_SUPPORTED);
  CHECK(cuLinkDestroy(state) == CUDA_SUCCESS);
  CHECK(cuLinkCreate_v2(1, nullptr, nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
}
