// Straight lines: time = floor + bytes / (share of bandwidth), one an operator. What families with few measurements
// get, and what the trees of others correct. Internal to the estimate core and its fitting.
#pragma once

#include <cstdint>
#include <span>

#include "predictor/core/estimate.h"
#include "predictor/core/table.h"

namespace maya {

struct LineEstimate {
  double ns = 0;             // 0: no line fits
  double low = 1, high = 1;  // 80 % interval as factors
  bool exact = false;        // the operator itself was measured, at sizes of that order
  bool seen = false;         // the same, at such sizes
};

// The line of the work's operator and direction; the family's common line (Operator::kNone) where it has none.
LineEstimate line_estimate(std::span<const StreamingLine> lines, const device::DeviceProfile& profile,
                           const Work& work);

// Explicit copies have lines of their own in the model of Family::kCopy, by copy_operator().
uint16_t copy_operator(int kind, bool pageable);
LineEstimate copy_line(const Table& table, const device::DeviceProfile& profile, int kind, uint64_t bytes,
                       bool pageable);

}  // namespace maya
