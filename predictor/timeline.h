// Files for viewers: the simulated timeline in Chrome's trace event format (opens in Perfetto and chrome://tracing),
// and the memory over time as CSV. Times are simulated, from the first call of the trace.
#pragma once

#include <string>
#include <vector>

#include "predictor/failure.h"
#include "predictor/predict.h"

namespace maya::predictor {

// Host threads and streams are tracks, arrows lead from the launching call to the work, device memory is a counter.
// Compressed when the path ends in .gz. Format: "Trace Event Format", Google, 2016.
// Every rank is two processes, its host and its device; `ranks`: those that are written, by index into
// Prediction::ranks; empty: all, up to kRanksInTimeline.
Failure write_timeline(const Prediction& prediction, const std::string& path, const std::vector<size_t>& ranks = {});
inline constexpr size_t kRanksInTimeline = 8;

// "0,3,8-11": ranks of the world, to those of the prediction that stand for them; each once, in its order. Usage
// failure: not such a list, or a rank that the prediction does not cover.
Failure choose_ranks(const Prediction& prediction, const std::string& list, std::vector<size_t>* chosen);

// One line per change of a device's memory: rank, device, time in milliseconds, bytes in all and by layer.
Failure write_memory_timeline(const Prediction& prediction, const std::string& path);

}  // namespace maya::predictor
