// State and checks shared by all NVML entry points. NVML is called before CUDA by some programs, so nothing here
// initialises the driver: devices come from MayaTable::device_count and device_profile_text.
#pragma once

#define NVML_NO_UNVERSIONED_FUNC_DEFS  // each exported name has its own body here
#include <nvml.h>

#include <string>
#include <string_view>

#include "driver_shim/common/driver_access.h"
#include "virtual_device/profile.h"

#define MAYA_NVML extern "C" __attribute__((visibility("default"))) nvmlReturn_t

namespace maya::nvml {

inline constexpr int kMaxDevices = 16;

struct Device {
  int ordinal = 0;
  device::DeviceProfile profile;
};

// Number of devices between nvmlInit and the matching nvmlShutdown, -1 outside.
int initialized_count();
nvmlReturn_t initialize();
nvmlReturn_t shutdown();
// Null for anything that is not a handle made by us.
Device* device_of(nvmlDevice_t handle);
nvmlDevice_t handle_of(int ordinal);

// Checks that every entry point with a device makes, then body(Device&). `outputs` false: a required pointer is null.
template <typename Body>
nvmlReturn_t with_device(nvmlDevice_t handle, bool outputs, Body&& body) {
  if (initialized_count() < 0) return NVML_ERROR_UNINITIALIZED;
  Device* found = device_of(handle);
  if (found == nullptr || !outputs) return NVML_ERROR_INVALID_ARGUMENT;
  body(*found);
  return NVML_SUCCESS;
}

// Copies with the documented check: INSUFFICIENT_SIZE when `length` does not hold the text and its terminator.
nvmlReturn_t copy_text(std::string_view text, char* out, unsigned int length);

// Bytes in use on a device now by all emulated programs (programs.h), and the card's total as NVML counts it.
struct MemoryFigures {
  uint64_t total, reserved, used, free;
};
MemoryFigures memory_figures(const Device& device);

// NVLinks of a device, and bytes a second and direction of one.
unsigned int link_count(const Device& device);
double link_bandwidth(const Device& device);

}  // namespace maya::nvml
