#include "driver_shim/cupti/clock.h"

#include <time.h>

#include <atomic>
#include <mutex>

#include "driver_shim/common/driver_access.h"

namespace maya::cupti {
namespace {

struct Moment {
  uint64_t host_ns = 0, stamp = 0;
};

constinit std::atomic<CUpti_TimestampCallbackFunc> callback{nullptr};
constinit std::mutex mutex;
constinit Moment beginning;
// CLOCK_REALTIME less the host clock when recording began; 0 before that.
constinit std::atomic<uint64_t> ahead_ns{0};

uint64_t system_now(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t read_stamp() {
  const CUpti_TimestampCallbackFunc own = callback.load(std::memory_order_acquire);
  return own != nullptr ? own() : system_now(CLOCK_REALTIME);
}

// Of a few attempts, the one during which the least time went by.
Moment read_both() {
  constexpr int kAttempts = 5;
  Moment best;
  uint64_t least_ns = UINT64_MAX;
  for (int i = 0; i < kAttempts; ++i) {
    const uint64_t before_ns = host_now_ns();
    const uint64_t stamp = read_stamp();
    const uint64_t took_ns = host_now_ns() - before_ns;
    if (took_ns >= least_ns) continue;
    least_ns = took_ns;
    best = {before_ns + took_ns / 2, stamp};
  }
  return best;
}

}  // namespace

uint64_t timestamp() {
  const uint64_t ahead = ahead_ns.load(std::memory_order_acquire);
  if (ahead != 0 && callback.load(std::memory_order_acquire) == nullptr) return host_now_ns() + ahead;
  return read_stamp();
}

uint64_t host_now_ns() {
  const MayaTable* const driver = shim::driver();
  return driver != nullptr ? driver->now_ns() : system_now(CLOCK_MONOTONIC);
}

void set_timestamp_callback(CUpti_TimestampCallbackFunc function) {
  callback.store(function, std::memory_order_release);
  start_clock();
}

void start_clock() {
  const Moment now = read_both();
  std::lock_guard<std::mutex> lock(mutex);
  beginning = now;
  ahead_ns.store(now.stamp - now.host_ns, std::memory_order_release);
}

Conversion::Conversion() {
  Moment first;
  {
    std::lock_guard<std::mutex> lock(mutex);
    first = beginning;
  }
  host_ns_ = first.host_ns;
  stamp_ = first.stamp;
  if (callback.load(std::memory_order_acquire) == nullptr) return;
  const Moment now = read_both();
  if (now.host_ns <= first.host_ns) return;
  exact_ = false;
  slope_ = static_cast<double>(static_cast<int64_t>(now.stamp - first.stamp)) /
           static_cast<double>(now.host_ns - first.host_ns);
}

}  // namespace maya::cupti
