// Why an operation is estimated as it is.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "predictor/cost_stage.h"
#include "predictor/nearest.h"

namespace maya::predictor {

struct Explanation {
  std::string name;
  Family family = Family::kUnknown;
  uint64_t count = 0;                                  // in the steps that count
  std::vector<std::pair<std::string, int64_t>> shape;  // named integers, as far as known
  DataType type = DataType::kNone;
  double flops = 0, read_bytes = 0, written_bytes = 0;
  double compute_ns = 0, memory_ns = 0,
         floor_ns = 0;     // the bounds: work over peak, bytes over bandwidth, shortest kernel
  const char* bound = "";  // the largest of them: "compute", "memory" or "launch floor"; "transfer" for copies; for
                           // collectives "links of the node" or "network"
  Estimate estimate;
  std::string model;  // the learned model that it comes from; empty: the analytic one
  std::vector<NearMeasurement> nearest;
  double sustained_factor = 1;  // what the power limit adds
  double scale = 1;             // of Options::kernel_scales, in the estimate already
  double slowest_device = 1;    // how much longer the slowest of many devices takes, in the estimate already
};

Explanation explain(const OperationCost& cost, const Estimator& target);

}  // namespace maya::predictor
