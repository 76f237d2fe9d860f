// Device work whose end depends on other processes: collectives. A library registers it under a tag when it puts the
// work on a stream; synchronising calls wait for it, queries answer "not ready", and reads of bytes that it will write
// have them settled first. What a stream waits for follows the stream order of CUDA: work of the stream itself, of
// events it waited for, and of the legacy default stream's rules. All members are thread safe; every one costs a single
// load while nothing is pending. Callbacks are called without a lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "driver_shim/common/maya_table.h"
#include "driver_shim/cuda/driver.h"

namespace maya::cuda {

class PendingWork {
 public:
  static bool any() { return live_.load(std::memory_order_acquire) != 0; }

  // New work on `stream`, which will write `results` (their bytes are expected from now on). Returns its tag, never 0.
  static uint32_t add(Driver& driver, const Stream& stream, const PendingCallbacks& callbacks, void* argument,
                      const MemoryRange* results, uint32_t count);
  // The work has ended: what of its results did not arrive is unknown.
  static void end(Driver& driver, uint32_t tag);

  // An event was recorded on a stream, a stream waits for an event.
  static void event_recorded(uint32_t event, const Stream& stream) {
    if (any() || events_.load(std::memory_order_relaxed) != 0) record(event, stream);
  }
  static void stream_waits(const Stream& stream, uint32_t event) {
    if (any()) follow(stream, event);
  }
  static void event_destroyed(uint32_t event) {
    if (events_.load(std::memory_order_relaxed) != 0) forget_event(event);
  }

  // Whether work is left over, after everyone had a chance to end without blocking.
  static bool stream_busy(const Stream& stream) { return any() && busy(of_stream(stream)); }
  static bool event_busy(uint32_t event) { return any() && busy(of_event(event)); }
  // Block until the work has ended; return the nanoseconds of host time that it took.
  static uint64_t wait_stream(const Stream& stream) { return any() ? wait(of_stream(stream)) : 0; }
  static uint64_t wait_event(uint32_t event) { return any() ? wait(of_event(event)) : 0; }
  static uint64_t wait_context(const Context& context) { return any() ? wait(of_context(context)) : 0; }
  // For Memory::set_settle().
  static void settle(uint32_t tag);

 private:
  using Tags = std::vector<uint32_t>;
  static void record(uint32_t event, const Stream& stream);
  static void follow(const Stream& stream, uint32_t event);
  static void forget_event(uint32_t event);
  static Tags of_stream(const Stream& stream);
  static Tags of_event(uint32_t event);
  static Tags of_context(const Context& context);
  static bool busy(const Tags& tags);
  static uint64_t wait(const Tags& tags);

  static inline constinit std::atomic<uint32_t> live_{0};
  static inline constinit std::atomic<uint32_t> events_{0};  // that were recorded behind pending work
};

}  // namespace maya::cuda
