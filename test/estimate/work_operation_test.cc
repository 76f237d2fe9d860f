#include <catch2/catch.hpp>

#include "predictor/core/estimate.h"
#include "predictor/core/estimator.h"

namespace maya {
namespace {

int64_t number(DataType type) { return static_cast<int64_t>(type); }
int64_t number(Implementation method) { return static_cast<int64_t>(method); }

TEST_CASE("A matrix product does 2 m n k operations and touches A, B and D once") {
  OperationRecord gemm(Family::kGemm, "cublasGemmEx");
  gemm.set(Key::kM, 768).set(Key::kN, 8192).set(Key::kK, 3072).set(Key::kTypeA, number(DataType::kBfloat16));
  const Work work = work_of(gemm);
  CHECK(work.flops == 2.0 * 768 * 8192 * 3072);  // 38,654,705,664
  CHECK(work.read_bytes == 2.0 * (768.0 * 3072 + 3072.0 * 8192));
  CHECK(work.written_bytes == 2.0 * 768 * 8192);
  CHECK(work.type == DataType::kBfloat16);
  CHECK(work.tensor_cores);
  CHECK_FALSE(work.guessed);
}

TEST_CASE("beta other than zero reads C, a batch multiplies everything") {
  OperationRecord gemm(Family::kGemm, "");
  gemm.set(Key::kM, 10).set(Key::kN, 20).set(Key::kK, 30).set(Key::kBatch, 7).set(Key::kBeta, 1);
  gemm.set(Key::kTypeA, number(DataType::kFloat32));
  const Work work = work_of(gemm);
  CHECK(work.flops == 7.0 * 2 * 10 * 20 * 30);
  CHECK(work.read_bytes == 7.0 * 4 * (10 * 30 + 30 * 20 + 10 * 20));
  CHECK(work.written_bytes == 7.0 * 4 * 10 * 20);
  CHECK(work.type == DataType::kFloat32);
  CHECK_FALSE(work.tensor_cores);
}

TEST_CASE("The compute type decides between TF32 and 32-bit units") {
  OperationRecord gemm(Family::kGemm, "");
  gemm.set(Key::kM, 8).set(Key::kN, 8).set(Key::kK, 8).set(Key::kTypeA, number(DataType::kFloat32));
  gemm.set(Key::kComputeType, number(DataType::kTf32));
  CHECK(work_of(gemm).type == DataType::kTf32);
  CHECK(work_of(gemm).tensor_cores);
}

TEST_CASE("8-bit products may write wider results") {
  OperationRecord gemm(Family::kGemm, "");
  gemm.set(Key::kM, 100).set(Key::kN, 100).set(Key::kK, 100).set(Key::kTypeA, number(DataType::kFloat8E4m3));
  gemm.set(Key::kTypeD, number(DataType::kBfloat16));
  CHECK(work_of(gemm).read_bytes == 20000);
  CHECK(work_of(gemm).written_bytes == 20000);
}

TEST_CASE("A complex product counts four real ones") {
  OperationRecord gemm(Family::kGemm, "");
  gemm.set(Key::kM, 4).set(Key::kN, 4).set(Key::kK, 4).set(Key::kTypeA, number(DataType::kComplex64));
  CHECK(work_of(gemm).flops == 8.0 * 64);
}

TEST_CASE("Attention: four multiply-adds a pair and dimension forward, ten backward, half of it under a causal mask") {
  OperationRecord attention(Family::kAttention, "");
  attention.set(Key::kBatch, 8)
      .set(Key::kHeads, 12)
      .set(Key::kSeqQ, 1024)
      .set(Key::kSeqKv, 1024)
      .set(Key::kHeadDim, 64);
  attention.set(Key::kDataType, number(DataType::kBfloat16));
  const double pairs = 8.0 * 12 * 1024 * 1024;
  CHECK(work_of(attention).flops == 4 * pairs * 64);
  CHECK(work_of(attention).read_bytes == 3 * 2.0 * 8 * 12 * 1024 * 64);  // q, k, v
  CHECK(work_of(attention).written_bytes == 2.0 * 8 * 12 * 1024 * 64);
  attention.set(Key::kCausal, 1);
  CHECK(work_of(attention).flops == 2 * pairs * 64);
  attention.set(Key::kDirection, 1);
  CHECK(work_of(attention).flops == 5 * pairs * 64);
}

TEST_CASE("Grouped queries share keys and values; a cached prefix is seen by every query") {
  OperationRecord attention(Family::kAttention, "");
  attention.set(Key::kBatch, 1).set(Key::kHeads, 32).set(Key::kKvHeads, 8).set(Key::kSeqQ, 100).set(Key::kSeqKv, 1100);
  attention.set(Key::kHeadDim, 128).set(Key::kCausal, 1).set(Key::kDataType, number(DataType::kFloat16));
  const Work work = work_of(attention);
  CHECK(work.flops == 4.0 * 32 * 128 * (100.0 * 1000 + 100.0 * 100 / 2));
  CHECK(work.read_bytes == 2.0 * (32.0 * 100 * 128 + 2.0 * 8 * 1100 * 128));
}

TEST_CASE("A convolution is 2 N P Q K C R S operations") {
  // ResNet-50's first layer: 64 filters of 7 x 7 x 3, stride 2, padding 3 on 224 x 224: 112 x 112 out.
  OperationRecord convolution(Family::kConvolution, "");
  convolution.set(Key::kBatch, 32)
      .set(Key::kChannels, 3)
      .set(Key::kHeight, 224)
      .set(Key::kWidth, 224)
      .set(Key::kFilters, 64);
  convolution.set(Key::kFilterHeight, 7)
      .set(Key::kFilterWidth, 7)
      .set(Key::kStride, 2)
      .set(Key::kPad, 3)
      .set(Key::kDilation, 1);
  convolution.set(Key::kDataType, number(DataType::kFloat16));
  CHECK(work_of(convolution).flops == 2.0 * 32 * 112 * 112 * 64 * 3 * 7 * 7);
  CHECK(work_of(convolution).written_bytes == 2.0 * 32 * 64 * 112 * 112);
  // From and to NCHW, both tensors are read and written once more, at four fifths of the bandwidth.
  convolution.set(Key::kChannelsFirst, 1);
  const double image = 2.0 * 32 * 3 * 224 * 224, result = 2.0 * 32 * 64 * 112 * 112, filters = 2.0 * 64 * 3 * 7 * 7;
  CHECK(work_of(convolution).written_bytes == result + 1.25 * (image + result));
  CHECK(work_of(convolution).read_bytes == image + filters + 1.25 * (image + result));
  // Other methods convert nothing, and ordinary cores compute the direct product.
  convolution.set(Key::kImplementation, number(Implementation::kDirectProduct));
  CHECK(work_of(convolution).read_bytes == image + filters);
  CHECK(!work_of(convolution).tensor_cores);
}

TEST_CASE("No method of a convolution is faster than the best one") {
  const Estimator estimator(*device::find_builtin_profile("h100-sxm"), nullptr);
  OperationRecord best(Family::kConvolution, "");
  best.set(Key::kBatch, 64).set(Key::kChannels, 256).set(Key::kHeight, 28).set(Key::kWidth, 28).set(Key::kFilters, 256);
  best.set(Key::kFilterHeight, 3).set(Key::kFilterWidth, 3).set(Key::kStride, 1).set(Key::kPad, 1);
  best.set(Key::kDataType, number(DataType::kFloat16));
  const Estimate fastest = estimator.estimate(work_of(best));
  for (const auto method : {Implementation::kDirectProduct, Implementation::kExplicitProduct,
                            Implementation::kFourierTransform, Implementation::kWinogradTransform}) {
    OperationRecord other = best;
    // A Winograd method says that it has a quarter of the operations.
    other.set(Key::kImplementation, number(method)).set(Key::kFlops, 2ll * 64 * 256 * 28 * 28 * 256 * 9 / 4);
    const Estimate slower = estimator.estimate(work_of(other));
    CHECK(slower.median_ns > fastest.median_ns);
    CHECK(slower.provenance != Provenance::kUnknown);
  }
  // Without tensor cores, the direct product takes at least what the peak of ordinary cores allows.
  OperationRecord direct = best;
  direct.set(Key::kImplementation, number(Implementation::kDirectProduct));
  CHECK(estimator.estimate(work_of(direct)).median_ns >
        2.0 * 64 * 256 * 28 * 28 * 256 * 9 / device::find_builtin_profile("h100-sxm")->peak_fp32 * 1e9);
}

TEST_CASE("Streaming families count their tensors") {
  OperationRecord norm(Family::kNormalization, "");
  norm.set(Key::kRows, 8192).set(Key::kColumns, 768).set(Key::kDataType, number(DataType::kBfloat16));
  CHECK(work_of(norm).read_bytes == 2.0 * 8192 * 768);
  CHECK(work_of(norm).written_bytes == 2.0 * 8192 * 768);
  norm.set(Key::kDirection, 1);
  CHECK(work_of(norm).read_bytes == 2 * 2.0 * 8192 * 768);
  OperationRecord adam(Family::kOptimizer, "");
  adam.set(Key::kElements, 1000).set(Key::kDataType, number(DataType::kFloat32));
  CHECK(work_of(adam).read_bytes == 4 * 4 * 1000);
  CHECK(work_of(adam).written_bytes == 3 * 4 * 1000);
  OperationRecord gemv(Family::kVector, "cublasSgemv");
  gemv.set(Key::kM, 100).set(Key::kN, 50).set(Key::kDataType, number(DataType::kFloat32));
  CHECK(work_of(gemv).flops == 2 * 100 * 50);
  CHECK(work_of(gemv).read_bytes == 4 * (100 * 50 + 50));
}

TEST_CASE("What the recorder measured itself wins") {
  OperationRecord custom(Family::kElementwise, "");
  custom.set(Key::kFlops, 5).set(Key::kReadBytes, 6).set(Key::kWrittenBytes, 7).set(Key::kElements, 1000);
  CHECK(work_of(custom).flops == 5);
  CHECK(work_of(custom).read_bytes == 6);
  CHECK(work_of(custom).written_bytes == 7);
}

}  // namespace
}  // namespace maya
