// Properties that hold for every device and size: no estimate beats the hardware, more work takes no less time, nothing
// is free.
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "predictor/core/estimate.h"

namespace maya {
namespace {

std::vector<const device::DeviceProfile*> devices() {
  std::vector<const device::DeviceProfile*> result;
  for (const auto& builtin : device::builtin_profiles()) result.push_back(device::find_builtin_profile(builtin.name));
  return result;
}

// The bound by hand, from the profile's peaks; types without units of their own run at most at the 16-bit peak.
double bound_ns(const device::DeviceProfile& profile, const Work& work) {
  double peak = profile.peak_fp32;
  if (work.tensor_cores) switch (work.type) {
      case DataType::kFloat16:
        peak = profile.peak_fp16;
        break;
      case DataType::kBfloat16:
        peak = profile.peak_bf16;
        break;
      case DataType::kTf32:
        peak = profile.peak_tf32;
        break;
      case DataType::kFloat64:
        peak = std::max(profile.peak_fp64, profile.peak_fp64_tensor);
        break;
      case DataType::kFloat8E4m3:
        peak = std::max(profile.peak_fp8, profile.peak_fp16);
        break;
      default:
        break;
    }
  // Winograd's F(4x4, 3x3) saves three multiplications of four; what fits into the L2 cache may come from there.
  const bool winograd = work.family == Family::kConvolution && !work.tensor_cores;
  const double bytes = work.read_bytes + work.written_bytes;
  const double bandwidth = bytes <= static_cast<double>(profile.l2_bytes)
                               ? std::max(profile.l2_bandwidth, profile.memory_bandwidth)
                               : profile.memory_bandwidth;
  return std::max({work.flops / peak / (winograd ? 4 : 1), bytes / bandwidth, profile.kernel_floor_ns * 1e-9}) * 1e9;
}

void check(const device::DeviceProfile& profile, const Work& work) {
  const Estimate result = estimate(profile, work);
  INFO(profile.name << " " << family_name(work.family) << " flops " << work.flops << " bytes "
                    << work.read_bytes + work.written_bytes);
  CHECK(std::isfinite(result.median_ns));
  const double bound = bound_ns(profile, work) * (1 - 1e-9);
  CHECK(result.low_ns >= bound);
  CHECK(result.median_ns >= result.low_ns);
  CHECK(result.high_ns > result.median_ns);
}

class Random {
 public:
  int64_t size(int64_t most) {
    return static_cast<int64_t>(std::exp(uniform_(engine_) * std::log(static_cast<double>(most))));
  }
  int64_t below(int64_t n) { return static_cast<int64_t>(uniform_(engine_) * static_cast<double>(n)); }

