// Replays the allocations and frees of a trace and tells the peak by layer, whether it fits the target device, and what
// failed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace_proto/loaded_trace.h"
#include "virtual_device/profile.h"

namespace maya::predictor {

inline constexpr int kMemoryLayers = 6;  // proto::Layer
using LayerBytes = std::array<uint64_t, kMemoryLayers>;
uint64_t sum(const LayerBytes& layers);

struct MemoryPoint {
  uint32_t event = 0;  // of the trace: the call after which the device holds this much
  uint32_t device = 0;
  LayerBytes layers{};
};

// An allocation that failed: in the traced run, or in the replay on a smaller device.
struct MemoryFailure {
  std::string call;  // driver entry point
  uint32_t event = 0;
  uint32_t device = 0;
  uint64_t requested_bytes = 0;
  uint64_t free_bytes = 0;
  uint64_t capacity_bytes = 0;
  LayerBytes layers{};                    // held at that moment
  std::vector<uint64_t> largest_holders;  // live allocations, largest first
  std::string operation;                  // the last device operation before it, empty when there was none
  bool replayed = false;                  // the traced program did not meet it
};

struct MemoryReplay {
  uint64_t capacity_bytes = 0;        // of the target, as the driver reports it
  uint64_t driver_reserve_bytes = 0;  // gone from it before the program starts
  uint64_t peak_bytes = 0;            // of the device of the process that holds most; without the driver's reserve
  LayerBytes peak_by_layer{};         // at that instant
  uint32_t peak_device = 0;
  uint64_t needed_bytes = 0;         // capacity that would have been enough for all that is known, the reserve included
  bool out_of_memory = false;        // verdict
  bool peak_is_lower_bound = false;  // the traced run ended in a failure that a larger device would not have met
  std::optional<MemoryFailure> first_failure;  // what decides the verdict
  uint64_t failures_survived = 0;              // failed allocations after which the program got the memory all the same
  std::vector<std::string> fits_on;  // built-in devices that hold the peak, in the order of the list of profiles
  std::vector<MemoryPoint> points;   // one per change, in trace order
};

struct MemoryTarget {
  const device::DeviceProfile* profile = nullptr;
  bool is_traced_device = true;  // no --device, or the same: then the trace's --memory limit holds too
};

// `names` gives the name of an event's device work (see first_failure.operation).
struct OperationNames {
  virtual ~OperationNames() = default;
  virtual std::string name_of(uint32_t event) const = 0;  // empty: no device work
};

MemoryReplay replay_memory(const trace::LoadedTrace& trace, const MemoryTarget& target, const OperationNames& names);

}  // namespace maya::predictor
