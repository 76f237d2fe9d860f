#include <cublas_v2.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

#include "test/cublas/fake_driver.h"

using namespace maya;
using namespace maya::test;

TEST_CASE("A handle charges the default workspace and gives it back") {
  reset();
  cublasHandle_t handle = nullptr;
  SECTION("32 MiB on compute capability 9") {
    REQUIRE(cublasCreate_v2(&handle) == CUBLAS_STATUS_SUCCESS);
    REQUIRE(fake().charged.size() == 1);
    CHECK(fake().charged.begin()->second == 33554432);
  }
  SECTION("two blocks of 4 MiB and eight of 16 KiB elsewhere") {
    fake().compute_capability_major = 8;
    REQUIRE(cublasCreate_v2(&handle) == CUBLAS_STATUS_SUCCESS);
    REQUIRE(fake().charged.size() == 1);
    CHECK(fake().charged.begin()->second == 2 * 4194304 + 8 * 16384);
  }
  CHECK(cublasDestroy_v2(handle) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().charged.empty());
}

TEST_CASE("cublasCreate reports what goes wrong") {
  reset();
  CHECK(cublasCreate_v2(nullptr) == CUBLAS_STATUS_INVALID_VALUE);
  fake().allocate_result = CUDA_ERROR_OUT_OF_MEMORY;
  cublasHandle_t handle = reinterpret_cast<cublasHandle_t>(1);
  CHECK(cublasCreate_v2(&handle) == CUBLAS_STATUS_ALLOC_FAILED);
  CHECK(handle == nullptr);
}

TEST_CASE("cublasCreate makes the primary context current where there is none") {
  reset();
  fake().has_context = false;
  cublasHandle_t handle = nullptr;
  REQUIRE(cublasCreate_v2(&handle) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().has_context);
  cublasDestroy_v2(handle);
}

TEST_CASE("A null handle is not initialized") {
  reset();
  cublasPointerMode_t mode;
  CHECK(cublasDestroy_v2(nullptr) == CUBLAS_STATUS_NOT_INITIALIZED);
  CHECK(cublasSetStream_v2(nullptr, nullptr) == CUBLAS_STATUS_NOT_INITIALIZED);
  CHECK(cublasGetPointerMode_v2(nullptr, &mode) == CUBLAS_STATUS_NOT_INITIALIZED);
  CHECK(cublasSetWorkspace_v2(nullptr, nullptr, 0) == CUBLAS_STATUS_NOT_INITIALIZED);
  CHECK(cublasSgemm_v2(nullptr, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, nullptr, nullptr, 1, nullptr, 1, nullptr, nullptr,
                       1) == CUBLAS_STATUS_NOT_INITIALIZED);
}

