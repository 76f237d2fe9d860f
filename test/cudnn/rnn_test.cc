#include "test/cudnn/handle_fixture.h"

using namespace maya;
using namespace maya::test;

namespace {

struct RnnFixture : CudnnFixture {
  RnnFixture() {
    REQUIRE(cudnnCreateRNNDescriptor(&rnn) == CUDNN_STATUS_SUCCESS);
    REQUIRE(cudnnCreateRNNDataDescriptor(&x) == CUDNN_STATUS_SUCCESS);
    REQUIRE(cudnnCreateRNNDataDescriptor(&y) == CUDNN_STATUS_SUCCESS);
  }
  ~RnnFixture() {
    cudnnDestroyRNNDataDescriptor(y);
    cudnnDestroyRNNDataDescriptor(x);
    cudnnDestroyRNNDescriptor(rnn);
  }
  cudnnStatus_t set(cudnnRNNMode_t cell, cudnnRNNBiasMode_t bias, cudnnDirectionMode_t direction, int input, int hidden,
                    int projection, int layers) {
    return cudnnSetRNNDescriptor_v8(rnn, CUDNN_RNN_ALGO_STANDARD, cell, bias, direction, CUDNN_LINEAR_INPUT,
                                    CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, CUDNN_DEFAULT_MATH, input, hidden, projection,
                                    layers, nullptr, 0);
  }
  size_t weight_bytes() {
    size_t bytes = 0;
    REQUIRE(cudnnGetRNNWeightSpaceSize(handle, rnn, &bytes) == CUDNN_STATUS_SUCCESS);
    return bytes;
  }

  cudnnRNNDescriptor_t rnn = nullptr;
  cudnnRNNDataDescriptor_t x = nullptr, y = nullptr;
};

}  // namespace

TEST_CASE_METHOD(RnnFixture, "Weight space holds every matrix and bias") {
  // PyTorch's nn.LSTM(10, 20, num_layers=2): 4 * 20 * (10 + 20 + 2) + 4 * 20 * (20 + 20 + 2) parameters.
  REQUIRE(set(CUDNN_LSTM, CUDNN_RNN_DOUBLE_BIAS, CUDNN_UNIDIRECTIONAL, 10, 20, 20, 2) == CUDNN_STATUS_SUCCESS);
  CHECK(weight_bytes() == (80 * 32 + 80 * 42) * 4);
  // nn.GRU(10, 20, bidirectional=True, bias=False): 2 * 3 * 20 * (10 + 20).
  REQUIRE(set(CUDNN_GRU, CUDNN_RNN_NO_BIAS, CUDNN_BIDIRECTIONAL, 10, 20, 20, 1) == CUDNN_STATUS_SUCCESS);
  CHECK(weight_bytes() == 2 * 60 * 30 * 4);
  // nn.LSTM(10, 20, proj_size=5): 4 * 20 * (10 + 5 + 2) + 5 * 20.
  REQUIRE(set(CUDNN_LSTM, CUDNN_RNN_DOUBLE_BIAS, CUDNN_UNIDIRECTIONAL, 10, 20, 5, 1) == CUDNN_STATUS_SUCCESS);
  CHECK(weight_bytes() == (80 * 17 + 100) * 4);
  CHECK(set(CUDNN_LSTM, CUDNN_RNN_DOUBLE_BIAS, CUDNN_UNIDIRECTIONAL, 10, 0, 0, 1) == CUDNN_STATUS_BAD_PARAM);
}

