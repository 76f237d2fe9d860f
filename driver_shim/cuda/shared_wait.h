// Waits of several host threads on the one virtual clock of a process.
//
// What another thread launches while one waits overlaps, on a device, with what is waited for. So the clock does not
// jump to the end of a wait before all other threads that use the driver wait for the device too, for a later end, or
// are blocked: for a lock, a queue, a file. While one of them runs, host time passes, as in a real wait, at most as
// long as the modelled one. Whether a thread runs is read from /proc; one that cannot be read there counts as blocked,
// and so does one that sleeps: what it does next is later on the clock than the waits that it slept through. Thread
// safe.
#pragma once

#include <cstdint>

#include "driver_shim/cuda/driver.h"
#include "driver_shim/cuda/thread_state.h"

namespace maya::cuda {

class SharedWait {
 public:
  // Returns when the virtual clock has come to `time_ns`.
  static void until(Driver& driver, uint64_t time_ns);

  static void thread_begins(ThreadState& thread);
  static void thread_ends(ThreadState& thread);
  // Threads that use the driver; none begins or ends meanwhile.
  static void each_thread(void (*visit)(const ThreadState& thread));
};

}  // namespace maya::cuda
