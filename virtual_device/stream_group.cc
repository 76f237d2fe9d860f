#include "virtual_device/stream_group.h"

namespace maya::device {

void StreamGroup::add(const std::atomic<uint64_t>* clock) {
  std::lock_guard<std::mutex> lock(mutex_);
  clocks_.push_back(clock);
}

void StreamGroup::remove(const std::atomic<uint64_t>* clock) {
  std::lock_guard<std::mutex> lock(mutex_);
  take(clock->load(std::memory_order_relaxed));
  std::erase(clocks_, clock);
}

void StreamGroup::settle() const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (state_.load(std::memory_order_relaxed) == kSettled) return;
  // Before the clocks are read: what moves from here on leaves its note behind this one.
  state_.exchange(kSettling, std::memory_order_seq_cst);
  for (const std::atomic<uint64_t>* clock : clocks_) take(clock->load(std::memory_order_relaxed));
  uint32_t expected = kSettling;
  state_.compare_exchange_strong(expected, kSettled, std::memory_order_release, std::memory_order_relaxed);
}

void StreamGroup::take(uint64_t clock_ns) const {
  if (clock_ns > latest_ns_.load(std::memory_order_relaxed)) latest_ns_.store(clock_ns, std::memory_order_relaxed);
}

}  // namespace maya::device
