// A cuDNN handle on a fresh fake driver, for the length of one test.
#pragma once

#include <cudnn.h>

#include <catch2/catch.hpp>

#include "test/cublas/fake_driver.h"

namespace maya::test {

struct CudnnFixture {
  CudnnFixture() {
    reset();
    REQUIRE(cudnnCreate(&handle) == CUDNN_STATUS_SUCCESS);
    REQUIRE(cudnnCreateTensorDescriptor(&tensor) == CUDNN_STATUS_SUCCESS);
  }
  ~CudnnFixture() {
    cudnnDestroyTensorDescriptor(tensor);
    cudnnDestroy(handle);
  }

  cudnnHandle_t handle = nullptr;
  cudnnTensorDescriptor_t tensor = nullptr;
  const float one = 1, zero = 0;
};

}  // namespace maya::test
