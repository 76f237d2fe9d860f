// Finds the training steps of a trace: by NVTX ranges that the program marks its steps with, else by the repetition of
// the operation sequence on the stream that carries most work. A serving engine's steps are those that make tokens, and
// so are those of transformers' generate(); there the passes over prompts count for no step.
#pragma once

#include <cstdint>
#include <vector>

#include "predictor/cost_stage.h"
#include "trace_proto/loaded_trace.h"

namespace maya::predictor {

enum class FoundBy : uint8_t { kRepetition, kNvtx, kNone };
const char* found_by_name(FoundBy found_by);  // as in the report: "repetition", "nvtx", "none"

struct Step {
  uint32_t begin = 0;      // first event of the trace that belongs to it
  uint32_t end = 0;        // one past the last
  uint32_t last_work = 0;  // event of its last device work on the main stream
  uint64_t signature = 0;  // equal for steps with the same operations on the main stream, whatever their shapes
};

struct Steps {
  std::vector<Step> steps;  // in order, disjoint, at least one piece of device work in each; empty when the trace holds
                            // no device work
  uint32_t warm_up = 0;     // leading steps that do not count; below steps.size()
  FoundBy found_by = FoundBy::kNone;
};

Steps find_steps(const trace::LoadedTrace& trace, const CostTable& costs);

}  // namespace maya::predictor
