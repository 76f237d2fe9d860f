#include <algorithm>
#include <vector>

#include "test/cudnn/handle_fixture.h"

using namespace maya;
using namespace maya::test;

namespace {

// A convolution of 3 x 3 filters, padding 1: 4 images of 8 maps and 16 x 16 pixels to 32 maps.
struct ConvolutionFixture : CudnnFixture {
  ConvolutionFixture() {
    REQUIRE(cudnnCreateTensorDescriptor(&y) == CUDNN_STATUS_SUCCESS);
    REQUIRE(cudnnCreateFilterDescriptor(&w) == CUDNN_STATUS_SUCCESS);
    REQUIRE(cudnnCreateConvolutionDescriptor(&convolution) == CUDNN_STATUS_SUCCESS);
    set(CUDNN_DATA_HALF, CUDNN_TENSOR_NHWC);
  }
  ~ConvolutionFixture() {
    cudnnDestroyConvolutionDescriptor(convolution);
    cudnnDestroyFilterDescriptor(w);
    cudnnDestroyTensorDescriptor(y);
  }
  void set(cudnnDataType_t type, cudnnTensorFormat_t format, int stride = 1, int dilation = 1) {
    REQUIRE(cudnnSetTensor4dDescriptor(tensor, format, type, 4, 8, 16, 16) == CUDNN_STATUS_SUCCESS);
    REQUIRE(cudnnSetFilter4dDescriptor(w, type, format, 32, 8, 3, 3) == CUDNN_STATUS_SUCCESS);
    REQUIRE(cudnnSetConvolution2dDescriptor(convolution, 1, 1, stride, stride, dilation, dilation,
                                            CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT) == CUDNN_STATUS_SUCCESS);
    int n, c, height, width;
    REQUIRE(cudnnGetConvolution2dForwardOutputDim(convolution, tensor, w, &n, &c, &height, &width) ==
            CUDNN_STATUS_SUCCESS);
    REQUIRE(cudnnSetTensor4dDescriptor(y, format, type, n, c, height, width) == CUDNN_STATUS_SUCCESS);
  }
  cudnnStatus_t forward(cudnnConvolutionFwdAlgo_t algorithm, size_t workspace_bytes = 1 << 26) {
    return cudnnConvolutionForward(handle, &one, tensor, at(0), w, at(0x10000), convolution, algorithm, at(0x100000),
                                   workspace_bytes, &zero, y, at(0x20000));
  }
  static char* at(uint64_t offset) { return device<char>(offset); }

  cudnnTensorDescriptor_t y = nullptr;
  cudnnFilterDescriptor_t w = nullptr;
  cudnnConvolutionDescriptor_t convolution = nullptr;
};

constexpr auto kPrecomputed = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;

}  // namespace

TEST_CASE_METHOD(ConvolutionFixture, "Forward convolutions are recorded with their shape and work") {
  REQUIRE(forward(kPrecomputed) == CUDNN_STATUS_SUCCESS);
  CHECK(fake().last().operation.family == Family::kConvolution);
  CHECK(fake().field(Key::kBatch) == 4);
  CHECK(fake().field(Key::kChannels) == 8);
  CHECK(fake().field(Key::kHeight) == 16);
  CHECK(fake().field(Key::kWidth) == 16);
  CHECK(fake().field(Key::kFilters) == 32);
  CHECK(fake().field(Key::kFilterHeight) == 3);
  CHECK(fake().field(Key::kFilterWidth) == 3);
  CHECK(fake().field(Key::kPad) == 1);
  CHECK(fake().field(Key::kConvDirection) == 0);
  CHECK(fake().field(Key::kChannelsFirst) == 0);
  CHECK(fake().field(Key::kImplementation) == 0);
  // Two operations for each of 8 x 3 x 3 products of 4 x 32 x 16 x 16 results.
  CHECK(fake().field(Key::kFlops) == 2ll * 8 * 9 * 4 * 32 * 256);
  CHECK(fake().field(Key::kReadBytes) == 2 * (4 * 8 * 256 + 32 * 8 * 9));
  CHECK(fake().field(Key::kWrittenBytes) == 2 * 4 * 32 * 256);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(at(0x20000), 2 * 4 * 32 * 256)});
  // beta reads the old result too.
  REQUIRE(cudnnConvolutionForward(handle, &one, tensor, at(0), w, at(0x10000), convolution, kPrecomputed, nullptr, 0,
                                  &one, y, at(0x20000)) == CUDNN_STATUS_SUCCESS);
  CHECK(fake().field(Key::kReadBytes) == 2 * (4 * 8 * 256 + 32 * 8 * 9 + 4 * 32 * 256));
}

