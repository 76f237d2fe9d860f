// now_ns(): CLOCK_MONOTONIC by way of the time-stamp counter.
//
// The counter is used when it runs at one rate in all power states (CPUID 8000_0007h EDX bit 8, Intel SDM volume 3
// "Invariant TSC") and when the kernel keeps time by it or by a paravirtual clock built on it. Time is anchor_ns +
// (counter - anchor) * rate. The anchor moves every so often, first after milliseconds, then at most once a second, by
// whoever reads the clock then: the new line starts where the old one is and approaches CLOCK_MONOTONIC, so time never
// steps back.
#include "trace_proto/clock.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace maya::trace {

#if defined(__x86_64__)
constinit ClockLine clock_line;
#endif

namespace {

uint64_t system_now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

#if defined(__x86_64__)

constexpr uint64_t kFirstWindow_ns = 200'000;
constexpr uint64_t kLongestInterval_ns = 1'000'000'000;
constexpr int64_t kJump_ns =
    1'000'000;  // an error beyond this is a jump of the counter (migration, suspend), not drift

constinit ClockLine& line = clock_line;
std::atomic<int> clock_state{0};  // 0 not decided, 1 being decided, 2 counter, 3 system clock
std::atomic<bool> refining{false};
uint64_t first_ticks;  // the pair that the rate is measured from
uint64_t first_ns;
uint64_t interval_ns;

uint64_t scaled(uint64_t ticks, uint64_t rate) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(ticks) * rate) >> 32);
}

bool counter_is_usable() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & (1u << 8))) return false;
  const int file = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
  if (file < 0) return true;  // sandboxes hide it
  char name[64] = {};
  const ssize_t bytes = read(file, name, sizeof name - 1);
  close(file);
  if (bytes <= 0) return true;
  for (const char* good : {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page"}) {
    if (std::strncmp(name, good, std::strlen(good)) == 0 && name[std::strlen(good)] == '\n') return true;
  }
  return false;
}

// The counter and the system clock at one instant: of some tries, the one that took the shortest.
void read_pair(uint64_t* ticks, uint64_t* ns) {
  uint64_t best = ~0ull;
  for (int i = 0; i < 5; ++i) {
    const uint64_t before = __builtin_ia32_rdtsc();
    const uint64_t now = system_now_ns();
    const uint64_t after = __builtin_ia32_rdtsc();
    if (after - before < best) {
      best = after - before;
      *ticks = before + (after - before) / 2;
      *ns = now;
    }
  }
}

void publish(uint64_t ticks, uint64_t ns, uint64_t rate, uint64_t next_ns) {
  line.sequence.fetch_add(1, std::memory_order_acq_rel);
  line.anchor_ticks.store(ticks, std::memory_order_release);
  line.anchor_ns.store(ns, std::memory_order_release);
  line.rate.store(rate, std::memory_order_release);
  line.window_ticks.store(static_cast<uint64_t>((static_cast<unsigned __int128>(next_ns) << 32) / rate),
                          std::memory_order_release);
  line.sequence.fetch_add(1, std::memory_order_acq_rel);
}

__attribute__((noinline)) void decide() {
  int expected = 0;
  if (!clock_state.compare_exchange_strong(expected, 1)) return;
  if (!counter_is_usable()) {
    clock_state.store(3, std::memory_order_release);
    return;
  }
  read_pair(&first_ticks, &first_ns);
  uint64_t ticks = 0;
  uint64_t ns = 0;
  do {
    read_pair(&ticks, &ns);
  } while (ns - first_ns < kFirstWindow_ns);
  if (ticks <= first_ticks) {
    clock_state.store(3, std::memory_order_release);
    return;
  }
  const uint64_t rate =
      static_cast<uint64_t>((static_cast<unsigned __int128>(ns - first_ns) << 32) / (ticks - first_ticks));
  interval_ns = 1'000'000;
  publish(ticks, ns, rate, interval_ns);
  clock_state.store(2, std::memory_order_release);
}

__attribute__((noinline)) void refine() {
  if (refining.exchange(true, std::memory_order_acquire)) return;
  uint64_t ticks = 0;
  uint64_t ns = 0;
  read_pair(&ticks, &ns);
  const uint64_t anchor_ticks = line.anchor_ticks.load(std::memory_order_relaxed);
  const uint64_t anchor_ns = line.anchor_ns.load(std::memory_order_relaxed);
  const uint64_t rate = line.rate.load(std::memory_order_relaxed);
  if (ticks > anchor_ticks && ticks > first_ticks && ns > first_ns) {
    const uint64_t ours = anchor_ns + scaled(ticks - anchor_ticks, rate);
    const int64_t behind_ns = static_cast<int64_t>(ns - ours);
    interval_ns = interval_ns * 4 < kLongestInterval_ns ? interval_ns * 4 : kLongestInterval_ns;
    uint64_t measured =
        static_cast<uint64_t>((static_cast<unsigned __int128>(ns - first_ns) << 32) / (ticks - first_ticks));
    if (behind_ns > kJump_ns || behind_ns < -kJump_ns) {
      // The pair from before a jump says nothing about the rate.
      first_ticks = ticks;
      first_ns = ns;
      measured = rate;
    }
    if (behind_ns > kJump_ns) {
      publish(ticks, ns, measured, interval_ns);
    } else {
      // Make up for the error within the next interval, never by more than half the rate.
      const double correction = static_cast<double>(behind_ns) / static_cast<double>(interval_ns);
      const double bounded = correction > 0.5 ? 0.5 : correction < -0.5 ? -0.5 : correction;
      publish(ticks, ours, static_cast<uint64_t>(static_cast<double>(measured) * (1 + bounded)), interval_ns);
    }
  }
  refining.store(false, std::memory_order_release);
}

#endif

}  // namespace

#if defined(__x86_64__)
uint64_t now_ns_slow() {
  while (true) {
    const int state = clock_state.load(std::memory_order_acquire);
    if (state != 2) {
      if (state != 0) return system_now_ns();
      decide();
      continue;
    }
    const uint32_t sequence = line.sequence.load(std::memory_order_acquire);
    const uint64_t anchor_ticks = line.anchor_ticks.load(std::memory_order_acquire);
    const uint64_t anchor_ns = line.anchor_ns.load(std::memory_order_acquire);
    const uint64_t rate = line.rate.load(std::memory_order_acquire);
    const uint64_t window_ticks = line.window_ticks.load(std::memory_order_acquire);
    const uint64_t ticks = __builtin_ia32_rdtsc();
    if ((sequence & 1) != 0) return system_now_ns();  // its owner may not be running
    if (line.sequence.load(std::memory_order_relaxed) != sequence) continue;
    if (ticks <= anchor_ticks) return anchor_ns;
    if (ticks - anchor_ticks >= window_ticks) refine();
    return anchor_ns + scaled(ticks - anchor_ticks, rate);
  }
}
#else
uint64_t now_ns() { return system_now_ns(); }
#endif

}  // namespace maya::trace
