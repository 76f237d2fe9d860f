// Operations that are neither convolutions nor recurrent networks: CTC loss, spatial transformers, multi-head
// attention, local response normalisation, transformations, fused operations.
#include <cmath>
#include <vector>

#include "test/cudnn/handle_fixture.h"

using namespace maya;
using namespace maya::test;

namespace {

char* at(uint64_t offset) { return device<char>(offset); }

}  // namespace

TEST_CASE_METHOD(CudnnFixture, "CTC loss: sizes, results, and what is refused") {
  cudnnCTCLossDescriptor_t loss;
  REQUIRE(cudnnCreateCTCLossDescriptor(&loss) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetCTCLossDescriptor(loss, CUDNN_DATA_FLOAT) == CUDNN_STATUS_SUCCESS);
  const int dims[] = {50, 4, 20}, strides[] = {80, 20, 1};  // time x batch x labels
  REQUIRE(cudnnSetTensorNdDescriptor(tensor, CUDNN_DATA_FLOAT, 3, dims, strides) == CUDNN_STATUS_SUCCESS);
  const std::vector<int> labels(40, 1), label_lengths(4, 10), input_lengths(4, 50);
  size_t bytes = 0;
  REQUIRE(cudnnGetCTCLossWorkspaceSize(handle, tensor, tensor, labels.data(), label_lengths.data(),
                                       input_lengths.data(), CUDNN_CTC_LOSS_ALGO_DETERMINISTIC, loss,
                                       &bytes) == CUDNN_STATUS_SUCCESS);
  CHECK(bytes > 0);
  const auto run = [&](size_t workspace) {
    return cudnnCTCLoss(handle, tensor, at(0), labels.data(), label_lengths.data(), input_lengths.data(), at(0x10000),
                        tensor, at(0x20000), CUDNN_CTC_LOSS_ALGO_DETERMINISTIC, loss, at(0x40000), workspace);
  };
  CHECK(run(bytes - 1) == CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT);
  REQUIRE(run(bytes) == CUDNN_STATUS_SUCCESS);
  CHECK(fake().field(Key::kColumns) == 20);
  CHECK(fake().field(Key::kRows) == 200);
  CHECK(fake().last().writes[0] == range(at(0x10000), 16));        // a cost for each of 4 samples
  CHECK(fake().last().writes[1] == range(at(0x20000), 4 * 4000));  // gradients of all probabilities
  CHECK(cudnnCTCLoss(handle, tensor, at(0), nullptr, label_lengths.data(), input_lengths.data(), at(0x10000), tensor,
                     at(0x20000), CUDNN_CTC_LOSS_ALGO_DETERMINISTIC, loss, at(0x40000),
                     bytes) == CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  cudnnDestroyCTCLossDescriptor(loss);
}

TEST_CASE_METHOD(CudnnFixture, "Spatial transformers: grid of n x h x w x 2 from matrices of 2 x 3, and sampling") {
  cudnnSpatialTransformerDescriptor_t transformer;
  REQUIRE(cudnnCreateSpatialTransformerDescriptor(&transformer) == CUDNN_STATUS_SUCCESS);
  const int dims[] = {2, 3, 8, 8};
  REQUIRE(cudnnSetSpatialTransformerNdDescriptor(transformer, CUDNN_SAMPLER_BILINEAR, CUDNN_DATA_FLOAT, 4, dims) ==
          CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSpatialTfGridGeneratorForward(handle, transformer, at(0), at(0x1000)) == CUDNN_STATUS_SUCCESS);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(at(0x1000), 4 * 2 * 8 * 8 * 2)});
  CHECK(fake().field(Key::kReadBytes) == 4 * 2 * 6);
  REQUIRE(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 2, 3, 8, 8) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSpatialTfSamplerBackward(handle, transformer, &one, tensor, at(0), &zero, tensor, at(0x4000), &one,
                                        tensor, at(0x8000), at(0xc000), &zero, at(0x10000)) == CUDNN_STATUS_SUCCESS);
  CHECK(fake().last().writes ==
        std::vector<MemoryRange>{range(at(0x4000), 4 * 384), range(at(0x10000), 4 * 2 * 8 * 8 * 2)});
  const int flat[] = {2, 3, 8};
  REQUIRE(cudnnSetSpatialTransformerNdDescriptor(transformer, CUDNN_SAMPLER_BILINEAR, CUDNN_DATA_FLOAT, 3, flat) ==
          CUDNN_STATUS_SUCCESS);
  CHECK(cudnnSpatialTfGridGeneratorForward(handle, transformer, at(0), at(0x1000)) == CUDNN_STATUS_NOT_SUPPORTED);
  cudnnDestroySpatialTransformerDescriptor(transformer);
}

