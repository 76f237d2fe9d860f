// Errors, retired pages, remapped rows, violations, events: an emulated device never fails.
#include <string.h>
#include <time.h>

#include <mutex>
#include <set>

#include "driver_shim/nvml/library.h"
#include "driver_shim/nvml/usage.h"

using namespace maya::nvml;

namespace {

template <typename Value>
nvmlReturn_t zero(nvmlDevice_t handle, Value* out) {
  return with_device(handle, out != nullptr, [&](Device&) { memset(out, 0, sizeof *out); });
}

}  // namespace

MAYA_NVML nvmlDeviceGetTotalEccErrors(nvmlDevice_t handle, nvmlMemoryErrorType_t, nvmlEccCounterType_t,
                                      unsigned long long* errors) {
  return zero(handle, errors);
}
MAYA_NVML nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t handle, nvmlMemoryErrorType_t, nvmlEccCounterType_t,
                                          nvmlMemoryLocation_t, unsigned long long* errors) {
  return zero(handle, errors);
}
MAYA_NVML nvmlDeviceGetDetailedEccErrors(nvmlDevice_t handle, nvmlMemoryErrorType_t, nvmlEccCounterType_t,
                                         nvmlEccErrorCounts_t* counts) {
  return zero(handle, counts);
}
MAYA_NVML nvmlDeviceGetRetiredPages(nvmlDevice_t handle, nvmlPageRetirementCause_t, unsigned int* count,
                                    unsigned long long*) {
  return zero(handle, count);
}
MAYA_NVML nvmlDeviceGetRetiredPages_v2(nvmlDevice_t handle, nvmlPageRetirementCause_t, unsigned int* count,
                                       unsigned long long*, unsigned long long*) {
  return zero(handle, count);
}
MAYA_NVML nvmlDeviceGetRetiredPagesPendingStatus(nvmlDevice_t handle, nvmlEnableState_t* pending) {
  return zero(handle, pending);
}
MAYA_NVML nvmlDeviceGetRemappedRows(nvmlDevice_t handle, unsigned int* correctable, unsigned int* uncorrectable,
                                    unsigned int* pending, unsigned int* failed) {
  return with_device(handle,
                     correctable != nullptr && uncorrectable != nullptr && pending != nullptr && failed != nullptr,
                     [&](Device&) { *correctable = *uncorrectable = *pending = *failed = 0; });
}
MAYA_NVML nvmlDeviceGetViolationStatus(nvmlDevice_t handle, nvmlPerfPolicyType_t, nvmlViolationTime_t* time) {
  return with_device(handle, time != nullptr, [&](Device&) { *time = {realtime_us(), 0}; });
}
MAYA_NVML nvmlDeviceGetPcieReplayCounter(nvmlDevice_t handle, unsigned int* value) { return zero(handle, value); }
MAYA_NVML nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t handle, unsigned int link, nvmlNvLinkErrorCounter_t counter,
                                          unsigned long long* value) {
  return with_device(handle, value != nullptr && link < NVML_NVLINK_MAX_LINKS && counter < NVML_NVLINK_ERROR_COUNT,
                     [&](Device&) { *value = 0; });
}

namespace {

// Event sets that are alive; what a program got is the address of one.
struct EventSets {
  std::mutex mutex;
  std::set<void*> alive;
};
EventSets& event_sets() {
  static EventSets* const sets = new EventSets;
  return *sets;
}

bool is_alive(nvmlEventSet_t set) {
  EventSets& sets = event_sets();
  std::lock_guard<std::mutex> lock(sets.mutex);
  return sets.alive.count(set) != 0;
}

nvmlReturn_t wait_for_event(nvmlEventSet_t set, bool outputs, unsigned int timeout_ms) {
  if (initialized_count() < 0) return NVML_ERROR_UNINITIALIZED;
  if (!outputs || !is_alive(set)) return NVML_ERROR_INVALID_ARGUMENT;
  const timespec timeout{static_cast<time_t>(timeout_ms / 1000), static_cast<long>(timeout_ms % 1000) * 1'000'000};
  nanosleep(&timeout, nullptr);
  return NVML_ERROR_TIMEOUT;
}

}  // namespace