 private:
  std::mt19937_64 engine_{20261129};
  std::uniform_real_distribution<double> uniform_{0, 1};
};

constexpr DataType kTypes[] = {DataType::kFloat64, DataType::kFloat32,  DataType::kTf32,
                               DataType::kFloat16, DataType::kBfloat16, DataType::kFloat8E4m3};

OperationRecord gemm(int64_t m, int64_t n, int64_t k, DataType type, int64_t batch = 1) {
  OperationRecord record(Family::kGemm, "");
  record.set(Key::kM, m)
      .set(Key::kN, n)
      .set(Key::kK, k)
      .set(Key::kTypeA, static_cast<int64_t>(type))
      .set(Key::kBatch, batch);
  return record;
}

TEST_CASE("No estimate is faster than the hardware allows") {
  Random random;
  for (const auto* profile : devices())
    for (int i = 0; i < 400; ++i) {
      check(*profile, work_of(gemm(random.size(70000), random.size(70000), random.size(70000), kTypes[random.below(6)],
                                   random.size(64))));
      OperationRecord attention(Family::kAttention, "");
      attention.set(Key::kBatch, random.size(64))
          .set(Key::kHeads, random.size(128))
          .set(Key::kSeqQ, random.size(32768));
      attention.set(Key::kSeqKv, random.size(32768))
          .set(Key::kHeadDim, random.size(512))
          .set(Key::kCausal, random.below(2));
      attention.set(Key::kDirection, random.below(2)).set(Key::kImplementation, random.below(3));
      attention.set(Key::kDataType, static_cast<int64_t>(DataType::kBfloat16));
      check(*profile, work_of(attention));
      OperationRecord rows(static_cast<Family>(random.below(24)), "");
      rows.set(Key::kRows, random.size(1 << 20))
          .set(Key::kColumns, random.size(1 << 18))
          .set(Key::kDirection, random.below(2));
      rows.set(Key::kDataType, static_cast<int64_t>(kTypes[random.below(6)]));
      check(*profile, work_of(rows));
    }
}

TEST_CASE("Copies and fills are bounded by the link they use") {
  for (const auto* profile : devices())
    for (uint64_t bytes : {0ull, 1ull, 4096ull, 1ull << 20, 1ull << 32, 1ull << 40}) {
      INFO(profile->name << " " << bytes);
      const double size = static_cast<double>(bytes) * 1e9;
      for (bool pageable : {false, true}) {
        CHECK(estimate_copy(*profile, 1, bytes, pageable).low_ns > 0);
        CHECK(estimate_copy(*profile, 1, bytes, pageable).median_ns >= size / profile->pcie_bandwidth);
        CHECK(estimate_copy(*profile, 2, bytes, pageable).median_ns >= size / profile->pcie_bandwidth);
      }
      CHECK(estimate_copy(*profile, 3, bytes, false).median_ns >= 2 * size / profile->memory_bandwidth);
      CHECK(estimate_fill(*profile, bytes).median_ns >= size / profile->memory_bandwidth);
      CHECK(estimate_copy(*profile, 3, bytes, false).low_ns > 0);
      CHECK(estimate_copy(*profile, 99, bytes, false).low_ns > 0);
    }
  const auto& h100 = *device::find_builtin_profile("h100-sxm");
  CHECK(estimate_copy(h100, 1, 1 << 28, true).median_ns > 2 * estimate_copy(h100, 1, 1 << 28, false).median_ns);
}

TEST_CASE("More of the same takes no less time") {
  for (const auto* profile : devices()) {
    double last_square = 0, last_attention = 0, last_copy = 0, last_rows = 0, last_reduce = 0;
    for (int64_t size = 64; size <= 65536; size *= 2) {
      INFO(profile->name << " " << size);
      const double square = estimate(*profile, work_of(gemm(size, size, size, DataType::kBfloat16))).median_ns;
      CHECK(square >= last_square);
      last_square = square;
      OperationRecord attention(Family::kAttention, "");
      attention.set(Key::kBatch, 4)
          .set(Key::kHeads, 16)
          .set(Key::kSeqQ, size)
          .set(Key::kSeqKv, size)
          .set(Key::kHeadDim, 128);
      attention.set(Key::kCausal, 1).set(Key::kDataType, static_cast<int64_t>(DataType::kBfloat16));
      const double attention_ns = estimate(*profile, work_of(attention)).median_ns;
      CHECK(attention_ns >= last_attention);
      last_attention = attention_ns;
      OperationRecord rows(Family::kNormalization, "");
      rows.set(Key::kRows, size)
          .set(Key::kColumns, 4096)
          .set(Key::kDataType, static_cast<int64_t>(DataType::kBfloat16));
      const double rows_ns = estimate(*profile, work_of(rows)).median_ns;
      CHECK(rows_ns >= last_rows);
      last_rows = rows_ns;
      const double copy = estimate_copy(*profile, 3, static_cast<uint64_t>(size) << 10, false).median_ns;
      CHECK(copy >= last_copy);
      last_copy = copy;
      OperationRecord reduce(Family::kCollective, "");
      reduce.set(Key::kBytes, size << 10)
          .set(Key::kRanks, 4)
          .set(Key::kCollective, static_cast<int64_t>(CollectiveKind::kAllReduce));
      const double reduce_ns = estimate(*profile, work_of(reduce)).median_ns;
      CHECK(reduce_ns >= last_reduce);
      last_reduce = reduce_ns;
    }
  }
}

TEST_CASE("Nothing is free, not even nothing") {
  const auto& h100 = *device::find_builtin_profile("h100-sxm");
  for (int family = 0; family < 24; ++family) {
    const Estimate result = estimate(h100, work_of(OperationRecord(static_cast<Family>(family), "")));
    INFO(family_name(static_cast<Family>(family)));
    CHECK(result.low_ns >= h100.kernel_floor_ns);
  }
  CHECK(estimate(h100, Work()).provenance == Provenance::kUnknown);
}

TEST_CASE("Launches of any shape give finite estimates") {
  const auto& h100 = *device::find_builtin_profile("h100-sxm");
  constexpr std::string_view kNames[] = {
      "unheard_of",
      "triton_poi_fused_0",
      "triton_red_fused_1",
      "ampere_sgemm_128x64_nn",
      "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int)",
      "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, cutlass::half_t>, "
      "false, true>(P)",
      "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float> >(P)",
      "void softmax_warp_forward<float, float, float, 62, false>(P)",
      "fmha_cutlassB_bf16_aligned_64x64_k64_sm80(P)"};
  constexpr uint32_t kSizes[] = {0, 1, 65535, 2147483647, 4294967295};
  for (std::string_view name : kNames)
    for (uint32_t x : kSizes)
      for (uint32_t y : kSizes) {
        LaunchView launch;
        launch.mangled_name = name;
        launch.grid[0] = x;
        launch.grid[1] = launch.grid[2] = y;
        launch.block[0] = y;
        const LaunchView::Scalar scalars[] = {
            {0, 4, 0xffffffff}, {8, 8, ~0ull}, {16, 8, 1ull << 63}, {24, 1, 255}, {28, 4, x}};
        for (uint32_t count : {0u, 5u}) {
          launch.scalars = scalars;
          launch.scalar_count = count;
          const Estimate result = estimate(h100, work_of(launch));
          INFO(name << " " << x << " " << y << " " << count);
          CHECK(std::isfinite(result.median_ns));
          CHECK(result.low_ns >= h100.kernel_floor_ns);
        }
      }
}

TEST_CASE("A kernel that waits for a number of cycles takes as long as its device's clock needs for them") {
  for (std::string_view name : {"at::cuda::(anonymous namespace)::spin_kernel(long)",
                                "_ZN2at4cuda40_GLOBAL__N__758183f4_8_Sleep_cu_088d913f11spin_kernelEl"}) {
    LaunchView launch;
    launch.mangled_name = name;
    const LaunchView::Scalar cycles[] = {{0, 8, 50'000'000}};
    launch.scalars = cycles;
    launch.scalar_count = 1;
    const Work work = work_of(launch);
    CHECK_FALSE(work.guessed);
    // NVIDIA's boost clocks: 1.98 GHz and 1.41 GHz.
    CHECK(maya::estimate(*device::find_builtin_profile("h100-sxm"), work).median_ns == Approx(50e6 / 1.98));
    CHECK(maya::estimate(*device::find_builtin_profile("a100-sxm-80"), work).median_ns == Approx(50e6 / 1.41));
  }
}

}  // namespace
}  // namespace maya