TEST_CASE_METHOD(CudnnFixture, "Weights of multi-head attention lie in one space, each where it is asked for") {
  cudnnAttnDescriptor_t attention;
  REQUIRE(cudnnCreateAttnDescriptor(&attention) == CUDNN_STATUS_SUCCESS);
  // 4 heads, inputs of 32, projected to 8 a head, output of 32, with biases.
  REQUIRE(cudnnSetAttnDescriptor(attention, CUDNN_ATTN_ENABLE_PROJ_BIASES, 4, 1, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT,
                                 CUDNN_DEFAULT_MATH, nullptr, nullptr, 32, 32, 32, 8, 8, 8, 32, 16, 16, 2,
                                 1) == CUDNN_STATUS_SUCCESS);
  size_t weights = 0, workspace = 0, reserve = 0;
  REQUIRE(cudnnGetMultiHeadAttnBuffers(handle, attention, &weights, &workspace, &reserve) == CUDNN_STATUS_SUCCESS);
  // Three projections and the output's, 4 heads of 8 x 32 each; biases of 3 x 4 x 8 and 4 x 32.
  CHECK(weights == 4 * (4 * 4 * 8 * 32 + 3 * 4 * 8 + 4 * 32));
  uint64_t end = 0;
  for (int kind = CUDNN_MH_ATTN_Q_WEIGHTS; kind < CUDNN_ATTN_WKIND_COUNT; ++kind) {
    void* address = nullptr;
    REQUIRE(cudnnGetMultiHeadAttnWeights(handle, attention, static_cast<cudnnMultiHeadAttnWeightKind_t>(kind), weights,
                                         at(0), tensor, &address) == CUDNN_STATUS_SUCCESS);
    size_t bytes = 0;
    REQUIRE(cudnnGetTensorSizeInBytes(tensor, &bytes) == CUDNN_STATUS_SUCCESS);
    CHECK(address == at(end));
    end += bytes;
  }
  CHECK(end == weights);
  cudnnSeqDataDescriptor_t data;
  REQUIRE(cudnnCreateSeqDataDescriptor(&data) == CUDNN_STATUS_SUCCESS);
  int dims[CUDNN_SEQDATA_DIM_COUNT];
  dims[CUDNN_SEQDATA_TIME_DIM] = 16, dims[CUDNN_SEQDATA_BATCH_DIM] = 2, dims[CUDNN_SEQDATA_BEAM_DIM] = 1;
  dims[CUDNN_SEQDATA_VECT_DIM] = 32;
  const cudnnSeqDataAxis_t axes[] = {CUDNN_SEQDATA_TIME_DIM, CUDNN_SEQDATA_BATCH_DIM, CUDNN_SEQDATA_BEAM_DIM,
                                     CUDNN_SEQDATA_VECT_DIM};
  const int lengths[] = {16, 16};
  REQUIRE(cudnnSetSeqDataDescriptor(data, CUDNN_DATA_FLOAT, 4, dims, axes, 2, lengths, nullptr) ==
          CUDNN_STATUS_SUCCESS);
  const std::vector<int> window(16, 0);
  REQUIRE(cudnnMultiHeadAttnForward(handle, attention, -1, window.data(), window.data(), lengths, lengths, data, at(0),
                                    nullptr, data, at(0x1000), data, at(0x2000), data, at(0x3000), weights, at(0x8000),
                                    workspace, at(0x20000), reserve, at(0x40000)) == CUDNN_STATUS_SUCCESS);
  CHECK(fake().last().operation.family == Family::kAttention);
  CHECK(fake().field(Key::kBatch) == 2);
  CHECK(fake().field(Key::kHeads) == 4);
  // 32 tokens through four projections of 1024 weights, and two products of 16 x 16 pairs a sample and head of size 8.
  CHECK(fake().field(Key::kFlops) == 2 * 32 * 4 * 1024 + 2 * 2 * 256 * 4 * (8 + 8));
  CHECK(fake().last().writes[0] == range(at(0x3000), 4 * 16 * 2 * 32));
  cudnnDestroySeqDataDescriptor(data);
  cudnnDestroyAttnDescriptor(attention);
}

