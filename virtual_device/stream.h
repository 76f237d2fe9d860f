// A stream and its virtual clock. Work is placed on the clock when it is enqueued; nothing runs. Thread safe.
//
// Ordering with the legacy default stream follows the CUDA programming guide ("Default Stream"): work of the legacy
// default stream starts after all earlier work of the context's blocking streams, and work of a blocking stream after
// all earlier work of the legacy one. Streams made with CU_STREAM_NON_BLOCKING take no part in that.
#pragma once

#include <atomic>
#include <cstdint>

namespace maya::device {

struct Context;

class Stream {
 public:
  Stream(Context* context, uint32_t id, uint32_t flags, int priority, bool default_stream)
      : context_(context), id_(id), flags_(flags), priority_(priority), default_stream_(default_stream) {}

  Context* context() const { return context_; }
  uint32_t id() const {
    return id_;
  }  // small, unique in the process; the trace's stream id; 0 = legacy default stream of device 0
  uint32_t flags() const { return flags_; }  // CU_STREAM_NON_BLOCKING = 1
  int priority() const { return priority_.load(std::memory_order_relaxed); }
  void set_priority(int priority) { priority_.store(priority, std::memory_order_relaxed); }
  bool is_default() const { return default_stream_; }
  bool is_blocking() const { return (flags_ & 1) == 0; }

  // Places work of `duration_ns` no earlier than `earliest_ns` and after everything on the stream (`gap_ns` later).
  // Returns its end.
  uint64_t enqueue(uint64_t earliest_ns, uint64_t duration_ns, uint64_t gap_ns);
  // Nothing that is enqueued later starts before `time_ns` (event wait).
  void wait_until(uint64_t time_ns);
  // End of everything that a marker put on the stream now would wait for.
  uint64_t ready_ns() const;

 private:
  Context* context_;
  uint32_t id_;
  uint32_t flags_;
  std::atomic<int> priority_;
  bool default_stream_;
  std::atomic<uint64_t> ready_ns_{0};
};

}  // namespace maya::device
