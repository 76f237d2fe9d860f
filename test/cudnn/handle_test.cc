#include <cstring>
#include <string>

#include "test/cudnn/handle_fixture.h"

using namespace maya::test;

TEST_CASE("Versions are those of the header") {
  CHECK(cudnnGetVersion() == CUDNN_VERSION);
  // PyTorch refuses a library older than the one it was built with: 9.26 in the 2.15.0 wheel.
  CHECK(cudnnGetVersion() >= 92600);
  int value = 0;
  CHECK(cudnnGetProperty(MINOR_VERSION, &value) == CUDNN_STATUS_SUCCESS);
  CHECK(value == CUDNN_MINOR);
  CHECK(cudnnGetProperty(MINOR_VERSION, nullptr) == CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  CHECK(cudnnOpsVersionCheck() == CUDNN_STATUS_SUCCESS);
}

TEST_CASE("Handles and streams") {
  reset();
  fake().has_context = false;
  cudnnHandle_t handle = nullptr;
  CHECK(cudnnCreate(nullptr) == CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  REQUIRE(cudnnCreate(&handle) == CUDNN_STATUS_SUCCESS);
  CHECK(fake().has_context);
  cudaStream_t stream = nullptr;
  CHECK(cudnnSetStream(handle, reinterpret_cast<cudaStream_t>(0x33)) == CUDNN_STATUS_SUCCESS);
  CHECK(cudnnGetStream(handle, &stream) == CUDNN_STATUS_SUCCESS);
  CHECK(stream == reinterpret_cast<cudaStream_t>(0x33));
  CHECK(cudnnSetStream(nullptr, nullptr) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnDestroy(handle) == CUDNN_STATUS_SUCCESS);
}

TEST_CASE("Texts") {
  CHECK(std::string(cudnnGetErrorString(CUDNN_STATUS_NOT_SUPPORTED)) == "CUDNN_STATUS_NOT_SUPPORTED");
  CHECK(std::string(cudnnGetErrorString(static_cast<cudnnStatus_t>(77))) == "CUDNN_UNKNOWN_STATUS");
  cudnnSetStream(nullptr, nullptr);
  char message[8];
  cudnnGetLastErrorString(message, sizeof message);
  CHECK(std::string(message) == "not a c");  // "not a cuDNN handle", cut
  cudnnGetLastErrorString(message, sizeof message);
  CHECK(std::string(message).empty());
}

TEST_CASE("The callback is kept") {
  unsigned mask = 0;
  void* data = nullptr;
  cudnnCallback_t function = nullptr;
  int here = 0;
  CHECK(cudnnSetCallback(7, &here, nullptr) == CUDNN_STATUS_SUCCESS);
  CHECK(cudnnGetCallback(&mask, &data, &function) == CUDNN_STATUS_SUCCESS);
  CHECK(mask == 7);
  CHECK(data == &here);
  cudnnSetCallback(0, nullptr, nullptr);
}
