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

[[gnu::always_inline]] inline void add_scalars(const Kernel& kernel, const device::Launch& launch, LaunchKey* key) {
  if (launch.arguments == nullptr || kernel.variants.load(std::memory_order_relaxed) > kMostVariants) return;
  for (const device::ScalarSlot& slot : kernel.shape_scalars) {
    const char* bytes = static_cast<const char*>(launch.arguments[slot.parameter]) + slot.offset_in_parameter;
    uint64_t value = 0;
    if (slot.size == 4) {
      uint32_t word = 0;
      memcpy(&word, bytes, sizeof word);
      value = word;
    } else if (slot.size == sizeof value) {
      memcpy(&value, bytes, sizeof value);
    } else {
      memcpy(&value, bytes, slot.size < sizeof value ? slot.size : sizeof value);
    }
    key->add(value);
  }
}

[[gnu::always_inline]] inline void make_key(const Kernel& kernel, const device::Launch& launch, LaunchKey* key) {
  key->make(&kernel, kernel.trace_id.load(std::memory_order_relaxed), launch);
  add_scalars(kernel, launch, key);
  key->finish(launch);
}

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
  // A kernel that was not yet in the trace had no id when the key was made.
  LaunchKey key = wanted;
  key.make_head(&kernel, kernel.trace_id.load(std::memory_order_relaxed), launch);
  const uint64_t hash = key.hash();
  const auto [first, last] = interned().by_hash.equal_range(hash);
  for (auto known = first; known != last; ++known)
    if (known->second.key == key) return known->second;

  LaunchView::Scalar scalars[kMostScalars];
  const auto slots = kernel.shape_scalars;
  for (uint32_t i = 0; i < key.scalar_count(); ++i)
    scalars[i] = {slots[i].absolute_offset, slots[i].size, key.scalar(i)};
  LaunchView view;
  view.mangled_name = kernel.info.name;
  view.parameter_count = static_cast<uint32_t>(kernel.info.parameters.size());
  memcpy(view.grid, launch.grid, sizeof view.grid);
  memcpy(view.block, launch.block, sizeof view.block);
  view.dynamic_shared_bytes = launch.dynamic_shared_bytes;
  view.static_shared_bytes = kernel.info.static_shared_bytes;
  view.registers = kernel.info.registers;
  view.scalars = scalars;
  view.scalar_count = key.scalar_count();
  const std::optional<device::KernelWork> work = counted_work(driver, kernel, launch);
  if (work) view.counted = &*work;
  const double estimate_ns = estimator.estimate(work_of(view)).median_ns;

  LaunchCache::Entry made;
  made.key = key;
  made.configuration = Recorder::get().launch_configuration(kernel.trace_id.load(std::memory_order_relaxed), launch,
                                                            scalars, key.scalar_count(), estimate_ns, view.counted);
  made.duration_ns = whole_ns(estimate_ns);
  interned().by_hash.emplace(hash, made);
  kernel.variants.fetch_add(1, std::memory_order_relaxed);
  return made;
}

// The first launch of this kind by this thread.
[[gnu::noinline, gnu::cold]] CUresult first_launch(Driver& driver, Context& context, Kernel& kernel,
                                                   const device::Launch& launch, const LaunchKey& key,
                                                   LaunchCache::Entry* entry) {
  const device::DeviceProfile& profile = driver.profile(context.device);
  if (const CUresult status = check_launch(kernel, launch, profile); status != CUDA_SUCCESS) return status;
  *entry = intern(driver, driver.estimator(context.device), kernel, launch, key);
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

// No lambda and no call by reference in here, and all that is small put into one function: at this length what is
// passed through memory counts.
[[gnu::always_inline]] inline CUresult launch_now(const void* kernel_handle, device::Launch& launch,
                                                  CUstream stream_handle, bool per_thread,
                                                  const CUlaunchAttribute* attributes, uint32_t attribute_count) {
  const uint64_t entry_ns = trace::now_ns();
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
  if (stream->capture() != nullptr) [[unlikely]]
    return capture_launch(*driver, *stream, *kernel, launch, attributes, attribute_count, events);

  LaunchKey key;
  make_key(*kernel, launch, &key);
  if (thread->launches == nullptr) make_cache(thread);
  LaunchCache::Entry& entry = thread->launches->slot(key.hash());
  uint64_t own_ns = 0;  // what no real launch takes, beyond a few nanoseconds
  if (entry.configuration == 0 || !(entry.key == key)) [[unlikely]] {
    if (const CUresult status = first_launch(*driver, context, *kernel, launch, key, &entry); status != CUDA_SUCCESS)
      return status;
    own_ns = trace::now_ns() - entry_ns;
  }
  if (const CUresult status = load_kernel(*kernel, *driver, context); status != CUDA_SUCCESS) return status;

  const uint64_t settled_ns = thread->settling_ns, large = device::large_computations();
  device::apply_effects(*kernel->behavior, launch, driver->memory());
  const uint64_t end_ns = stream->enqueue(driver->to_virtual_ns(entry_ns) + driver->launch_latency_ns(),
                                          entry.duration_ns, driver->queued_gap_ns());
  if (events.count != 0) record_events(*driver, events, end_ns);
  if (Profiler::attached()) [[unlikely]]
    Profiler::tell_launch(
        {*driver, context, stream->id(), end_ns, entry.duration_ns, entry_ns, 0, 0, stream->priority()}, *kernel,
        launch);
  if (device::large_computations() != large) [[unlikely]]
    own_ns = trace::now_ns() - entry_ns;
  own_ns += thread->settling_ns - settled_ns;
  if (own_ns != 0) [[unlikely]]
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
  LaunchKey key;
  make_key(kernel, launch, &key);
  LaunchCache::Entry entry;
  if (const CUresult status = first_launch(driver, context, kernel, launch, key, &entry); status != CUDA_SUCCESS)
    return status;
  *out = {entry.configuration, entry.duration_ns};
  return CUDA_SUCCESS;
}

[[gnu::flatten]] CUresult launch_kernel(const void* kernel_handle, device::Launch& launch, CUstream stream,
                                        bool per_thread, const CUlaunchAttribute* attributes,
                                        uint32_t attribute_count) noexcept {
  try {
    return launch_now(kernel_handle, launch, stream, per_thread, attributes, attribute_count);
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (...) {
    return CUDA_ERROR_UNKNOWN;
  }
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
