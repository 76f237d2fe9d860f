// Measured durations of operations out of profiler traces.
#include "predictor/kineto/measurements.h"

#include <catch2/catch.hpp>

#include "predictor/kineto/convert.h"
#include "test/kineto/kineto_file.h"

using namespace maya::test;
using namespace maya;
using predictor::kineto::measurements_of;
using training::Measurement;

namespace {

const Measurement* find(const std::vector<Measurement>& all, Family family) {
  for (const Measurement& measurement : all)
    if (measurement.kernel.empty() && measurement.record.family == family) return &measurement;
  return nullptr;
}

std::string launch(int i, double start, double us, const std::string& name, const std::string& args = "") {
  return call("cudaLaunchKernel", 1, start - 7, 5, i) + "," + kernel(name, 7, start, us, i, args);
}

}  // namespace

TEST_CASE("kernels by name and geometry: median, spread, repeats") {
  std::string events;
  for (int i = 0; i < 11; ++i) events += launch(i + 1, 100.0 * i + 50, 10 + i, "f") + ",";  // 10, 11, ... 20 us
  events +=
      launch(50, 5000, 7, "f", ", \"grid\": [16, 1, 1]") + "," + launch(51, 6000, 9, "ncclDevKernel_AllReduce_Sum");
  const auto all = measurements_of(read(file_of(events)), "a100-sxm-40", "t.json");
  REQUIRE(all.size() == 2);
  CHECK(all[0].kernel == "f");
  CHECK(all[0].device == "a100-sxm-40");
  CHECK(all[0].source == "t.json");
  CHECK(all[0].grid[0] == 8);
  CHECK(all[0].block[0] == 128);
  CHECK(all[0].registers == 32);
  CHECK(all[0].time_ns == Approx(15'000));
  CHECK(all[0].spread == Approx(19.0 / 11.0));  // p90 / p10
  CHECK(all[0].repeats == 11);
  CHECK(all[1].grid[0] == 16);
  CHECK(all[1].repeats == 1);
  CHECK(all[1].spread == 1);
}

TEST_CASE("copies and fills by kind and bytes") {
  const auto all = measurements_of(read(file_of(copy("Memcpy HtoD (Pinned -> Device)", 7, 10, 4, 0, 4096) + "," +
                                                copy("Memcpy HtoD (Pageable -> Device)", 7, 20, 6, 0, 4096) + "," +
                                                copy("Memcpy HtoD (Pinned -> Device)", 7, 30, 6, 0, 4096))),
                                   "a100-sxm-40", "t");
  REQUIRE(all.size() == 2);
  CHECK(all[0].record.family == Family::kCopy);
  CHECK(all[0].record.get(Key::kBytes) == 4096);
  CHECK(all[0].repeats == 2);
  CHECK(all[0].time_ns == Approx(5'000));
  CHECK(all[0].record.get(Key::kDirection) != all[1].record.get(Key::kDirection));
}

TEST_CASE("a matrix product: both kernels of a split product are one measurement, with its layout") {
  const std::string shapes =
      "\"Input Dims\": [[64, 4096], [4096, 128]], \"Input type\": [\"c10::Half\", \"c10::Half\"]";
  const std::string events = op("aten::matmul", 1, 0, 300, shapes) + "," + op("aten::mm", 1, 1, 200, shapes) + "," +
                             launch(1, 20, 30, "ampere_fp16_s16816gemm_fp16_64x64_ldg8_f2f_stages_64x5_nn") + "," +
                             launch(2, 52, 4, "void cublasLt::splitKreduce_kernel<32, 16, int>(int)") + "," +
                             launch(3, 60, 5, "void at::native::vectorized_elementwise_kernel<4>(int)");
  const auto all = measurements_of(read(file_of(events)), "a100-sxm-40", "t");
  REQUIRE(all.size() == 2);
  const Measurement* product = find(all, Family::kGemm);
  REQUIRE(product != nullptr);
  CHECK(product->time_ns == Approx(34'000));
  // Row major [64, 4096] x [4096, 128] is column major m = 128, n = 64.
  CHECK(product->record.get(Key::kM) == 128);
  CHECK(product->record.get(Key::kN) == 64);
  CHECK(product->record.get(Key::kK) == 4096);
  CHECK(product->record.get(Key::kTypeA) == static_cast<int64_t>(DataType::kFloat16));
  CHECK(product->record.get(Key::kTransA) == 0);
  CHECK(product->record.get(Key::kTransB) == 0);
}

TEST_CASE("attention: shape, mask and direction from the operator") {
  const std::string dims = "[2, 16, 1024, 64], [2, 4, 1024, 64], [2, 4, 1024, 64]";
  const std::string types = "\"c10::BFloat16\", \"c10::BFloat16\", \"c10::BFloat16\"";
  const std::string events =
      op("aten::_scaled_dot_product_flash_attention", 1, 0, 100,
         "\"Input Dims\": [" + dims + "], \"Input type\": [" + types +
             "], \"Concrete Inputs\": [\"\", \"\", \"\", \"0.\", \"True\", \"False\"]") +
      "," +
      launch(1, 20, 90,
             "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 64>>(Flash_fwd_params)") +
      "," +
      op("aten::_scaled_dot_product_flash_attention_backward", 1, 200, 100,
         "\"Input Dims\": [[2, 16, 1024, 64], " + dims + "], \"Input type\": [\"c10::BFloat16\", " + types + "]") +
      "," + launch(2, 220, 10, "void pytorch_flash::flash_bwd_dot_do_o_kernel<true>(Flash_bwd_params)") + "," +
      launch(3, 240, 200, "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<64>(Flash_bwd_params)");
  const auto all = measurements_of(read(file_of(events)), "a100-sxm-40", "t");
  REQUIRE(all.size() == 2);
  CHECK(all[0].record.get(Key::kHeads) == 16);
  CHECK(all[0].record.get(Key::kKvHeads) == 4);
  CHECK(all[0].record.get(Key::kSeqQ) == 1024);
  CHECK(all[0].record.get(Key::kHeadDim) == 64);
  CHECK(all[0].record.get(Key::kCausal) == 1);
  CHECK(all[0].record.get(Key::kDirection) == 0);
  CHECK(all[1].record.get(Key::kDirection) == 1);
  CHECK(all[1].time_ns == Approx(210'000));
}

TEST_CASE("a convolution's two gradients are two measurements") {
  const std::string events =
      op("aten::convolution_backward", 1, 0, 100,
         "\"Input Dims\": [[8, 64, 28, 28], [8, 32, 56, 56], [64, 32, 3, 3], [], [], [], []], "
         "\"Input type\": [\"float\", \"float\", \"float\"], "
         "\"Concrete Inputs\": [\"\", \"\", \"\", \"[0]\", \"[2, 2]\", \"[1, 1]\", \"[1, 1]\", \"False\", \"[0, 0]\", "
         "\"1\", \"[True, True, False]\"]") +
      "," + launch(1, 20, 30, "sm80_xmma_dgrad_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x64x16") +
      "," +
      launch(2, 60, 40, "sm80_xmma_wgrad_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16");
  const auto all = measurements_of(read(file_of(events)), "a100-sxm-40", "t");
  REQUIRE(all.size() == 2);
  CHECK(all[0].record.family == Family::kConvolution);
  CHECK(all[0].record.get(Key::kConvDirection) == 1);
  CHECK(all[0].time_ns == Approx(30'000));
  CHECK(all[1].record.get(Key::kConvDirection) == 2);
  CHECK(all[1].record.get(Key::kChannels) == 32);
  CHECK(all[1].record.get(Key::kFilters) == 64);
  CHECK(all[1].record.get(Key::kStride) == 2);
  CHECK(all[1].record.get(Key::kPad) == 1);
  CHECK(all[1].record.get(Key::kComputeType) == static_cast<int64_t>(DataType::kTf32));
}

TEST_CASE("a trace of ours with measured durations says the same; one without is refused") {
  const std::string shapes = "\"Input Dims\": [[64, 32], [32, 128]], \"Input type\": [\"float\", \"float\"]";
  const auto kineto =
      read(file_of(op("aten::mm", 1, 1, 40, shapes) + "," + launch(1, 20, 30, "ampere_sgemm_128x64_tn") + "," +
                   launch(2, 70, 4, "f") + "," + copy("Memcpy DtoD (Device -> Device)", 7, 90, 2, 0, 64)));
  predictor::kineto::Conversion conversion;
  REQUIRE_FALSE(predictor::kineto::convert(kineto, "", &conversion));
  const Folder folder;
  std::vector<Measurement> ours;
  const auto failure = predictor::kineto::read_measurements(folder.write("t.pb", conversion.bytes), "", &ours);
  REQUIRE(failure.text.empty());
  const auto theirs = measurements_of(kineto, "a100-sxm-40", "t.pb");
  REQUIRE(ours.size() == theirs.size());
  for (const Family family : {Family::kGemm, Family::kCopy}) {
    REQUIRE(find(ours, family) != nullptr);
    REQUIRE(find(theirs, family) != nullptr);
    CHECK(find(ours, family)->time_ns == find(theirs, family)->time_ns);
    CHECK(find(ours, family)->device == "a100-sxm-40");
    CHECK(find(ours, family)->source == "t.pb");
    CHECK(find(ours, family)->record.get(Key::kK) == find(theirs, family)->record.get(Key::kK));
  }
  trace::LoadedTrace none;
  CHECK(measurements_of(none, "a100-sxm-40", "t").empty());
  CHECK(predictor::kineto::read_measurements(folder.path("missing.pb"), "", &ours));
}
