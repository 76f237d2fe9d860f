#include "driver_shim/cuda/launch.h"

#include <cstring>
#include <mutex>
#include <unordered_map>

#include "driver_shim/cuda/capture.h"
#include "driver_shim/cuda/device_time.h"
#include "driver_shim/cuda/graph_parameters.h"
#include "driver_shim/cuda/instructions.h"
#include "driver_shim/cuda/launch_cache.h"
#include "driver_shim/cuda/profiler.h"
#include "driver_shim/cuda/recorder.h"
#include "driver_shim/cuda/stream_call.h"
#include "predictor/core/estimate.h"

namespace maya::cuda {
namespace {

// A kernel with more different shape arguments than this is told apart by its grid and block only.
constexpr uint32_t kMostVariants = 64;

// All launch configurations of the process, so that threads share the ids.
struct Interned {
  std::mutex mutex;
  std::unordered_multimap<uint64_t, LaunchCache::Entry> by_hash;
};

Interned& interned() {
  static Interned& made = *new Interned;
  return made;
}

LaunchCache::Entry intern(Driver& driver, const Estimator& estimator, Kernel& kernel, const device::Launch& launch,
                          const LaunchKey& wanted) {
  std::lock_guard<std::mutex> lock(interned().mutex);
  if (kernel.trace_id.load(std::memory_order_relaxed) == 0)
    kernel.trace_id.store(Recorder::get().kernel(kernel.info), std::memory_order_relaxed);
  // In the trace a kernel is the same whatever its settings are.
  LaunchKey key = wanted;
  key.set_stamp(kernel.trace_id.load(std::memory_order_relaxed));
  const uint64_t hash = key.hash();
  const auto [first, last] = interned().by_hash.equal_range(hash);
  for (auto known = first; known != last; ++known)
    if (known->second.matches(key)) return known->second;

  LaunchView::Scalar scalars[kMostScalars];
  const auto slots = kernel.shape_scalars;
  for (uint32_t i = 0; i < key.scalar_count; ++i) scalars[i] = {slots[i].absolute_offset, slots[i].size, key.tail[i]};
  LaunchView view;
  view.mangled_name = kernel.info.name;
  view.parameter_count = static_cast<uint32_t>(kernel.info.parameters.size());
  memcpy(view.grid, launch.grid, sizeof view.grid);
  memcpy(view.block, launch.block, sizeof view.block);
  view.dynamic_shared_bytes = launch.dynamic_shared_bytes;
  view.static_shared_bytes = kernel.info.static_shared_bytes;
  view.registers = kernel.info.registers;
  view.scalars = scalars;
  view.scalar_count = key.scalar_count;
  const std::optional<device::KernelWork> work = counted_work(driver, kernel, launch);
  if (work) view.counted = &*work;
  const double estimate_ns = estimator.estimate(work_of(view)).median_ns;

  LaunchCache::Entry made{};
  made.set(key,
           Recorder::get().launch_configuration(kernel.trace_id.load(std::memory_order_relaxed), launch, scalars,
                                                key.scalar_count, estimate_ns, view.counted),
           whole_ns(estimate_ns));
  interned().by_hash.emplace(hash, made);
  if (kernel.variants.fetch_add(1, std::memory_order_relaxed) >= kMostVariants)
    kernel.key_scalars.store(0, std::memory_order_relaxed);
  return made;
}

LaunchKey make_key(const Kernel& kernel, const device::Launch& launch) {
  LaunchKey key(&kernel, kernel.stamp.load(std::memory_order_relaxed), Dimensions::of(launch),
                launch.dynamic_shared_bytes);
  if (launch.arguments != nullptr) key.add_scalars(kernel, launch.arguments);
  key.add_cluster(launch);
  return key;
}

// The first launch of this kind by this thread.
[[gnu::noinline, gnu::cold]] CUresult first_launch(Driver& driver, Context& context, Kernel& kernel,
                                                   const device::Launch& launch, const LaunchKey& key,
                                                   LaunchCache::Entry* entry) {
  const device::DeviceProfile& profile = driver.profile(context.device);
  if (const CUresult status = check_launch(kernel, launch, profile); status != CUDA_SUCCESS) return status;
  const LaunchCache::Entry found = intern(driver, driver.estimator(context.device), kernel, launch, key);
  entry->set(key, found.configuration, found.duration_ns);
  return CUDA_SUCCESS;
}

[[gnu::noinline, gnu::cold]] void take_required_cluster(const Kernel& kernel, device::Launch* launch) {
  for (int i = 0; i < 3; ++i)
    launch->cluster[i] = static_cast<uint32_t>(kernel.required_cluster[i].load(std::memory_order_relaxed));
}

[[gnu::noinline, gnu::cold]] void record_events(Driver& driver, const AttributeEvents& named, uint64_t end_ns) {
  for (uint32_t i = 0; i < named.count; ++i) {
    Event* event = driver.events().get(named.events[i]);
    if (event == nullptr) continue;
    event->time_ns.store(end_ns, std::memory_order_relaxed);
    event->recorded.store(true, std::memory_order_release);
    event->captured.store(0, std::memory_order_relaxed);
  }
}

// On a stream that is being captured the launch becomes a node of the graph. The kernel's code is loaded now.
[[gnu::noinline, gnu::cold]] CUresult capture_launch(Driver& driver, Stream& stream, Kernel& kernel,
                                                     const device::Launch& launch, const CUlaunchAttribute* attributes,
                                                     uint32_t attribute_count, const AttributeEvents& named) {
  ResolvedLaunch resolved;
  if (const CUresult status = resolve_launch(driver, *stream.context(), kernel, launch, &resolved);
      status != CUDA_SUCCESS)
    return status;
  if (const CUresult status = load_kernel(kernel, driver, *stream.context()); status != CUDA_SUCCESS) return status;
  KernelNode node;
  if (const CUresult status = captured_kernel(kernel, launch, attributes, attribute_count, &node);
      status != CUDA_SUCCESS)
    return status;
  if (const CUresult status = Captures::add(stream, std::move(node)); status != CUDA_SUCCESS) return status;
  for (uint32_t i = 0; i < named.count; ++i)
    if (Event* event = driver.events().get(named.events[i]); event != nullptr) Captures::record_event(stream, *event);
  return CUDA_SUCCESS;
}

[[gnu::noinline, gnu::cold]] void make_cache(ThreadState* thread) {
  thread->launches = std::make_unique<LaunchCache>();
}

// *own_ns: what the launch has taken that no real launch takes.
void apply_effects(Driver& driver, const ThreadState& thread, const Kernel& kernel, const device::Launch& launch,
                   uint64_t entry_ns, uint64_t* own_ns) {
  const uint64_t settled_ns = thread.settling_ns, large = device::large_computations();
  device::apply_effects(*kernel.behavior, launch, driver.memory());
  if (device::large_computations() != large)
    *own_ns = trace::now_ns() - entry_ns;
  else
    *own_ns += thread.settling_ns - settled_ns;
}

// Any launch. entry_ns: when the call began.
CUresult launch_now(const void* kernel_handle, device::Launch& launch, CUstream stream_handle, bool per_thread,
                    const CUlaunchAttribute* attributes, uint32_t attribute_count, uint64_t entry_ns) {
  Driver* driver = nullptr;
  ThreadState* thread = nullptr;
  Stream* stream = nullptr;
  if (const CUresult status = pass_stream_gate(stream_handle, per_thread, &driver, &thread, &stream);
      status != CUDA_SUCCESS)
    return status;
  Kernel* kernel = resolve_kernel(kernel_handle);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  // "The context to launch the kernel on will either be taken from the specified stream or the current context in case
  // of NULL stream."
  Context& context = *stream->context();
  launch.kernel = &kernel->info;
  if (kernel->required_cluster[0].load(std::memory_order_relaxed) != 0) take_required_cluster(*kernel, &launch);
  AttributeEvents events;
  if (attribute_count != 0)
    if (const CUresult status = read_attributes(attributes, attribute_count, &launch, &events); status != CUDA_SUCCESS)
      return status;
  if (launch.arguments == nullptr && !kernel->info.parameters.empty()) return CUDA_ERROR_INVALID_VALUE;
  if (static_cast<int64_t>(launch.dynamic_shared_bytes) >
      kernel->max_dynamic_shared_bytes.load(std::memory_order_relaxed))
    return CUDA_ERROR_INVALID_VALUE;
  if (stream->capture() != nullptr)
    return capture_launch(*driver, *stream, *kernel, launch, attributes, attribute_count, events);

  const LaunchKey key = make_key(*kernel, launch);
  if (thread->launches == nullptr) make_cache(thread);
  LaunchCache::Entry& entry = thread->launches->slot(key.hash());
  uint64_t own_ns = 0;  // what no real launch takes, beyond a few nanoseconds
  if (!entry.matches(key)) {
    if (const CUresult status = first_launch(*driver, context, *kernel, launch, key, &entry); status != CUDA_SUCCESS)
      return status;
    own_ns = trace::now_ns() - entry_ns;
  }
  if (const CUresult status = load_kernel(*kernel, *driver, context); status != CUDA_SUCCESS) return status;
  apply_effects(*driver, *thread, *kernel, launch, entry_ns, &own_ns);
  kernel->watches.store(device::watches_pointers(*kernel->behavior), std::memory_order_relaxed);
  const uint64_t end_ns = stream->enqueue(driver->to_virtual_ns(entry_ns) + driver->launch_latency_ns(),
                                          entry.duration_ns, driver->queued_gap_ns());
  if (events.count != 0) record_events(*driver, events, end_ns);
  if (Profiler::attached()) [[unlikely]]
    Profiler::tell_launch(
        {*driver, context, stream->id(), end_ns, entry.duration_ns, entry_ns, 0, 0, stream->priority()}, *kernel,
        launch);
  if (own_ns != 0)
    Recorder::get().timed_launch(entry.configuration, stream->id(), entry_ns, own_ns);
  else if (trace::Writer* writer = Recorder::writer(); writer != nullptr)
    writer->launch(entry.configuration, stream->id(), entry_ns);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult resolve_launch(Driver& driver, Context& context, Kernel& kernel, const device::Launch& launch,
                        ResolvedLaunch* out) {
  if (static_cast<int64_t>(launch.dynamic_shared_bytes) >
      kernel.max_dynamic_shared_bytes.load(std::memory_order_relaxed))
    return CUDA_ERROR_INVALID_VALUE;
  const LaunchKey key = make_key(kernel, launch);
  LaunchCache::Entry entry;
  if (const CUresult status = first_launch(driver, context, kernel, launch, key, &entry); status != CUDA_SUCCESS)
    return status;
  *out = {entry.configuration, entry.duration_ns};
  return CUDA_SUCCESS;
}

namespace {

CUresult launch_from(const void* kernel, device::Launch& launch, CUstream stream, bool per_thread,
                     const CUlaunchAttribute* attributes, uint32_t attribute_count, uint64_t entry_ns) noexcept {
  try {
    return launch_now(kernel, launch, stream, per_thread, attributes, attribute_count, entry_ns);
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (...) {
    return CUDA_ERROR_UNKNOWN;
  }
}

device::Launch make_launch(const Dimensions& dimensions, uint32_t shared_bytes, void** arguments) {
  device::Launch launch;
  memcpy(launch.grid, &dimensions.grid_xy, sizeof dimensions.grid_xy);
  launch.grid[2] = dimensions.grid_z;
  memcpy(launch.block, &dimensions.block_xy, sizeof dimensions.block_xy);
  launch.block[2] = dimensions.block_z;
  launch.dynamic_shared_bytes = shared_bytes;
  launch.arguments = arguments;
  return launch;
}

[[gnu::noinline, gnu::cold]] CUresult launch_anew(const void* kernel, const Dimensions dimensions, void** arguments,
                                                  uint32_t shared_bytes, CUstream stream, uint64_t entry_ns) noexcept {
  device::Launch launch = make_launch(dimensions, shared_bytes, arguments);
  return launch_from(kernel, launch, stream, false, nullptr, 0, entry_ns);
}

struct Applied {
  CUresult status;
  uint64_t own_ns;
};
// Bytes around its pointers are known.
[[gnu::noinline]] Applied apply_known_effects(Driver& driver, const ThreadState& thread, const Kernel& kernel,
                                              const Dimensions dimensions, void** arguments, uint32_t shared_bytes,
                                              uint64_t entry_ns) noexcept {
  try {
    device::Launch launch = make_launch(dimensions, shared_bytes, arguments);
    launch.kernel = &kernel.info;
    uint64_t own_ns = 0;
    apply_effects(driver, thread, kernel, launch, entry_ns, &own_ns);
    return {CUDA_SUCCESS, own_ns};
  } catch (const std::bad_alloc&) {
    return {CUDA_ERROR_OUT_OF_MEMORY, 0};
  } catch (...) {
    return {CUDA_ERROR_UNKNOWN, 0};
  }
}

// Stream::enqueue, the cheaper way while this is the only thread that uses the driver.
[[gnu::always_inline]] inline void place(ThreadState& thread, Stream& stream, uint64_t earliest_ns,
                                         uint64_t duration_ns, uint64_t gap_ns) {
  thread.placing.store(1, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the other half is the barrier in end_solitude()
  if (driver_threads.load(std::memory_order_acquire) == 1) {
    stream.enqueue_alone(earliest_ns, duration_ns, gap_ns);
    thread.placing.store(0, std::memory_order_release);
  } else {
    thread.placing.store(0, std::memory_order_release);
    stream.enqueue(earliest_ns, duration_ns, gap_ns);
  }
}

constexpr auto kSomethingElse = static_cast<CUresult>(-1);

// A launch like one that this thread has made before, without attributes: nearly all are. kSomethingElse when anything
// is out of the ordinary, before anything was changed: launch_anew() then does it all. No lambda and no reference to a
// local in here: at this length what is passed through memory counts.
[[gnu::always_inline]] inline CUresult launch_again(const void* handle, const Dimensions dimensions, void** arguments,
                                                    uint32_t shared_bytes, CUstream stream_handle,
                                                    uint64_t entry_ns) noexcept {
  // Once a thread has launched, the driver is there.
  ThreadState* const thread = this_thread;
  if (thread == nullptr || thread->launches == nullptr || started_driver_is_gone() || arguments == nullptr) [[unlikely]]
    return kSomethingElse;
  Driver& driver = *Driver::get();
  Stream* stream = nullptr;
  if (is_special_stream(stream_handle)) {
    Context* const current = thread->current();
    if (stream_handle == CU_STREAM_PER_THREAD || current == nullptr || !current->alive.load(std::memory_order_acquire))
        [[unlikely]]
      return kSomethingElse;
    stream = current->default_stream.load(std::memory_order_acquire);
  } else {
    stream = driver.streams().get(stream_handle);
  }
  Kernel* const kernel = resolve_kernel(handle);
  trace::Writer* const writer = Recorder::writer();
  if (stream == nullptr || kernel == nullptr || writer == nullptr || stream->capture() != nullptr ||
      Profiler::attached()) [[unlikely]]
    return kSomethingElse;
  const Context& context = *stream->context();
  LaunchKey key(kernel, kernel->stamp.load(std::memory_order_relaxed), dimensions, shared_bytes);
  key.add_scalars(*kernel, arguments);
  const LaunchCache::Entry& entry = thread->launches->slot(key.hash());
  if (!entry.matches(key) || context.sticky_error.load(std::memory_order_relaxed) != 0 ||
      (kernel->loaded_devices.load(std::memory_order_relaxed) >> context.device & 1) == 0) [[unlikely]]
    return kSomethingElse;

  uint64_t own_ns = 0;
  if (!kernel->watches.load(std::memory_order_relaxed) ||
      device::may_have_effects(kernel->pointers.data(), kernel->pointers.size(), arguments, driver.memory()))
      [[unlikely]] {
    const Applied applied =
        apply_known_effects(driver, *thread, *kernel, dimensions, arguments, shared_bytes, entry_ns);
    if (applied.status != CUDA_SUCCESS) return applied.status;
    own_ns = applied.own_ns;
  }
  place(*thread, *stream, driver.to_virtual_ns(entry_ns) + driver.launch_latency_ns(), entry.duration_ns,
        driver.queued_gap_ns());
  if (own_ns != 0) [[unlikely]]
    Recorder::get().timed_launch(entry.configuration, stream->id(), entry_ns, own_ns);
  else
    writer->launch(entry.configuration, stream->id(), entry_ns);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult launch_kernel(const void* kernel, device::Launch& launch, CUstream stream, bool per_thread,
                       const CUlaunchAttribute* attributes, uint32_t attribute_count) noexcept {
  return launch_from(kernel, launch, stream, per_thread, attributes, attribute_count, trace::now_ns());
}

CUresult launch_plain(const void* kernel, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z, uint32_t block_x,
                      uint32_t block_y, uint32_t block_z, uint32_t shared_bytes, CUstream stream,
                      void** arguments) noexcept {
  const uint64_t entry_ns = trace::now_ns();
  const Dimensions dimensions{Dimensions::pair(grid_x, grid_y), Dimensions::pair(block_x, block_y), grid_z, block_z};
  const CUresult status = launch_again(kernel, dimensions, arguments, shared_bytes, stream, entry_ns);
  if (status != kSomethingElse) [[likely]]
    return status;
  return launch_anew(kernel, dimensions, arguments, shared_bytes, stream, entry_ns);
}

CUresult launch_plain_from_library(CUkernel kernel, uint64_t grid_xy, uint32_t grid_z, uint64_t block_xy,
                                   uint32_t block_z, void** arguments, uint32_t shared_bytes,
                                   CUstream stream) noexcept {
  const uint64_t entry_ns = trace::now_ns();
  const Dimensions dimensions{grid_xy, block_xy, grid_z, block_z};
  const CUresult status = launch_again(kernel, dimensions, arguments, shared_bytes, stream, entry_ns);
  if (status != kSomethingElse) [[likely]]
    return status;
  return launch_anew(kernel, dimensions, arguments, shared_bytes, stream, entry_ns);
}

CUresult launch_from_library(const KernelLaunch* wanted) noexcept {
  device::Launch launch;
  memcpy(launch.grid, wanted->grid, sizeof launch.grid);
  memcpy(launch.block, wanted->block, sizeof launch.block);
  launch.dynamic_shared_bytes = wanted->dynamic_shared_bytes;
  launch.arguments = wanted->arguments;
  return launch_kernel(wanted->kernel, launch, wanted->stream, false, wanted->attributes, wanted->attribute_count);
}

}  // namespace maya::cuda