TEST_CASE_METHOD(CudnnFixture, "Local response normalisation reads and writes whole tensors") {
  cudnnLRNDescriptor_t normalization;
  REQUIRE(cudnnCreateLRNDescriptor(&normalization) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 2, 8, 4, 4) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnLRNCrossChannelForward(handle, normalization, CUDNN_LRN_CROSS_CHANNEL_DIM1, &one, tensor, at(0), &zero,
                                      tensor, at(0x1000)) == CUDNN_STATUS_SUCCESS);
  CHECK(fake().field(Key::kReadBytes) == 1024);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(at(0x1000), 1024)});
  REQUIRE(cudnnLRNCrossChannelBackward(handle, normalization, CUDNN_LRN_CROSS_CHANNEL_DIM1, &one, tensor, at(0), tensor,
                                       at(0x1000), tensor, at(0x2000), &zero, tensor,
                                       at(0x3000)) == CUDNN_STATUS_SUCCESS);
  CHECK(fake().field(Key::kReadBytes) == 3 * 1024);
  CHECK(fake().field(Key::kDirection) == 1);
  cudnnDestroyLRNDescriptor(normalization);
}

TEST_CASE_METHOD(CudnnFixture, "Folding moves pixels into maps, and back") {
  cudnnTensorTransformDescriptor_t transform;
  cudnnTensorDescriptor_t folded;
  REQUIRE(cudnnCreateTensorTransformDescriptor(&transform) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnCreateTensorDescriptor(&folded) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_HALF, 2, 3, 8, 6) == CUDNN_STATUS_SUCCESS);
  const uint32_t folds[] = {2, 2};
  size_t bytes = 0;
  cudnnDataType_t type;
  int n, c, h, w, strides[4];
  REQUIRE(cudnnSetTensorTransformDescriptor(transform, 4, CUDNN_TENSOR_NCHW, nullptr, nullptr, folds,
                                            CUDNN_TRANSFORM_FOLD) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnInitTransformDest(transform, tensor, folded, &bytes) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnGetTensor4dDescriptor(folded, &type, &n, &c, &h, &w, strides, strides + 1, strides + 2, strides + 3) ==
          CUDNN_STATUS_SUCCESS);
  CHECK((n == 2 && c == 12 && h == 4 && w == 3));
  CHECK(bytes == 2 * 2 * 3 * 8 * 6);
  REQUIRE(cudnnTransformTensorEx(handle, transform, &one, tensor, at(0), &zero, folded, at(0x1000)) ==
          CUDNN_STATUS_SUCCESS);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(at(0x1000), bytes)});
  cudnnDestroyTensorDescriptor(folded);
  cudnnDestroyTensorTransformDescriptor(transform);
}

