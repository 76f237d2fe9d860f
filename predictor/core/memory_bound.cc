// Families whose time is the traffic to device memory: a fixed cost plus bytes over the share of bandwidth that such
// kernels reach. Shares are medians over profiler traces and kernel tables of public repositories (A100 and H100).
#include <algorithm>
#include <cmath>

#include "predictor/core/families.h"

namespace maya::model {
namespace {

// Share of memory bandwidth reached at large sizes.
double bandwidth_share(Family family, bool backward, AccessPattern pattern) {
  switch (family) {
    case Family::kElementwise:
      // Broadcast: the line through the 12 such kernels that profiler traces of an H100 have.
      return pattern == AccessPattern::kInOrder ? 0.85 : pattern == AccessPattern::kBroadcast ? 0.65 : 0.50;
    case Family::kFill:
      return 0.88;
    case Family::kCopy:
      return 0.80;
    case Family::kNormalization:
      return backward ? 0.60 : 0.70;
    case Family::kSoftmax:
      return backward ? 0.80 : 0.75;
    case Family::kReduction:
      return 0.78;
    case Family::kEmbedding:
      return backward ? 0.35 : 0.65;
    case Family::kIndex:
      return 0.30;
    case Family::kOptimizer:
      return 0.84;
    case Family::kRandom:
      return 0.60;
    case Family::kVector:
      return 0.80;
    case Family::kPooling:
      return 0.50;
    case Family::kSort:
      return 0.30;
    case Family::kSparse:
      return 0.40;
    case Family::kFourier:
      return 0.50;
    case Family::kSolver:
      return 0.10;
    case Family::kRecurrent:
      return 0.30;
    default:
      return 0.55;
  }
}

// Fixed cost over the shortest kernel: several dependent phases inside the kernel.
double extra_floor_ns(Family family, bool backward) {
  switch (family) {
    case Family::kNormalization:
      return backward ? 2000 : 1000;
    case Family::kSoftmax:
    case Family::kReduction:
      return 1000;
    case Family::kOptimizer:
      return 1500;
    case Family::kSort:
      return 3000;
    case Family::kEmbedding:
      return backward ? 2000 : 500;
    default:
      return 300;
  }
}

// Random numbers of dropout: Philox 4x32-10 (Salmon et al. 2011) is ten rounds of two wide products, two xors of three
// and two additions for four numbers; with their conversion, comparison and scaling at least 27 instructions an
// element. PyTorch's kernel took 4.2 ms for 1e9 elements of 16 bits on an A100 (952 GB/s of their reads and writes,
// pull request 85 of FlagGems), which asks for 36 on the 40 GB part and 44 on the 80 GB part.
double random_ns(const device::DeviceProfile& profile, const Work& work) {
  const bool forward = work.shape.get(Key::kDirection) == 0;
  if (static_cast<Operator>(work.shape.get(Key::kOperator)) != Operator::kDropout || !forward) return 0;
  constexpr double kInstructions = 40, kLanes = 32;
  const auto elements = static_cast<double>(
      std::max(work.shape.get(Key::kElements), work.shape.get(Key::kRows) * work.shape.get(Key::kColumns)));
  return issue_seconds(profile, elements * kInstructions / kLanes) * 1e9;
}

// Arithmetic of these families runs on the ordinary units, at about half their peak. Dense solvers spend most of their
// time in narrow panels: the shares of LU, Cholesky and QR are what such libraries reach at orders of some thousands,
// those of eigenvalue and singular value decompositions, half of whose work is matrix-vector products, a tenth of it.
// Not fitted: no public table of solver times is among the sources of Maya's tables.
double compute_share(const Work& work) {
  if (work.family != Family::kSolver) return 0.5;
  switch (static_cast<Operator>(work.shape.get(Key::kOperator))) {
    case Operator::kEigenvalues:
    case Operator::kSingularValues:
      return 0.04;
    default:
      return 0.4;
  }
}

}  // namespace

// vidur's times of one addition, 179 sizes on A100, H100 and A40 (cache of 40, 50 and 6 MB): operands of up to 0.15 of
// the cache are served by it whole, of 2.7 times it not at all, straight between, at 0.62 (A100) and 0.81 (H100) of its
// bandwidth (mean error 4.0, 4.5 and 4.9 %).
double cache_relief(const device::DeviceProfile& profile, const Work& work) {
  constexpr double kWhole = 0.15, kNothing = 2.7, kCacheShare = 0.7, kMemoryShare = 0.9;
  if (profile.l2_bytes == 0 || profile.l2_bandwidth <= 0 || profile.memory_bandwidth <= 0) return 1;
  const double size = bytes_of(work) / static_cast<double>(profile.l2_bytes);
  const double served = std::clamp((kNothing - size) / (kNothing - kWhole), 0.0, 1.0);
  const double faster = profile.memory_bandwidth * kMemoryShare / (profile.l2_bandwidth * kCacheShare);
  return 1 - served * (1 - std::min(faster, 1.0));
}

double memory_bound_ns(const device::DeviceProfile& profile, const Work& work) {
  const bool backward = work.shape.get(Key::kDirection) == 1;
  const double share = bandwidth_share(work.family, backward, access_pattern(work.shape));
  const double memory = bytes_of(work) / (profile.memory_bandwidth * share) * 1e9;
  // Instructions hide behind memory in part.
  const double both = std::pow(std::pow(memory, kOverlap) + std::pow(random_ns(profile, work), kOverlap), 1 / kOverlap);
  const double compute = work.flops / (peak_of(profile, work.type, work.tensor_cores) * compute_share(work)) * 1e9;
  // Kernels of one call that wait for each other, each at least as long as an empty one.
  const double steps = static_cast<double>(std::max<int64_t>(work.shape.get(Key::kSteps), 1));
  return steps * profile.kernel_floor_ns + extra_floor_ns(work.family, backward) + std::max(both, compute);
}

}  // namespace maya::model
