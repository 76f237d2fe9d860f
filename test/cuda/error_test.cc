// Error names and descriptions.
#include <cstring>

#include "test/cuda/driver_helpers.h"

TEST_CASE("Names and descriptions of results") {
  const char* text = nullptr;
  CHECK(cuGetErrorName(CUDA_SUCCESS, &text) == CUDA_SUCCESS);
  CHECK(strcmp(text, "CUDA_SUCCESS") == 0);
  CHECK(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text) == CUDA_SUCCESS);
  CHECK(strcmp(text, "CUDA_ERROR_OUT_OF_MEMORY") == 0);
  CHECK(cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &text) == CUDA_SUCCESS);
  CHECK(strcmp(text, "invalid argument") == 0);
  CHECK(cuGetErrorName(CUDA_ERROR_UNKNOWN, &text) == CUDA_SUCCESS);
  CHECK(strcmp(text, "CUDA_ERROR_UNKNOWN") == 0);
}

TEST_CASE("An unknown result is INVALID_VALUE and a null text") {
  // cuda.h: "If the error code is not recognized, CUDA_ERROR_INVALID_VALUE will be returned and *pStr will be set to
  // the NULL address."
  for (const int unknown : {-1, 9, 203, 998, 1000}) {
    const char* text = "";
    CHECK(cuGetErrorName(static_cast<CUresult>(unknown), &text) == CUDA_ERROR_INVALID_VALUE);
    CHECK(text == nullptr);
    text = "";
    CHECK(cuGetErrorString(static_cast<CUresult>(unknown), &text) == CUDA_ERROR_INVALID_VALUE);
    CHECK(text == nullptr);
  }
  CHECK(cuGetErrorName(CUDA_SUCCESS, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGetErrorString(CUDA_SUCCESS, nullptr) == CUDA_ERROR_INVALID_VALUE);
}
