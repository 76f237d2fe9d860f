// From what the driver tells to activity records and to callbacks of the resource and synchronisation domains.
//
// Work that no reported API call put on its stream comes from one of our libraries (a cuBLAS, cuDNN or NCCL call),
// which in a real one is a launch through the runtime: it gets an API call of its own, with callbacks and record, so
// that it is correlated like every other launch.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <generated_cuda_meta.h>
#include <generated_cuda_runtime_api_meta.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <unordered_map>

#include "driver_shim/cupti/api_calls.h"
#include "driver_shim/cupti/buffers.h"
#include "driver_shim/cupti/clock.h"
#include "driver_shim/cupti/identity.h"
#include "driver_shim/cupti/kernel_name.h"
#include "driver_shim/cupti/memory_records.h"
#include "driver_shim/cupti/session.h"
#include "trace_proto/maya_trace_fields.h"

namespace maya::cupti {
namespace {

using trace::fields::CopyKind;

constinit std::atomic<int64_t> next_grid{1};

void add_kernel(const DeviceWork& work, uint32_t correlation, const char* name) {
  const Session& session = Session::get();
  KernelRecord record{};
  if (session.enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL))
    record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  else if (session.enabled(CUPTI_ACTIVITY_KIND_KERNEL))
    record.kind = CUPTI_ACTIVITY_KIND_KERNEL;
  else
    return;
  record.name = name;
  record.registersPerThread = static_cast<uint16_t>(work.registers);
  record.partitionedGlobalCacheRequested = CUPTI_ACTIVITY_PARTITIONED_GLOBAL_CACHE_CONFIG_NOT_SUPPORTED;
  record.partitionedGlobalCacheExecuted = CUPTI_ACTIVITY_PARTITIONED_GLOBAL_CACHE_CONFIG_NOT_SUPPORTED;
  record.start = work.start_ns;
  record.end = record.completed = work.end_ns;
  record.deviceId = static_cast<uint32_t>(work.device);
  record.contextId = work.context_id;
  record.streamId = public_stream_id(work.stream);
  // The grid of a library operation is not known: one block.
  const bool known = work.kind == WorkKind::kKernel;
  record.gridX = known ? static_cast<int32_t>(work.grid[0]) : 1;
  record.gridY = known ? static_cast<int32_t>(work.grid[1]) : 1;
  record.gridZ = known ? static_cast<int32_t>(work.grid[2]) : 1;
  record.blockX = known ? static_cast<int32_t>(work.block[0]) : 1;
  record.blockY = known ? static_cast<int32_t>(work.block[1]) : 1;
  record.blockZ = known ? static_cast<int32_t>(work.block[2]) : 1;
  record.staticSharedMemory = static_cast<int32_t>(work.static_shared_bytes);
  record.dynamicSharedMemory = static_cast<int32_t>(work.dynamic_shared_bytes);
  record.sharedMemoryExecuted = work.static_shared_bytes + work.dynamic_shared_bytes;
  record.localMemoryPerThread = work.local_bytes;
  record.correlationId = correlation;
  record.gridId = next_grid.fetch_add(1, std::memory_order_relaxed);
  record.queued = record.submitted = latency_timestamps() ? work.call_ns : CUPTI_TIMESTAMP_UNKNOWN;
  record.launchType =
      work.cooperative != 0 ? CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE : CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR;
  record.graphNodeId = work.graph_node;
  record.graphId = work.graph;
  record.channelID = CUPTI_INVALID_CHANNEL_ID;
  record.clusterX = work.cluster[0];
  record.clusterY = work.cluster[1];
  record.clusterZ = work.cluster[2];
#if CUPTI_API_VERSION >= 130000
  record.priority = work.priority;
#endif
  Buffers::get().add(record, work.end_ns);
}

void add_copy(const DeviceWork& work, uint32_t correlation) {
  const Session& session = Session::get();
  const uint8_t host = work.pageable != 0 ? CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE : CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  const uint8_t flags = work.asynchronous != 0 ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
  const auto fill_common = [&](auto* record) {
    record->bytes = work.bytes;
    record->flags = flags;
    record->srcKind = record->dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    record->start = work.start_ns;
    record->end = work.end_ns;
    record->deviceId = static_cast<uint32_t>(work.device);
    record->contextId = work.context_id;
    record->streamId = public_stream_id(work.stream);
    record->correlationId = correlation;
    record->graphNodeId = work.graph_node;
    record->graphId = work.graph;
    record->channelID = CUPTI_INVALID_CHANNEL_ID;
  };
  if (work.copy_kind == CopyKind::kPeer) {
    if (!session.enabled(CUPTI_ACTIVITY_KIND_MEMCPY2)) return;
    PeerCopyRecord record{};
    record.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
    fill_common(&record);
    record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
    record.srcDeviceId = static_cast<uint32_t>(work.source_device);
    record.dstDeviceId = static_cast<uint32_t>(work.destination_device);
    record.srcContextId = record.dstContextId = work.context_id;
    Buffers::get().add(record, work.end_ns);
    return;
  }
  if (!session.enabled(CUPTI_ACTIVITY_KIND_MEMCPY)) return;
  CopyRecord record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  fill_common(&record);
  switch (work.copy_kind) {
    case CopyKind::kHostToDevice:
      record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
      record.srcKind = host;
      break;
    case CopyKind::kDeviceToHost:
      record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
      record.dstKind = host;
      break;
    case CopyKind::kHostToHost:
      record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOH;
      record.srcKind = record.dstKind = host;
      break;
    default:
      record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
      break;
  }
#if CUPTI_API_VERSION >= 130000
  record.copyCount = 1;
#endif
  Buffers::get().add(record, work.end_ns);
}

void add_fill(const DeviceWork& work, uint32_t correlation) {
  if (!Session::get().enabled(CUPTI_ACTIVITY_KIND_MEMSET)) return;
  FillRecord record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  record.value = work.value;
  record.bytes = work.bytes;
  record.start = work.start_ns;
  record.end = work.end_ns;
  record.deviceId = static_cast<uint32_t>(work.device);
  record.contextId = work.context_id;
  record.streamId = public_stream_id(work.stream);
  record.correlationId = correlation;
  record.flags = work.asynchronous != 0 ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0;
  record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  record.graphNodeId = work.graph_node;
  record.graphId = work.graph;
  record.channelID = CUPTI_INVALID_CHANNEL_ID;
  Buffers::get().add(record, work.end_ns);
}

void add_graph(const DeviceWork& work, uint32_t correlation) {
  GraphRecord record{};
  record.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
  record.correlationId = correlation;
  record.start = work.start_ns;
  record.end = work.end_ns;
  record.deviceId = record.endDeviceId = static_cast<uint32_t>(work.device);
  record.graphId = work.graph;
  record.contextId = record.endContextId = work.context_id;
  record.streamId = public_stream_id(work.stream);
  Buffers::get().add(record, work.end_ns);
}

void add_work(const DeviceWork& work, uint32_t correlation, const char* name) {
  // "graph level tracing": one record for the whole graph in place of those of its nodes.
  const bool whole_graphs = Session::get().enabled(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  if (work.kind == WorkKind::kGraph) {
    if (whole_graphs) add_graph(work, correlation);
    return;
  }
  if (work.graph != 0 && whole_graphs) return;
  switch (work.kind) {
    case WorkKind::kKernel:
    case WorkKind::kOperation:
      add_kernel(work, correlation, name);
      break;
    case WorkKind::kCopy:
      add_copy(work, correlation);
      break;
    default:
      add_fill(work, correlation);
      break;
  }
}

// The call of the runtime that a real library would have made.
struct StandIn {
  uint32_t cbid;
  const char* name;
};
StandIn stand_in(const DeviceWork& work) {
  switch (work.kind) {
    case WorkKind::kCopy:
      return {CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020, "cudaMemcpyAsync"};
    case WorkKind::kFill:
      return {CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020, "cudaMemsetAsync"};
    case WorkKind::kGraph:
      return {CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000, "cudaGraphLaunch"};
    default:
      return {CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, "cudaLaunchKernel"};
  }
}

void tell_launch(ThreadState& thread, const DeviceWork& work, const char* name) {
  if (name == nullptr || work.graph != 0) return;
  cuLaunchKernel_params parameters{};
  parameters.gridDimX = work.grid[0];
  parameters.gridDimY = work.grid[1];
  parameters.gridDimZ = work.grid[2];
  parameters.blockDimX = work.block[0];
  parameters.blockDimY = work.block[1];
  parameters.blockDimZ = work.block[2];
  parameters.sharedMemBytes = work.dynamic_shared_bytes;
  ApiCall::tell_driver_launch(thread, &parameters, name);
}

void on_work(const DeviceWork* work) {
  try {
    ThreadState& thread = thread_state();
    const char* const name = work->kind == WorkKind::kOperation ? operation_name(*work->operation)
                             : work->kind == WorkKind::kKernel  ? kept_name(work->name)
                                                                : nullptr;
    if (thread.depth != 0) {
      thread.worked = true;
      tell_launch(thread, *work, name);
      add_work(*work, thread.correlation, name);
      return;
    }
    const StandIn call_of = stand_in(*work);
    cudaLaunchKernel_v7000_params parameters{};
    parameters.gridDim = dim3(work->grid[0], work->grid[1], work->grid[2]);
    parameters.blockDim = dim3(work->block[0], work->block[1], work->block[2]);
    ApiCall call(thread, Domain::kRuntime, call_of.cbid, call_of.name, name != nullptr ? &parameters : nullptr, name);
    call.enter();
    call.set_start(Conversion()(work->call_ns));
    thread.worked = true;
    tell_launch(thread, *work, name);
    add_work(*work, thread.correlation, name);
    cudaError_t result = cudaSuccess;
    call.exit(&result);
  } catch (...) {
  }
}

// Of each event, the number of its latest record: cudaEventSyncId.
class EventRecords {
 public:
  uint64_t record(uint32_t event) {
    std::lock_guard<std::mutex> lock(mutex_);
    return latest_[event] = ++count_;
  }
  uint64_t latest(uint32_t event) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto known = latest_.find(event);
    return known == latest_.end() ? CUPTI_SYNCHRONIZATION_INVALID_VALUE : known->second;
  }

 private:
  std::mutex mutex_;
  uint64_t count_ = 0;
  std::unordered_map<uint32_t, uint64_t> latest_;
};

EventRecords& event_records() {
  static EventRecords& made = *new EventRecords;
  return made;
}

void add_event(const DeviceSynchronization& recorded, uint32_t correlation) {
  const uint64_t id = event_records().record(recorded.event);
  if (!Session::get().enabled(CUPTI_ACTIVITY_KIND_CUDA_EVENT)) return;
  EventRecord record{};
  record.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
  record.correlationId = correlation;
  record.contextId = recorded.context_id;
  record.streamId = public_stream_id(recorded.stream);
  record.eventId = recorded.event;
  record.deviceId = static_cast<uint32_t>(recorded.device);
  record.deviceTimestamp = event_timestamps() ? recorded.device_ns : 0;
  record.cudaEventSyncId = id;
  Buffers::get().add(record, event_timestamps() ? recorded.device_ns : 0);
}

void add_wait(const DeviceSynchronization& wait, uint32_t correlation) {
  if (!Session::get().enabled(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)) return;
  SynchronizationRecord record{};
  record.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  switch (wait.kind) {
    case SynchronizationKind::kEventSynchronize:
      record.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE;
      break;
    case SynchronizationKind::kStreamWaitEvent:
      record.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
      break;
    case SynchronizationKind::kStreamSynchronize:
      record.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
      break;
    default:
      record.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
      break;
  }
  record.start = wait.start_ns;
  record.end = wait.end_ns;
  record.correlationId = correlation;
  record.contextId = wait.context_id;
  record.streamId = wait.stream == UINT32_MAX ? CUPTI_SYNCHRONIZATION_INVALID_VALUE : public_stream_id(wait.stream);
  record.cudaEventId = wait.event == 0 ? CUPTI_SYNCHRONIZATION_INVALID_VALUE : wait.event;
  record.cudaEventSyncId = wait.event == 0 ? CUPTI_SYNCHRONIZATION_INVALID_VALUE : event_records().latest(wait.event);
  Buffers::get().add(record);
}

void on_synchronization(const DeviceSynchronization* told) {
  try {
    ThreadState& thread = thread_state();
    const uint32_t correlation = thread.depth != 0 ? thread.correlation : CUPTI_CORRELATION_ID_UNKNOWN;
    if (told->kind == SynchronizationKind::kEventRecord) {
      add_event(*told, correlation);
      return;
    }
    add_wait(*told, correlation);
    const bool of_stream = told->kind == SynchronizationKind::kStreamSynchronize;
    if (!of_stream && told->kind != SynchronizationKind::kContextSynchronize) return;
    const CUpti_SynchronizeData data{told->context, of_stream ? told->stream_handle : nullptr};
    NotReported guard(thread);
    Session::get().call_back(
        Domain::kSynchronize,
        of_stream ? CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED : CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED, &data);
  } catch (...) {
  }
}

uint32_t resource_cbid(ResourceKind kind) {
  switch (kind) {
    case ResourceKind::kInitialized:
      return CUPTI_CBID_RESOURCE_CU_INIT_FINISHED;
    case ResourceKind::kContextCreated:
      return CUPTI_CBID_RESOURCE_CONTEXT_CREATED;
    case ResourceKind::kContextDestroyStarting:
      return CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING;
    case ResourceKind::kStreamCreated:
      return CUPTI_CBID_RESOURCE_STREAM_CREATED;
    case ResourceKind::kStreamDestroyStarting:
      return CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING;
  }
  return CUPTI_CBID_RESOURCE_INVALID;
}

void on_resource(const DeviceResource* resource) {
  try {
    add_resource(*resource);
    CUpti_ResourceData data{};
    data.context = resource->context;
    data.resourceHandle.stream = resource->stream_handle;
    NotReported guard(thread_state());
    Session::get().call_back(Domain::kResource, resource_cbid(resource->kind), &data);
  } catch (...) {
  }
}

void on_library_loaded(const EntrySlots* library) { wrap_entries(*library, Session::get().wraps()); }

constexpr ProfilerHooks make_hooks(uint32_t real_waits) {
  return {sizeof(ProfilerHooks), real_waits, on_work,  on_synchronization,
          on_resource,           on_memory,  on_range, on_library_loaded};
}
constinit const ProfilerHooks kWithWork = make_hooks(1), kWithoutWork = make_hooks(0);

}  // namespace

const ProfilerHooks& hooks(bool device_work) { return device_work ? kWithWork : kWithoutWork; }

}  // namespace maya::cupti
