// The emulated programs that use a device: those of this user on this machine, found by the memory file that each of
// them holds (virtual_device/process_use.h). A process inside a run of maya-run sees the programs of its run only, so
// that two runs at once do not meet; a process outside of any sees all. Programs on other device models are not on
// "this" device and are left out.
#pragma once

#include <cstdint>
#include <vector>

#include "driver_shim/nvml/library.h"

namespace maya::nvml {

struct Program {
  unsigned int process = 0;
  uint64_t started_ns = 0;        // CLOCK_MONOTONIC
  uint64_t used_bytes = 0;        // of the device, without the driver's own reserve
  uint64_t busy_ns = 0;           // modelled time of its work on the device
  uint64_t elapsed_ns = 0;        // of its virtual clock, since it started
  uint64_t copied_bytes[2] = {};  // to the device, from the device
  // Over the time since this process asked before, or since the program started where it never did: 0 to 100.
  unsigned int utilization_percent = 0;
  uint64_t window_copied_bytes[2] = {};
  uint64_t window_ns = 1;
};

// Those that have the device, in order of their ids. Looks for programs anew when the last look was over 100 ms ago. A
// utilisation window is at least 1/6 s, which NVML's documentation gives as the shortest sample period. Thread safe.
std::vector<Program> programs_on(const Device& device);

// Percent of the window in which the device worked: the sum over programs, at most 100.
unsigned int utilization_percent(const std::vector<Program>& programs);

}  // namespace maya::nvml
