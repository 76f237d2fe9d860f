// Process-wide state of the emulated driver. One instance, made by the first cuInit, never destroyed before the process ends.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "virtual_device/context.h"
#include "virtual_device/event.h"
#include "virtual_device/handle_pool.h"
#include "virtual_device/memory.h"
#include "virtual_device/profile.h"
#include "virtual_device/stream.h"

namespace maya::cuda {

using device::Context;
using device::Event;
using device::Stream;

// Per host thread: the stack of current contexts (top = current) and the capture mode.
struct ThreadState {
  std::vector<Context*> contexts;
  CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
};

// Configuration from MAYA_* variables (interface.md), read once with secure_getenv. Nonsense values: one line and the documented default or exit.
struct Configuration {
  const device::DeviceProfile* profile = nullptr;
  std::string profile_text;
  int devices = 1;
  uint64_t memory_limit_bytes = 0;      // 0: the profile's own; UINT64_MAX: unlimited
  uint64_t host_budget_bytes = 1ull << 30;
  bool trace = true;
  std::string trace_directory;
};
const Configuration& configuration();

class Driver {
 public:
  static Driver* get();                 // null before cuInit
  static CUresult initialize();         // idempotent

  const Configuration& configuration() const;
  const device::DeviceProfile& profile(int device) const;
  int device_count() const;
  device::Memory& memory() { return *memory_; }

  device::HandlePool<Context>& contexts() { return *contexts_; }
  device::HandlePool<Stream>& streams() { return *streams_; }
  device::HandlePool<Event>& events() { return *events_; }

  // Resolves a CUstream argument: 0 and CU_STREAM_LEGACY are the context's default stream, CU_STREAM_PER_THREAD the thread's own; `per_thread` is true in the
  // _ptsz twins. Null: invalid handle.
  Stream* stream(CUstream handle, Context& context, bool per_thread = false);

  // Virtual host clock: host time with Maya's own time taken out and modelled waits put in.
  uint64_t virtual_now_ns();
  // Lets the calling host thread wait until `time_ns` on the virtual clock; returns the nanoseconds that it waited.
  uint64_t wait_until(uint64_t time_ns);

 private:
  std::unique_ptr<device::Memory> memory_;
  std::unique_ptr<device::HandlePool<Context>> contexts_;
  std::unique_ptr<device::HandlePool<Stream>> streams_;
  std::unique_ptr<device::HandlePool<Event>> events_;
};

}  // namespace maya::cuda
