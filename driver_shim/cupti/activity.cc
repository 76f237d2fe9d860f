// The activity API: kinds, buffers, records, external correlation.
#include <cuda.h>
#include "driver_shim/cupti/cupti_headers.h"

#include "driver_shim/common/api.h"
#include "driver_shim/common/driver_access.h"
#include "driver_shim/cupti/buffers.h"
#include "driver_shim/cupti/clock.h"
#include "driver_shim/cupti/memory_records.h"
#include "driver_shim/cupti/session.h"
#include "driver_shim/cupti/thread_state.h"

using namespace maya::cupti;

namespace {

// Kinds that can be enabled but of which no record is ever made here, because what they tell of does not happen: there
// is no instrumentation overhead, no compiler in the driver, no name given to a thread.
constexpr CUpti_ActivityKind kSilentKinds[] = {CUPTI_ACTIVITY_KIND_NAME,
                                               CUPTI_ACTIVITY_KIND_MARKER_DATA,
                                               CUPTI_ACTIVITY_KIND_OVERHEAD,
                                               CUPTI_ACTIVITY_KIND_MEMORY,
                                               CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API,
                                               CUPTI_ACTIVITY_KIND_MEMORY_POOL,
                                               CUPTI_ACTIVITY_KIND_JIT,
                                               CUPTI_ACTIVITY_KIND_PREEMPTION,
                                               CUPTI_ACTIVITY_KIND_CDP_KERNEL,
                                               CUPTI_ACTIVITY_KIND_ENVIRONMENT,
                                               CUPTI_ACTIVITY_KIND_DEVICE,
                                               CUPTI_ACTIVITY_KIND_OPENACC_DATA,
                                               CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH,
                                               CUPTI_ACTIVITY_KIND_OPENACC_OTHER,
                                               CUPTI_ACTIVITY_KIND_OPENMP,
                                               CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER};

bool is_kind(CUpti_ActivityKind kind) {
  if (record_bytes(kind) != 0) return true;
  for (const CUpti_ActivityKind silent : kSilentKinds)
    if (kind == silent) return true;
  return false;
}

CUptiResult check_kind(CUpti_ActivityKind kind, const char* call) {
  if (is_kind(kind)) return CUPTI_SUCCESS;
  if (kind > CUPTI_ACTIVITY_KIND_INVALID && static_cast<uint32_t>(kind) < CUPTI_ACTIVITY_KIND_COUNT)
    maya::shim::report_unsupported("libcupti", (std::string(call) + "(kind " + std::to_string(kind) + ")").c_str(),
                                   "CUPTI_ERROR_INVALID_KIND");
  return CUPTI_ERROR_INVALID_KIND;
}

CUptiResult set_kind(CUpti_ActivityKind kind, bool on) {
  if (const CUptiResult status = check_kind(kind, on ? "cuptiActivityEnable" : "cuptiActivityDisable");
      status != CUPTI_SUCCESS)
    return status;
  Session::get().enable(kind, on);
  return CUPTI_SUCCESS;
}

CUptiResult enable_and_dump(CUpti_ActivityKind kind) {
  const CUptiResult status = set_kind(kind, true);
  if (status != CUPTI_SUCCESS || (kind != CUPTI_ACTIVITY_KIND_CONTEXT && kind != CUPTI_ACTIVITY_KIND_STREAM))
    return status;
  const maya::MayaTable* const driver = maya::shim::driver();
  if (driver == nullptr || !Buffers::get().has_callbacks()) return status;
  static constinit thread_local CUpti_ActivityKind wanted = CUPTI_ACTIVITY_KIND_INVALID;
  wanted = kind;
  driver->each_resource([](const maya::DeviceResource* resource) {
    const bool is_context = resource->kind == maya::ResourceKind::kContextCreated;
    if (is_context == (wanted == CUPTI_ACTIVITY_KIND_CONTEXT)) add_resource(*resource);
  });
  return status;
}

// User-defined records (a selection of fields) are a CUPTI 13.2 beta that is not there.
CUptiResult check_configuration(CUpti_SubscriberHandle subscriber, const void* configuration, const char* call) {
  if (!Session::get().is_subscriber(subscriber)) return CUPTI_ERROR_INVALID_PARAMETER;
  if (configuration == nullptr) return CUPTI_SUCCESS;
  maya::shim::report_unsupported("libcupti", call, "CUPTI_ERROR_NOT_SUPPORTED");
  return CUPTI_ERROR_NOT_SUPPORTED;
}

CUptiResult set_api_record(Domain domain, CUpti_CallbackId cbid, uint8_t enable) {
  if (cbid == 0 || cbid >= Session::callback_ids(domain)) return CUPTI_ERROR_INVALID_PARAMETER;
  Session::get().set_record(domain, cbid, enable != 0);
  return CUPTI_SUCCESS;
}

bool is_external_kind(CUpti_ExternalCorrelationKind kind) {
  return kind > CUPTI_EXTERNAL_CORRELATION_KIND_INVALID && static_cast<uint32_t>(kind) < kCorrelationKindCount;
}

}  // namespace

