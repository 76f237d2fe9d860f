#include <cuda_fp16.h>

#include <string>

#include "test/cublas/handle_fixture.h"

using namespace maya;
using namespace maya::test;

namespace {

int64_t type(DataType data_type) { return static_cast<int64_t>(data_type); }

}  // namespace

TEST_CASE_METHOD(HandleFixture, "cublasSgemm is recorded with its whole shape") {
  // C[3,4] = op(A)[3,5] op(B)[5,4]; A is stored 5 by 3, B 5 by 4.
  cublasSetStream_v2(handle, reinterpret_cast<cudaStream_t>(0x77));
  REQUIRE(cublasSgemm_v2(handle, CUBLAS_OP_T, CUBLAS_OP_N, 3, 4, 5, &one, device<float>(0), 5, device<float>(256), 6,
                         &half, device<float>(512), 3) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(fake().recorded.size() == 1);
  CHECK(fake().last().operation.family == Family::kGemm);
  CHECK(std::string(fake().last().operation.api) == "cublasSgemm_v2");
  CHECK(fake().last().stream == reinterpret_cast<CUstream>(0x77));
  CHECK(fake().field(Key::kM) == 3);
  CHECK(fake().field(Key::kN) == 4);
  CHECK(fake().field(Key::kK) == 5);
  CHECK(fake().field(Key::kBatch) == 1);
  CHECK(fake().field(Key::kTypeA) == type(DataType::kFloat32));
  CHECK(fake().field(Key::kTypeD) == type(DataType::kFloat32));
  CHECK(fake().field(Key::kComputeType) == type(DataType::kFloat32));
  CHECK(fake().field(Key::kTransA) == 1);
  CHECK(fake().field(Key::kTransB) == 0);
  CHECK(fake().field(Key::kLda) == 5);
  CHECK(fake().field(Key::kLdb) == 6);
  CHECK(fake().field(Key::kLdc) == 3);
  CHECK(fake().field(Key::kAlpha) == 1);
  CHECK(fake().field(Key::kBeta) == 2);
  // 12 floats without gaps.
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<float>(512), 48)});
}

TEST_CASE_METHOD(HandleFixture, "Gaps between the columns of C are not written") {
  REQUIRE(cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 3, 1, &one, device<float>(0), 2, device<float>(256), 1,
                         &zero, device<float>(512), 10) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<float>(512), 8), range(device<float>(552), 8),
                                                         range(device<float>(592), 8)});
  // More than 64 columns: one range from the first to the last element, (100 - 1) * 40 + 8 bytes.
  REQUIRE(cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 100, 1, &one, device<float>(0), 2, device<float>(256), 1,
                         &zero, device<float>(512), 10) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<float>(512), 3968)});
}

TEST_CASE_METHOD(HandleFixture,
                 "Single precision products use TF32 where the math mode or the compute type allows it") {
  const auto multiply = [&] {
    REQUIRE(cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, device<float>(0), 2, device<float>(64), 2,
                           &zero, device<float>(128), 2) == CUBLAS_STATUS_SUCCESS);
  };
  multiply();
  CHECK(fake().field(Key::kTypeA) == type(DataType::kFloat32));
  cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);
  multiply();
  CHECK(fake().field(Key::kTypeA) == type(DataType::kTf32));
  CHECK(fake().field(Key::kTypeB) == type(DataType::kTf32));
  CHECK(fake().field(Key::kComputeType) == type(DataType::kTf32));
  CHECK(fake().field(Key::kTypeC) == type(DataType::kFloat32));
  cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH);
  REQUIRE(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, device<float>(0), CUDA_R_32F, 2,
                       device<float>(64), CUDA_R_32F, 2, &zero, device<float>(128), CUDA_R_32F, 2,
                       CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().field(Key::kTypeA) == type(DataType::kTf32));
  // Half precision operands stay what they are.
  cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);
  REQUIRE(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, device<float>(0), CUDA_R_16BF, 2,
                       device<float>(64), CUDA_R_16BF, 2, &zero, device<float>(128), CUDA_R_16BF, 2, CUBLAS_COMPUTE_32F,
                       CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().field(Key::kTypeA) == type(DataType::kBfloat16));
  CHECK(fake().field(Key::kComputeType) == type(DataType::kFloat32));
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<float>(128), 8)});
}

