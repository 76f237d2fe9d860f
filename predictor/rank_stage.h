// What is done for one rank before and after the simulation of all of them. Internal to the prediction.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "predictor/host_gaps.h"
#include "predictor/predict.h"

namespace maya::predictor {

struct CostNames : OperationNames {
  explicit CostNames(const CostTable& table) : costs(table) {}
  std::string name_of(uint32_t event) const override;
  const CostTable& costs;
};

// Whether the operation's name or family matches.
bool matches_operation(const OperationCost& cost, const std::string& pattern);

// What the stages before the program leave behind for it.
struct PreparedRank {
  HostGaps gaps;
  device::DeviceProfile profile;
};

// Estimates, steps, gaps, memory and explanations of the rank's class in `world`, which is collated and has its
// slowest device. `cluster`: nullptr for the usual one
// of the device.
Failure prepare_rank(const trace::LoadedTrace& trace, const Options& options, const Cluster* cluster,
                     const WorldPrediction& world, uint32_t rank_class, RankPrediction* rank, PreparedRank* prepared);

// Takes the noise of machines that emulate out of the gaps: ranks that do the same have the same. `prepared`: by
// rank.
void even_out_gaps(const std::vector<RankPrediction>& ranks, std::vector<PreparedRank>* prepared);

// Sets the program, once the gaps are as they should be.
void build_rank(const Options& options, const World& world, uint32_t rank_class, const PreparedRank& prepared,
                RankPrediction* rank);

// The rest, but for the interval, once `rank->simulation` is there.
void finish_rank(RankPrediction* rank);

// Durations of the calls when every piece of device work takes the given end of its interval.
std::vector<uint64_t> durations_with(const RankPrediction& rank, double Estimate::*end);

// Median step time in another simulation of the same program.
uint64_t median_step_in(const RankPrediction& rank, const Simulation& simulation);

// The 80 % interval: estimates' errors, the error of the whole and the spread over the steps, which are independent of
// each other. `least_ns` and `most_ns`: median steps with the low and the high end of all estimates.
void find_interval(uint64_t least_ns, uint64_t most_ns, RankPrediction* rank);

}  // namespace maya::predictor
