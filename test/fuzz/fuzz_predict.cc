// Bytes taken for a trace, through every stage of the predictor: any input gives a prediction or an error line.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "predictor/predict.h"
#include "predictor/report.h"
#include "trace_proto/loaded_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const maya::trace::LoadResult loaded = maya::trace::load_trace(data, size);
  if (loaded.status != maya::trace::ReadStatus::kOk) return 0;
  for (const char* device : {"", "a100-sxm-40"}) {
    maya::predictor::Options options;
    options.device = device;
    options.explain = "*";
    if (*device != 0) options.cluster = "dgx-h100";
    maya::predictor::Prediction prediction;
    if (maya::predictor::predict(loaded.traces, options, &prediction)) continue;
    if (maya::predictor::report_json(prediction).empty() || maya::predictor::report_text(prediction).empty())
      __builtin_trap();
  }
  return 0;
}