TEST_CASE_METHOD(HandleFixture, "Documented INVALID_VALUE cases of a product") {
  const auto multiply = [&](int m, int n, int k, int lda, int ldb, int ldc, int transa = CUBLAS_OP_N) {
    return cublasSgemm_v2(handle, static_cast<cublasOperation_t>(transa), CUBLAS_OP_N, m, n, k, &one, device<float>(0),
                          lda, device<float>(64), ldb, &zero, device<float>(128), ldc);
  };
  CHECK(multiply(-1, 2, 2, 2, 2, 2) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(multiply(2, -1, 2, 2, 2, 2) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(multiply(2, 2, -1, 2, 2, 2) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(multiply(4, 2, 2, 3, 2, 4) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(multiply(4, 2, 2, 2, 2, 4, CUBLAS_OP_T) == CUBLAS_STATUS_SUCCESS);
  CHECK(multiply(2, 2, 4, 2, 3, 2) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(multiply(4, 2, 2, 4, 2, 3) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(multiply(2, 2, 2, 2, 2, 2, CUBLAS_OP_CONJG) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, nullptr, device<float>(0), 2, device<float>(64), 2,
                       &zero, device<float>(128), 2) == CUBLAS_STATUS_INVALID_VALUE);
  // Nothing to compute: success, nothing recorded.
  fake().recorded.clear();
  CHECK(multiply(0, 2, 2, 1, 2, 1) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().recorded.empty());
}

TEST_CASE_METHOD(HandleFixture, "cublasGemmEx takes the documented type combinations only") {
  const auto multiply = [&](cudaDataType a, cudaDataType c, cublasComputeType_t compute) {
    return cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, device<float>(0), a, 4, device<float>(64), a,
                        4, &zero, device<float>(128), c, 4, compute, CUBLAS_GEMM_DEFAULT_TENSOR_OP);
  };
  CHECK(multiply(CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F) == CUBLAS_STATUS_SUCCESS);
  CHECK(multiply(CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F) == CUBLAS_STATUS_SUCCESS);
  CHECK(multiply(CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I) == CUBLAS_STATUS_SUCCESS);
  CHECK(multiply(CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F) == CUBLAS_STATUS_SUCCESS);
  CHECK(multiply(CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F) == CUBLAS_STATUS_SUCCESS);
  CHECK(multiply(CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(multiply(CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_16F) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(multiply(CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_32F) == CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_CASE_METHOD(HandleFixture, "Scalars in device memory are not read") {
  cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_DEVICE);
  REQUIRE(cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, device<float>(900), device<float>(0), 2,
                         device<float>(64), 2, device<float>(904), device<float>(128), 2) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().field(Key::kAlpha) == 2);
  CHECK(fake().field(Key::kBeta) == 2);
}

TEST_CASE_METHOD(HandleFixture, "Half, double and complex products; 64-bit sizes") {
  const __half half_one = __float2half(1.0f), half_zero = __float2half(0.0f);
  REQUIRE(cublasHgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &half_one, device<__half>(0), 2, device<__half>(64), 2,
                      &half_zero, device<__half>(128), 2) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().field(Key::kTypeA) == type(DataType::kFloat16));
  CHECK(fake().field(Key::kComputeType) == type(DataType::kFloat16));
  CHECK(fake().field(Key::kAlpha) == 1);
  CHECK(fake().field(Key::kBeta) == 0);

  const cuDoubleComplex z_one{1, 0}, z_i{0, 1};
  REQUIRE(cublasZgemm_v2_64(handle, CUBLAS_OP_C, CUBLAS_OP_N, 2, 2, 2, &z_i, device<cuDoubleComplex>(0), 2,
                            device<cuDoubleComplex>(64), 2, &z_one, device<cuDoubleComplex>(128),
                            2) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().field(Key::kTypeA) == type(DataType::kComplex128));
  CHECK(fake().field(Key::kTransA) == 2);
  CHECK(fake().field(Key::kAlpha) == 2);
  CHECK(fake().field(Key::kBeta) == 1);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<char>(128), 64)});

  const int64_t large = 3000000000;
  REQUIRE(cublasSgemm_v2_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, large, 1, 1, &one, device<float>(0), large,
                            device<float>(64), 1, &zero, device<float>(128), large) == CUBLAS_STATUS_SUCCESS);
  CHECK(fake().field(Key::kM) == large);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<char>(128), 12000000000)});
}
