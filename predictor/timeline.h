// Files for viewers: the simulated timeline in Chrome's trace event format (opens in Perfetto and chrome://tracing),
// and the memory over time as CSV. Times are simulated, from the first call of the trace.
#pragma once

#include <string>

#include "predictor/failure.h"
#include "predictor/predict.h"

namespace maya::predictor {

// Host threads and streams are tracks, arrows lead from the launching call to the work, device memory is a counter.
// Compressed when the path ends in .gz. Format: "Trace Event Format", Google, 2016.
Failure write_timeline(const Prediction& prediction, const std::string& path);

// One line per change of a device's memory: rank, device, time in milliseconds, bytes in all and by layer.
Failure write_memory_timeline(const Prediction& prediction, const std::string& path);

}  // namespace maya::predictor