MAYA_API CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  return guarded([&] { return set_kind(kind, true); });
}
MAYA_API CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  return guarded([&] { return set_kind(kind, false); });
}
MAYA_API CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind kind) {
  return guarded([&] { return enable_and_dump(kind); });
}

// Records of one context alone are not told apart from those of the others.
MAYA_API CUptiResult cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind) {
  return guarded([&] { return context == nullptr ? CUPTI_ERROR_INVALID_CONTEXT : set_kind(kind, true); });
}
MAYA_API CUptiResult cuptiActivityDisableContext(CUcontext context, CUpti_ActivityKind kind) {
  return guarded([&] { return context == nullptr ? CUPTI_ERROR_INVALID_CONTEXT : set_kind(kind, false); });
}

#if CUPTI_API_VERSION >= 130200
MAYA_API CUptiResult cuptiActivityEnable_v2(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind,
                                            CUpti_ActivityConfig* configuration) {
  return guarded([&] {
    const CUptiResult status = check_configuration(subscriber, configuration, __func__);
    return status != CUPTI_SUCCESS ? status : set_kind(kind, true);
  });
}
MAYA_API CUptiResult cuptiActivityDisable_v2(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind,
                                             CUpti_ActivityConfig* configuration) {
  return guarded([&] {
    const CUptiResult status = check_configuration(subscriber, configuration, __func__);
    return status != CUPTI_SUCCESS ? status : set_kind(kind, false);
  });
}
MAYA_API CUptiResult cuptiActivityEnableAndDump_v2(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind kind,
                                                   CUpti_ActivityConfig* configuration) {
  return guarded([&] {
    const CUptiResult status = check_configuration(subscriber, configuration, __func__);
    return status != CUPTI_SUCCESS ? status : enable_and_dump(kind);
  });
}
MAYA_API CUptiResult cuptiActivityGetEnabledKinds(CUpti_SubscriberHandle subscriber, CUpti_ActivityKind* buffer,
                                                  uint32_t* room, uint32_t* count) {
  return guarded([&] {
    if (count == nullptr || (buffer != nullptr && room == nullptr) ||
        (subscriber != nullptr && !Session::get().is_subscriber(subscriber)))
      return CUPTI_ERROR_INVALID_PARAMETER;
    uint32_t found = 0;
    for (uint32_t kind = 1; kind < kKindCount; ++kind) {
      if (!Session::get().enabled(static_cast<CUpti_ActivityKind>(kind))) continue;
      if (buffer != nullptr && found < *room) buffer[found] = static_cast<CUpti_ActivityKind>(kind);
      ++found;
    }
    *count = found;
    return CUPTI_SUCCESS;
  });
}
MAYA_API CUptiResult cuptiActivityGetStructSize(CUpti_ActivityKind kind, uint32_t version, size_t* bytes) {
  return guarded([&] {
    if (bytes == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    if (version != 0 && version < 130000) return CUPTI_ERROR_NOT_SUPPORTED;
    if (record_bytes(kind) == 0) return CUPTI_ERROR_INVALID_KIND;
    *bytes = record_bytes(kind);
    return CUPTI_SUCCESS;
  });
}
#endif

MAYA_API CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable) {
  return guarded([&] { return set_api_record(Domain::kRuntime, cbid, enable); });
}
MAYA_API CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable) {
  return guarded([&] { return set_api_record(Domain::kDriver, cbid, enable); });
}

