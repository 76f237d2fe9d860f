// Inside of the trace writer, shared by its source files: threads (writer_threads.cc), chunks and windows
// (writer_chunks.cc), records (writer.cc).
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "trace_proto/chunk_layout.h"
#include "trace_proto/trace_file.h"
#include "trace_proto/writer.h"

namespace maya::trace {

constexpr size_t kFirstWindow_bytes = 1 << 20;

enum State : uint32_t { kRunning = 0, kFull = 1, kFinished = 2, kAbandoned = 3 };

// Part of the file that is mapped at once; unmapped when its last chunk is closed.
struct Window {
  uint8_t* base = nullptr;
  size_t bytes = 0;
  size_t used_bytes = 0;  // handed out as chunks
  uint64_t file_offset = 0;
  uint32_t open_chunks = 0;
};

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

// A thread that recorded nothing for so long is asked for its delays. What takes the processor from a thread on a
// loaded machine takes it for longer.
constexpr uint64_t kLookForDelays_ns = 200'000;
// How long the calling thread was ready to run without a processor, since it began (Linux, /proc/thread-self/schedstat,
// the second number); 0 where the kernel does not tell.
uint64_t delays_so_far();

struct Current {
  uint64_t writer = 0;
  Slot* slot = nullptr;
};
// Initial-exec: the access is one instruction and never allocates. The few bytes fit the static TLS surplus of
// late-loaded libraries.
extern constinit thread_local Current current __attribute__((tls_model("initial-exec")));

class Lock {
 public:
  explicit Lock(pthread_mutex_t* mutex) : mutex_(mutex) { pthread_mutex_lock(mutex_); }
  ~Lock() { pthread_mutex_unlock(mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  pthread_mutex_t* mutex_;
};

struct Writer::Impl {
  uint64_t id = 0;  // never reused, so that a thread's `current` cannot mean another writer
  size_t chunk_bytes = 0;
  bool records_delays = false;
  TraceFile file;
  std::atomic<uint32_t> state{kRunning};
  std::atomic<uint64_t> lost{0};

  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;  // guards what follows, and the slots of ended threads
  Slot* slots = nullptr;
  Window* window = nullptr;    // chunks are taken from here
  Window* upcoming = nullptr;  // the next one; null until the current one has but one chunk left, which is kept for
                               // ProcessEnd when the file is full
  size_t next_window_bytes = kFirstWindow_bytes;
  uint32_t threads = 0;
  uint32_t sequence = 0;
  Slot* last_chunk_slot = nullptr;  // holder of the chunk furthest into the file; null when that one is closed
  uint64_t last_chunk_end = 0;      // file offset of its end

  std::atomic<Impl*> next_live{nullptr};
  static std::atomic<Impl*> live;

  ~Impl();
  bool start(const Options& options, std::string* error);
  Slot* attach();
  void release(Slot* slot);
  bool grow();
  bool take_chunk(Slot* slot, uint64_t time_ns, bool may_use_last);
  void begin_chunk(Slot* slot, uint64_t time_ns);
  void close_chunk(Slot* slot);
  bool make_room(Slot* slot, size_t bytes, uint64_t time_ns, bool may_use_last);
  void stop_full();
  bool all_quiet();
  void close_all();
  void write_two_fields(uint8_t tag, uint32_t id, uint32_t stream, uint64_t time_ns);
  void write_record(Slot* slot, const uint8_t* fields, size_t bytes, uint64_t time_ns, bool is_end);

  Slot* slot() { return __builtin_expect(current.writer == id, 1) ? current.slot : attach(); }
  // False when this thread may not write now: the writer has stopped, or a signal handler has interrupted a record of
  // the same thread.
  bool enter(Slot* slot, bool is_end) {
    if (slot->busy.load(std::memory_order_relaxed) != 0) {
      ++lost;
      return false;
    }
    slot->busy.store(1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the other half is barrier_in_all_threads()
    const uint32_t now = state.load(std::memory_order_acquire);
    if (__builtin_expect(now != kRunning, 0) && !(now == kFull && is_end)) {
      if (now == kFull) ++lost;
      leave(slot);
      return false;
    }
    return true;
  }
  void leave(Slot* slot) { slot->busy.store(0, std::memory_order_release); }

  void enlist();  // gives the id; from then on ended threads and forks are seen
  void delist();
  static void thread_ended(void*);
  static void install_process_hooks();
};

}  // namespace maya::trace
