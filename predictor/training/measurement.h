// One measured duration of one operation on one device: what maya-train learns from, whatever file it came from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "predictor/core/estimate.h"

namespace maya::training {

struct Measurement {
  std::string device;  // name of a built-in profile: "h100-sxm"
  // The operation: a library call with its shape, or, when `kernel` is not empty, a kernel launch.
  OperationRecord record;
  std::string kernel;  // demangled name
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t registers = 0;
  uint32_t shared_bytes = 0;                // dynamic and static
  std::vector<LaunchView::Scalar> scalars;  // as far as the source knows them

  double time_ns = 0;  // duration on the device, median over repeats
  // Spread over repeats or software builds as a factor: p90 / p10 of what was measured; 1 when only one value is known.
  double spread = 1;
  uint32_t repeats = 1;    // values that time_ns is the median of
  bool sustained = false;  // measured over a second or more at the power limit; otherwise in a short burst
  std::string source;      // "aiconfigurator", "neusight", the name of a CSV file
};

// The work of a measurement, by the same extractor that predictions use.
Work work_of(const Measurement& measurement);

}  // namespace maya::training
