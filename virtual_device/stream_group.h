// The end of all work of a context's streams of one kind. Streams only note here that theirs has moved, which costs a
// store; whoever asks for the end looks at all of them, once for every time that one has moved. Thread safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace maya::device {

class StreamGroup {
 public:
  void add(const std::atomic<uint64_t>* clock);
  // The end that it shows still counts.
  void remove(const std::atomic<uint64_t>* clock);

  // To be called after a clock of the group was changed.
  void moved() { state_.store(kMoved, std::memory_order_release); }
  uint64_t latest_ns() const {
    if (state_.load(std::memory_order_acquire) != kSettled) [[unlikely]]
      settle();
    return latest_ns_.load(std::memory_order_relaxed);
  }

 private:
  // kSettling while somebody looks at the clocks: others wait for that, since one of them may have moved before.
  enum State : uint32_t { kSettled, kMoved, kSettling };
  void settle() const;
  void take(uint64_t clock_ns) const;

  mutable std::atomic<uint32_t> state_{kSettled};
  mutable std::atomic<uint64_t> latest_ns_{0};
  mutable std::mutex mutex_;
  std::vector<const std::atomic<uint64_t>*> clocks_;
};

}  // namespace maya::device
