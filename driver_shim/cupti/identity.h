// Numbers that CUPTI gives to contexts, streams, graphs; and switches that records depend on.
#pragma once

#include <cuda.h>
#include "driver_shim/cupti/cupti_headers.h"

#include <cstdint>

namespace maya::cupti {

// The default stream of the first context is stream 7, as every profile of a real device has it: the trace's stream
// ids, moved up. 0 is CUPTI's "no stream".
inline uint32_t public_stream_id(uint32_t trace_stream) { return trace_stream + 7; }

// 0: not a living context.
uint32_t context_identity(CUcontext context);
// Of a stream; of the default streams of `context`, or of the current one where it is null.
CUptiResult stream_identity(CUcontext context, CUstream stream, bool per_thread, uint32_t* id);

bool latency_timestamps();  // cuptiActivityEnableLatencyTimestamps
bool event_timestamps();    // cuptiActivityEnableCudaEventDeviceTimestamps

}  // namespace maya::cupti
