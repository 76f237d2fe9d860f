// Families whose time is the traffic to device memory: a fixed cost plus bytes over the share of bandwidth that such
// kernels reach. Shares are medians over profiler traces and kernel tables of public repositories (A100 and H100).
#include <algorithm>

#include "predictor/core/families.h"

namespace maya::model {
namespace {

// Share of memory bandwidth reached at large sizes.
double bandwidth_share(Family family, bool backward, bool strided) {
  switch (family) {
    case Family::kElementwise:
      return strided ? 0.50 : 0.85;
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

}  // namespace

double memory_bound_ns(const device::DeviceProfile& profile, const Work& work) {
  const bool backward = work.shape.get(Key::kDirection) == 1;
  const bool strided = work.shape.get(Key::kImplementation) == static_cast<int64_t>(Implementation::kStrided);
  const double share = bandwidth_share(work.family, backward, strided);
  const double memory = bytes_of(work) / (profile.memory_bandwidth * share) * 1e9;
  // Arithmetic of these kernels runs on the ordinary units, at about half their peak.
  constexpr double kComputeShare = 0.5;
  const double compute = work.flops / (peak_of(profile, work.type, work.tensor_cores) * kComputeShare) * 1e9;
  return profile.kernel_floor_ns + extra_floor_ns(work.family, backward) + std::max(memory, compute);
}

}  // namespace maya::model
