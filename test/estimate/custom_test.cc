// Kernels whose instructions were counted: times by hand from the device's figures.
#include <catch2/catch.hpp>

#include "predictor/core/estimate.h"

namespace maya {
namespace {

const device::DeviceProfile& h100() { return *device::find_builtin_profile("h100-sxm"); }

LaunchView launch_of(const device::KernelWork& work, std::string_view name = "my_kernel") {
  LaunchView launch;
  launch.mangled_name = name;
  launch.grid[0] = 132 * 64;
  launch.block[0] = 128;
  launch.registers = 32;
  launch.counted = &work;
  return launch;
}

}  // namespace

TEST_CASE("A kernel that streams takes its bytes over the memory bandwidth") {
  device::KernelWork counted;
  counted.read_bytes = 3e9;
  counted.written_bytes = 1e9;
  counted.requested_bytes = 4e9;
  counted.instructions = 4e9 / 512 * 8;
  const Work work = work_of(launch_of(counted));
  CHECK(work.family == Family::kCustom);
  CHECK_FALSE(work.guessed);
  const Estimate estimate = maya::estimate(h100(), work);
  // 4 GB at 3.352 TB/s take 1,193 us; generated kernels reach 80 to 95 % of it.
  CHECK(estimate.median_ns > 1193e3 / 0.95);
  CHECK(estimate.median_ns < 1193e3 / 0.80);
  CHECK(estimate.provenance == Provenance::kAnalytic);
}

TEST_CASE("A kernel that multiplies takes its operations over the peak of its operands") {
  // 4096 x 4096 x 4096 in 1,024 tiles of 128 x 128: 137.4 GFLOP, 139 us at 989.4 TFLOP/s of 16 bits, half of that
  // with 8.
  device::KernelWork counted;
  counted.read_bytes = 2 * 2.0 * 4096 * 4096;
  counted.written_bytes = 2.0 * 4096 * 4096;
  counted.instructions = 1e7;
  for (const auto& [type, at_peak_ns] :
       {std::pair{device::MatrixType::kHalf, 138.9e3}, std::pair{device::MatrixType::kEightBits, 69.5e3}}) {
    device::KernelWork one = counted;
    one.flops[static_cast<size_t>(type)] = 2.0 * 4096 * 4096 * 4096;
    LaunchView launch = launch_of(one);
    const Estimate estimate = maya::estimate(h100(), work_of(launch));
    CHECK(estimate.median_ns > at_peak_ns);
    CHECK(estimate.median_ns < at_peak_ns / 0.6);
    // The same in one wave that leaves all but eight multiprocessors idle takes at least 132 / 8 times the peak's time.
    launch.grid[0] = 8;
    CHECK(maya::estimate(h100(), work_of(launch)).median_ns > at_peak_ns * 132 / 8);
  }
}

TEST_CASE("What data decide widens the interval, and makes the estimate unknown when nothing bounds it") {
  device::KernelWork counted;
  counted.read_bytes = 1e9;
  const Estimate certain = maya::estimate(h100(), work_of(launch_of(counted)));
  counted.uncertainty = 0.5;
  const Estimate uncertain = maya::estimate(h100(), work_of(launch_of(counted)));
  CHECK(uncertain.median_ns == certain.median_ns);
  CHECK(uncertain.low_ns < 0.6 * certain.low_ns);
  CHECK(uncertain.high_ns > 1.4 * certain.high_ns);
  CHECK(uncertain.provenance == Provenance::kAnalytic);
  counted.uncertainty = 1;
  CHECK(maya::estimate(h100(), work_of(launch_of(counted))).provenance == Provenance::kUnknown);
}

TEST_CASE("Inductor's kernels keep their operation and take the counted bytes") {
  device::KernelWork counted;
  counted.read_bytes = 7e6;
  counted.written_bytes = 1e6;
  const Work work = work_of(launch_of(counted, "triton_poi_fused_native_dropout_3"));
  CHECK(work.family == Family::kElementwise);
  CHECK(static_cast<Operator>(work.shape.get(Key::kOperator)) == Operator::kDropout);
  CHECK(work.read_bytes == 7e6);
  CHECK(work.written_bytes == 1e6);
}

TEST_CASE("Any numbers give an estimate") {
  device::KernelWork counted;
  counted.read_bytes = 1e300;
  counted.instructions = 1e300;
  counted.flops.fill(1e300);
  LaunchView launch = launch_of(counted);
  launch.block[0] = launch.block[1] = launch.block[2] = 4'000'000'000u;
  const Estimate estimate = maya::estimate(h100(), work_of(launch));
  CHECK(estimate.median_ns > 0);
  CHECK(estimate.low_ns <= estimate.median_ns);
}

TEST_CASE("XLA's all-reduce in one kernel moves data between devices: bytes and ranks from what was counted") {
  // psum over 2 and 4 devices by JAX 0.10.2, its kernel's PTX counted: 1024 float32 by one shot; 1024 bfloat16 and
  // 65,536 float32 by one shot; 2^18 and 2^20 float32 by two shots.
  struct Psum {
    double read_bytes, written_bytes, bytes;
    int64_t ranks;
  };
  for (const Psum& psum :
       {Psum{12'336, 8'224, 4 * 1024, 2}, Psum{10'336, 4'128, 2 * 1024, 4}, Psum{1'311'808, 525'312, 4 * 65'536, 4},
        Psum{3'147'840, 2'361'344, 4 << 18, 4}, Psum{12'585'024, 9'439'232, 4 << 20, 4}}) {
    INFO(psum.bytes << " bytes over " << psum.ranks);
    device::KernelWork counted;
    counted.read_bytes = psum.read_bytes;
    counted.written_bytes = psum.written_bytes;
    counted.requested_bytes = psum.read_bytes + psum.written_bytes;
    const Work work = work_of(launch_of(counted, "all_reduce_start_fusion"));
    CHECK(work.family == Family::kCollective);
    CHECK(work.shape.get(Key::kCollective) == static_cast<int64_t>(CollectiveKind::kAllReduce));
    CHECK(work.shape.get(Key::kRanks) == psum.ranks);
    CHECK(static_cast<double>(work.shape.get(Key::kBytes)) == Approx(psum.bytes).epsilon(0.01));  // flags beside it
    const Estimate estimate = maya::estimate(h100(), work);
    CHECK(estimate.provenance == Provenance::kAnalytic);
    CHECK(estimate.high_ns == Approx(4 * estimate.median_ns));
  }
}

TEST_CASE("Kernels of XLA that only have a collective in their name compute; of others the size is unknown") {
  device::KernelWork counted;
  counted.read_bytes = counted.written_bytes = 1e6;
  CHECK(work_of(launch_of(counted, "loop_all_reduce_fusion")).family == Family::kCustom);
  CHECK(work_of(launch_of(counted, "input_reduce_fusion")).family == Family::kCustom);
  for (const auto& [name, kind] :
       {std::pair{"all_reduce_start_fusion_2", CollectiveKind::kAllReduce},
        {"all_gather_start_fusion", CollectiveKind::kAllGather},
        {"reduce_scatter_start_fusion", CollectiveKind::kReduceScatter},
        {"collective_permute_start_fusion", CollectiveKind::kSend},
        {"void stream_executor::gpu::AllReduceKernelImpl<float, (xla::ReductionKind)0, "
         "(stream_executor::gpu::AllReduceStrategy)0>(stream_executor::gpu::AllReduceKernelParams<float>)",
         CollectiveKind::kAllReduce},
        {"void stream_executor::gpu::RaggedAllToAllKernelImpl<4l>(void const*, std::array<void*, 8ul>, long const*)",
         CollectiveKind::kAllToAll}}) {
    INFO(name);
    LaunchView launch = launch_of(counted, name);
    launch.counted = nullptr;
    const Work work = work_of(launch);
    CHECK(work.family == (kind == CollectiveKind::kSend ? Family::kPointToPoint : Family::kCollective));
    CHECK(work.shape.get(Key::kCollective) == static_cast<int64_t>(kind));
    CHECK(work.guessed);
    CHECK(maya::estimate(h100(), work).provenance == Provenance::kUnknown);
  }
}

}  // namespace maya
