// An event: the virtual time at which the work before it on its stream ends. Thread safe by atomics.
#pragma once

#include <atomic>
#include <cstdint>

namespace maya::device {

struct Context;

struct Event {
  Event(Context* owner, uint32_t small_id, uint32_t event_flags) : context(owner), id(small_id), flags(event_flags) {}
  Context* context;
  uint32_t id;
  uint32_t flags;                     // CU_EVENT_BLOCKING_SYNC 1, DISABLE_TIMING 2, INTERPROCESS 4
  std::atomic<bool> recorded{false};  // a never-recorded event counts as done
  std::atomic<uint64_t> time_ns{0};   // on the virtual clock
  std::atomic<uint64_t> captured{0};  // id of the capture sequence in which it was recorded last; 0: outside of any
};

}  // namespace maya::device
