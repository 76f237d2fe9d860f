// What the driver keeps of each host thread. Freed when the thread ends, except the main thread's: calls from atexit
// handlers and static destructors still find it.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "virtual_device/context.h"
#include "virtual_device/stream.h"

namespace maya::cuda {

struct LaunchCache;     // launch.cc
struct OperationCache;  // operation.cc

struct ThreadState {
  ThreadState();
  ~ThreadState();
  ThreadState(const ThreadState&) = delete;
  ThreadState& operator=(const ThreadState&) = delete;

  std::vector<device::Context*> contexts;  // stack of current contexts; the last one is current; a null entry: none
  CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

  struct PerThreadStream {
    device::Context* context;
    CUstream handle;
    uint32_t id;  // tells it from a later stream at the same address
  };
  std::vector<PerThreadStream> per_thread_streams;

  // For shared_wait.h: the system's id of the thread, the time on the virtual clock that it waits for (0: none), and
  // the other threads.
  const int system_id;
  std::atomic<uint64_t> waits_until_ns{0};
  ThreadState* next = nullptr;
  ThreadState* previous = nullptr;

  // Set while the thread may be using streams as the only one that does (Stream::enqueue_alone).
  std::atomic<uint32_t> placing{0};

  uint64_t settling_ns = 0;  // host time, all together, that went into waiting for bytes of other processes

  std::unique_ptr<LaunchCache> launches;
  std::unique_ptr<OperationCache> operations;

  device::Context* current() const { return contexts.empty() ? nullptr : contexts.back(); }
  // cuCtxSetCurrent: replaces the top of the stack, or makes one; null pops it.
  void set_current(device::Context* context);
};

// One pointer only: it takes 8 bytes of the static TLS block, which has room also when the library is opened late.
extern constinit __attribute__((tls_model("initial-exec"))) thread_local ThreadState* this_thread;
ThreadState& make_thread_state();

// Threads that have used the driver and have not ended. A thread that finds itself alone stays so until it clears
// `placing`: whoever comes waits for that.
extern constinit std::atomic<uint32_t> driver_threads;

// The calling thread's state; made at the first call. Throws std::bad_alloc.
inline ThreadState& thread_state() { return this_thread != nullptr ? *this_thread : make_thread_state(); }

}  // namespace maya::cuda