TEST_CASE_METHOD(CudnnFixture, "Fused operations: packs keep copies, plans tell their workspace") {
  cudnnFusedOpsConstParamPack_t constants;
  cudnnFusedOpsVariantParamPack_t values;
  cudnnFusedOpsPlan_t plan;
  cudnnFilterDescriptor_t w;
  cudnnConvolutionDescriptor_t convolution;
  cudnnTensorDescriptor_t read;
  const auto kind = CUDNN_FUSED_SCALE_BIAS_ACTIVATION_CONV_BNSTATS;
  REQUIRE(cudnnCreateFusedOpsConstParamPack(&constants, kind) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnCreateFusedOpsVariantParamPack(&values, kind) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnCreateFusedOpsPlan(&plan, kind) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnCreateFilterDescriptor(&w) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnCreateConvolutionDescriptor(&convolution) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnCreateTensorDescriptor(&read) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, 2, 16, 8, 8) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetFilter4dDescriptor(w, CUDNN_DATA_HALF, CUDNN_TENSOR_NHWC, 16, 16, 3, 3) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetConvolution2dDescriptor(convolution, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT) ==
          CUDNN_STATUS_SUCCESS);
  size_t workspace = 1;
  CHECK(cudnnMakeFusedOpsPlan(handle, plan, constants, &workspace) == CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  for (const auto label : {CUDNN_PARAM_XDESC, CUDNN_PARAM_YDESC})
    REQUIRE(cudnnSetFusedOpsConstParamPackAttribute(constants, label, tensor) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetFusedOpsConstParamPackAttribute(constants, CUDNN_PARAM_WDESC, w) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetFusedOpsConstParamPackAttribute(constants, CUDNN_PARAM_CONV_DESC, convolution) ==
          CUDNN_STATUS_SUCCESS);
  int is_null = -1;
  REQUIRE(cudnnGetFusedOpsConstParamPackAttribute(constants, CUDNN_PARAM_XDESC, read, &is_null) ==
          CUDNN_STATUS_SUCCESS);
  CHECK(is_null == 0);
  REQUIRE(cudnnMakeFusedOpsPlan(handle, plan, constants, &workspace) == CUDNN_STATUS_SUCCESS);
  CHECK(workspace == 0);
  CHECK(cudnnFusedOpsExecute(handle, plan, values) == CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  const std::pair<cudnnFusedOpsVariantParamLabel_t, uint64_t> pointers[] = {
      {CUDNN_PTR_XDATA, 0}, {CUDNN_PTR_WDATA, 0x4000}, {CUDNN_PTR_YDATA, 0x8000}};
  for (const auto& [label, offset] : pointers)
    REQUIRE(cudnnSetFusedOpsVariantParamPackAttribute(values, label, at(offset)) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnFusedOpsExecute(handle, plan, values) == CUDNN_STATUS_SUCCESS);
  CHECK(fake().last().operation.family == Family::kConvolution);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(at(0x8000), 2 * 2 * 16 * 64)});
  cudnnDestroyTensorDescriptor(read);
  cudnnDestroyConvolutionDescriptor(convolution);
  cudnnDestroyFilterDescriptor(w);
  cudnnDestroyFusedOpsPlan(plan);
  cudnnDestroyFusedOpsVariantParamPack(values);
  cudnnDestroyFusedOpsConstParamPack(constants);
}

TEST_CASE_METHOD(CudnnFixture, "Normalisation under its newer names is batch normalisation") {
  cudnnTensorDescriptor_t scale, mean;
  REQUIRE(cudnnCreateTensorDescriptor(&scale) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnCreateTensorDescriptor(&mean) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_HALF, 2, 3, 4, 4) == CUDNN_STATUS_SUCCESS);
  CHECK(cudnnDeriveNormTensorDescriptor(scale, mean, tensor, CUDNN_NORM_PER_CHANNEL, 2) == CUDNN_STATUS_NOT_SUPPORTED);
  REQUIRE(cudnnDeriveNormTensorDescriptor(scale, mean, tensor, CUDNN_NORM_PER_CHANNEL, 1) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnNormalizationForwardTraining(
              handle, CUDNN_NORM_PER_CHANNEL, CUDNN_NORM_OPS_NORM, CUDNN_NORM_ALGO_STANDARD, &one, &zero, tensor, at(0),
              scale, at(0x1000), at(0x1100), 0.1, mean, nullptr, nullptr, 1e-5, nullptr, nullptr, nullptr, nullptr,
              nullptr, tensor, at(0x2000), nullptr, 0, nullptr, 0, 1) == CUDNN_STATUS_SUCCESS);
  CHECK(fake().last().operation.family == Family::kNormalization);
  CHECK(fake().last().writes == std::vector<MemoryRange>{range(at(0x2000), 192)});
  cudnnDestroyTensorDescriptor(mean);
  cudnnDestroyTensorDescriptor(scale);
}