MAYA_NVML nvmlEventSetCreate(nvmlEventSet_t* set) {
  if (initialized_count() < 0) return NVML_ERROR_UNINITIALIZED;
  if (set == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  EventSets& sets = event_sets();
  std::lock_guard<std::mutex> lock(sets.mutex);
  void* const made = ::operator new(1);
  sets.alive.insert(made);
  *set = static_cast<nvmlEventSet_t>(made);
  return NVML_SUCCESS;
}
MAYA_NVML nvmlEventSetFree(nvmlEventSet_t set) {
  if (initialized_count() < 0) return NVML_ERROR_UNINITIALIZED;
  EventSets& sets = event_sets();
  std::lock_guard<std::mutex> lock(sets.mutex);
  if (sets.alive.erase(set) == 0) return NVML_ERROR_INVALID_ARGUMENT;
  ::operator delete(set);
  return NVML_SUCCESS;
}
MAYA_NVML nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t* data, unsigned int timeout_ms) {
  return wait_for_event(set, data != nullptr, timeout_ms);
}
MAYA_NVML nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_t* data, unsigned int timeout_ms) {
  return wait_for_event(set, data != nullptr, timeout_ms);
}

// Events of the system: drivers that are bound and unbound, which does not happen here.
MAYA_NVML nvmlSystemEventSetCreate(nvmlSystemEventSetCreateRequest_t* request) {
  if (request != nullptr && request->version != nvmlSystemEventSetCreateRequest_v1)
    return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  nvmlEventSet_t made = nullptr;
  const nvmlReturn_t status = nvmlEventSetCreate(request == nullptr ? nullptr : &made);
  if (status == NVML_SUCCESS) request->set = reinterpret_cast<nvmlSystemEventSet_t>(made);
  return status;
}
MAYA_NVML nvmlSystemEventSetFree(nvmlSystemEventSetFreeRequest_t* request) {
  if (request != nullptr && request->version != nvmlSystemEventSetFreeRequest_v1)
    return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  return nvmlEventSetFree(request == nullptr ? nullptr : reinterpret_cast<nvmlEventSet_t>(request->set));
}
MAYA_NVML nvmlSystemRegisterEvents(nvmlSystemRegisterEventRequest_t* request) {
  if (initialized_count() < 0) return NVML_ERROR_UNINITIALIZED;
  if (request != nullptr && request->version != nvmlSystemRegisterEventRequest_v1)
    return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  constexpr unsigned long long kTypes = nvmlSystemEventTypeGpuDriverUnbind | nvmlSystemEventTypeGpuDriverBind;
  const bool valid = request != nullptr && (request->eventTypes & ~kTypes) == 0 &&
                     is_alive(reinterpret_cast<nvmlEventSet_t>(request->set));
  return valid ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}
MAYA_NVML nvmlSystemEventSetWait(nvmlSystemEventSetWaitRequest_t* request) {
  if (request != nullptr && request->version != nvmlSystemEventSetWaitRequest_v1)
    return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  if (request == nullptr) return wait_for_event(nullptr, false, 0);
  request->numEvent = 0;
  return wait_for_event(reinterpret_cast<nvmlEventSet_t>(request->set),
                        request->data != nullptr && request->dataSize != 0, request->timeoutms);
}

MAYA_NVML nvmlDeviceGetSupportedEventTypes(nvmlDevice_t handle, unsigned long long* types) {
  return with_device(handle, types != nullptr, [&](Device&) {
    *types = nvmlEventTypeSingleBitEccError | nvmlEventTypeDoubleBitEccError | nvmlEventTypeXidCriticalError;
  });
}
MAYA_NVML nvmlDeviceRegisterEvents(nvmlDevice_t handle, unsigned long long, nvmlEventSet_t set) {
  return with_device(handle, is_alive(set), [](Device&) {});
}
