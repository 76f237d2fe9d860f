// Fits the straight lines of streaming operators.
#pragma once

#include <span>
#include <vector>

#include "predictor/core/table.h"

namespace maya::training {

struct LineSample {
  uint16_t op, direction, pattern;
  double bytes;
  double ideal_ns;  // bytes over the bandwidth of the device that was measured
  double time_ns;
  bool common = true;  // counts for the common line
};

// One line an (operator, direction, access pattern) with at least kLeastLineRows samples, and one common line
// (operator 0) an access pattern and direction over all of them. Robust: least sum of absolute logarithms of measured /
// line. `least_floor_ns`: shortest kernel.
inline constexpr size_t kLeastLineRows = 4;
std::vector<StreamingLine> fit_lines(std::span<const LineSample> samples, double least_floor_ns);

}  // namespace maya::training
