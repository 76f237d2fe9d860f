// Kernels of a program's own (Triton, numba, CUDA C++ compiled at run time), of which the instructions were counted.
#include <algorithm>
#include <cmath>

#include "predictor/core/families.h"
#include "predictor/core/launch_context.h"

namespace maya::model {
namespace {

// Share of the memory bandwidth that generated kernels reach: of Liger's kernels that stream, measured 0.87 to 0.97 on
// A100 and H100 (bench/results/accuracy-triton.md).
constexpr double kMemoryShare = 0.92;
// Shares of the other peaks, and what follows down to kMultiprocessorsForBandwidth: engineering estimates, fitted on
// nothing. Intervals are those of analytic estimates for that reason.
constexpr double kCacheShare = 0.70;
constexpr double kTensorShare = 0.80;
constexpr double kIssueShare = 0.60;
constexpr double kIssuesOfCycle = 4;
// Threads of the special function unit that a multiprocessor works off in a cycle (CUDA C++ programming guide, as
// issue_seconds()).
constexpr double kFunctionsOfCycle = 16;
// Blocks that read little each wait for it: a kernel's first loads, its barriers and its stores.
constexpr double kBlock_ns = 1000;
// One multiprocessor cannot draw more than this share of the device's memory bandwidth: with fewer blocks than a third
// of the multiprocessors the rest lies idle.
constexpr double kMultiprocessorsForBandwidth = 1.0 / 3;

DataType data_type_of(device::MatrixType type) {
  switch (type) {
    case device::MatrixType::kHalf:
      return DataType::kBfloat16;
    case device::MatrixType::kTf32:
      return DataType::kTf32;
    case device::MatrixType::kEightBits:
      return DataType::kFloat8E4m3;
    case device::MatrixType::kFourBits:
      return DataType::kFloat4E2m1;
    case device::MatrixType::kDouble:
      return DataType::kFloat64;
  }
  return DataType::kFloat32;
}

// Of all multiprocessors, in a second.
double cycles_of(const device::DeviceProfile& profile) {
  return profile.clock_khz * 1e3 * std::max<double>(profile.multiprocessors, 1);
}

}  // namespace

double issue_seconds(const device::DeviceProfile& profile, double instructions) {
  return instructions / (cycles_of(profile) * kIssuesOfCycle * kIssueShare);
}

Work custom_work(const LaunchContext& context) {
  const device::KernelWork& counted = *context.launch.counted;
  Work work;
  work.family = Family::kCustom;
  work.shape.family = Family::kCustom;
  work.type = DataType::kFloat32;
  work.read_bytes = counted.read_bytes;
  work.written_bytes = counted.written_bytes;
  for (int i = 0; i < device::kMatrixTypes; ++i) {
    const double flops = counted.flops[i];
    if (flops <= work.flops) continue;
    work.flops = flops;
    work.type = data_type_of(static_cast<device::MatrixType>(i));
    work.tensor_cores = true;
  }
  work.shape.set(Key::kReadBytes, whole(counted.read_bytes)).set(Key::kWrittenBytes, whole(counted.written_bytes));
  work.guessed = counted.uncertainty >= 1;
  CountedLaunch launch;
  launch.work = counted;
  launch.blocks = context.blocks();
  launch.needs = block_needs(context.launch);
  work.counted = launch;
  return work;
}

double custom_ns(const device::DeviceProfile& profile, const Work& work) {
  if (!work.counted) return memory_bound_ns(profile, work);
  const device::KernelWork& counted = work.counted->work;
  const double blocks = std::max(work.counted->blocks, 1.0);
  const double multiprocessors = std::max<double>(profile.multiprocessors, 1);
  const double resident = std::max<double>(device::active_blocks(profile, work.counted->needs), 1);
  // Blocks are worked off in waves; the last one may leave multiprocessors idle.
  const double waves = std::ceil(blocks / (multiprocessors * resident));
  const double busy =
      waves == 1 ? std::min(blocks / multiprocessors, 1.0) : blocks / (waves * multiprocessors * resident);
  double tensor = 0;
  for (int i = 0; i < device::kMatrixTypes; ++i)
    if (counted.flops[i] > 0)
      tensor +=
          counted.flops[i] / (peak_of(profile, data_type_of(static_cast<device::MatrixType>(i)), true) * kTensorShare);
  const double issue = issue_seconds(profile, counted.instructions);
  const double functions = counted.functions / (cycles_of(profile) * kFunctionsOfCycle);
  // What memory moves passes the cache anyway; the rest is read again.
  const double cache = std::max(counted.requested_bytes - bytes_of(work), 0.0) /
                       (std::max(profile.l2_bandwidth, profile.memory_bandwidth) * kCacheShare);
  const double drawn = std::min(blocks / (multiprocessors * kMultiprocessorsForBandwidth), 1.0);
  const double memory = bytes_of(work) / (profile.memory_bandwidth * kMemoryShare * drawn);
  double sum = std::pow(memory, kOverlap);
  for (const double time : {tensor, issue, functions, cache}) sum += std::pow(time / busy, kOverlap);
  return profile.kernel_floor_ns + kBlock_ns + std::pow(sum, 1 / kOverlap) * 1e9;
}

}  // namespace maya::model
