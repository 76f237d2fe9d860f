#include <string>

#include "test/cudnn/handle_fixture.h"

using namespace maya;
using namespace maya::test;

TEST_CASE_METHOD(CudnnFixture, "Batch normalisation is recorded and writes its results") {
  cudnnTensorDescriptor_t statistics;
  REQUIRE(cudnnCreateTensorDescriptor(&statistics) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_HALF, 2, 3, 4, 4) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnDeriveBNTensorDescriptor(statistics, tensor, CUDNN_BATCHNORM_SPATIAL) == CUDNN_STATUS_SUCCESS);
  const auto at = [](int offset) { return device<char>(offset); };
  REQUIRE(cudnnBatchNormalizationForwardTraining(handle, CUDNN_BATCHNORM_SPATIAL, &one, &zero, tensor, at(0), tensor,
                                                 at(0x1000), statistics, at(0x2000), at(0x2100), 0.1, at(0x2200),
                                                 at(0x2300), 1e-5, at(0x2400), at(0x2500)) == CUDNN_STATUS_SUCCESS);
  CHECK(fake().last().operation.family == Family::kNormalization);
  CHECK(fake().field(Key::kChannels) == 3);
  CHECK(fake().field(Key::kRows) == 32);
  CHECK(fake().field(Key::kElements) == 96);
  // 96 halves and two times 3 floats in; 96 halves and four times 3 floats out.
  CHECK(fake().field(Key::kReadBytes) == 192 + 24);
  CHECK(fake().field(Key::kWrittenBytes) == 192 + 48);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(at(0x1000), 192), range(at(0x2200), 12),
                                                         range(at(0x2300), 12), range(at(0x2400), 12),
                                                         range(at(0x2500), 12)});
  // Running statistics are optional.
  REQUIRE(cudnnBatchNormalizationForwardTraining(handle, CUDNN_BATCHNORM_SPATIAL, &one, &zero, tensor, at(0), tensor,
                                                 at(0x1000), statistics, at(0x2000), at(0x2100), 0.1, nullptr, nullptr,
                                                 1e-5, nullptr, nullptr) == CUDNN_STATUS_SUCCESS);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(at(0x1000), 192)});
  CHECK(cudnnBatchNormalizationForwardTraining(handle, CUDNN_BATCHNORM_SPATIAL, &one, &zero, nullptr, at(0), tensor,
                                               at(0x1000), statistics, at(0x2000), at(0x2100), 0.1, nullptr, nullptr,
                                               1e-5, nullptr, nullptr) == CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  REQUIRE(cudnnBatchNormalizationBackward(handle, CUDNN_BATCHNORM_SPATIAL, &one, &zero, &one, &zero, tensor, at(0),
                                          tensor, at(0x1000), tensor, at(0x3000), statistics, at(0x2000), at(0x2600),
                                          at(0x2700), 1e-5, at(0x2400), at(0x2500)) == CUDNN_STATUS_SUCCESS);
  CHECK(fake().field(Key::kDirection) == 1);
  CHECK(fake().last().writes ==
        std::vector<MemoryRange>{range(at(0x3000), 192), range(at(0x2600), 12), range(at(0x2700), 12)});
  cudnnDestroyTensorDescriptor(statistics);
}

TEST_CASE_METHOD(CudnnFixture, "Softmax over channels or over whole samples") {
  REQUIRE(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 2, 3, 4, 5) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSoftmaxForward(handle, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL, &one, tensor, device<char>(0),
                              &zero, tensor, device<char>(0x1000)) == CUDNN_STATUS_SUCCESS);
  CHECK(fake().last().operation.family == Family::kSoftmax);
  CHECK(fake().field(Key::kColumns) == 3);
  CHECK(fake().field(Key::kRows) == 40);
  REQUIRE(cudnnSoftmaxForward(handle, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_INSTANCE, &one, tensor,
                              device<char>(0), &zero, tensor, device<char>(0x1000)) == CUDNN_STATUS_SUCCESS);
  CHECK(fake().field(Key::kColumns) == 60);
  CHECK(fake().field(Key::kRows) == 2);
}

TEST_CASE_METHOD(CudnnFixture, "Elementwise operations, and the driver's refusal") {
  REQUIRE(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 1, 2, 2) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnAddTensor(handle, &one, tensor, device<char>(0), &one, tensor, device<char>(0x100)) ==
          CUDNN_STATUS_SUCCESS);
  CHECK(fake().field(Key::kReadBytes) == 32);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<char>(0x100), 16)});
  REQUIRE(cudnnSetTensor(handle, tensor, device<char>(0), &zero) == CUDNN_STATUS_SUCCESS);
  CHECK(fake().last().operation.family == Family::kFill);
  fake().record_result = CUDA_ERROR_INVALID_HANDLE;
  CHECK(cudnnScaleTensor(handle, tensor, device<char>(0), &zero) == CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER);
  CHECK(cudnnScaleTensor(nullptr, tensor, device<char>(0), &zero) == CUDNN_STATUS_NOT_INITIALIZED);
}

TEST_CASE_METHOD(CudnnFixture, "Dropout states are one generator a resident thread") {
  size_t bytes = 0;
  REQUIRE(cudnnDropoutGetStatesSize(handle, &bytes) == CUDNN_STATUS_SUCCESS);
  // 132 multiprocessors of 2048 threads, 48 bytes each.
  CHECK(bytes == 132u * 2048 * 48);
  cudnnDropoutDescriptor_t dropout;
  REQUIRE(cudnnCreateDropoutDescriptor(&dropout) == CUDNN_STATUS_SUCCESS);
  CHECK(cudnnSetDropoutDescriptor(dropout, handle, 0.5f, device<char>(0), bytes - 1, 7) ==
        CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT);
  CHECK(cudnnSetDropoutDescriptor(dropout, handle, 0.5f, device<char>(0), bytes, 7) == CUDNN_STATUS_SUCCESS);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<char>(0), bytes)});
  float probability = 0;
  unsigned long long seed = 0;
  CHECK(cudnnGetDropoutDescriptor(dropout, handle, &probability, nullptr, &seed) == CUDNN_STATUS_SUCCESS);
  CHECK((probability == 0.5f && seed == 7));
  cudnnDestroyDropoutDescriptor(dropout);
}
