// From a trace to the input of the simulator: which call does what, what it costs the host, what wakes which thread.
#pragma once

#include "predictor/cost_stage.h"
#include "predictor/host_gaps.h"
#include "predictor/simulator.h"
#include "trace_proto/loaded_trace.h"
#include "virtual_device/profile.h"

namespace maya::predictor {

// Calls are the trace's events, by the same index. `host_scale` multiplies the gaps: 0.5 is a host twice as fast.
Program build_program(const trace::LoadedTrace& trace, const CostTable& costs, const HostGaps& gaps,
                      const device::DeviceProfile& target, double host_scale);

}  // namespace maya::predictor
