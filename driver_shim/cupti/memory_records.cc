#include "driver_shim/cupti/memory_records.h"

#include <unistd.h>

#include <atomic>
#include <vector>

#include "driver_shim/common/driver_access.h"
#include "driver_shim/cupti/buffers.h"
#include "driver_shim/cupti/clock.h"
#include "driver_shim/cupti/identity.h"
#include "driver_shim/cupti/kernel_name.h"
#include "driver_shim/cupti/session.h"
#include "driver_shim/cupti/thread_state.h"
#include "trace_proto/maya_trace_fields.h"
#include "virtual_device/memory.h"

namespace maya::cupti {
namespace {

using RangeCall = trace::fields::RangeMarkCall;

uint32_t current_correlation() {
  const ThreadState& thread = thread_state();
  return thread.depth != 0 ? thread.correlation : CUPTI_CORRELATION_ID_UNKNOWN;
}

CUpti_ActivityMemoryKind memory_kind(uint32_t kind) {
  switch (static_cast<device::AllocationKind>(kind)) {
    case device::AllocationKind::kHost:
    case device::AllocationKind::kRegistered:
      return CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
    case device::AllocationKind::kManaged:
      return CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
    default:
      return CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  }
}

void add_marker(CUpti_ActivityFlag flags, uint32_t id, const char* name, const char* domain) {
  MarkerRecord record{};
  record.kind = CUPTI_ACTIVITY_KIND_MARKER;
  record.flags = flags;
  record.timestamp = timestamp();
  record.id = id;
  record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  record.objectId.pt.processId = static_cast<uint32_t>(getpid());
  record.objectId.pt.threadId = thread_id();
  record.name = name;
  record.domain = domain[0] != '\0' ? kept_name(domain) : nullptr;
  Buffers::get().add(record);
}

// Ranges that the thread has pushed: their marker ids.
std::vector<uint32_t>& open_ranges() {
  static thread_local std::vector<uint32_t> open;
  return open;
}

constinit std::atomic<uint32_t> next_marker{1};
// Marker ids of ranges that are started and ended by number, set apart from those of the others.
constexpr uint32_t kStartedRanges = 1u << 31;

}  // namespace

void add_resource(const DeviceResource& resource) {
  const Session& session = Session::get();
  if (resource.kind == ResourceKind::kContextCreated && session.enabled(CUPTI_ACTIVITY_KIND_CONTEXT)) {
    ContextRecord record{};
    record.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
    record.contextId = resource.context_id;
    record.deviceId = static_cast<uint32_t>(resource.device);
    record.computeApiKind = CUPTI_ACTIVITY_COMPUTE_API_CUDA;
    uint32_t null_stream = 0;
    if (stream_identity(resource.context, CU_STREAM_LEGACY, false, &null_stream) == CUPTI_SUCCESS)
      record.nullStreamId = static_cast<uint16_t>(null_stream);
#if CUPTI_API_VERSION >= 130000
    record.processId = static_cast<uint64_t>(getpid());
#endif
    Buffers::get().add(record);
  }
  if (resource.kind == ResourceKind::kStreamCreated && session.enabled(CUPTI_ACTIVITY_KIND_STREAM)) {
    StreamRecord record{};
    record.kind = CUPTI_ACTIVITY_KIND_STREAM;
    record.contextId = resource.context_id;
    record.streamId = public_stream_id(resource.stream);
    record.priority = static_cast<uint32_t>(resource.stream_priority);
    record.flag = (resource.stream_flags & CU_STREAM_NON_BLOCKING) != 0 ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING
                                                                        : CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT;
    record.correlationId = current_correlation();
    Buffers::get().add(record);
  }
}

void on_memory(const MemoryChange* change) {
  if (!Session::get().enabled(CUPTI_ACTIVITY_KIND_MEMORY2)) return;
  try {
    MemoryRecord record{};
    record.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
    record.memoryOperationType = change->released != 0 ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE
                                                       : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
    record.memoryKind = memory_kind(change->kind);
    record.correlationId = current_correlation();
    record.address = change->address;
    record.bytes = change->bytes;
    record.timestamp = timestamp();
    record.processId = static_cast<uint32_t>(getpid());
    record.deviceId = static_cast<uint32_t>(change->device);
    record.contextId = change->context != nullptr ? context_identity(change->context) : CUPTI_INVALID_CONTEXT_ID;
    record.streamId = CUPTI_INVALID_STREAM_ID;
    record.isAsync = static_cast<device::AllocationKind>(change->kind) == device::AllocationKind::kStreamOrdered;
    Buffers::get().add(record);
  } catch (...) {
  }
}

void on_range(int call, const char* text, const char* domain, uint64_t id) {
  if (!Session::get().enabled(CUPTI_ACTIVITY_KIND_MARKER)) return;
  try {
    switch (call) {
      case RangeCall::kPush:
        open_ranges().push_back(next_marker.fetch_add(1, std::memory_order_relaxed));
        add_marker(CUPTI_ACTIVITY_FLAG_MARKER_START, open_ranges().back(), kept_name(text), domain);
        break;
      case RangeCall::kPop:
        if (open_ranges().empty()) return;
        add_marker(CUPTI_ACTIVITY_FLAG_MARKER_END, open_ranges().back(), nullptr, domain);
        open_ranges().pop_back();
        break;
      case RangeCall::kStart:
        add_marker(CUPTI_ACTIVITY_FLAG_MARKER_START, kStartedRanges | static_cast<uint32_t>(id), kept_name(text),
                   domain);
        break;
      case RangeCall::kEnd:
        add_marker(CUPTI_ACTIVITY_FLAG_MARKER_END, kStartedRanges | static_cast<uint32_t>(id), nullptr, domain);
        break;
      default:
        add_marker(CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS, next_marker.fetch_add(1, std::memory_order_relaxed),
                   kept_name(text), domain);
        break;
    }
  } catch (...) {
  }
}

}  // namespace maya::cupti
