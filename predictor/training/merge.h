// Joins measurements of the same operation.
#pragma once

#include <vector>

#include "predictor/training/measurement.h"
#include "predictor/training/report.h"

namespace maya::training {

// Value below which the fraction `q` (0 to 1) of the sorted `values` lies, interpolated between neighbours.
double quantile(const std::vector<double>& sorted, double q);

// Measurements of equal operation, device, source and `sustained` become one: the median of their times, their number
// as repeats, and p90 / p10 as spread where that is wider than the spread of each. The order of first occurrence is
// kept. Disagreements by more than 2 % are reported.
std::vector<Measurement> merge(std::vector<Measurement> measurements, Report* report);

}  // namespace maya::training
