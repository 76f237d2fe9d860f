#pragma once

#include <atomic>
#include <mutex>

namespace maya::device {

// Runs a function once, however many threads ask. Not std::call_once: exceptions (no memory) cannot pass the C
// library's pthread_once where libgcc is linked in. After an exception the next one who asks runs it.
class Once {
 public:
  template <typename Function>
  void run(Function&& function) {
    if (done_.load(std::memory_order_acquire)) return;
    std::lock_guard<std::mutex> lock(mutex_);
    if (done_.load(std::memory_order_relaxed)) return;
    function();
    done_.store(true, std::memory_order_release);
  }
  // Whether it has run: what it made may be looked at.
  bool done() const { return done_.load(std::memory_order_acquire); }

 private:
  std::mutex mutex_;
  std::atomic<bool> done_{false};
};

}  // namespace maya::device
