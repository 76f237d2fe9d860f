// From driver events to trace packets: interning, small ids, time stamps. One per process. All members are thread safe,
// accept a disabled trace (then they do nothing), and never throw. Times are taken inside unless given.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "driver_shim/common/maya_table.h"
#include "predictor/core/estimate.h"
#include "predictor/core/operation.h"
#include "trace_proto/maya_trace_fields.h"
#include "trace_proto/writer.h"
#include "virtual_device/kernel.h"
#include "virtual_device/memory.h"

namespace maya::cuda {

class Driver;

// What a layer is charged without an address (contexts, code), in the form that allocation() and free() record.
inline device::Allocation layer_charge(int device, device::Layer layer, uint64_t bytes) {
  device::Allocation charge;
  charge.bytes = bytes;
  charge.charged_bytes = bytes;
  charge.device = device;
  charge.layer = layer;
  return charge;
}

class Recorder {
 public:
  static Recorder& get();

  // Creates the trace file, once: at the first context of the process. A file that cannot be created is one line on
  // standard error, and the program goes on without a trace.
  void start(Driver& driver);
  // Ends the file. Later records are lost without harm.
  void finish();
  // The same for a process that is about to end by _exit(), perhaps as a child of vfork(), or in a signal handler that
  // has interrupted this recorder: then the file stays without an end.
  void finish_at_exit();
  // In a forked child.
  void abandon();

  bool enabled() const { return writer() != nullptr; }
  uint32_t string_id(std::string_view text);

  void allocation(const device::Allocation& allocation);
  void free(const device::Allocation& allocation);
  void allocation_failure(std::string_view call, int device, uint64_t requested_bytes,
                          const device::DeviceMemoryUse& use, const uint64_t* largest, int largest_count);
  void mapping(uint64_t address, uint64_t bytes, uint64_t handle, bool unmap);
  // own_ns: time that Maya spent moving bytes, to be subtracted from the host's gap. Kinds as in Copy.Kind.
  void copy(int kind, uint64_t bytes, bool asynchronous, bool pageable, uint64_t rows, uint32_t stream,
            uint64_t entry_ns, uint64_t own_ns, uint64_t wait_ns);
  void fill(uint64_t bytes, uint32_t value, uint32_t width, bool asynchronous, uint64_t rows, uint32_t stream,
            uint64_t entry_ns, uint64_t own_ns);
  // own_ns: host time until now that went into waiting for other emulated processes. entry_ns: 0: now, less that.
  void event(int call, uint32_t event, uint32_t stream, bool ready, uint32_t end_event, uint64_t wait_ns,
             uint64_t own_ns = 0, uint64_t entry_ns = 0);
  void synchronization(int scope, uint32_t stream, bool ready, uint32_t device, uint64_t wait_ns, uint64_t own_ns = 0);
  void stream(uint32_t id, uint32_t device, uint32_t flags, int32_t priority, bool destroyed);
  void host_function(uint32_t stream, uint64_t measured_ns, uint64_t entry_ns = 0);  // 0: now
  void module(uint32_t device, uint64_t image_bytes, uint64_t charged_bytes, bool unload, uint64_t own_ns);
  void range(int call, std::string_view text, std::string_view domain, uint64_t id);
  void communicator(uint32_t id, uint64_t unique, uint32_t rank, uint32_t ranks, uint32_t device,
                    uint64_t charged_bytes, bool destroyed);
  void communicator(uint32_t id, const CommunicatorDescription& description);
  // The launch of an executable graph; `packets` packets with its work follow.
  void graph_launch(uint32_t graph, uint32_t packets, uint32_t stream, uint64_t entry_ns);
  // A library operation inside a group of collective calls (Packet.group; 0: none), or with time of Maya's own.
  void timed_operation(uint32_t operation, uint32_t stream, uint32_t group, uint64_t entry_ns, uint64_t own_ns);
  // A launch that had to wait for another process.
  void timed_launch(uint32_t configuration, uint32_t stream, uint64_t entry_ns, uint64_t own_ns);
  void notice(int severity, std::string_view text);
  void unsupported(const char* library, const char* entry_point);

  // Definitions that launches and operations refer to; each returns a new id, from 1 on. Their callers intern.
  uint32_t kernel(const device::KernelInfo& kernel);
  uint32_t launch_configuration(uint32_t kernel, const device::Launch& launch, const LaunchView::Scalar* scalars,
                                uint32_t scalar_count, double estimate_ns, const device::KernelWork* work);
  uint32_t operation_descriptor(const OperationRecord& operation, double estimate_ns);

  // Hot: ids come from the launch and operation caches in launch.cc and operation.cc. Null while there is no trace.
  static trace::Writer* writer() { return writer_.load(std::memory_order_acquire); }

 private:
  Recorder() = default;
  void write_header(Driver& driver, trace::Writer& writer);

  std::atomic<int> process_{0};  // whose trace it is
  static inline constinit std::atomic<trace::Writer*> writer_{nullptr};
  std::atomic<uint32_t> next_kernel_{1}, next_configuration_{1}, next_operation_{1};
  std::atomic<Driver*> driver_{nullptr};
  std::mutex mutex_;  // guards all below
  bool started_ = false;
  bool finished_ = false;
  std::map<std::string, uint32_t, std::less<>> strings_;
  std::map<std::string, uint64_t, std::less<>> unsupported_;
};

}  // namespace maya::cuda
