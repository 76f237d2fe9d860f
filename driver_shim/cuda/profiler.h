// What a profiler that is attached (our libcupti) is told. While nobody profiles, each place that tells costs a load
// and a branch. All members are thread safe and never throw; the tell_ functions do nothing when the profiler has gone
// in the meantime. Times are those of the virtual clock unless said otherwise; hooks get host time (profiler_hooks.h).
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "driver_shim/common/profiler_hooks.h"
#include "driver_shim/cuda/kernel.h"
#include "driver_shim/cuda/transfer.h"
#include "virtual_device/memory.h"

namespace maya::cuda {

// Where and when work runs.
struct WorkPlace {
  Driver& driver;
  const Context& context;
  uint32_t stream;  // trace id
  uint64_t end_ns;
  uint64_t duration_ns;
  uint64_t call_ns;  // host time at which the call began
  uint32_t graph = 0;
  uint64_t graph_node = 0;
  int priority = 0;
};

class Profiler {
 public:
  static bool attached() { return hooks_.load(std::memory_order_acquire) != nullptr; }
  // True while waits of the host must take their time.
  static bool waits_are_real() {
    const ProfilerHooks* const hooks = hooks_.load(std::memory_order_acquire);
    return hooks != nullptr && hooks->real_waits != 0;
  }
  // MayaTable::attach_profiler, register_entries, entries, each_resource, stream_id.
  static void attach(const ProfilerHooks* hooks) noexcept { hooks_.store(hooks, std::memory_order_release); }
  static void register_entries(EntrySlots* slots) noexcept;
  static const EntrySlots* entries() noexcept;
  static void each_resource(void (*visit)(const DeviceResource* resource)) noexcept;
  static CUresult stream_id(CUstream stream, int per_thread, uint32_t* id, CUcontext* context) noexcept;

  static void tell_launch(const WorkPlace& place, const Kernel& kernel, const device::Launch& launch) noexcept;
  static void tell_operation(const WorkPlace& place, const OperationRecord& operation) noexcept;
  static void tell_copy(const WorkPlace& place, const CopyWork& copy, bool asynchronous) noexcept;
  static void tell_fill(const WorkPlace& place, uint64_t bytes, uint32_t value, bool asynchronous) noexcept;
  static void tell_graph(const WorkPlace& place) noexcept;

  // A wait that ended now and took the host waited_ns. `stream`: null where the call names none.
  static void tell_wait(SynchronizationKind kind, const Context& context, const Stream* stream, uint32_t event,
                        uint64_t waited_ns) noexcept;
  static void tell_event(const Stream& stream, uint32_t event, Driver& driver, uint64_t event_ns) noexcept;
  static void tell_context(ResourceKind kind, const Context& context) noexcept;
  static void tell_stream(ResourceKind kind, const Stream& stream) noexcept;
  static void tell_initialized() noexcept;
  static void tell_memory(const device::Allocation& allocation, bool released) noexcept;
  static void tell_range(int call, std::string_view text, std::string_view domain, uint64_t id) noexcept;

 private:
  static inline constinit std::atomic<const ProfilerHooks*> hooks_{nullptr};
};

}  // namespace maya::cuda
