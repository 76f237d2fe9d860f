// How far estimates are from measurements.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace maya::training {

struct Scored {
  double measured_ns, estimated_ns, low_ns, high_ns;
};

// Errors are |estimated / measured - 1|, as shares.
struct Score {
  size_t rows = 0;
  double median = 0, mean = 0, p95 = 0;
  double bias = 0;      // median of estimated / measured - 1
  double coverage = 0;  // share of measurements inside their interval
};

Score score_of(std::span<const Scored> rows);

// Value below which the share `q` of the numbers lies; linear between neighbours. 0 for none.
double quantile(std::vector<double> values, double q);

}  // namespace maya::training
