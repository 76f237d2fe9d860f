// A cuBLAS handle on a fresh fake driver, for the length of one test.
#pragma once

#include <cublas_v2.h>

#include <catch2/catch.hpp>

#include "test/cublas/fake_driver.h"

namespace maya::test {

struct HandleFixture {
  HandleFixture() {
    reset();
    REQUIRE(cublasCreate_v2(&handle) == CUBLAS_STATUS_SUCCESS);
  }
  ~HandleFixture() { cublasDestroy_v2(handle); }

  cublasHandle_t handle = nullptr;
  const float one = 1, zero = 0, half = 0.5f;
};

}  // namespace maya::test
