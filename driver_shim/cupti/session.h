// What is being profiled: enabled activity kinds, enabled callbacks, the subscriber. While anything is enabled,
// libcupti's hooks are attached to the driver, and the entry points of driver and runtime go through its wrappers; else
// nothing of it is in anyone's way. Setters serialise among each other; getters are lock-free.
#pragma once

#include "driver_shim/cupti/cupti_headers.h"

#include <atomic>
#include <cstdint>

#include "driver_shim/common/profiler_hooks.h"
#include "driver_shim/cupti/record_types.h"

namespace maya::cupti {

enum class Domain : uint32_t {
  kDriver = CUPTI_CB_DOMAIN_DRIVER_API,
  kRuntime = CUPTI_CB_DOMAIN_RUNTIME_API,
  kResource = CUPTI_CB_DOMAIN_RESOURCE,
  kSynchronize = CUPTI_CB_DOMAIN_SYNCHRONIZE,
  kNvtx = CUPTI_CB_DOMAIN_NVTX,
  kState = CUPTI_CB_DOMAIN_STATE,
};
inline constexpr uint32_t kDomainCount = CUPTI_CB_DOMAIN_SIZE;
inline constexpr uint32_t kMostCallbackIds = 1024;

struct Subscriber {
  CUpti_CallbackFunc function = nullptr;
  void* data = nullptr;
  char name[64] = {};
  const Subscriber* before = nullptr;  // all that ever were, the latest first
};

class Session {
 public:
  static Session& get();

  bool enabled(CUpti_ActivityKind kind) const { return kinds_[kind].load(std::memory_order_relaxed); }
  void enable(CUpti_ActivityKind kind, bool on);
  // Records of single functions, beside CUPTI_ACTIVITY_KIND_RUNTIME and DRIVER, which set all of them.
  bool records(Domain domain, uint32_t cbid) const {
    return record_[index(domain)][cbid].load(std::memory_order_relaxed);
  }
  void set_record(Domain domain, uint32_t cbid, bool on);

  bool calls_back(Domain domain, uint32_t cbid) const {
    return callback_[index(domain)][cbid].load(std::memory_order_relaxed);
  }
  void set_callback(Domain domain, uint32_t cbid, bool on);
  void set_domain(Domain domain, bool on);
  // Callback ids of a domain are below this; 0: no such domain.
  static uint32_t callback_ids(Domain domain);

  // One at a time. False when there is one already.
  bool subscribe(CUpti_CallbackFunc function, void* data, const char* name, CUpti_SubscriberHandle* handle);
  bool unsubscribe(CUpti_SubscriberHandle handle);
  bool is_subscriber(CUpti_SubscriberHandle handle) const {
    return handle != nullptr &&
           reinterpret_cast<const Subscriber*>(handle) == subscriber_.load(std::memory_order_acquire);
  }
  const Subscriber* subscriber() const { return subscriber_.load(std::memory_order_acquire); }
  // Calls the subscriber where it is enabled for this id.
  void call_back(Domain domain, uint32_t cbid, const void* data) const;

  // Entry points go through wrappers.
  bool wraps() const { return wraps_.load(std::memory_order_relaxed); }

  // Nothing is enabled any more, nobody subscribed.
  void end();

  static uint32_t next_correlation() { return next_correlation_.fetch_add(1, std::memory_order_relaxed); }

 private:
  Session() = default;
  static uint32_t index(Domain domain) { return static_cast<uint32_t>(domain); }
  void update();  // attaches or detaches

  std::atomic<bool> kinds_[kKindCount] = {};
  std::atomic<bool> record_[kDomainCount][kMostCallbackIds] = {};
  std::atomic<bool> callback_[kDomainCount][kMostCallbackIds] = {};
  std::atomic<Subscriber*> subscriber_{nullptr};
  const Subscriber* latest_ = nullptr;  // gone ones stay, and a leak checker finds them here
  std::atomic<bool> wraps_{false};
  static inline constinit std::atomic<uint32_t> next_correlation_{1};
};

// hooks.cc: what the driver calls. `device_work`: waits of the host take their time.
const ProfilerHooks& hooks(bool device_work);
// api_calls.cc: turns the entry points of a library to the wrappers, or back.
void wrap_entries(const EntrySlots& library, bool wrapped);

}  // namespace maya::cupti
