// The measurements nearest to an operation: what an explanation shows beside the estimate.
#pragma once

#include <string>
#include <vector>

#include "predictor/core/estimator.h"

namespace maya::predictor {

struct NearMeasurement {
  std::string what;  // "m=3072 n=8192 k=768", or "line of 646 measurements from 12 kB to 39 GB"
  double time_ns = 0;
};

// Up to `most` measurements that the model of `work` was fitted to, the nearest first: matrix products by the distance
// of the logarithms of their sizes, where a grid of them was measured; of streaming operators the line. Empty for
// others: tables keep their shapes as keys only.
std::vector<NearMeasurement> nearest_measurements(const Estimator& estimator, const TableModel& model, const Work& work,
                                                  size_t most);

// "gemm 16-bit", "attention 16-bit backward".
std::string model_name(const TableModel& model);
// "gemm 16-bit: 32893 measurements of h100-sxm, 1.2 % median error and 6.2 % 95th percentile on shapes kept back".
std::string describe_model(const TableModel& model);

}  // namespace maya::predictor
