// Where the time of an interval of a simulation goes.
#pragma once

#include <cstdint>
#include <vector>

#include "predictor/cost_stage.h"
#include "predictor/simulator.h"

namespace maya::predictor {

// Nanoseconds. compute + exposed_communication + copies + host_bound + idle = length of the interval.
struct Breakdown {
  uint64_t compute = 0;        // at least one kernel or library operation runs
  uint64_t communication = 0;  // at least one collective or peer copy runs (whether hidden behind compute or not)
  uint64_t exposed_communication = 0;  // communication runs, no compute
  uint64_t copies = 0;                 // a copy between host and device runs, neither of the above
  uint64_t host_bound = 0;             // nothing runs, because the host had not launched what runs next
  uint64_t idle = 0;  // nothing runs for another reason: gaps between queued work, waits between streams
};

// A half-open interval of simulated time.
struct Interval {
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
};

// One breakdown for each of the intervals, which must be ascending and disjoint. With several devices, work on any of
// them counts.
std::vector<Breakdown> break_down(const Program& program, const Simulation& simulation,
                                  const std::vector<Interval>& intervals);

}  // namespace maya::predictor