TEST_CASE_METHOD(ConvolutionFixture, "Both backward directions") {
  REQUIRE(cudnnConvolutionBackwardData(handle, &one, w, at(0x10000), y, at(0x20000), convolution,
                                       CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, nullptr, 0, &zero, tensor,
                                       at(0x40000)) == CUDNN_STATUS_SUCCESS);
  CHECK(fake().field(Key::kConvDirection) == 1);
  CHECK(fake().field(Key::kChannels) == 8);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(at(0x40000), 2 * 4 * 8 * 256)});
  size_t bytes = 0;
  REQUIRE(cudnnGetConvolutionBackwardFilterWorkspaceSize(
              handle, tensor, y, convolution, w, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, &bytes) == CUDNN_STATUS_SUCCESS);
  CHECK(bytes == 4 * 32 * 8 * 9);  // 32-bit sums of 16-bit gradients
  REQUIRE(cudnnConvolutionBackwardFilter(handle, &one, tensor, at(0), y, at(0x20000), convolution,
                                         CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, at(0x100000), bytes, &zero, w,
                                         at(0x50000)) == CUDNN_STATUS_SUCCESS);
  CHECK(fake().field(Key::kConvDirection) == 2);
  CHECK(fake().last().writes ==
        std::vector<MemoryRange>{range(at(0x50000), 2 * 32 * 8 * 9), range(at(0x100000), bytes)});
  CHECK(cudnnConvolutionBackwardFilter(handle, &one, tensor, at(0), y, at(0x20000), convolution,
                                       CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, at(0x100000), bytes - 1, &zero, w,
                                       at(0x50000)) == CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT);
}

TEST_CASE_METHOD(ConvolutionFixture, "What each algorithm supports, as cudnn_ops.h and the documentation say") {
  const auto works = [&](cudnnConvolutionFwdAlgo_t algorithm) {
    size_t bytes = 0;
    return cudnnGetConvolutionForwardWorkspaceSize(handle, tensor, w, convolution, y, algorithm, &bytes) ==
           CUDNN_STATUS_SUCCESS;
  };
  set(CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW);
  CHECK(works(CUDNN_CONVOLUTION_FWD_ALGO_FFT));
  CHECK(works(CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING));
  CHECK(works(CUDNN_CONVOLUTION_FWD_ALGO_GEMM));
  CHECK(works(CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED));
  CHECK(!works(CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD));  // "Not supported on Hopper+."
  CHECK(!works(CUDNN_CONVOLUTION_FWD_ALGO_DIRECT));    // never implemented
  fake().compute_capability_major = 8;
  CHECK(works(CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD));
  set(CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, /*stride=*/2);
  CHECK(!works(CUDNN_CONVOLUTION_FWD_ALGO_FFT));
  CHECK(!works(CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD));
  CHECK(!works(CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED));
  CHECK(works(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM));
  size_t bytes = 1;
  CHECK(cudnnGetConvolutionForwardWorkspaceSize(handle, tensor, w, convolution, y,
                                                CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM,
                                                &bytes) == CUDNN_STATUS_SUCCESS);
  CHECK(bytes == 0);  // "No extra workspace."
}

TEST_CASE_METHOD(ConvolutionFixture, "Workspaces follow from the method") {
  const auto needed = [&](cudnnConvolutionFwdAlgo_t algorithm) {
    size_t bytes = 0;
    REQUIRE(cudnnGetConvolutionForwardWorkspaceSize(handle, tensor, w, convolution, y, algorithm, &bytes) ==
            CUDNN_STATUS_SUCCESS);
    return bytes;
  };
  CHECK(needed(kPrecomputed) == 0);  // channels side by side
  set(CUDNN_DATA_HALF, CUDNN_TENSOR_NCHW);
  CHECK(needed(kPrecomputed) == 2 * (4 * 8 * 256 + 32 * 8 * 9 + 4 * 32 * 256));
  CHECK(needed(CUDNN_CONVOLUTION_FWD_ALGO_GEMM) == 2 * 8 * 9 * 256);
  // 6 x 6 for each of 4 x 4 x 4 tiles of 8 and 32 maps, and for 8 x 32 filters, in 32-bit floats.
  CHECK(needed(CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED) == 4 * 36 * (64 * (8 + 32) + 8 * 32));
  // Images of 16 + 2 pixels and filters of 3 fit into 32; half a spectrum is 32 x 17 complex numbers.
  CHECK(needed(CUDNN_CONVOLUTION_FWD_ALGO_FFT) == 8 * 32 * 17 * (4 * (8 + 32) + 8 * 32));
}

