#include "driver_shim/cuda/launch.h"

#include <cstring>
#include <mutex>
#include <unordered_map>

#include "driver_shim/cuda/device_time.h"
#include "driver_shim/cuda/launch_cache.h"
#include "driver_shim/cuda/recorder.h"
#include "driver_shim/cuda/stream_call.h"
#include "predictor/core/estimate.h"

namespace maya::cuda {
namespace {

// A kernel with more different shape arguments than this is told apart by its grid and block only.
constexpr uint32_t kMostVariants = 64;

uint64_t hash_of(const LaunchKey& key) {
  uint64_t hash = mix(reinterpret_cast<uintptr_t>(key.kernel), uint64_t{key.grid[0]} << 32 | key.block[0]);
  hash = mix(hash, uint64_t{key.grid[1]} << 32 | key.grid[2]);
  hash = mix(hash, uint64_t{key.block[1]} << 48 ^ uint64_t{key.block[2]} << 32 ^ key.dynamic_shared_bytes);
  for (uint32_t i = 0; i < key.scalar_count; ++i) hash = mix(hash, key.scalars[i]);
  return hash;
}

bool same(const LaunchKey& a, const LaunchKey& b) {
  if (a.kernel != b.kernel || a.kernel_id != b.kernel_id || a.scalar_count != b.scalar_count) return false;
  if (memcmp(a.grid, b.grid, sizeof a.grid) != 0 || memcmp(a.block, b.block, sizeof a.block) != 0) return false;
  if (a.dynamic_shared_bytes != b.dynamic_shared_bytes || a.cooperative != b.cooperative) return false;
  if (memcmp(a.cluster, b.cluster, sizeof a.cluster) != 0) return false;
  for (uint32_t i = 0; i < a.scalar_count; ++i)
    if (a.scalars[i] != b.scalars[i]) return false;
  return true;
}

void make_key(const Kernel& kernel, const device::Launch& launch, LaunchKey* key) {
  key->kernel = &kernel;
  key->kernel_id = kernel.trace_id.load(std::memory_order_relaxed);
  memcpy(key->grid, launch.grid, sizeof key->grid);
  memcpy(key->block, launch.block, sizeof key->block);
  memcpy(key->cluster, launch.cluster, sizeof key->cluster);
  key->dynamic_shared_bytes = launch.dynamic_shared_bytes;
  key->cooperative = launch.cooperative;
  key->scalar_count = 0;
  if (launch.arguments == nullptr || kernel.variants.load(std::memory_order_relaxed) > kMostVariants) return;
  for (const device::ScalarSlot& slot : device::shape_scalars(*kernel.behavior)) {
    if (key->scalar_count == kMostScalars) break;
    uint64_t value = 0;
    memcpy(&value, static_cast<const char*>(launch.arguments[slot.parameter]) + slot.offset_in_parameter,
           slot.size < sizeof value ? slot.size : sizeof value);
    key->scalars[key->scalar_count++] = value;
  }
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

LaunchCache::Entry intern(const device::DeviceProfile& profile, Kernel& kernel, const device::Launch& launch,
                          LaunchKey key) {
  std::lock_guard<std::mutex> lock(interned().mutex);
  if (kernel.trace_id.load(std::memory_order_relaxed) == 0)
    kernel.trace_id.store(Recorder::get().kernel(kernel.info), std::memory_order_relaxed);
  key.kernel_id = kernel.trace_id.load(std::memory_order_relaxed);
  const uint64_t hash = hash_of(key);
  const auto [first, last] = interned().by_hash.equal_range(hash);
  for (auto known = first; known != last; ++known)
    if (same(known->second.key, key)) return known->second;

  LaunchView::Scalar scalars[kMostScalars];
  const auto& slots = device::shape_scalars(*kernel.behavior);
  for (uint32_t i = 0; i < key.scalar_count; ++i)
    scalars[i] = {slots[i].absolute_offset, slots[i].size, key.scalars[i]};
  LaunchView view;
  view.mangled_name = kernel.info.name;
  memcpy(view.grid, launch.grid, sizeof view.grid);
  memcpy(view.block, launch.block, sizeof view.block);
  view.dynamic_shared_bytes = launch.dynamic_shared_bytes;
  view.static_shared_bytes = kernel.info.static_shared_bytes;
  view.registers = kernel.info.registers;
  view.scalars = scalars;
  view.scalar_count = key.scalar_count;
  const double estimate_ns = estimate(profile, work_of(view)).median_ns;

  LaunchCache::Entry made;
  made.key = key;
  made.configuration =
      Recorder::get().launch_configuration(key.kernel_id, launch, scalars, key.scalar_count, estimate_ns);
  made.duration_ns = whole_ns(estimate_ns);
  interned().by_hash.emplace(hash, made);
  kernel.variants.fetch_add(1, std::memory_order_relaxed);
  return made;
}

// The first launch of this kind by this thread.
CUresult first_launch(Call& call, Context& context, Kernel& kernel, device::Launch& launch, const LaunchKey& key,
                      LaunchCache::Entry* entry) {
  const device::DeviceProfile& profile = call.driver().profile(context.device);
  if (const CUresult status = check_launch(kernel, launch, profile); status != CUDA_SUCCESS) return status;
  *entry = intern(profile, kernel, launch, key);
  return CUDA_SUCCESS;
}

void take_required_cluster(const Kernel& kernel, device::Launch* launch) {
  for (int i = 0; i < 3; ++i)
    launch->cluster[i] = static_cast<uint32_t>(kernel.required_cluster[i].load(std::memory_order_relaxed));
}

void record_events(Call& call, const AttributeEvents& named, uint64_t end_ns) {
  for (uint32_t i = 0; i < named.count; ++i) {
    Event* event = call.driver().events().get(named.events[i]);
    if (event == nullptr) continue;
    event->time_ns.store(end_ns, std::memory_order_relaxed);
    event->recorded.store(true, std::memory_order_release);
  }
}

}  // namespace

CUresult launch_kernel(const void* kernel_handle, device::Launch& launch, CUstream stream_handle, bool per_thread,
                       const CUlaunchAttribute* attributes, uint32_t attribute_count) noexcept {
  const uint64_t entry_ns = trace::now_ns();
  // "The context to launch the kernel on will either be taken from the specified stream or the current context in case
  // of NULL stream."
  return with_stream(stream_handle, per_thread, true, [&](Call& call, Stream& stream) -> CUresult {
    Kernel* kernel = resolve_kernel(kernel_handle);
    if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    Context& context = *stream.context();
    launch.kernel = &kernel->info;
    if (launch.cluster[0] == 0 && kernel->required_cluster[0].load(std::memory_order_relaxed) != 0)
      take_required_cluster(*kernel, &launch);
    AttributeEvents events;
    if (attribute_count != 0)
      if (const CUresult status = read_attributes(attributes, attribute_count, &launch, &events);
          status != CUDA_SUCCESS)
        return status;
    if (launch.arguments == nullptr && !kernel->info.parameters.empty()) return CUDA_ERROR_INVALID_VALUE;
    if (static_cast<int64_t>(launch.dynamic_shared_bytes) >
        kernel->max_dynamic_shared_bytes.load(std::memory_order_relaxed))
      return CUDA_ERROR_INVALID_VALUE;

    LaunchKey key;
    make_key(*kernel, launch, &key);
    ThreadState& thread = call.thread();
    if (thread.launches == nullptr) thread.launches = std::make_unique<LaunchCache>();
    LaunchCache::Entry& entry = thread.launches->entries[hash_of(key) % LaunchCache::kEntries];
    if (entry.configuration == 0 || !same(entry.key, key))
      if (const CUresult status = first_launch(call, context, *kernel, launch, key, &entry); status != CUDA_SUCCESS)
        return status;
    if (const CUresult status = load_kernel(*kernel, call.driver(), context); status != CUDA_SUCCESS) return status;

    device::apply_effects(*kernel->behavior, launch, call.memory());
    const device::DeviceProfile& profile = call.driver().profile(context.device);
    const uint64_t end_ns = stream.enqueue(call.driver().to_virtual_ns(entry_ns) + whole_ns(profile.launch_latency_ns),
                                           entry.duration_ns, whole_ns(profile.queued_gap_ns));
    if (events.count != 0) record_events(call, events, end_ns);
    if (trace::Writer* writer = Recorder::get().writer(); writer != nullptr)
      writer->launch(entry.configuration, stream.id(), entry_ns);
    return CUDA_SUCCESS;
  });
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
