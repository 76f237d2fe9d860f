// The client's activity buffers. Records of all threads go into one buffer at a time, asked for when the first record
// comes; a buffer is delivered when it is full, or flushed, and all of its records are complete: device work is
// complete when its end has come on the clock. Nothing here has a thread: buffers are asked for and delivered inside
// CUDA and CUPTI calls, without a lock held, so that the client may call CUPTI from its callbacks. Thread safe; never
// throws.
#pragma once

#include "driver_shim/cupti/cupti_headers.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>

#include "driver_shim/cupti/record_types.h"

namespace maya::cupti {

class Buffers {
 public:
  static Buffers& get();

  void register_callbacks(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete);
  bool has_callbacks();

  // Appends a record. complete_ns: host time at which it is complete, 0: now. Counted as dropped when there is no room.
  template <typename Record>
  void add(const Record& record, uint64_t complete_ns = 0) {
    add_bytes(&record, sizeof record, complete_ns);
  }

  // Delivers what is complete; forced: everything, also empty buffers.
  void flush(bool forced);
  // Records dropped since the last call.
  size_t take_dropped();
  void set_flush_period(uint32_t milliseconds);
  // Delivers what became complete: full buffers, and all of them when the flush period is over.
  void deliver_ready();

 private:
  struct Buffer {
    uint8_t* data = nullptr;  // as the client gave it
    size_t bytes = 0;
    size_t used = 0;
    size_t records = 0;
    size_t most_records = 0;  // 0: any number
    uint64_t complete_ns = 0;
    bool has_room_for(size_t more) const {
      return bytes - used >= more && (most_records == 0 || records < most_records);
    }
  };

  Buffers() = default;
  void add_bytes(const void* record, size_t bytes, uint64_t complete_ns) noexcept;
  // Under the lock. False when the active buffer has no room.
  bool append(const void* record, size_t bytes, uint64_t complete_ns) noexcept;
  bool request(Buffer* made) noexcept;
  void deliver(Buffer& buffer) noexcept;

  std::mutex mutex_;  // guards all below
  CUpti_BuffersCallbackRequestFunc request_ = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete_ = nullptr;
  Buffer active_;
  std::deque<Buffer> full_;
  size_t dropped_ = 0;
  uint64_t period_ns_ = 0, last_flush_ns_ = 0;
};

}  // namespace maya::cupti
