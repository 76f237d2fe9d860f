// The estimate stage: what every device operation of a trace is and how long it takes on the target device.
//
// Estimates recorded in the trace are not used: they are of the device that the program believed to run on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "predictor/core/estimator.h"
#include "predictor/simulator.h"
#include "trace_proto/loaded_trace.h"

namespace maya::predictor {

struct OperationCost {
  std::string name;  // demangled kernel, entry point, or what profilers call copies: "Memcpy HtoD (Pageable -> Device)"
  Work work;
  Estimate estimate;
  double scale = 1;           // of KernelScale, in `estimate` already
  double slowest_device = 1;  // of slow_down(), in `estimate` already
  Engine engine = Engine::kCompute;
  Fabric fabric = Fabric::kNone;     // of communication: the links that it uses,
  uint32_t link_share_permille = 0;  // and how much of their bandwidth, when it runs alone
  uint32_t width_permille = kWholeDevice_permille;
  double waves = 0;       // of a kernel: how many times its blocks fill the device; 0: not known
  uint64_t identity = 0;  // hash of name, geometry and shape: the same in every run of a program
  uint64_t kind = 0;      // hash of the name alone
};

struct CostTable {
  std::vector<OperationCost> costs;
  std::vector<uint32_t> of_event;  // by event of the trace: index into costs; kNone for events that are no device work
  // By event: the duration that a profiler measured, where it is used instead of the estimate; 0: the estimate.
  std::vector<uint64_t> measured_ns;
  uint64_t without_definition = 0;  // launches and operations whose definition is lost
};

enum class Durations : uint8_t {
  kEstimated,  // of collectives whose size is unknown, the measured one where there is one
  kMeasured,   // where the trace has them, else estimated
};

// Pure function of its arguments. `nodes`: by operation of the trace, how many nodes a collective spans (of a transfer:
// 2 when it leaves the node); 0: not known, as recorded. Empty: none is known.
CostTable estimate_trace(const trace::LoadedTrace& trace, const Estimator& target,
                         Durations durations = Durations::kEstimated, std::span<const uint32_t> nodes = {});

// True when at least one piece of device work was measured.
bool has_measured_durations(const trace::LoadedTrace& trace);

inline bool is_copy(Engine engine) { return engine == Engine::kCopyIn || engine == Engine::kCopyOut; }

}  // namespace maya::predictor