MAYA_API CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                    CUpti_BuffersCallbackCompleteFunc complete) {
  return guarded([&] {
    if (request == nullptr || complete == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    Buffers::get().register_callbacks(request, complete);
    return CUPTI_SUCCESS;
  });
}

MAYA_API CUptiResult cuptiActivityFlushAll(uint32_t flag) {
  return guarded([&] {
    if (!Buffers::get().has_callbacks()) return CUPTI_ERROR_INVALID_OPERATION;
    Buffers::get().flush((flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0);
    return CUPTI_SUCCESS;
  });
}
// "CONTEXT and STREAMID will be ignored."
MAYA_API CUptiResult cuptiActivityFlush(CUcontext, uint32_t, uint32_t flag) { return cuptiActivityFlushAll(flag); }
MAYA_API CUptiResult cuptiActivityFlushPeriod(uint32_t milliseconds) {
  return guarded([&] {
    Buffers::get().set_flush_period(milliseconds);
    return CUPTI_SUCCESS;
  });
}

MAYA_API CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_bytes, CUpti_Activity** record) {
  return guarded([&] {
    if (buffer == nullptr || record == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    uint8_t* next = buffer;
    if (*record != nullptr) {
      const size_t bytes = record_bytes((*record)->kind);
      if (bytes == 0) return CUPTI_ERROR_INVALID_KIND;
      next = reinterpret_cast<uint8_t*>(*record) + bytes;
    }
    const uint8_t* const end = buffer + valid_bytes;
    if (next >= end) return CUPTI_ERROR_MAX_LIMIT_REACHED;
    if (next < buffer || static_cast<size_t>(end - next) < sizeof(CUpti_Activity)) return CUPTI_ERROR_INVALID_KIND;
    auto* const found = reinterpret_cast<CUpti_Activity*>(next);
    const size_t bytes = record_bytes(found->kind);
    if (bytes == 0 || bytes > static_cast<size_t>(end - next)) return CUPTI_ERROR_INVALID_KIND;
    *record = found;
    return CUPTI_SUCCESS;
  });
}

MAYA_API CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  return guarded([&] {
    if (dropped == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    *dropped = Buffers::get().take_dropped();
    return CUPTI_SUCCESS;
  });
}

MAYA_API CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id) {
  return guarded([&] {
    if (!is_external_kind(kind)) return CUPTI_ERROR_INVALID_PARAMETER;
    thread_state().external[kind].push_back(id);
    return CUPTI_SUCCESS;
  });
}
MAYA_API CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t* last) {
  return guarded([&] {
    if (!is_external_kind(kind)) return CUPTI_ERROR_INVALID_PARAMETER;
    std::vector<uint64_t>& ids = thread_state().external[kind];
    if (ids.empty()) return CUPTI_ERROR_QUEUE_EMPTY;
    if (last != nullptr) *last = ids.back();
    ids.pop_back();
    return CUPTI_SUCCESS;
  });
}

MAYA_API CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc function) {
  return guarded([&] {
    if (function == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    set_timestamp_callback(function);
    return CUPTI_SUCCESS;
  });
}
MAYA_API CUptiResult cuptiGetTimestamp(uint64_t* now) {
  return guarded([&] {
    if (now == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    *now = timestamp();
    return CUPTI_SUCCESS;
  });
}

MAYA_API CUptiResult cuptiFinalize() {
  return guarded([] {
    Session::get().end();
    Buffers::get().flush(true);
    return CUPTI_SUCCESS;
  });
}
