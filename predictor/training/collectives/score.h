// How well the model of collectives predicts rows that its fit did not see.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "predictor/training/collectives/rows.h"
#include "predictor/training/score.h"

namespace maya::training {

// What is kept back.
enum class CollectiveSplit : uint8_t {
  kSizes,   // sizes at random
  kRanks,   // each measured number of ranks of a collective inside a node, where at least two others were measured
  kKinds,   // each collective of a fabric
  kFabrics  // each fabric
};
std::string split_name(CollectiveSplit split);  // "sizes", "ranks", "kinds", "fabrics"

// A measured size, as curves_of() makes it.
struct CollectiveResult {
  std::string fabric;
  CollectiveCall call;
  double measured_ns = 0;
  Estimate estimate;
  CollectiveDistance distance = CollectiveDistance::kNone;
  // Start-up time plus bytes over a bandwidth, fitted to the same rows of the collective, ranks and nodes by least
  // squares of relative errors; 0 where those were all kept back.
  double line_ns = 0;
};

// Predictions of kept back sizes by a fit to the others. kSizes deals the sizes of every curve into `parts` parts at
// random and keeps back one part after the other; the other splits keep back everything once.
std::vector<CollectiveResult> held_out_collectives(const std::vector<MeasuredFabric>& fabrics, CollectiveSplit split,
                                                   int parts, uint64_t seed);

// Intervals of each distance from held-out results, and of measured sizes from how far rows of one call differ.
void calibrate(const std::vector<MeasuredFabric>& fabrics, uint64_t seed, CollectiveTable* table);

Score score_of(const std::vector<CollectiveResult>& results);
Score line_score_of(const std::vector<CollectiveResult>& results);

}  // namespace maya::training
