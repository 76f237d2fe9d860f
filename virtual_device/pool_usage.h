// Bytes of a memory pool: reserved for it and used by its allocations, and the most of each since that was last reset.
// Thread safe.
#pragma once

#include <atomic>
#include <cstdint>

namespace maya::device {

class PoolBytes {
 public:
  uint64_t now() const { return now_.load(std::memory_order_relaxed); }
  uint64_t high() const { return high_.load(std::memory_order_relaxed); }
  void add(uint64_t bytes) {
    const uint64_t sum = now_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    uint64_t high = high_.load(std::memory_order_relaxed);
    while (high < sum && !high_.compare_exchange_weak(high, sum, std::memory_order_relaxed)) continue;
  }
  void remove(uint64_t bytes) { now_.fetch_sub(bytes, std::memory_order_relaxed); }
  void reset_high() { high_.store(now(), std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> now_{0}, high_{0};
};

struct PoolUsage {
  PoolBytes reserved, used;
};

}  // namespace maya::device