TEST_CASE("Settings are kept, and values out of range refused") {
  reset();
  cublasHandle_t handle = nullptr;
  REQUIRE(cublasCreate_v2(&handle) == CUBLAS_STATUS_SUCCESS);

  cublasMath_t math;
  CHECK(cublasGetMathMode(handle, &math) == CUBLAS_STATUS_SUCCESS);
  CHECK(math == CUBLAS_DEFAULT_MATH);
  // PyTorch or-s the reduction flag to the mode.
  const auto both =
      static_cast<cublasMath_t>(CUBLAS_TF32_TENSOR_OP_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
  CHECK(cublasSetMathMode(handle, both) == CUBLAS_STATUS_SUCCESS);
  CHECK(cublasGetMathMode(handle, &math) == CUBLAS_STATUS_SUCCESS);
  CHECK(math == both);
  CHECK(cublasSetMathMode(handle, static_cast<cublasMath_t>(5)) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(cublasGetMathMode(handle, nullptr) == CUBLAS_STATUS_INVALID_VALUE);

  cublasPointerMode_t pointer_mode;
  CHECK(cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_DEVICE) == CUBLAS_STATUS_SUCCESS);
  CHECK(cublasGetPointerMode_v2(handle, &pointer_mode) == CUBLAS_STATUS_SUCCESS);
  CHECK(pointer_mode == CUBLAS_POINTER_MODE_DEVICE);
  CHECK(cublasSetPointerMode_v2(handle, static_cast<cublasPointerMode_t>(2)) == CUBLAS_STATUS_INVALID_VALUE);

  cublasAtomicsMode_t atomics;
  CHECK(cublasSetAtomicsMode(handle, CUBLAS_ATOMICS_ALLOWED) == CUBLAS_STATUS_SUCCESS);
  CHECK(cublasGetAtomicsMode(handle, &atomics) == CUBLAS_STATUS_SUCCESS);
  CHECK(atomics == CUBLAS_ATOMICS_ALLOWED);

  int count = -1;
  CHECK(cublasSetSmCountTarget(handle, 100) == CUBLAS_STATUS_SUCCESS);
  CHECK(cublasGetSmCountTarget(handle, &count) == CUBLAS_STATUS_SUCCESS);
  CHECK(count == 100);
  CHECK(cublasSetSmCountTarget(handle, -1) == CUBLAS_STATUS_INVALID_VALUE);

  cudaStream_t stream = nullptr;
  CHECK(cublasSetStream_v2(handle, reinterpret_cast<cudaStream_t>(0x55)) == CUBLAS_STATUS_SUCCESS);
  CHECK(cublasGetStream_v2(handle, &stream) == CUBLAS_STATUS_SUCCESS);
  CHECK(stream == reinterpret_cast<cudaStream_t>(0x55));
  cublasDestroy_v2(handle);
}

TEST_CASE("A user's workspace is aligned to 256 bytes and is dropped by cublasSetStream") {
  reset();
  cublasHandle_t handle = nullptr;
  REQUIRE(cublasCreate_v2(&handle) == CUBLAS_STATUS_SUCCESS);
  CHECK(cublasSetWorkspace_v2(handle, device<char>(128), 4096) == CUBLAS_STATUS_INVALID_VALUE);
  REQUIRE(cublasSetWorkspace_v2(handle, device<char>(256), 4096) == CUBLAS_STATUS_SUCCESS);
  const float one = 1, zero = 0;
  const auto multiply = [&] {
    return cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, device<float>(0), 2, device<float>(64), 2,
                          &zero, device<float>(128), 2);
  };
  REQUIRE(multiply() == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().field(Key::kWorkspaceBytes) == 4096);
  REQUIRE(cublasSetStream_v2(handle, nullptr) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(multiply() == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().field(Key::kWorkspaceBytes) == 33554432);
  cublasDestroy_v2(handle);
}

TEST_CASE("Version and status texts") {
  int version = 0, part = 0;
  CHECK(cublasGetVersion_v2(nullptr, &version) == CUBLAS_STATUS_SUCCESS);
  CHECK(version == CUBLAS_VERSION);
  CHECK(cublasGetProperty(MAJOR_VERSION, &part) == CUBLAS_STATUS_SUCCESS);
  CHECK(part == CUBLAS_VER_MAJOR);
  CHECK(cublasGetProperty(static_cast<libraryPropertyType>(9), &part) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(std::string(cublasGetStatusName(CUBLAS_STATUS_ALLOC_FAILED)) == "CUBLAS_STATUS_ALLOC_FAILED");
  CHECK(std::string(cublasGetStatusString(CUBLAS_STATUS_SUCCESS)) == "success");
}

TEST_CASE("Errors of the driver in cuBLAS' terms") {
  reset();
  cublasHandle_t handle = nullptr;
  REQUIRE(cublasCreate_v2(&handle) == CUBLAS_STATUS_SUCCESS);
  const float one = 1;
  const auto scale = [&] { return cublasSscal_v2(handle, 4, &one, device<float>(0), 1); };
  fake().record_result = CUDA_ERROR_NOT_INITIALIZED;
  CHECK(scale() == CUBLAS_STATUS_NOT_INITIALIZED);
  fake().record_result = CUDA_ERROR_INVALID_HANDLE;
  CHECK(scale() == CUBLAS_STATUS_EXECUTION_FAILED);
  fake().record_result = CUDA_SUCCESS;
  CHECK(scale() == CUBLAS_STATUS_SUCCESS);
  cublasDestroy_v2(handle);
}
