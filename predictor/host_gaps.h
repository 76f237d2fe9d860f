// The host's own time between calls, as recorded.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "predictor/cost_stage.h"
#include "predictor/steps.h"
#include "trace_proto/loaded_trace.h"

namespace maya::predictor {

struct HostGaps {
  std::vector<uint64_t>
      gap_ns;  // by event: host time before the call; Maya's own time, and waiting for a processor, taken out
  std::vector<uint32_t>
      after;  // by event: event of another thread that woke this one, whose return starts the gap; kNone
};

// Gap of an event: from the return of the thread's call before it, or, where the thread slept while another one worked
// (PyTorch's backward pass runs on a thread of its own), from the return of that thread's last call. A thread is taken
// to have slept when another made at least kHandOff_calls calls in the meantime. A thread's first call is measured from
// the first event of the trace.
HostGaps recorded_gaps(const trace::LoadedTrace& trace);
inline constexpr uint32_t kHandOff_calls = 4;

// True when the trace tells how long calls took on a real machine: its gaps are that machine's own, too.
bool has_measured_calls(const trace::LoadedTrace& trace);

// A rank whose gaps are to be evened out.
struct GapSource {
  const trace::LoadedTrace* trace = nullptr;
  const CostTable* costs = nullptr;
  const Steps* steps = nullptr;
  HostGaps* gaps = nullptr;
};

// Replaces the gaps of the steps that count (those after the warm-up) by the median over the same call position in all
// of them: the machine that emulates is noisy, and every step makes the same calls. Calls that not all of these steps
// make keep their gap.
void use_median_gaps(const trace::LoadedTrace& trace, const CostTable& costs, const Steps& steps, HostGaps* gaps);

// The same for ranks that ran side by side: processes that emulate on one machine disturb each other in most of their
// gaps, and on a real cluster each has processors of its own. A gap becomes the 10th percentile of all gaps, of any
// rank and step that counts, before the same call after the same calls of its thread; where these are few, after fewer
// calls.
void use_gaps_of_all(std::span<const GapSource> ranks);

}  // namespace maya::predictor
