// Process-wide state of the emulated driver. One instance, made by the first cuInit, never destroyed: calls from atexit
// handlers and static destructors work like all others. Thread safe.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "driver_shim/cuda/configuration.h"
#include "driver_shim/cuda/thread_state.h"
#include "predictor/core/estimator.h"
#include "virtual_device/context.h"
#include "virtual_device/event.h"
#include "virtual_device/handle_pool.h"
#include "virtual_device/memory.h"
#include "virtual_device/process_use.h"
#include "virtual_device/profile.h"
#include "virtual_device/stream.h"

namespace maya::cuda {

// What cuCtxGetApiVersion answers: the version of the context interface (3020 since CUDA 3.2).
constexpr uint32_t kContextApiVersion = 3020;

using device::Context;
using device::Event;
using device::Stream;

class Driver {
 public:
  static Driver* get() { return instance_.load(std::memory_order_acquire); }  // null before cuInit
  static CUresult initialize();                                               // idempotent

  const Configuration& configuration() const { return maya::cuda::configuration(); }
  const device::DeviceProfile& profile(int) const { return *configuration().profile; }
  // Durations of device work; at sustained clocks, as a training run has them.
  const Estimator& estimator(int) const { return estimator_; }
  int device_count() const { return configuration().devices; }
  // From the profile, whole nanoseconds: launch call to kernel start on an idle stream, and between kernels queued on a
  // stream.
  uint64_t launch_latency_ns() const { return launch_latency_ns_; }
  uint64_t queued_gap_ns() const { return queued_gap_ns_; }
  uint64_t capacity_bytes() const;  // per device, with the memory limit applied; UINT64_MAX: unlimited
  device::Memory& memory() { return *memory_; }

  // Pools hand out handles and find out stale and garbage ones. Contexts are never given back to their pool: see
  // live_context().
  device::HandlePool<Context>& contexts() { return contexts_; }
  device::HandlePool<Stream>& streams() { return streams_; }
  device::HandlePool<Event>& events() { return events_; }

  // The context behind a handle: CUDA_ERROR_INVALID_CONTEXT for null and garbage, CUDA_ERROR_CONTEXT_IS_DESTROYED for a
  // destroyed one.
  CUresult live_context(CUcontext handle, Context** out);
  // Makes a context on `device` and charges its memory. CUDA_ERROR_OUT_OF_MEMORY when that does not fit.
  CUresult create_context(int device, uint32_t flags, Context** out);
  CUresult destroy_context(Context& context);
  // A context that is a part of a live primary one. When it ends, its streams stay, of use to nobody.
  CUresult create_part(Context& primary, Context** out);
  CUresult destroy_part(Context& part);

  // The primary context of a device: reference count and state.
  CUresult retain_primary(int device, Context** out);
  CUresult release_primary(int device);
  CUresult reset_primary(int device);
  CUresult primary_state(int device, uint32_t* flags, bool* active);
  CUresult set_primary_flags(int device, uint32_t flags);

  // Creates a stream of `context` and records it. Null when there are too many.
  Stream* create_stream(Context& context, uint32_t flags, int priority);
  bool destroy_stream(CUstream handle);
  // Resolves a CUstream argument: 0 and CU_STREAM_LEGACY are the context's default stream, CU_STREAM_PER_THREAD the
  // thread's own; `per_thread` is true in the _ptsz twins. Null: invalid handle.
  Stream* stream(CUstream handle, Context& context, bool per_thread = false) {
    if (handle == nullptr && !per_thread) return context.default_stream.load(std::memory_order_acquire);
    return resolve_stream(handle, context, per_thread);
  }

  uint32_t next_stream_id() { return next_stream_id_.fetch_add(1, std::memory_order_relaxed); }
  uint32_t next_event_id() { return next_event_id_.fetch_add(1, std::memory_order_relaxed); }

  // Virtual host clock: host time with modelled waits put in.
  uint64_t virtual_now_ns();
  uint64_t to_virtual_ns(uint64_t host_ns) const { return host_ns + use_->waited_ns.load(std::memory_order_relaxed); }
  uint64_t to_host_ns(uint64_t virtual_ns) const {
    return virtual_ns - use_->waited_ns.load(std::memory_order_relaxed);
  }
  // Lets the host wait until `time_ns` on the virtual clock; returns the nanoseconds that it waited. The clock jumps
  // where no other thread uses the driver, else as shared_wait.h says, and other threads get their turn of the
  // processor where another one uses the driver or the wait is long; only while a profiler wants it (profiler_hooks.h),
  // the host sleeps. What that took is added to *own_ns.
  uint64_t wait_until(uint64_t time_ns, uint64_t* own_ns);
  // The virtual clock jumps to `time_ns` unless it is there already; `host_ns`: of trace::now_ns().
  void jump_to(uint64_t time_ns, uint64_t host_ns);
  // A poll that found work unfinished: the virtual clock goes on by the given time, so that polling ends.
  void poll_again(uint64_t nanoseconds);

  // Bytes that go over the host link of a device, for NVML's counters.
  void count_host_copy(int device, bool from_device, uint64_t bytes);

  // Peer access that was enabled: `from` may use memory of `to`. False when that is already so (or was not so).
  bool enable_peer(const Context& from, const Context& to);
  bool disable_peer(const Context& from, const Context& to);

 private:
  Driver(std::unique_ptr<device::Memory> memory, device::ProcessUse* use);
  static CUresult create_instance();
  Stream* resolve_stream(CUstream handle, Context& context, bool per_thread);
  CUresult bring_to_life(Context& context);
  CUresult end_life(Context& context);

  struct Primary {
    Context* context = nullptr;  // made by the first retain, lives for ever
    uint32_t flags = 0;
    uint64_t references = 0;
  };

  static std::atomic<Driver*> instance_;
  std::unique_ptr<device::Memory> memory_;
  device::ProcessUse* const use_;  // holds the modelled waits of the host
  const Estimator estimator_;
  device::HandlePool<Context> contexts_;
  device::HandlePool<Stream> streams_;
  device::HandlePool<Event> events_;
  const uint64_t launch_latency_ns_;
  const uint64_t queued_gap_ns_;
  std::atomic<uint32_t> next_stream_id_{1};
  std::atomic<uint32_t> next_event_id_{1};
  std::atomic<uint64_t> next_context_id_{1};

  std::mutex lifetime_mutex_;  // one context at a time comes to life or ends; guards the next two
  std::vector<Primary> primaries_;
  std::vector<int> live_contexts_;  // by device
  std::mutex peer_mutex_;
  std::vector<std::pair<uint64_t, uint64_t>> peer_access_;  // context ids (from, to)
};

// `release` is called for every context that is destroyed or reset, while its streams and events still exist: owners of
// per-context objects (allocations, modules) give them back. Called from static constructors.
void add_context_hook(void (*release)(Driver& driver, Context& context));

}  // namespace maya::cuda
