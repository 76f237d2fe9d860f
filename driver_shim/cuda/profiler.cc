#include "driver_shim/cuda/profiler.h"

#include <mutex>
#include <string>

#include "driver_shim/cuda/stream_call.h"
#include "trace_proto/writer.h"

namespace maya::shim {
extern EntrySlots entry_slots;
}

namespace maya::cuda {
namespace {

std::mutex entries_mutex;

// The list of libraries: this one at its end.
std::atomic<EntrySlots*>& entries_head() {
  static constinit std::atomic<EntrySlots*> head{&shim::entry_slots};
  return head;
}

CUcontext handle_of(const Context& context) { return reinterpret_cast<CUcontext>(const_cast<Context*>(&context)); }

DeviceWork work_at(const WorkPlace& place, WorkKind kind) {
  DeviceWork work{};
  work.kind = kind;
  work.device = place.context.device;
  work.context = handle_of(place.context);
  work.context_id = static_cast<uint32_t>(place.context.id);
  work.stream = place.stream;
  work.end_ns = place.driver.to_host_ns(place.end_ns);
  work.start_ns = work.end_ns - place.duration_ns;
  work.call_ns = place.call_ns;
  work.graph = place.graph;
  work.graph_node = place.graph_node;
  work.priority = place.priority;
  work.source_device = work.destination_device = -1;
  return work;
}

DeviceResource resource_of(ResourceKind kind, const Context& context) {
  DeviceResource resource{};
  resource.kind = kind;
  resource.device = context.device;
  resource.context = handle_of(context);
  resource.context_id = static_cast<uint32_t>(context.id);
  return resource;
}

DeviceResource resource_of(ResourceKind kind, const Stream& stream) {
  DeviceResource resource = resource_of(kind, *stream.context());
  resource.stream = stream.id();
  resource.stream_handle = reinterpret_cast<CUstream>(const_cast<Stream*>(&stream));
  resource.stream_flags = stream.flags();
  resource.stream_priority = stream.priority();
  return resource;
}

}  // namespace

void Profiler::register_entries(EntrySlots* slots) noexcept {
  {
    std::lock_guard<std::mutex> lock(entries_mutex);
    for (const EntrySlots* known = entries(); known != nullptr; known = known->next)
      if (known == slots) return;
    slots->next = entries_head().load(std::memory_order_relaxed);
    entries_head().store(slots, std::memory_order_release);
  }
  if (const ProfilerHooks* const hooks = hooks_.load(std::memory_order_acquire); hooks != nullptr)
    hooks->library_loaded(slots);
}

const EntrySlots* Profiler::entries() noexcept { return entries_head().load(std::memory_order_acquire); }

void Profiler::each_resource(void (*visit)(const DeviceResource* resource)) noexcept {
  Driver* const driver = Driver::get();
  if (driver == nullptr || in_forked_child()) return;
  driver->contexts().for_each([&](const Context* context) {
    if (!context->alive.load(std::memory_order_acquire)) return;
    const DeviceResource resource = resource_of(ResourceKind::kContextCreated, *context);
    visit(&resource);
  });
  driver->streams().for_each([&](const Stream* stream) {
    const DeviceResource resource = resource_of(ResourceKind::kStreamCreated, *stream);
    visit(&resource);
  });
}

CUresult Profiler::stream_id(CUstream handle, int per_thread, uint32_t* id, CUcontext* context) noexcept {
  return with_stream(
      handle, per_thread != 0, true,
      [&](Call&, const Stream& stream) {
        *id = stream.id();
        *context = handle_of(*stream.context());
        return CUDA_SUCCESS;
      },
      WhileCaptured::kAllowed);
}

void Profiler::tell_launch(const WorkPlace& place, const Kernel& kernel, const device::Launch& launch) noexcept {
  const ProfilerHooks* const hooks = hooks_.load(std::memory_order_acquire);
  if (hooks == nullptr) return;
  DeviceWork work = work_at(place, WorkKind::kKernel);
  work.name = kernel.info.name.c_str();
  for (int i = 0; i < 3; ++i) {
    work.grid[i] = launch.grid[i];
    work.block[i] = launch.block[i];
    work.cluster[i] = launch.cluster[i];
  }
  work.dynamic_shared_bytes = launch.dynamic_shared_bytes;
  work.static_shared_bytes = kernel.info.static_shared_bytes;
  work.registers = kernel.info.registers;
  work.local_bytes = kernel.info.local_bytes;
  work.cooperative = launch.cooperative ? 1 : 0;
  hooks->work(&work);
}

void Profiler::tell_operation(const WorkPlace& place, const OperationRecord& operation) noexcept {
  const ProfilerHooks* const hooks = hooks_.load(std::memory_order_acquire);
  if (hooks == nullptr) return;
  DeviceWork work = work_at(place, WorkKind::kOperation);
  work.operation = &operation;
  hooks->work(&work);
}

void Profiler::tell_copy(const WorkPlace& place, const CopyWork& copy, bool asynchronous) noexcept {
  const ProfilerHooks* const hooks = hooks_.load(std::memory_order_acquire);
  if (hooks == nullptr) return;
  DeviceWork work = work_at(place, WorkKind::kCopy);
  work.copy_kind = copy.kind;
  work.bytes = copy.bytes;
  work.pageable = copy.pageable ? 1 : 0;
  work.asynchronous = asynchronous ? 1 : 0;
  work.source_device = copy.source_device;
  work.destination_device = copy.destination_device;
  hooks->work(&work);
}

void Profiler::tell_fill(const WorkPlace& place, uint64_t bytes, uint32_t value, bool asynchronous) noexcept {
  const ProfilerHooks* const hooks = hooks_.load(std::memory_order_acquire);
  if (hooks == nullptr) return;
  DeviceWork work = work_at(place, WorkKind::kFill);
  work.bytes = bytes;
  work.value = value;
  work.asynchronous = asynchronous ? 1 : 0;
  hooks->work(&work);
}

void Profiler::tell_graph(const WorkPlace& place) noexcept {
  const ProfilerHooks* const hooks = hooks_.load(std::memory_order_acquire);
  if (hooks == nullptr) return;
  const DeviceWork work = work_at(place, WorkKind::kGraph);
  hooks->work(&work);
}

void Profiler::tell_wait(SynchronizationKind kind, const Context& context, const Stream* stream, uint32_t event,
                         uint64_t waited_ns) noexcept {
  const ProfilerHooks* const hooks = hooks_.load(std::memory_order_acquire);
  if (hooks == nullptr) return;
  DeviceSynchronization wait{};
  wait.kind = kind;
  wait.device = context.device;
  wait.context = handle_of(context);
  wait.context_id = static_cast<uint32_t>(context.id);
  wait.stream = stream != nullptr ? stream->id() : UINT32_MAX;
  wait.stream_handle = reinterpret_cast<CUstream>(const_cast<Stream*>(stream));
  wait.event = event;
  wait.end_ns = trace::now_ns();
  wait.start_ns = wait.end_ns - waited_ns;
  hooks->synchronization(&wait);
}

void Profiler::tell_event(const Stream& stream, uint32_t event, Driver& driver, uint64_t event_ns) noexcept {
  const ProfilerHooks* const hooks = hooks_.load(std::memory_order_acquire);
  if (hooks == nullptr) return;
  DeviceSynchronization recorded{};
  recorded.kind = SynchronizationKind::kEventRecord;
  recorded.device = stream.context()->device;
  recorded.context = handle_of(*stream.context());
  recorded.context_id = static_cast<uint32_t>(stream.context()->id);
  recorded.stream = stream.id();
  recorded.event = event;
  recorded.start_ns = recorded.end_ns = trace::now_ns();
  recorded.device_ns = driver.to_host_ns(event_ns);
  hooks->synchronization(&recorded);
}

void Profiler::tell_context(ResourceKind kind, const Context& context) noexcept {
  const ProfilerHooks* const hooks = hooks_.load(std::memory_order_acquire);
  if (hooks == nullptr) return;
  const DeviceResource resource = resource_of(kind, context);
  hooks->resource(&resource);
}

void Profiler::tell_stream(ResourceKind kind, const Stream& stream) noexcept {
  const ProfilerHooks* const hooks = hooks_.load(std::memory_order_acquire);
  if (hooks == nullptr) return;
  const DeviceResource resource = resource_of(kind, stream);
  hooks->resource(&resource);
}

void Profiler::tell_initialized() noexcept {
  const ProfilerHooks* const hooks = hooks_.load(std::memory_order_acquire);
  if (hooks == nullptr) return;
  DeviceResource resource{};
  resource.kind = ResourceKind::kInitialized;
  hooks->resource(&resource);
}

void Profiler::tell_memory(const device::Allocation& allocation, bool released) noexcept {
  const ProfilerHooks* const hooks = hooks_.load(std::memory_order_acquire);
  if (hooks == nullptr || allocation.base == 0) return;
  const MemoryChange change{released ? 1u : 0u, static_cast<uint32_t>(allocation.kind),
                            allocation.device,  allocation.base,
                            allocation.bytes,   static_cast<CUcontext>(allocation.context)};
  hooks->memory(&change);
}

void Profiler::tell_range(int call, std::string_view text, std::string_view domain, uint64_t id) noexcept {
  const ProfilerHooks* const hooks = hooks_.load(std::memory_order_acquire);
  if (hooks == nullptr) return;
  try {
    hooks->range(call, std::string(text).c_str(), std::string(domain).c_str(), id);
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace maya::cuda
