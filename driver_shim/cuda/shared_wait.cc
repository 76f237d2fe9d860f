#include "driver_shim/cuda/shared_wait.h"

#include <fcntl.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "trace_proto/writer.h"

namespace maya::cuda {
namespace {

struct State {
  std::mutex mutex;
  std::condition_variable changed;  // a wait has ended
  ThreadState* first = nullptr;
};

State& state() {
  static State& made = *new State;
  return made;
}

// Of /proc/<process>/task/<thread>/stat (proc(5)): the state follows the name, which is in parentheses and may have
// some itself. R: runs or could; D: waits for a disk, which ends by itself.
bool is_running(int thread) {
  char path[48];
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char text[64];
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return false;
  text[length] = '\0';
  const char* name_end = strrchr(text, ')');
  return name_end != nullptr && name_end[1] == ' ' && (name_end[2] == 'R' || name_end[2] == 'D');
}

enum class Others { kRun, kWaitForLess, kStand };

// What the thread that waits until `time_ns` has to let others do first.
Others others(const ThreadState& self, uint64_t time_ns) {
  Others result = Others::kStand;
  for (const ThreadState* thread = state().first; thread != nullptr; thread = thread->next) {
    if (thread == &self) continue;
    const uint64_t until_ns = thread->waits_until_ns.load(std::memory_order_acquire);
    if (until_ns != 0 && until_ns < time_ns) return Others::kWaitForLess;
    if (until_ns == 0 && result == Others::kStand && is_running(thread->system_id)) result = Others::kRun;
  }
  return result;
}

// The first pauses only give the processor away; later ones grow, so that a thread that computes for long is not
// disturbed.
void pause(uint32_t turn, uint64_t rest_ns) {
  constexpr uint32_t kYields = 4;
  constexpr uint64_t kFirst_ns = 10'000, kLongest_ns = 300'000;
  if (turn < kYields) {
    sched_yield();
    return;
  }
  const uint64_t grown_ns = std::min(kFirst_ns << std::min(turn - kYields, 5U), kLongest_ns);
  const timespec rest{0, static_cast<long>(std::min(rest_ns, grown_ns))};
  nanosleep(&rest, nullptr);
}

}  // namespace

void SharedWait::until(Driver& driver, uint64_t time_ns) {
  ThreadState& self = thread_state();
  // Before the lock: who looks at this thread while it waits for that must not take it as blocked.
  self.waits_until_ns.store(time_ns, std::memory_order_release);
  sched_yield();
  std::unique_lock<std::mutex> lock(state().mutex);
  for (uint32_t turn = 0;;) {
    const uint64_t host_ns = trace::now_ns();
    const uint64_t now_ns = driver.to_virtual_ns(host_ns);
    if (now_ns >= time_ns) break;
    const uint64_t rest_ns = time_ns - now_ns;
    const Others what = others(self, time_ns);
    if (what == Others::kStand) {
      driver.jump_to(time_ns, host_ns);
      break;
    }
    if (what == Others::kWaitForLess) {
      state().changed.wait_for(lock, std::chrono::nanoseconds(rest_ns));
      continue;
    }
    lock.unlock();
    pause(turn++, rest_ns);
    lock.lock();
  }
  self.waits_until_ns.store(0, std::memory_order_release);
  state().changed.notify_all();
}

void SharedWait::thread_begins(ThreadState& thread) {
  std::lock_guard<std::mutex> lock(state().mutex);
  thread.next = state().first;
  if (thread.next != nullptr) thread.next->previous = &thread;
  state().first = &thread;
}

void SharedWait::thread_ends(ThreadState& thread) {
  std::lock_guard<std::mutex> lock(state().mutex);
  (thread.previous != nullptr ? thread.previous->next : state().first) = thread.next;
  if (thread.next != nullptr) thread.next->previous = thread.previous;
}

void SharedWait::each_thread(void (*visit)(const ThreadState& thread)) {
  std::lock_guard<std::mutex> lock(state().mutex);
  for (const ThreadState* thread = state().first; thread != nullptr; thread = thread->next) visit(*thread);
}

}  // namespace maya::cuda
