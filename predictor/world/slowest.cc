#include "predictor/world/slowest.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace maya::predictor {
namespace {

constexpr double kStandardErrorsOf80Percent = 1.2816;

double normal_below(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

// P(largest <= x). Through the logarithm, which keeps its digits for large counts.
double largest_below(double x, double count) { return std::exp(count * std::log1p(-normal_below(-x))); }

bool slows_down(const OperationCost& cost) {
  return cost.engine == Engine::kCompute && cost.work.family != Family::kCopy && cost.work.family != Family::kFill;
}

}  // namespace

// E[X] = integral of P(X > x) over x > 0, less that of P(X <= x) over x < 0; trapezoids, whose error is far below the
// digits that are used since the integrand is smooth and vanishes at both ends.
double expected_largest(uint64_t count) {
  if (count <= 1) return 0;
  constexpr double kEnd = 12, kWidth = 0.01;
  const auto n = static_cast<double>(count);
  double sum = 0.5 * (1 - 2 * largest_below(0, n));
  for (double x = kWidth; x <= kEnd; x += kWidth) sum += 1 - largest_below(x, n) - largest_below(-x, n);
  return sum * kWidth;
}

SlowestDevice slowest_device(uint64_t devices, double spread, double error) {
  const double deviations = expected_largest(devices);
  const auto factor = [&](double share) { return 1 + std::clamp(share, 0.0, kMostDeviceSpread) * deviations; };
  const double margin = kStandardErrorsOf80Percent * std::max(error, 0.0);
  return {.devices = std::max<uint64_t>(devices, 1),
          .spread = std::clamp(spread, 0.0, kMostDeviceSpread),
          .median = factor(spread),
          .low = factor(spread - margin),
          .high = factor(spread + margin)};
}

uint64_t devices_that_wait(const World& world) {
  const bool waits = std::any_of(world.matches.begin(), world.matches.end(),
                                 [&](const Match& match) { return world.communicators[match.communicator].size > 1; });
  return waits ? static_cast<uint64_t>(std::max(world.layout.world_size, 1)) : 1;
}

void slow_down(const SlowestDevice& slowest, CostTable* table) {
  for (OperationCost& cost : table->costs) {
    if (!slows_down(cost)) continue;
    cost.estimate.median_ns *= slowest.median;
    cost.estimate.low_ns *= slowest.low;
    cost.estimate.high_ns *= slowest.high;
    cost.slowest_device = slowest.median;
  }
}

}  // namespace maya::predictor
