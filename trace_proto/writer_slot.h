// What the writer's hot path looks at: the calling thread's place in the trace. Inside writer.h's Writer::launch.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace_proto/chunk_layout.h"

namespace maya::trace {

enum WriterState : uint32_t { kRunning = 0, kFull = 1, kFinished = 2, kAbandoned = 3 };

struct Window;

// What one host thread writes into. The owning thread uses it without a lock while `busy` is set; finish() takes it
// over once it is not.
struct alignas(64) Slot {
  std::atomic<uint32_t> busy{0};
  uint8_t* position = nullptr;  // next record; null when the slot has no chunk
  uint8_t* end = nullptr;       // end of the chunk
  uint64_t last_ns = 0;
  Window* window = nullptr;
  uint32_t thread = 0;
  uint32_t thread_sequence = 0;
  uint64_t delayed_ns = 0;                  // delays_so_far() of the thread when it was last asked
  bool quiet = false;                       // seen outside a record since the writer stopped
  std::atomic<const void*> owner{nullptr};  // the thread's `current`; null when its thread has ended
  Slot* next = nullptr;

  size_t room() const { return end - position; }
};

struct Current {
  uint64_t writer = 0;
  Slot* slot = nullptr;
};
// Initial-exec: the access is one instruction and never allocates. The few bytes fit the static TLS surplus of
// late-loaded libraries.
extern constinit thread_local Current current __attribute__((tls_model("initial-exec")));

// What every record asks of its writer.
struct WriterHead {
  uint64_t id = 0;  // never reused, so that a thread's `current` cannot mean another writer
  std::atomic<uint32_t> state{kRunning};
};

// A thread that recorded nothing for so long is asked for its delays. What takes the processor from a thread on a
// loaded machine takes it for longer.
constexpr uint64_t kLookForDelays_ns = 200'000;

// A varint of a number that seldom has more than two bytes.
inline uint8_t* put_small_varint(uint8_t* out, uint64_t value) {
  if (value < 0x80) {
    *out = static_cast<uint8_t>(value);
    return out + 1;
  }
  if (value >= 0x4000) [[unlikely]]
    return put_varint(out, value);
  out[0] = static_cast<uint8_t>(value) | 0x80;
  out[1] = static_cast<uint8_t>(value >> 7);
  return out + 2;
}

// Records {tag id, time, stream}. False, and nothing is done, when anything is out of the ordinary.
[[gnu::always_inline]] inline bool write_two_fields(const WriterHead& head, uint8_t tag_byte, uint32_t record_id,
                                                    uint32_t stream, uint64_t time_ns) {
  Slot* const own = current.slot;
  if (current.writer != head.id || own->busy.load(std::memory_order_relaxed) != 0) [[unlikely]]
    return false;
  own->busy.store(1, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the other half is barrier_in_all_threads()
  // Once the writer was told to stop, the slot is that of the thread which ends it: nothing in it is read before.
  uint64_t delta_ns = 0;
  if (head.state.load(std::memory_order_acquire) != kRunning ||
      (delta_ns = time_ns - own->last_ns) > kLookForDelays_ns || own->room() < kHotRecord_bytes + kLeastPadding_bytes)
      [[unlikely]] {
    own->busy.store(0, std::memory_order_release);
    return false;
  }
  uint8_t* const tag = own->position;
  uint8_t* out = tag + 2;
  *out++ = tag_byte;
  out = put_small_varint(out, record_id);
  *out++ = kDeltaTag;
  out = put_small_varint(out, delta_ns);
  if (stream != 0) {
    *out++ = kStreamTag;
    out = put_small_varint(out, stream);
  }
  tag[1] = static_cast<uint8_t>(out - tag - 2);
  publish(tag);
  own->position = out;
  own->last_ns = time_ns;
  own->busy.store(0, std::memory_order_release);
  return true;
}

}  // namespace maya::trace
