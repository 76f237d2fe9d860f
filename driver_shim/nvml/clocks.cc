// Clocks that a device can have, performance states, fans. An emulated device has one state.
#include "driver_shim/nvml/library.h"

using namespace maya::nvml;

namespace {

// One entry, in NVML's way of lists.
nvmlReturn_t one_clock(nvmlDevice_t handle, bool known, unsigned int* count, unsigned int* clocks, unsigned int clock) {
  nvmlReturn_t result = NVML_SUCCESS;
  const nvmlReturn_t status = with_device(handle, count != nullptr, [&](Device&) {
    if (!known) {
      result = NVML_ERROR_NOT_FOUND;
      return;
    }
    if (clocks == nullptr || *count < 1)
      result = NVML_ERROR_INSUFFICIENT_SIZE;
    else
      clocks[0] = clock;
    *count = 1;
  });
  return status != NVML_SUCCESS ? status : result;
}

unsigned int clock_of(nvmlDevice_t handle, bool memory) {
  const Device* d = device_of(handle);
  return d == nullptr ? 0 : (memory ? d->profile.memory_clock_khz : d->profile.clock_khz) / 1000;
}

}  // namespace

MAYA_NVML nvmlDeviceGetSupportedMemoryClocks(nvmlDevice_t handle, unsigned int* count, unsigned int* clocks) {
  return one_clock(handle, true, count, clocks, clock_of(handle, true));
}
MAYA_NVML nvmlDeviceGetSupportedGraphicsClocks(nvmlDevice_t handle, unsigned int memory_clock, unsigned int* count,
                                               unsigned int* clocks) {
  return one_clock(handle, memory_clock == clock_of(handle, true), count, clocks, clock_of(handle, false));
}
MAYA_NVML nvmlDeviceGetMinMaxClockOfPState(nvmlDevice_t handle, nvmlClockType_t type, nvmlPstates_t state,
                                           unsigned int* low, unsigned int* high) {
  return with_device(handle, low != nullptr && high != nullptr && type < NVML_CLOCK_COUNT && state == NVML_PSTATE_0,
                     [&](Device&) { *low = *high = clock_of(handle, type == NVML_CLOCK_MEM); });
}
MAYA_NVML nvmlDeviceGetSupportedPerformanceStates(nvmlDevice_t handle, nvmlPstates_t* states, unsigned int bytes) {
  const unsigned int room = bytes / sizeof *states;
  nvmlReturn_t result = NVML_SUCCESS;
  const nvmlReturn_t status = with_device(handle, states != nullptr, [&](Device&) {
    if (room < 1) {
      result = NVML_ERROR_INSUFFICIENT_SIZE;
      return;
    }
    for (unsigned int i = 0; i < room; ++i) states[i] = i == 0 ? NVML_PSTATE_0 : NVML_PSTATE_UNKNOWN;
  });
  return status != NVML_SUCCESS ? status : result;
}
// An SXM or PCIe server card has no fan of its own.
MAYA_NVML nvmlDeviceGetNumFans(nvmlDevice_t handle, unsigned int* fans) {
  return with_device(handle, fans != nullptr, [&](Device&) { *fans = 0; });
}
