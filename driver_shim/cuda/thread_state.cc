#include "driver_shim/cuda/thread_state.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "driver_shim/cuda/driver.h"
#include "driver_shim/cuda/fork_guard.h"
#include "driver_shim/cuda/launch_cache.h"
#include "driver_shim/cuda/operation_cache.h"
#include "driver_shim/cuda/shared_wait.h"
#include "trace_proto/writer.h"

namespace maya::cuda {
namespace {

// A signal handler that has interrupted a launch and does not come back is not waited for.
constexpr uint64_t kPatience_ns = 200'000'000;

// From here on no thread uses streams as if it were the only one. The number of threads is already known to be more.
void end_solitude() {
  trace::barrier_in_all_threads();
  SharedWait::each_thread([](const ThreadState& thread) {
    const uint64_t until_ns = trace::now_ns() + kPatience_ns;
    while (thread.placing.load(std::memory_order_acquire) != 0 && trace::now_ns() < until_ns) sched_yield();
  });
}

void thread_ends(void* state) {
  this_thread = nullptr;
  if (in_forked_child()) return;
  auto* const ended = static_cast<ThreadState*>(state);
  SharedWait::thread_ends(*ended);
  delete ended;
  driver_threads.fetch_sub(1, std::memory_order_release);
}

}  // namespace

constinit thread_local ThreadState* this_thread = nullptr;
constinit std::atomic<uint32_t> driver_threads{0};

ThreadState& make_thread_state() {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    pthread_key_create(&made, &thread_ends);
    return made;
  }();
  auto made = std::make_unique<ThreadState>();
  pthread_setspecific(key, made.get());
  this_thread = made.release();
  SharedWait::thread_begins(*this_thread);
  if (driver_threads.fetch_add(1, std::memory_order_acq_rel) != 0) end_solitude();
  return *this_thread;
}

ThreadState::ThreadState() : system_id(gettid()) {}

ThreadState::~ThreadState() {
  if (Driver* driver = Driver::get(); driver != nullptr)
    for (const PerThreadStream& entry : per_thread_streams)
      if (const device::Stream* stream = driver->streams().get(entry.handle);
          stream != nullptr && stream->id() == entry.id)
        driver->destroy_stream(entry.handle);
}

void ThreadState::set_current(device::Context* context) {
  if (context == nullptr) {
    if (!contexts.empty()) contexts.pop_back();
  } else if (contexts.empty()) {
    contexts.push_back(context);
  } else {
    contexts.back() = context;
  }
}

}  // namespace maya::cuda
