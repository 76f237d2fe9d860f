// A stream and its virtual clock. Work is placed on the clock when it is enqueued; nothing runs. Thread safe.
//
// Ordering with the legacy default stream follows the CUDA programming guide ("Default Stream"): work of the legacy
// default stream starts after all earlier work of the context's blocking streams, and work of a blocking stream after
// all earlier work of the legacy one. Streams made with CU_STREAM_NON_BLOCKING take no part in that.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "virtual_device/stream_group.h"

namespace maya::device {

struct Context;
struct StreamCapture;  // what the driver keeps of a stream that is being captured; opaque here

class Stream {
 public:
  Stream(Context* context, uint32_t id, uint32_t flags, int priority, bool default_stream);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Context* context() const { return context_; }
  // Small, unique in the process; the trace's stream id. 0: the legacy default stream of device 0.
  uint32_t id() const { return id_; }
  uint32_t flags() const { return flags_; }  // CU_STREAM_NON_BLOCKING = 1
  int priority() const { return priority_.load(std::memory_order_relaxed); }
  void set_priority(int priority) { priority_.store(priority, std::memory_order_relaxed); }
  bool is_default() const { return default_stream_; }
  bool is_blocking() const { return (flags_ & 1) == 0; }

  // Not null while the stream is being captured into a graph. The legacy default stream has it while a stream that
  // orders with it is being captured: then any use of it is an error.
  StreamCapture* capture() const { return capture_.load(std::memory_order_acquire); }
  void set_capture(StreamCapture* capture) { capture_.store(capture, std::memory_order_release); }

  // Places work of `duration_ns` no earlier than `earliest_ns` and after everything on the stream (`gap_ns` later).
  // Returns its end.
  uint64_t enqueue(uint64_t earliest_ns, uint64_t duration_ns, uint64_t gap_ns) {
    busy_ns_->store(busy_ns_->load(std::memory_order_relaxed) + duration_ns, std::memory_order_relaxed);
    return enqueue_host_work(earliest_ns, duration_ns, gap_ns);
  }
  // The same while the calling thread is the only one that uses any stream: without an atomic exchange, which here
  // costs a seventh of a launch.
  uint64_t enqueue_alone(uint64_t earliest_ns, uint64_t duration_ns, uint64_t gap_ns) {
    busy_ns_->store(busy_ns_->load(std::memory_order_relaxed) + duration_ns, std::memory_order_relaxed);
    const uint64_t seen = clock_->load(std::memory_order_relaxed);
    const uint64_t end = std::max(earliest_ns, std::max(seen, others_ns()) + gap_ns) + duration_ns;
    clock_->store(end, std::memory_order_relaxed);
    if (group_ != nullptr) group_->moved();
    return end;
  }
  // The same of work that keeps the stream, not the device, busy.
  uint64_t enqueue_host_work(uint64_t earliest_ns, uint64_t duration_ns, uint64_t gap_ns) {
    uint64_t seen = clock_->load(std::memory_order_relaxed);
    uint64_t end = 0;
    do {
      end = std::max(earliest_ns, std::max(seen, others_ns()) + gap_ns) + duration_ns;
    } while (!clock_->compare_exchange_weak(seen, end, std::memory_order_relaxed));
    if (group_ != nullptr) group_->moved();
    return end;
  }
  // Nothing that is enqueued later starts before `time_ns` (event wait).
  void wait_until(uint64_t time_ns) {
    uint64_t seen = clock_->load(std::memory_order_relaxed);
    while (seen < time_ns && !clock_->compare_exchange_weak(seen, time_ns, std::memory_order_relaxed)) {
    }
    if (group_ != nullptr) group_->moved();
  }
  // End of everything that a marker put on the stream now would wait for.
  uint64_t ready_ns() const { return std::max(clock_->load(std::memory_order_relaxed), others_ns()); }

 private:
  // End of the work of other streams that this stream's work follows.
  uint64_t others_ns() const {
    return orders_after_group_ != nullptr ? orders_after_group_->latest_ns()
                                          : orders_after_->load(std::memory_order_relaxed);
  }

  Context* context_;
  std::atomic<uint64_t>* busy_ns_;  // of the context
  uint32_t id_;
  uint32_t flags_;
  std::atomic<int> priority_;
  bool default_stream_;
  std::atomic<StreamCapture*> capture_{nullptr};
  std::atomic<uint64_t> ready_ns_{0};
  std::atomic<uint64_t>* clock_;     // end of the last work: ready_ns_, or the context's for the legacy default stream
  StreamGroup* group_;               // streams of this kind; null for the legacy default stream
  StreamGroup* orders_after_group_;  // of the legacy default stream; null for all others
  std::atomic<uint64_t>* orders_after_;  // of all others
};

}  // namespace maya::device
