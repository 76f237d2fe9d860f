// cublasLt objects for one test on a fresh fake driver.
#pragma once

#include <cublasLt.h>

#include <catch2/catch.hpp>

#include "test/cublas/fake_driver.h"

namespace maya::test {

struct LtFixture {
  LtFixture() {
    reset();
    REQUIRE(cublasLtCreate(&handle) == CUBLAS_STATUS_SUCCESS);
    REQUIRE(cublasLtMatmulPreferenceCreate(&preference) == CUBLAS_STATUS_SUCCESS);
  }
  ~LtFixture() {
    cublasLtMatmulPreferenceDestroy(preference);
    cublasLtDestroy(handle);
  }

  // D[m,n] = op(A) op(B): column major, packed; A transposed when `ta`.
  void problem(cudaDataType ab, cudaDataType d, uint64_t m, uint64_t n, uint64_t k, bool ta = false, bool tb = false,
               cublasComputeType_t compute = CUBLAS_COMPUTE_32F, cudaDataType scale = CUDA_R_32F) {
    REQUIRE(cublasLtMatmulDescInit(&desc, compute, scale) == CUBLAS_STATUS_SUCCESS);
    set(CUBLASLT_MATMUL_DESC_TRANSA, static_cast<int32_t>(ta ? CUBLAS_OP_T : CUBLAS_OP_N));
    set(CUBLASLT_MATMUL_DESC_TRANSB, static_cast<int32_t>(tb ? CUBLAS_OP_T : CUBLAS_OP_N));
    cublasLtMatrixLayoutInit(&a, ab, ta ? k : m, ta ? m : k, ta ? k : m);
    cublasLtMatrixLayoutInit(&b, ab, tb ? n : k, tb ? k : n, tb ? n : k);
    cublasLtMatrixLayoutInit(&c, d, m, n, m);
    cublasLtMatrixLayoutInit(&this->d, d, m, n, m);
  }

  template <typename T>
  void set(cublasLtMatmulDescAttributes_t id, T value) {
    REQUIRE(cublasLtMatmulDescSetAttribute(&desc, id, &value, sizeof value) == CUBLAS_STATUS_SUCCESS);
  }
  template <typename T>
  void set(cublasLtMatrixLayoutOpaque_t* layout, cublasLtMatrixLayoutAttribute_t id, T value) {
    REQUIRE(cublasLtMatrixLayoutSetAttribute(layout, id, &value, sizeof value) == CUBLAS_STATUS_SUCCESS);
  }

  cublasStatus_t multiply(const cublasLtMatmulAlgo_t* algo = nullptr) {
    return cublasLtMatmul(handle, &desc, &one, device<char>(0), &a, device<char>(0x10000), &b, &zero,
                          device<char>(0x20000), &c, device<char>(0x20000), &d, algo, nullptr, 1 << 20,
                          reinterpret_cast<cudaStream_t>(0x99));
  }

  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  cublasLtMatmulDescOpaque_t desc = {};
  cublasLtMatrixLayoutOpaque_t a = {}, b = {}, c = {}, d = {};
  const float one = 1, zero = 0;
};

}  // namespace maya::test
