#include "driver_shim/cupti/session.h"

#include <cstring>
#include <mutex>
#include <new>

#include "driver_shim/common/driver_access.h"
#include "driver_shim/cupti/clock.h"

namespace maya::cupti {
namespace {

constinit std::mutex mutex;  // of setters

static_assert(CUPTI_DRIVER_TRACE_CBID_SIZE < kMostCallbackIds && CUPTI_RUNTIME_TRACE_CBID_SIZE < kMostCallbackIds);

// Kinds whose records have times of the device's clock.
constexpr CUpti_ActivityKind kDeviceKinds[] = {
    CUPTI_ACTIVITY_KIND_KERNEL,          CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_MEMCPY,          CUPTI_ACTIVITY_KIND_MEMCPY2,
    CUPTI_ACTIVITY_KIND_MEMSET,          CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
    CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_CUDA_EVENT};

template <size_t count>
bool any(const std::atomic<bool> (&flags)[count]) {
  for (const std::atomic<bool>& flag : flags)
    if (flag.load(std::memory_order_relaxed)) return true;
  return false;
}

}  // namespace

Session& Session::get() {
  static Session& made = *new Session;
  return made;
}

uint32_t Session::callback_ids(Domain domain) {
  switch (domain) {
    case Domain::kDriver:
      return CUPTI_DRIVER_TRACE_CBID_SIZE;
    case Domain::kRuntime:
      return CUPTI_RUNTIME_TRACE_CBID_SIZE;
    case Domain::kResource:
      return CUPTI_CBID_RESOURCE_SIZE;
    case Domain::kSynchronize:
      return CUPTI_CBID_SYNCHRONIZE_SIZE;
    case Domain::kNvtx:
      return CUPTI_CBID_NVTX_SIZE;
    case Domain::kState:
      return CUPTI_CBID_STATE_SIZE;
  }
  return 0;
}

void Session::update() {
  const MayaTable* const driver = shim::driver();
  if (driver == nullptr) return;
  bool device_work = false;
  for (const CUpti_ActivityKind kind : kDeviceKinds) device_work = device_work || enabled(kind);
  const bool api = any(record_[index(Domain::kRuntime)]) || any(record_[index(Domain::kDriver)]) ||
                   any(callback_[index(Domain::kRuntime)]) || any(callback_[index(Domain::kDriver)]);
  const bool others =
      any(kinds_) || any(callback_[index(Domain::kResource)]) || any(callback_[index(Domain::kSynchronize)]);
  const bool wrapped = api || any(kinds_);
  static constinit bool recording = false;
  if (any(kinds_) && !recording) start_clock();
  recording = any(kinds_);
  wraps_.store(wrapped, std::memory_order_relaxed);
  driver->attach_profiler(wrapped || others ? &hooks(device_work) : nullptr);
  for (const EntrySlots* library = driver->entries(); library != nullptr; library = library->next)
    wrap_entries(*library, wrapped);
}

void Session::enable(CUpti_ActivityKind kind, bool on) {
  std::lock_guard<std::mutex> lock(mutex);
  kinds_[kind].store(on, std::memory_order_relaxed);
  if (kind == CUPTI_ACTIVITY_KIND_RUNTIME || kind == CUPTI_ACTIVITY_KIND_DRIVER) {
    const Domain domain = kind == CUPTI_ACTIVITY_KIND_RUNTIME ? Domain::kRuntime : Domain::kDriver;
    for (uint32_t cbid = 1; cbid < callback_ids(domain); ++cbid)
      record_[index(domain)][cbid].store(on, std::memory_order_relaxed);
  }
  update();
}

void Session::set_record(Domain domain, uint32_t cbid, bool on) {
  std::lock_guard<std::mutex> lock(mutex);
  record_[index(domain)][cbid].store(on, std::memory_order_relaxed);
  update();
}

void Session::set_callback(Domain domain, uint32_t cbid, bool on) {
  std::lock_guard<std::mutex> lock(mutex);
  callback_[index(domain)][cbid].store(on, std::memory_order_relaxed);
  update();
}

void Session::set_domain(Domain domain, bool on) {
  std::lock_guard<std::mutex> lock(mutex);
  for (uint32_t cbid = 1; cbid < callback_ids(domain); ++cbid)
    callback_[index(domain)][cbid].store(on, std::memory_order_relaxed);
  update();
}

bool Session::subscribe(CUpti_CallbackFunc function, void* data, const char* name, CUpti_SubscriberHandle* handle) {
  std::lock_guard<std::mutex> lock(mutex);
  if (subscriber_.load(std::memory_order_relaxed) != nullptr) return false;
  // Callbacks may be under way when a subscriber goes: it stays where it is.
  auto* const made = new Subscriber;
  made->before = latest_;
  latest_ = made;
  made->function = function;
  made->data = data;
  if (name != nullptr) {
    constexpr char kPrefix[] = "CUPTI for ";
    std::strcpy(made->name, kPrefix);
    std::strncpy(made->name + sizeof kPrefix - 1, name, sizeof made->name - sizeof kPrefix);
  }
  subscriber_.store(made, std::memory_order_release);
  *handle = reinterpret_cast<CUpti_SubscriberHandle>(made);
  return true;
}

bool Session::unsubscribe(CUpti_SubscriberHandle handle) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!is_subscriber(handle)) return false;
  subscriber_.store(nullptr, std::memory_order_release);
  for (auto& domain : callback_)
    for (std::atomic<bool>& flag : domain) flag.store(false, std::memory_order_relaxed);
  update();
  return true;
}

void Session::call_back(Domain domain, uint32_t cbid, const void* data) const {
  if (!calls_back(domain, cbid)) return;
  const Subscriber* const to = subscriber();
  if (to != nullptr && to->function != nullptr)
    to->function(to->data, static_cast<CUpti_CallbackDomain>(domain), cbid, data);
}

void Session::end() {
  std::lock_guard<std::mutex> lock(mutex);
  subscriber_.store(nullptr, std::memory_order_release);
  for (std::atomic<bool>& flag : kinds_) flag.store(false, std::memory_order_relaxed);
  for (auto* flags : {&callback_, &record_})
    for (auto& domain : *flags)
      for (std::atomic<bool>& flag : domain) flag.store(false, std::memory_order_relaxed);
  update();
}

}  // namespace maya::cupti
