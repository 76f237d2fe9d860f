// The trace's clock (clock.cc says how it works).
#pragma once

#include <atomic>
#include <cstdint>

namespace maya::trace {

#if defined(__x86_64__)
// A straight line from counter to time, guarded by a sequence number that is odd while it changes.
struct ClockLine {
  std::atomic<uint32_t> sequence{0};
  std::atomic<uint64_t> anchor_ticks{0};
  std::atomic<uint64_t> anchor_ns{0};
  std::atomic<uint64_t> rate{0};          // nanoseconds per tick, scaled by 2^32
  std::atomic<uint64_t> window_ticks{0};  // so long after the anchor the line is due for a new one; 0: not to be used
};
extern constinit ClockLine clock_line;

uint64_t now_ns_slow();
#endif

// Nanoseconds on CLOCK_MONOTONIC's scale, from the time-stamp counter where that is invariant (about 10 ns), else
// clock_gettime.
#if defined(__x86_64__)
inline uint64_t now_ns() {
  const uint32_t sequence = clock_line.sequence.load(std::memory_order_acquire);
  const uint64_t anchor_ticks = clock_line.anchor_ticks.load(std::memory_order_acquire);
  const uint64_t anchor_ns = clock_line.anchor_ns.load(std::memory_order_acquire);
  const uint64_t rate = clock_line.rate.load(std::memory_order_acquire);
  const uint64_t window_ticks = clock_line.window_ticks.load(std::memory_order_acquire);
  const uint64_t ticks = __builtin_ia32_rdtsc() - anchor_ticks;
  // An odd number differs from itself without its last bit.
  if (ticks >= window_ticks || clock_line.sequence.load(std::memory_order_relaxed) != (sequence & ~1u)) [[unlikely]]
    return now_ns_slow();
  return anchor_ns + static_cast<uint64_t>((static_cast<unsigned __int128>(ticks) * rate) >> 32);
}
#else
uint64_t now_ns();
#endif

}  // namespace maya::trace