TEST_CASE_METHOD(ConvolutionFixture, "The heuristic and the search return every algorithm, the best first") {
  set(CUDNN_DATA_HALF, CUDNN_TENSOR_NCHW);
  int most = 0, returned = 0;
  REQUIRE(cudnnGetConvolutionForwardAlgorithmMaxCount(handle, &most) == CUDNN_STATUS_SUCCESS);
  std::vector<cudnnConvolutionFwdAlgoPerf_t> results(static_cast<size_t>(most));
  REQUIRE(cudnnGetConvolutionForwardAlgorithm_v7(handle, tensor, w, convolution, y, most, &returned, results.data()) ==
          CUDNN_STATUS_SUCCESS);
  CHECK(returned == most);
  CHECK(results[0].algo == kPrecomputed);
  CHECK(results[0].status == CUDNN_STATUS_SUCCESS);
  CHECK(results[0].determinism == CUDNN_DETERMINISTIC);
  CHECK(results[0].mathType == CUDNN_TENSOR_OP_MATH);
  CHECK(results[static_cast<size_t>(most) - 1].status == CUDNN_STATUS_NOT_SUPPORTED);
  const size_t before = fake().recorded.size();
  REQUIRE(cudnnFindConvolutionForwardAlgorithmEx(handle, tensor, at(0), w, at(0x10000), convolution, y, at(0x20000),
                                                 most, &returned, results.data(), at(0x100000),
                                                 1 << 26) == CUDNN_STATUS_SUCCESS);
  const auto ran = static_cast<size_t>(std::count_if(
      results.begin(), results.end(), [](const auto& result) { return result.status == CUDNN_STATUS_SUCCESS; }));
  CHECK(ran == 6);  // all but DIRECT and, on this device, WINOGRAD
  CHECK(fake().recorded.size() == before + ran);
  for (size_t i = 1; i < ran; ++i) CHECK(results[i - 1].time <= results[i].time);
  CHECK(results[0].time > 0);
  // The fake device moves a byte a nanosecond: least bytes come first, which is the product without workspace.
  CHECK(results[0].time == Approx(2e-6 * (4 * 8 * 256 + 32 * 8 * 9 + 4 * 32 * 256)));
  // Too little room leaves out what needs more.
  REQUIRE(cudnnFindConvolutionForwardAlgorithmEx(handle, tensor, at(0), w, at(0x10000), convolution, y, at(0x20000),
                                                 most, &returned, results.data(), nullptr, 0) == CUDNN_STATUS_SUCCESS);
  CHECK(results[0].algo == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM);
  CHECK(results[1].status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED);
  // The other form brings its own memory, for the length of the call.
  REQUIRE(cudnnFindConvolutionForwardAlgorithm(handle, tensor, w, convolution, y, 2, &returned, results.data()) ==
          CUDNN_STATUS_SUCCESS);
  CHECK(returned == 2);
  CHECK(fake().charged.empty());
  fake().allocate_result = CUDA_ERROR_OUT_OF_MEMORY;
  CHECK(cudnnFindConvolutionForwardAlgorithm(handle, tensor, w, convolution, y, 2, &returned, results.data()) ==
        CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED);
}

TEST_CASE_METHOD(ConvolutionFixture, "Searches of the backward directions") {
  set(CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW);
  REQUIRE(cudnnSetConvolutionMathType(convolution, CUDNN_FMA_MATH) == CUDNN_STATUS_SUCCESS);
  int returned = 0;
  cudnnConvolutionBwdDataAlgoPerf_t data[CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT];
  REQUIRE(cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, w, y, convolution, tensor,
                                                      CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT, &returned,
                                                      data) == CUDNN_STATUS_SUCCESS);
  CHECK(data[0].algo == CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED);  // no tensor cores: 3 x 3
  CHECK(data[0].mathType == CUDNN_FMA_MATH);
  cudnnConvolutionBwdFilterAlgoPerf_t filter[CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT];
  REQUIRE(cudnnFindConvolutionBackwardFilterAlgorithmEx(handle, tensor, at(0), y, at(0x20000), convolution, w,
                                                        at(0x50000), CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT, &returned,
                                                        filter, at(0x100000), 1 << 26) == CUDNN_STATUS_SUCCESS);
  for (const auto& result : filter) {
    const bool atomics =
        result.algo == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0 || result.algo == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3;
    if (result.status == CUDNN_STATUS_SUCCESS)
      CHECK(result.determinism == (atomics ? CUDNN_NON_DETERMINISTIC : CUDNN_DETERMINISTIC));
    if (result.algo == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD)
      CHECK(result.status == CUDNN_STATUS_NOT_SUPPORTED);  // "(not implemented)"
  }
}

