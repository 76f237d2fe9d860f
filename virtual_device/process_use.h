// What an emulated process says of its use of the devices, for readers in other processes: one page of shared memory
// that the process writes without a lock and others map read-only. Plain layout, no pointers.
#pragma once

#include <atomic>
#include <cstdint>

namespace maya::device {

struct DeviceUse {
  std::atomic<uint64_t> used_bytes;       // charged to all layers of the device by this process
  std::atomic<uint64_t> busy_ns;          // modelled time of all device work enqueued; work that overlaps counts twice
  std::atomic<uint64_t> copied_bytes[2];  // to the device, from the device
};

struct ProcessUse {
  static constexpr uint64_t kMagic = 0x657375616d61796d;  // changes with the layout
  static constexpr uint32_t kDevices = 16;
  static constexpr const char* kName = "maya-process-use";  // of the memory file

  std::atomic<uint64_t> magic;      // written last
  int32_t process;                  // its id; a forked child still maps the page of its parent
  uint32_t devices;                 // that it has, at most kDevices are described
  uint64_t driver_reserve_bytes;    // of used_bytes: no process's own
  char profile[64];                 // name of the device profile, ends with a zero
  char run[64];                     // MAYA_RUN_ID, empty: none; ends with a zero
  uint64_t started_ns;              // CLOCK_MONOTONIC
  std::atomic<uint64_t> waited_ns;  // modelled waits of the host: what its virtual clock is ahead of CLOCK_MONOTONIC
  DeviceUse device[kDevices];
};

}  // namespace maya::device
