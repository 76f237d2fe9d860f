// Estimates against published figures.
#include <catch2/catch.hpp>

#include "predictor/core/estimate.h"

namespace maya {
namespace {

const device::DeviceProfile& profile(std::string_view name) { return *device::find_builtin_profile(name); }

double gemm_tflops(std::string_view device, int64_t size) {
  OperationRecord record(Family::kGemm, "");
  record.set(Key::kM, size)
      .set(Key::kN, size)
      .set(Key::kK, size)
      .set(Key::kTypeA, static_cast<int64_t>(DataType::kBfloat16));
  const Work work = work_of(record);
  return work.flops / estimate(profile(device), work).median_ns / 1e3;
}

TEST_CASE("Large bf16 products run at sustained speed") {
  // About 600 to 750 TFLOP/s on H100 and 240 to 260 on A100 in public measurements of cuBLAS.
  CHECK(gemm_tflops("h100-sxm", 8192) > 600);
  CHECK(gemm_tflops("h100-sxm", 8192) < 750);
  CHECK(gemm_tflops("a100-sxm-80", 8192) > 235);
  CHECK(gemm_tflops("a100-sxm-80", 8192) < 265);
  CHECK(gemm_tflops("b200-sxm", 8192) > 1300);
}

double attention_tflops(std::string_view device, int64_t sequence, int64_t head_dim, bool backward,
                        Implementation implementation) {
  // FlashAttention's benchmark: 16,384 tokens, hidden size 2048.
  OperationRecord record(Family::kAttention, "");
  record.set(Key::kBatch, 16384 / sequence)
      .set(Key::kHeads, 2048 / head_dim)
      .set(Key::kSeqQ, sequence)
      .set(Key::kSeqKv, sequence);
  record.set(Key::kHeadDim, head_dim)
      .set(Key::kDirection, backward)
      .set(Key::kDataType, static_cast<int64_t>(DataType::kFloat16));
  record.set(Key::kImplementation, static_cast<int64_t>(implementation));
  const Work work = work_of(record);
  return work.flops / estimate(profile(device), work).median_ns / 1e3;
}

TEST_CASE("Attention throughput is that of FlashAttention's charts") {
  CHECK(attention_tflops("h100-sxm", 4096, 128, false, Implementation::kFlashAttention2) == Approx(368).epsilon(0.1));
  CHECK(attention_tflops("h100-sxm", 4096, 64, false, Implementation::kFlashAttention2) == Approx(321).epsilon(0.1));
  CHECK(attention_tflops("h100-sxm", 4096, 128, true, Implementation::kFlashAttention2) == Approx(310).epsilon(0.1));
  CHECK(attention_tflops("h100-sxm", 4096, 128, false, Implementation::kBest) == Approx(638).epsilon(0.12));
}

TEST_CASE("Memory-efficient attention, forward and backward, is as fast as xformers' bars in the same charts") {
  // FLOPs of forward and backward are 1 to 2.5.
  const auto both = [](int64_t sequence, int64_t head_dim) {
    const auto one = [&](bool backward) {
      return attention_tflops("a100-sxm-80", sequence, head_dim, backward, Implementation::kMemoryEfficient);
    };
    return 3.5 / (1 / one(false) + 2.5 / one(true));
  };
  CHECK(both(2048, 128) == Approx(95).epsilon(0.1));
  CHECK(both(8192, 128) == Approx(97).epsilon(0.1));
  CHECK(both(4096, 64) == Approx(77).epsilon(0.1));
}

TEST_CASE("A large copy on the device reaches most of the memory bandwidth") {
  // 4.3 TB/s counting bytes read and written on an H200 (data/README.md).
  const double bytes = 1ull << 30;
  const double rate = 2 * bytes / estimate_copy(profile("h200-sxm"), 3, 1ull << 30, false).median_ns;
  CHECK(rate == Approx(4300).epsilon(0.1));  // GB/s
}

TEST_CASE("All-reduce bus bandwidth at 512 MiB") {
  const auto bus_gbps = [](std::string_view device, int64_t ranks) {
    OperationRecord record(Family::kCollective, "");
    record.set(Key::kBytes, 1 << 29).set(Key::kRanks, ranks);
    const double ring = 2.0 * static_cast<double>(ranks - 1) / static_cast<double>(ranks);
    return (1 << 29) * ring / estimate(profile(device), work_of(record)).median_ns;
  };
  // data/README.md: A100 190/215/228 and H100 315/347/437-467 at 2/4/8 ranks.
  CHECK(bus_gbps("a100-sxm-80", 2) == Approx(190).epsilon(0.1));
  CHECK(bus_gbps("a100-sxm-80", 4) == Approx(215).epsilon(0.1));
  CHECK(bus_gbps("a100-sxm-80", 8) == Approx(228).epsilon(0.1));
  CHECK(bus_gbps("h100-sxm", 2) == Approx(315).epsilon(0.1));
  CHECK(bus_gbps("h100-sxm", 4) == Approx(347).epsilon(0.1));
  CHECK(bus_gbps("h100-sxm", 8) == Approx(450).epsilon(0.1));
}

TEST_CASE("A bigger part is faster, a slower memory shows") {
  OperationRecord add(Family::kElementwise, "");
  add.set(Key::kElements, 1 << 26).set(Key::kDataType, static_cast<int64_t>(DataType::kFloat32));
  const auto ns = [&](std::string_view device) { return estimate(profile(device), work_of(add)).median_ns; };
  CHECK(ns("h200-sxm") < ns("h100-sxm"));
  CHECK(ns("h100-sxm") < ns("h100-sxm-96"));
  CHECK(ns("a100-sxm-80") < ns("a100-sxm-40"));
  CHECK(ns("a100-sxm-40") < ns("l40s"));
}

}  // namespace
}  // namespace maya
