// Attributes of the activity API and switches of single fields.
#include <cuda.h>
#include "driver_shim/cupti/cupti_headers.h"

#include <atomic>
#include <cstring>
#include <mutex>

#include "driver_shim/common/api.h"
#include "driver_shim/common/driver_access.h"
#include "driver_shim/cupti/identity.h"
#include "driver_shim/cupti/session.h"
#include "driver_shim/cupti/thread_state.h"

using namespace maya::cupti;

namespace {

constinit std::atomic<bool> latency{false}, event_device{false};

// Attributes by number, with the defaults that cupti_activity.h states. They size pools of device memory for raw
// profiling data, which there are none of here: kept for the client, without effect.
struct Attribute {
  size_t bytes;
  uint64_t value;
};
constinit std::mutex mutex;
constinit Attribute attributes[] = {
    {sizeof(size_t), 3'200'000},  // DEVICE_BUFFER_SIZE
    {sizeof(size_t), 8'388'608},  // DEVICE_BUFFER_SIZE_CDP
    {sizeof(size_t), 250},        // DEVICE_BUFFER_POOL_LIMIT
    {sizeof(size_t), 25'000},     // PROFILING_SEMAPHORE_POOL_SIZE
    {sizeof(size_t), 250},        // PROFILING_SEMAPHORE_POOL_LIMIT
    {sizeof(uint8_t), 0},         // ZEROED_OUT_ACTIVITY_BUFFER
    {sizeof(size_t), 3},          // DEVICE_BUFFER_PRE_ALLOCATE_VALUE
    {sizeof(size_t), 3},          // PROFILING_SEMAPHORE_PRE_ALLOCATE_VALUE
    {sizeof(uint8_t), 0},         // MEM_ALLOCATION_TYPE_HOST_PINNED
    {sizeof(uint8_t), 1},         // PER_THREAD_ACTIVITY_BUFFER
    {sizeof(size_t), 16'777'216}  // DEVICE_BUFFER_SIZE_DEVICE_GRAPHS
};
static_assert(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER == 9);

Attribute* find_attribute(CUpti_ActivityAttribute number) {
  const auto index = static_cast<uint32_t>(number);
  return index < std::size(attributes) ? &attributes[index] : nullptr;
}

CUptiResult get_attribute(CUpti_ActivityAttribute number, size_t* bytes, void* value) {
  const Attribute* const attribute = find_attribute(number);
  if (attribute == nullptr || bytes == nullptr || value == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (*bytes < attribute->bytes) return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
  std::lock_guard<std::mutex> lock(mutex);
  std::memcpy(value, &attribute->value, attribute->bytes);
  *bytes = attribute->bytes;
  return CUPTI_SUCCESS;
}

CUptiResult set_attribute(CUpti_ActivityAttribute number, const size_t* bytes, const void* value) {
  Attribute* const attribute = find_attribute(number);
  if (attribute == nullptr || bytes == nullptr || value == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (*bytes < attribute->bytes) return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
  std::lock_guard<std::mutex> lock(mutex);
  attribute->value = 0;
  std::memcpy(&attribute->value, value, attribute->bytes);
  return CUPTI_SUCCESS;
}

}  // namespace

namespace maya::cupti {
bool latency_timestamps() { return latency.load(std::memory_order_relaxed); }
bool event_timestamps() { return event_device.load(std::memory_order_relaxed); }
}  // namespace maya::cupti

MAYA_API CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute number, size_t* bytes, void* value) {
  return finish(get_attribute(number, bytes, value));
}
MAYA_API CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute number, size_t* bytes, void* value) {
  return finish(set_attribute(number, bytes, value));
}
#if CUPTI_API_VERSION >= 130200
MAYA_API CUptiResult cuptiActivityGetAttribute_v2(CUpti_SubscriberHandle subscriber, CUpti_ActivityAttribute number,
                                                  size_t* bytes, void* value) {
  if (!Session::get().is_subscriber(subscriber)) return finish(CUPTI_ERROR_INVALID_PARAMETER);
  return finish(get_attribute(number, bytes, value));
}
MAYA_API CUptiResult cuptiActivitySetAttribute_v2(CUpti_SubscriberHandle subscriber, CUpti_ActivityAttribute number,
                                                  size_t* bytes, void* value) {
  if (!Session::get().is_subscriber(subscriber)) return finish(CUPTI_ERROR_INVALID_PARAMETER);
  return finish(set_attribute(number, bytes, value));
}
#endif

MAYA_API CUptiResult cuptiActivityEnableLatencyTimestamps(uint8_t enable) {
  latency.store(enable != 0, std::memory_order_relaxed);
  return CUPTI_SUCCESS;
}
MAYA_API CUptiResult cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable) {
  event_device.store(enable != 0, std::memory_order_relaxed);
  return CUPTI_SUCCESS;
}
// "This feature is only available on NVIDIA Blackwell architecture and later." Timestamps are exact either way.
MAYA_API CUptiResult cuptiActivityEnableHWTrace(uint8_t) {
  return guarded([] {
    constexpr int kBlackwell = 10;
    int major = 0;
    CUdevice device = 0;
    if (maya::shim::driver() == nullptr || MAYA_DRIVER(cuDeviceGet)(&device, 0) != CUDA_SUCCESS)
      return CUPTI_ERROR_NOT_INITIALIZED;
    MAYA_DRIVER(cuDeviceGetAttribute)(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    return major < kBlackwell ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_SUCCESS;
  });
}

MAYA_API CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  if (static_cast<uint32_t>(type) >= CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE) return finish(CUPTI_ERROR_NOT_SUPPORTED);
  set_thread_id_type(type);
  return CUPTI_SUCCESS;
}
MAYA_API CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType* type) {
  if (type == nullptr) return finish(CUPTI_ERROR_INVALID_PARAMETER);
  *type = thread_id_type();
  return CUPTI_SUCCESS;
}
