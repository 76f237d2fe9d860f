// The stages in a row: estimate, host model, simulation, steps, memory, summary. Deterministic: equal traces and
// options give equal results.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "predictor/breakdown.h"
#include "predictor/cost_stage.h"
#include "predictor/explain.h"
#include "predictor/failure.h"
#include "predictor/memory_replay.h"
#include "predictor/simulator.h"
#include "predictor/steps.h"
#include "predictor/target.h"
#include "predictor/world/critical_path.h"
#include "predictor/world/slowest.h"
#include "predictor/world/world.h"
#include "trace_proto/loaded_trace.h"

namespace maya::predictor {

// What if: times of operations whose name or family matches `pattern` (text.h) are multiplied by `factor`.
struct KernelScale {
  std::string pattern;
  double factor = 1;
};

// "PATTERN=FACTOR" with a factor of 0.001 to 1000.
Failure parse_kernel_scale(const std::string& text, KernelScale* scale);

struct Options {
  std::string device;     // empty: the traced one
  std::string cluster;    // recorded in the report
  double host_scale = 0;  // multiplies the host's own time between calls; 0: the scale in the trace, else 1
  Durations durations = Durations::kEstimated;
  std::string table;                       // path of a learned table; empty: the one that came with Maya
  std::string explain;                     // pattern of operation names; empty: none
  std::vector<KernelScale> kernel_scales;  // all that match apply
  // Standard deviation of kernel times between devices, over their mean, 0 to kMostDeviceSpread; none: kDeviceSpread of
  // the table. Measured durations have it in them already.
  std::optional<double> device_spread;
};

// Device operations of one name in the steps that count.
struct OperationSummary {
  std::string name;
  Family family = Family::kUnknown;
  uint64_t count = 0;
  uint64_t total_ns = 0;
  double share = 0;                              // of all device time in these steps
  Provenance provenance = Provenance::kUnknown;  // of most of its time
};

inline constexpr size_t kProvenances = 5;

struct RankPrediction {
  const trace::LoadedTrace* trace = nullptr;
  int rank = 0;  // of the launcher; its number in the list when there was none
  std::string device;
  bool complete = false;
  Steps steps;
  std::vector<uint64_t> step_begin_ns;  // by step, simulated time
  std::vector<uint64_t> step_ns;        // by step
  uint64_t median_ns = 0, low_ns = 0, high_ns = 0;
  Breakdown breakdown;                            // of the step that is the median
  std::array<double, kProvenances> provenance{};  // shares of device time in the steps that count
  std::vector<OperationSummary> operations;       // most time first
  MemoryReplay memory;
  std::vector<Explanation> explanations;  // of operations that match Options::explain
  uint64_t simulated_events = 0;

  std::vector<int32_t> ranks;  // that the trace stands for, its own first
  size_t typical_step = 0;     // the one that is the median
  // Matrix products, attention and convolutions of a step, recomputed ones included; and the time that they would take
  // at the device's dense peak for their types. mfu: that time over the step's.
  double model_flops = 0, model_ns_at_peak = 0, mfu = 0;
  Overlap overlap;

  // For the timeline.
  CostTable costs;
  Program program;
  Simulation simulation;
};

// The ranks together.
struct WorldPrediction {
  World world;
  std::vector<Mismatch> mismatches;
  std::vector<int32_t> missing_ranks;
  uint32_t ranks_run = 0, ranks_inferred = 0, ranks_checked = 0;
  Deadlock deadlock;  // the first; programs are ranks of the prediction
  uint64_t deadlocks = 0;
  SlowestDevice slowest_device;
  std::vector<ProgramCall> last_arrival;  // by match
  std::vector<PathPart> critical_path;    // of the slowest rank's typical step; most time first
};

struct Prediction {
  std::string cluster;
  std::vector<RankPrediction> ranks;  // at least one; traces without device work are left out unless there is no other
  size_t slowest = 0;                 // rank whose step takes longest
  WorldPrediction world;              // rank classes are `ranks`, in order
  std::vector<std::string> warnings;
};

// `traces` must outlive the prediction.
Failure predict(const std::vector<trace::LoadedTrace>& traces, const Options& options, Prediction* prediction);

}  // namespace maya::predictor