TEST_CASE_METHOD(RnnFixture, "Weights lie side by side without overlap and fill the space") {
  REQUIRE(set(CUDNN_LSTM, CUDNN_RNN_DOUBLE_BIAS, CUDNN_BIDIRECTIONAL, 3, 4, 4, 2) == CUDNN_STATUS_SUCCESS);
  const size_t bytes = weight_bytes();
  std::vector<int> covered(bytes / 4, 0);
  cudnnTensorDescriptor_t bias;
  REQUIRE(cudnnCreateTensorDescriptor(&bias) == CUDNN_STATUS_SUCCESS);
  char* const space = device<char>(0x10000);
  for (int layer = 0; layer < 4; ++layer) {
    for (int linear = 0; linear < 8; ++linear) {
      void *matrix_address = nullptr, *bias_address = nullptr;
      REQUIRE(cudnnGetRNNWeightParams(handle, rnn, layer, bytes, space, linear, tensor, &matrix_address, bias,
                                      &bias_address) == CUDNN_STATUS_SUCCESS);
      int dims[3], rank = 0;
      cudnnDataType_t type;
      REQUIRE(cudnnGetTensorNdDescriptor(tensor, 3, &type, &rank, dims, nullptr) == CUDNN_STATUS_SUCCESS);
      CHECK((rank == 3 && dims[0] == 1 && dims[1] == 4));
      // Inputs: 3 in the first layer, both directions' 4 in the second; recurrent: 4.
      CHECK(dims[2] == (linear >= 4 ? 4 : layer < 2 ? 3 : 8));
      for (int i = 0; i < dims[1] * dims[2]; ++i) ++covered.at((static_cast<char*>(matrix_address) - space) / 4 + i);
      for (int i = 0; i < 4; ++i) ++covered.at((static_cast<char*>(bias_address) - space) / 4 + i);
    }
  }
  for (const int count : covered) CHECK(count == 1);
  void* address = nullptr;
  CHECK(cudnnGetRNNWeightParams(handle, rnn, 4, bytes, space, 0, tensor, &address, nullptr, nullptr) ==
        CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnGetRNNWeightParams(handle, rnn, 0, bytes - 4, space, 0, tensor, &address, nullptr, nullptr) ==
        CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT);
  cudnnDestroyTensorDescriptor(bias);
}

TEST_CASE_METHOD(RnnFixture, "Running it is recorded with its work") {
  REQUIRE(set(CUDNN_LSTM, CUDNN_RNN_DOUBLE_BIAS, CUDNN_UNIDIRECTIONAL, 3, 4, 4, 1) == CUDNN_STATUS_SUCCESS);
  const int lengths[] = {5, 2};
  REQUIRE(cudnnSetRNNDataDescriptor(x, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, 5, 2, 3, lengths,
                                    nullptr) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetRNNDataDescriptor(y, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, 5, 2, 4, lengths,
                                    nullptr) == CUDNN_STATUS_SUCCESS);
  const int long_lengths[] = {6, 2};
  CHECK(cudnnSetRNNDataDescriptor(y, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, 5, 2, 4, long_lengths,
                                  nullptr) == CUDNN_STATUS_BAD_PARAM);
  REQUIRE(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 2, 4, 1) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnRNNForward(handle, rnn, CUDNN_FWD_MODE_TRAINING, nullptr, x, device<char>(0), y, device<char>(0x1000),
                          tensor, nullptr, device<char>(0x2000), tensor, nullptr, device<char>(0x3000), weight_bytes(),
                          device<char>(0x4000), 64, device<char>(0x5000), 128,
                          device<char>(0x6000)) == CUDNN_STATUS_SUCCESS);
  CHECK(fake().last().operation.family == Family::kRecurrent);
  // 7 time steps; 4 gates of 4 x (3 + 4) multiplications and additions.
  CHECK(fake().field(Key::kFlops) == 7 * 2 * 4 * 4 * 7);
  CHECK(fake().last().writes ==
        std::vector<MemoryRange>{range(device<char>(0x1000), 7 * 4 * 4), range(device<char>(0x2000), 32),
                                 range(device<char>(0x3000), 32), range(device<char>(0x5000), 64),
                                 range(device<char>(0x6000), 128)});
  REQUIRE(cudnnRNNBackwardWeights_v8(handle, rnn, CUDNN_WGRAD_MODE_ADD, nullptr, x, device<char>(0), tensor, nullptr, y,
                                     device<char>(0x1000), weight_bytes(), device<char>(0x7000), 0, nullptr, 128,
                                     device<char>(0x6000)) == CUDNN_STATUS_SUCCESS);
  CHECK(fake().field(Key::kDirection) == 1);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(device<char>(0x7000), weight_bytes())});
}
