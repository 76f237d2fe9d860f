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
#include "trace_proto/writer_slot.h"

namespace maya::trace {

constexpr size_t kFirstWindow_bytes = 1 << 20;

// Part of the file that is mapped at once; unmapped when its last chunk is closed.
struct Window {
  uint8_t* base = nullptr;
  size_t bytes = 0;
  size_t used_bytes = 0;  // handed out as chunks
  uint64_t file_offset = 0;
  uint32_t open_chunks = 0;
};

// How long the calling thread was ready to run without a processor, since it began (Linux, /proc/thread-self/schedstat,
// the second number); 0 where the kernel does not tell.
uint64_t delays_so_far();

class Lock {
 public:
  explicit Lock(pthread_mutex_t* mutex) : mutex_(mutex) { pthread_mutex_lock(mutex_); }
  ~Lock() { pthread_mutex_unlock(mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  pthread_mutex_t* mutex_;
};

struct Writer::Impl : WriterHead {
  size_t chunk_bytes = 0;
  bool records_delays = false;
  TraceFile file;
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
  void write_two_fields_slow(uint8_t tag, uint32_t id, uint32_t stream, uint64_t time_ns);
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