TEST_CASE_METHOD(ConvolutionFixture, "Bias and activation in the same kernel") {
  cudnnTensorDescriptor_t bias;
  cudnnActivationDescriptor_t activation;
  REQUIRE(cudnnCreateTensorDescriptor(&bias) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnCreateActivationDescriptor(&activation) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetTensor4dDescriptor(bias, CUDNN_TENSOR_NCHW, CUDNN_DATA_HALF, 1, 32, 1, 1) == CUDNN_STATUS_SUCCESS);
  const auto run = [&](cudnnActivationMode_t mode, cudnnConvolutionFwdAlgo_t algorithm) {
    REQUIRE(cudnnSetActivationDescriptor(activation, mode, CUDNN_NOT_PROPAGATE_NAN, 0) == CUDNN_STATUS_SUCCESS);
    return cudnnConvolutionBiasActivationForward(handle, &one, tensor, at(0), w, at(0x10000), convolution, algorithm,
                                                 nullptr, 0, &zero, y, at(0x20000), bias, at(0x60000), activation, y,
                                                 at(0x20000));
  };
  CHECK(run(CUDNN_ACTIVATION_RELU, kPrecomputed) == CUDNN_STATUS_SUCCESS);
  CHECK(fake().field(Key::kReadBytes) == 2 * (4 * 8 * 256 + 32 * 8 * 9 + 32));
  CHECK(run(CUDNN_ACTIVATION_TANH, kPrecomputed) == CUDNN_STATUS_NOT_SUPPORTED);
  CHECK(run(CUDNN_ACTIVATION_IDENTITY, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM) == CUDNN_STATUS_NOT_SUPPORTED);
  REQUIRE(cudnnConvolutionBackwardBias(handle, &one, y, at(0x20000), &zero, bias, at(0x60000)) == CUDNN_STATUS_SUCCESS);
  CHECK(fake().last().operation.family == Family::kReduction);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(at(0x60000), 64)});
  cudnnDestroyActivationDescriptor(activation);
  cudnnDestroyTensorDescriptor(bias);
}

TEST_CASE_METHOD(ConvolutionFixture, "Convolutions that do not belong together are refused") {
  CHECK(forward(CUDNN_CONVOLUTION_FWD_ALGO_DIRECT) == CUDNN_STATUS_NOT_SUPPORTED);
  CHECK(cudnnConvolutionForward(nullptr, &one, tensor, at(0), w, at(1), convolution, kPrecomputed, nullptr, 0, &zero, y,
                                at(2)) == CUDNN_STATUS_NOT_INITIALIZED);
  CHECK(cudnnConvolutionForward(handle, nullptr, tensor, at(0), w, at(1), convolution, kPrecomputed, nullptr, 0, &zero,
                                y, at(2)) == CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  REQUIRE(cudnnSetTensor4dDescriptor(y, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, 4, 32, 15, 16) == CUDNN_STATUS_SUCCESS);
  CHECK(forward(kPrecomputed) == CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
  set(CUDNN_DATA_HALF, CUDNN_TENSOR_NHWC);
  REQUIRE(cudnnSetFilter4dDescriptor(w, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NHWC, 32, 8, 3, 3) == CUDNN_STATUS_SUCCESS);
  CHECK(forward(kPrecomputed) == CUDNN_STATUS_BAD_PARAM);
  REQUIRE(cudnnSetFilter4dDescriptor(w, CUDNN_DATA_HALF, CUDNN_TENSOR_NHWC, 32, 4, 3, 3) == CUDNN_STATUS_SUCCESS);
  CHECK(forward(kPrecomputed) == CUDNN_STATUS_BAD_PARAM);
  REQUIRE(cudnnSetConvolutionGroupCount(convolution, 2) == CUDNN_STATUS_SUCCESS);
  CHECK(forward(kPrecomputed) == CUDNN_STATUS_SUCCESS);
  CHECK(fake().field(Key::kConvGroups) == 2);
  CHECK(fake().field(Key::kFlops) == 2ll * 4 * 9 * 4 * 32 * 256);
}
