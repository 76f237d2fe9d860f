#include "driver_shim/cuda/driver.h"

#include <time.h>

#include <sched.h>

#include <algorithm>
#include <atomic>

#include "driver_shim/cuda/capture.h"
#include "driver_shim/cuda/device_time.h"
#include "driver_shim/cuda/fork_guard.h"
#include "driver_shim/cuda/learned_table.h"
#include "driver_shim/cuda/process_use.h"
#include "driver_shim/cuda/profiler.h"
#include "driver_shim/cuda/recorder.h"
#include "driver_shim/cuda/shared_wait.h"
#include "driver_shim/cuda/stream_call.h"
#include "trace_proto/writer.h"
#include "virtual_device/launch_effects.h"

namespace maya::cuda {
namespace {

constexpr size_t kMostContexts = 1 << 16;
constexpr size_t kMostStreams = 1 << 20;
constexpr size_t kMostEvents = 1 << 22;

std::mutex initialize_mutex;

// Of the ranks of a world the first one speaks.
void report_routing(const device::RoutingCall& call) {
  const Configuration& chosen = maya::cuda::configuration();
  if (chosen.rank > 0) return;
  const std::string what = "the choice of " + std::to_string(call.chosen) + " of " + std::to_string(call.experts) +
                           " for " + std::to_string(call.tokens) + " rows (" + std::string(call.kernel) + ")";
  print_line(chosen.balanced_routing
                 ? "MAYA_INJECT: " + what + " was not balanced: its result is larger than 320 MiB or has gaps"
                 : what +
                       " depends on unknown results; if it routes tokens to experts, use maya-run --inject "
                       "routing=balanced");
}

void report_large_limit(uint64_t bytes) {
  const Configuration& chosen = maya::cuda::configuration();
  if (chosen.rank > 0) return;
  print_line("large integer tensors are no longer followed, after " + std::to_string(bytes >> 30) +
             " GiB of them in all: what kernels make of them reads as zero from here on" +
             (chosen.balanced_routing ? "" : "; maya-run --inject routing=balanced follows more"));
}

// A machine without devices needs no explanation.
void report_none_visible(const Configuration& chosen) {
  static std::atomic<bool> reported{false};
  if (chosen.machine_devices == 0 || reported.exchange(true)) return;
  print_line("CUDA_VISIBLE_DEVICES leaves none of " + std::to_string(chosen.machine_devices) +
             " devices (maya-run --devices) to this process");
}

}  // namespace

std::atomic<Driver*> Driver::instance_{nullptr};

CUresult Driver::initialize() {
  if (!arm_fork_guard()) return CUDA_ERROR_OUT_OF_MEMORY;
  if (in_forked_child()) return CUDA_ERROR_NOT_INITIALIZED;
  if (get() != nullptr) return CUDA_SUCCESS;
  std::lock_guard<std::mutex> lock(initialize_mutex);
  return get() != nullptr ? CUDA_SUCCESS : create_instance();
}

CUresult Driver::create_instance() {
  const Configuration& chosen = maya::cuda::configuration();
  if (!chosen.valid) return CUDA_ERROR_INVALID_VALUE;
  if (chosen.devices == 0) {
    report_none_visible(chosen);
    return CUDA_ERROR_NO_DEVICE;
  }
  device::set_routing(chosen.balanced_routing ? device::Routing::kBalanced : device::Routing::kUnknown, report_routing);
  device::observe_large_limit(report_large_limit);
  device::set_checks(chosen.passing_checks ? device::Checks::kPass : device::Checks::kUnknown);
  device::Memory::Options options;
  options.devices = chosen.devices;
  options.capacity_bytes =
      chosen.memory_limit_bytes != 0 ? chosen.memory_limit_bytes : chosen.profile->total_memory_bytes;
  options.host_budget_bytes = chosen.host_budget_bytes;
  device::ProcessUse* const use = publish_process_use(chosen);
  for (const int device : chosen.visible)
    options.published.push_back(static_cast<uint32_t>(device) < use->devices ? &use->device[device].used_bytes
                                                                             : nullptr);
  std::unique_ptr<device::Memory> memory = device::Memory::create(options);
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  for (int i = 0; i < chosen.devices; ++i) {
    if (memory->charge(i, device::Layer::kDriver, chosen.profile->driver_reserve_bytes) == device::MemoryStatus::kOk)
      continue;
    print_line("MAYA_MEMORY: too small: the driver itself needs " +
               std::to_string(chosen.profile->driver_reserve_bytes) + " bytes");
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  std::unique_ptr<Driver> made(new Driver(std::move(memory), use));
  if (!made->contexts_.usable() || !made->streams_.usable() || !made->events_.usable()) return CUDA_ERROR_OUT_OF_MEMORY;
  instance_.store(made.release(), std::memory_order_release);
  Profiler::tell_initialized();
  return CUDA_SUCCESS;
}

Driver::Driver(std::unique_ptr<device::Memory> memory, device::ProcessUse* use)
    : memory_(std::move(memory)),
      use_(use),
      estimator_(*maya::cuda::configuration().profile, learned_table(), Clock::kSustained),
      contexts_(kMostContexts),
      streams_(kMostStreams),
      events_(kMostEvents),
      launch_latency_ns_(whole_ns(maya::cuda::configuration().profile->launch_latency_ns)),
      queued_gap_ns_(whole_ns(maya::cuda::configuration().profile->queued_gap_ns)),
      primaries_(static_cast<size_t>(maya::cuda::configuration().devices)),
      live_contexts_(static_cast<size_t>(maya::cuda::configuration().devices)) {}

uint64_t Driver::capacity_bytes() const {
  const uint64_t limit = configuration().memory_limit_bytes;
  return limit != 0 ? limit : configuration().profile->total_memory_bytes;
}

uint64_t Driver::virtual_now_ns() { return to_virtual_ns(trace::now_ns()); }

namespace {

// A sleep overshoots by the kernel's timer slack (50 us by default): the rest is spent on the clock.
constexpr uint64_t kTimerSlack_ns = 100'000;

void sleep_until_host(uint64_t host_ns) {
  for (uint64_t now_ns = trace::now_ns(); now_ns < host_ns; now_ns = trace::now_ns()) {
    if (host_ns - now_ns <= kTimerSlack_ns) continue;
    const uint64_t rest_ns = host_ns - now_ns - kTimerSlack_ns;
    const timespec rest{static_cast<time_t>(rest_ns / 1'000'000'000), static_cast<long>(rest_ns % 1'000'000'000)};
    nanosleep(&rest, nullptr);
  }
}

}  // namespace

namespace {

// A real wait gives the processor to other threads, and here that is a system call of half a microsecond. Where another
// thread uses the driver too, every wait makes it: otherwise such threads fall behind in a way that no device lets
// them. PyTorch's autograd thread then still releases a graph, for which it needs Python's lock, while the interpreter
// ends, and the program aborts after its last line (9 of 46 runs beside two busy loops, none of 100 with it, 2 of 40 on
// a machine busier still; short waits count: 3 of 24 where only those of 50 us and more did so). For threads that have
// nothing to do with the device the long waits are enough.
constexpr uint64_t kLongWait_ns = 50'000;

// Looking at what the other threads do takes some microseconds a thread: shorter waits just jump.
constexpr uint64_t kWorthLooking_ns = 20'000;

}  // namespace

void Driver::poll_again(uint64_t nanoseconds) {
  if (Profiler::waits_are_real())
    sleep_until_host(trace::now_ns() + nanoseconds);
  else
    use_->waited_ns.fetch_add(nanoseconds, std::memory_order_relaxed);
}

uint64_t Driver::wait_until(uint64_t time_ns, uint64_t* own_ns) {
  const uint64_t host_ns = trace::now_ns();
  if (Profiler::waits_are_real()) {
    const uint64_t until_ns = to_host_ns(time_ns);
    if (until_ns <= host_ns) return 0;
    sleep_until_host(until_ns);
    *own_ns += trace::now_ns() - host_ns;
    return until_ns - host_ns;
  }
  const uint64_t now_ns = to_virtual_ns(host_ns);
  if (time_ns <= now_ns) return 0;
  const bool others = driver_threads.load(std::memory_order_relaxed) > 1;
  if (others && time_ns - now_ns >= kWorthLooking_ns) {
    SharedWait::until(*this, time_ns);
    *own_ns += trace::now_ns() - host_ns;
    return time_ns - now_ns;
  }
  jump_to(time_ns, host_ns);
  if (others || time_ns - now_ns >= kLongWait_ns) {
    sched_yield();
    *own_ns += trace::now_ns() - host_ns;
  }
  return time_ns - now_ns;
}

void Driver::jump_to(uint64_t time_ns, uint64_t host_ns) {
  uint64_t waited = use_->waited_ns.load(std::memory_order_relaxed);
  uint64_t now_ns = 0;
  do {
    now_ns = host_ns + waited;
    if (time_ns <= now_ns) return;
  } while (!use_->waited_ns.compare_exchange_weak(waited, waited + (time_ns - now_ns), std::memory_order_relaxed));
}

Stream* Driver::create_stream(Context& context, uint32_t flags, int priority) {
  Stream* made = streams_.create(&context, next_stream_id(), flags, priority, false);
  if (made != nullptr)
    Recorder::get().stream(made->id(), static_cast<uint32_t>(context.device), flags, priority, false);
  if (made != nullptr) Profiler::tell_stream(ResourceKind::kStreamCreated, *made);
  return made;
}

bool Driver::destroy_stream(CUstream handle) {
  Stream* found = streams_.get(handle);
  if (found == nullptr || found->is_default()) return false;
  Captures::stream_destroyed(*found);
  Profiler::tell_stream(ResourceKind::kStreamDestroyStarting, *found);
  const uint32_t id = found->id(), flags = found->flags(), ordinal = static_cast<uint32_t>(found->context()->device);
  const int priority = found->priority();
  if (!streams_.destroy(handle)) return false;
  forget_stream_attributes(id);
  Recorder::get().stream(id, ordinal, flags, priority, true);
  return true;
}

Stream* Driver::resolve_stream(CUstream handle, Context& context, bool per_thread) {
  if (handle == CU_STREAM_LEGACY) return context.default_stream.load(std::memory_order_acquire);
  if (handle != nullptr && handle != CU_STREAM_PER_THREAD) return streams_.get(handle);
  if (handle == nullptr && !per_thread) return context.default_stream.load(std::memory_order_acquire);
  ThreadState& thread = thread_state();
  for (ThreadState::PerThreadStream& entry : thread.per_thread_streams) {
    if (entry.context != &context) continue;
    if (Stream* known = streams_.get(entry.handle); known != nullptr && known->id() == entry.id) return known;
    entry.handle = nullptr;
  }
  std::erase_if(thread.per_thread_streams,
                [](const ThreadState::PerThreadStream& entry) { return entry.handle == nullptr; });
  Stream* made = create_stream(context, CU_STREAM_DEFAULT, 0);
  if (made != nullptr) thread.per_thread_streams.push_back({&context, reinterpret_cast<CUstream>(made), made->id()});
  return made;
}

void Driver::count_host_copy(int device, bool from_device, uint64_t bytes) {
  const auto machine = static_cast<uint32_t>(machine_device(device));
  if (machine < use_->devices)
    use_->device[machine].copied_bytes[from_device ? 1 : 0].fetch_add(bytes, std::memory_order_relaxed);
}

bool Driver::enable_peer(const Context& from, const Context& to) {
  std::lock_guard<std::mutex> lock(peer_mutex_);
  const std::pair<uint64_t, uint64_t> pair{from.id, to.id};
  if (std::find(peer_access_.begin(), peer_access_.end(), pair) != peer_access_.end()) return false;
  peer_access_.push_back(pair);
  return true;
}

bool Driver::disable_peer(const Context& from, const Context& to) {
  std::lock_guard<std::mutex> lock(peer_mutex_);
  return std::erase(peer_access_, std::pair<uint64_t, uint64_t>{from.id, to.id}) != 0;
}

}  // namespace maya::cuda
