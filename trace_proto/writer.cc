#include "trace_proto/writer.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <new>

#include "trace_proto/maya_trace_fields.h"
#include "trace_proto/trace_file.h"

namespace maya::trace {
namespace {

constexpr uint8_t kPacketTag = fields::Trace::kPacket << 3 | 2;
constexpr uint8_t kLaunchTag = fields::Packet::kLaunch << 3;
constexpr uint8_t kDeltaTag = fields::Packet::kDeltaNs << 3;
constexpr uint8_t kStreamTag = fields::Packet::kStream << 3;
constexpr uint8_t kOperationTag = fields::Packet::kOperation << 3;
constexpr uint8_t kEndTag = fields::Packet::kEnd << 3 | 2;

constexpr size_t kLeastPadding_bytes = 5;             // 0a 03 fa 01 00
constexpr size_t kHotRecord_bytes = 2 + 3 * (1 + 5);  // tag, length, three uint32 fields
constexpr size_t kRecordFrame_bytes = 1 + 3 + 1 + 5;  // tag, length, delta_ns
constexpr size_t kChunkHeader_bytes = 64;             // at most
constexpr size_t kLeastReuse_bytes =
    4096;  // room in the chunk of a thread that ended, for another thread to go on in it
constexpr size_t kLeastChunk_bytes = 32 << 10;
constexpr size_t kMostChunk_bytes = 1 << 20;
constexpr size_t kFirstWindow_bytes = 1 << 20;
constexpr size_t kMostWindow_bytes = 16 << 20;
constexpr uint64_t kMostDelta_ns = 0xffffffff;
constexpr uint64_t kMostTimePackets = 64;  // longer pauses start a new chunk
constexpr int64_t kFinishPatience_ns = 200'000'000;

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
  bool quiet = false;                       // seen outside a record since the writer stopped
  std::atomic<const void*> owner{nullptr};  // the thread's `current`; null when its thread has ended
  Slot* next = nullptr;

  size_t room() const { return end - position; }
};

struct Current {
  uint64_t writer = 0;
  Slot* slot = nullptr;
};
// Initial-exec: the access is one instruction and never allocates. The few bytes fit the static TLS surplus of
// late-loaded libraries.
thread_local Current current __attribute__((tls_model("initial-exec")));

void publish(uint8_t* tag) { __atomic_store_n(tag, kPacketTag, __ATOMIC_RELEASE); }

// Fills [at, end) with one packet that says nothing; at least kLeastPadding_bytes. Zero bytes are there already.
void pad(uint8_t* at, const uint8_t* end) {
  const size_t bytes = end - at;
  constexpr uint32_t kTag = fields::Packet::kPadding << 3 | 2;
  const auto put_wide = [](uint8_t* out, size_t value) {  // three bytes whatever the value
    *out++ = static_cast<uint8_t>(value) | 0x80;
    *out++ = static_cast<uint8_t>(value >> 7) | 0x80;
    *out++ = static_cast<uint8_t>(value >> 14);
    return out;
  };
  if (bytes < 128) {
    uint8_t* out = put_varint(at + 1, bytes - 2);
    out = put_varint(out, kTag);
    put_varint(out, bytes - 5);
  } else {
    uint8_t* out = put_wide(at + 1, bytes - 4);
    out = put_varint(out, kTag);
    put_wide(out, bytes - 9);
  }
  publish(at);
}

uint8_t* put_delta(uint8_t* out, uint64_t delta_ns) {
  *out++ = kDeltaTag;
  return put_varint(out, delta_ns);
}

// Once per process: threads that end give their chunks back, forked children stop.
pthread_once_t process_hooks_once = PTHREAD_ONCE_INIT;
pthread_key_t thread_end_key;
pthread_mutex_t live_writers_mutex = PTHREAD_MUTEX_INITIALIZER;
std::atomic<uint64_t> last_writer_id{0};

class Lock {
 public:
  explicit Lock(pthread_mutex_t* mutex) : mutex_(mutex) { pthread_mutex_lock(mutex_); }
  ~Lock() { pthread_mutex_unlock(mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  pthread_mutex_t* mutex_;
};

int64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

void nap() {
  const timespec pause = {0, 50'000};
  nanosleep(&pause, nullptr);
}

// All threads of the process have passed a full memory barrier when this returns. Where the kernel lacks the call,
// waiting long enough for every store buffer to drain does the same.
void barrier_in_all_threads() {
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return;
  const timespec pause = {0, 10'000'000};
  nanosleep(&pause, nullptr);
}

}  // namespace

struct Writer::Impl {
  const uint64_t id = ++last_writer_id;
  size_t chunk_bytes = 0;
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

  Impl* next_live = nullptr;
  static Impl* live;

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

  static void thread_ended(void*);
  static void install_process_hooks();
};

Writer::Impl* Writer::Impl::live = nullptr;

Writer::Impl::~Impl() {
  for (Window* held : {window, upcoming}) delete held;
  while (slots != nullptr) {
    Slot* next = slots->next;
    delete slots;
    slots = next;
  }
}

void Writer::Impl::thread_ended(void*) {
  const void* self = &current;
  {
    Lock live_lock(&live_writers_mutex);
    for (Impl* impl = live; impl != nullptr; impl = impl->next_live) {
      if (impl->state.load(std::memory_order_acquire) == kAbandoned) continue;
      Lock lock(&impl->mutex);
      for (Slot* slot = impl->slots; slot != nullptr; slot = slot->next) {
        if (slot->owner.load(std::memory_order_relaxed) == self) impl->release(slot);
      }
    }
  }
  current = Current{};
}

void Writer::Impl::install_process_hooks() {
  pthread_key_create(&thread_end_key, thread_ended);
  // The child's copy of the list must be whole.
  pthread_atfork([] { pthread_mutex_lock(&live_writers_mutex); }, [] { pthread_mutex_unlock(&live_writers_mutex); },
                 [] {
                   for (Impl* impl = live; impl != nullptr; impl = impl->next_live)
                     impl->state.store(kAbandoned, std::memory_order_release);
                   pthread_mutex_unlock(&live_writers_mutex);
                 });
  syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}

bool Writer::Impl::start(const Options& options, std::string* error) {
  chunk_bytes = kLeastChunk_bytes;
  while (chunk_bytes < options.chunk_bytes && chunk_bytes < kMostChunk_bytes) chunk_bytes *= 2;
  if (!file.create(options.directory, options.base_name, error)) return false;
  Lock lock(&mutex);
  if (!grow()) {
    *error = "cannot allocate the trace file: " + file.path() + ": " + std::string(strerror(errno));
    unlink(file.path().c_str());
    return false;
  }
  window = upcoming;
  upcoming = nullptr;
  return true;
}

// The calling thread's slot for this writer; null when there is no memory for one.
Slot* Writer::Impl::attach() {
  const uint32_t now = state.load(std::memory_order_acquire);
  if (now == kFinished || now == kAbandoned) return nullptr;
  Lock lock(&mutex);
  Slot* slot = slots;
  while (slot != nullptr && slot->owner.load(std::memory_order_relaxed) != &current) slot = slot->next;
  if (slot == nullptr) {
    slot = slots;
    while (slot != nullptr && slot->owner.load(std::memory_order_relaxed) != nullptr) slot = slot->next;
    if (slot == nullptr) {
      slot = new (std::nothrow) Slot;
      if (slot == nullptr) {
        ++lost;
        return nullptr;
      }
      slot->next = slots;
      slots = slot;
    }
    slot->thread = threads++;
    slot->thread_sequence = 0;
    slot->owner.store(&current, std::memory_order_relaxed);
    pthread_setspecific(thread_end_key, &current);
    if (slot->position != nullptr && slot->room() >= kLeastReuse_bytes && now == kRunning) {
      begin_chunk(slot, now_ns());
    }
  }
  current.writer = id;
  current.slot = slot;
  return slot;
}

// The slot's thread has ended: another one may go on in its chunk. Needs the lock.
void Writer::Impl::release(Slot* slot) {
  if (slot->position != nullptr && slot->room() < kLeastReuse_bytes &&
      state.load(std::memory_order_relaxed) < kFinished)
    close_chunk(slot);
  slot->owner.store(nullptr, std::memory_order_relaxed);
}

// Adds a window as `upcoming`. Needs the lock.
bool Writer::Impl::grow() {
  Window* added = new (std::nothrow) Window;
  if (added == nullptr) {
    errno = ENOMEM;
    return false;
  }
  added->file_offset = file.size();
  added->base = file.grow(next_window_bytes, chunk_bytes, &added->bytes);
  if (added->base == nullptr) {
    const int reason = errno;
    delete added;
    errno = reason;
    return false;
  }
  if (next_window_bytes < kMostWindow_bytes) next_window_bytes *= 2;
  upcoming = added;
  return true;
}

void Writer::Impl::stop_full() {
  const int reason = errno;
  uint32_t expected = kRunning;
  if (!state.compare_exchange_strong(expected, kFull)) return;
  char line[512];
  const int bytes =
      std::snprintf(line, sizeof line, "maya: trace stopped: %.300s: %s; the program goes on without it\n",
                    file.path().c_str(), strerror(reason));
  if (bytes > 0) {
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, std::min<size_t>(bytes, sizeof line - 1));
  }
}

// Pads the rest of the slot's chunk. Needs the lock.
void Writer::Impl::close_chunk(Slot* slot) {
  Window* held = slot->window;
  pad(slot->position, slot->end);
  slot->position = slot->end = nullptr;
  slot->window = nullptr;
  if (last_chunk_slot == slot) last_chunk_slot = nullptr;
  if (--held->open_chunks == 0 && held != window) {
    munmap(held->base, held->bytes);
    delete held;
  }
}

// Writes a chunk header at the slot's position: all that follows up to the end of the chunk belongs to the slot's
// thread. Needs the lock.
void Writer::Impl::begin_chunk(Slot* slot, uint64_t time_ns) {
  const size_t bytes = slot->room();
  uint8_t header[kChunkHeader_bytes];
  const auto put_field = [](uint8_t* out, uint32_t field, uint64_t value) {
    if (value == 0) return out;
    *out++ = static_cast<uint8_t>(field << 3);
    return put_varint(out, value);
  };
  uint8_t* out = header;
  *out++ = fields::ChunkHeader::kMagic << 3 | 5;
  std::memcpy(out, &fields::kChunkMagic, 4);
  out = put_field(out + 4, fields::ChunkHeader::kThread, slot->thread);
  out = put_field(out, fields::ChunkHeader::kSequence, sequence++);
  *out++ = fields::ChunkHeader::kTimeNs << 3 | 1;
  std::memcpy(out, &time_ns, 8);
  out = put_field(out + 8, fields::ChunkHeader::kThreadSequence, slot->thread_sequence++);
  out = put_field(out, fields::ChunkHeader::kOsThreadId, gettid());
  out = put_field(out, fields::ChunkHeader::kChunkBytes, bytes);
  const size_t size = out - header;

  uint8_t* tag = slot->position;
  tag[1] = static_cast<uint8_t>(size + 2);
  tag[2] = fields::Packet::kChunk << 3 | 2;
  tag[3] = static_cast<uint8_t>(size);
  std::memcpy(tag + 4, header, size);
  publish(tag);
  slot->position = tag + 4 + size;
  slot->last_ns = time_ns;
}

// Gives the slot a fresh chunk; its old one is closed. False, and the writer is full, when the file cannot grow.
bool Writer::Impl::take_chunk(Slot* slot, uint64_t time_ns, bool may_use_last) {
  Lock lock(&mutex);
  if (slot->position != nullptr) close_chunk(slot);
  const size_t left = window->bytes - window->used_bytes;
  if (left <= chunk_bytes && upcoming == nullptr && state.load(std::memory_order_relaxed) == kRunning && !grow()) {
    stop_full();
    if (!may_use_last) return false;
  }
  if (left == 0) {
    if (upcoming == nullptr) return false;
    Window* used_up = window;
    window = upcoming;
    upcoming = nullptr;
    if (used_up->open_chunks == 0) {
      munmap(used_up->base, used_up->bytes);
      delete used_up;
    }
  }
  slot->window = window;
  slot->position = window->base + window->used_bytes;
  slot->end = slot->position + chunk_bytes;
  window->used_bytes += chunk_bytes;
  ++window->open_chunks;
  last_chunk_slot = slot;
  last_chunk_end = window->file_offset + window->used_bytes;
#ifdef MADV_POPULATE_WRITE
  madvise(slot->position, chunk_bytes,
          MADV_POPULATE_WRITE);  // one call instead of a fault a page; may fail, then the faults come
#endif
  begin_chunk(slot, time_ns);
  return true;
}

// Makes the slot ready for a record of `bytes` (frame and least padding included) at time_ns.
bool Writer::Impl::make_room(Slot* slot, size_t bytes, uint64_t time_ns, bool may_use_last) {
  if (bytes > chunk_bytes - kChunkHeader_bytes) {
    ++lost;
    return false;
  }
  const uint64_t gap_ns = time_ns > slot->last_ns ? time_ns - slot->last_ns : 0;
  const uint64_t time_packets = gap_ns / kMostDelta_ns;
  constexpr size_t kTimePacket_bytes = 8;
  if (slot->position == nullptr || time_packets > kMostTimePackets ||
      slot->room() < bytes + time_packets * kTimePacket_bytes) {
    if (take_chunk(slot, time_ns, may_use_last)) return true;
    ++lost;
    return false;
  }
  for (uint64_t i = 0; i < time_packets; ++i) {
    uint8_t* tag = slot->position;
    uint8_t* out = put_delta(tag + 2, kMostDelta_ns);
    tag[1] = static_cast<uint8_t>(out - tag - 2);
    publish(tag);
    slot->position = out;
    slot->last_ns += kMostDelta_ns;
  }
  return true;
}

inline void Writer::Impl::write_two_fields(uint8_t tag_byte, uint32_t record_id, uint32_t stream, uint64_t time_ns) {
  Slot* own = slot();
  if (__builtin_expect(own == nullptr || !enter(own, false), 0)) return;
  uint64_t delta_ns = time_ns > own->last_ns ? time_ns - own->last_ns : 0;
  if (__builtin_expect(own->room() < kHotRecord_bytes + kLeastPadding_bytes || delta_ns > kMostDelta_ns, 0)) {
    if (!make_room(own, kHotRecord_bytes + kLeastPadding_bytes, time_ns, false)) {
      leave(own);
      return;
    }
    delta_ns = time_ns > own->last_ns ? time_ns - own->last_ns : 0;
  }
  uint8_t* tag = own->position;
  uint8_t* out = tag + 2;
  *out++ = tag_byte;
  out = put_varint(out, record_id);
  out = put_delta(out, delta_ns);
  if (stream != 0) {
    *out++ = kStreamTag;
    out = put_varint(out, stream);
  }
  tag[1] = static_cast<uint8_t>(out - tag - 2);
  publish(tag);
  own->position = out;
  own->last_ns += delta_ns;
  leave(own);
}

Writer::Writer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

std::unique_ptr<Writer> Writer::create(const Options& options, std::string* error) {
  pthread_once(&process_hooks_once, Impl::install_process_hooks);
  now_ns();  // decides on the clock here, not in the first recorded call
  std::unique_ptr<Impl> impl(new Impl);
  if (!impl->start(options, error)) return nullptr;
  {
    Lock lock(&live_writers_mutex);
    impl->next_live = Impl::live;
    Impl::live = impl.get();
  }
  return std::unique_ptr<Writer>(new Writer(std::move(impl)));
}

Writer::~Writer() {
  finish();
  Lock lock(&live_writers_mutex);
  for (Impl** link = &Impl::live; *link != nullptr; link = &(*link)->next_live) {
    if (*link == impl_.get()) {
      *link = impl_->next_live;
      break;
    }
  }
}

void Writer::launch(uint32_t configuration, uint32_t stream, uint64_t time_ns) {
  impl_->write_two_fields(kLaunchTag, configuration, stream, time_ns);
}

void Writer::operation(uint32_t operation, uint32_t stream, uint64_t time_ns) {
  impl_->write_two_fields(kOperationTag, operation, stream, time_ns);
}

void Writer::packet(const Encoder& fields, uint64_t time_ns) { packet(fields.data(), fields.size(), time_ns); }

void Writer::packet(const uint8_t* fields, size_t bytes, uint64_t time_ns) {
  Slot* own = impl_->slot();
  const bool is_end = bytes > 0 && fields[0] == kEndTag;
  if (own == nullptr || !impl_->enter(own, is_end)) return;
  const size_t needed = bytes + kRecordFrame_bytes + kLeastPadding_bytes;
  uint64_t delta_ns = time_ns > own->last_ns ? time_ns - own->last_ns : 0;
  if (own->position == nullptr || own->room() < needed || delta_ns > kMostDelta_ns) {
    if (!impl_->make_room(own, needed, time_ns, is_end)) {
      impl_->leave(own);
      return;
    }
    delta_ns = time_ns > own->last_ns ? time_ns - own->last_ns : 0;
  }
  uint8_t delta_field[6];
  const size_t delta_bytes = delta_ns == 0 ? 0 : put_delta(delta_field, delta_ns) - delta_field;
  uint8_t* tag = own->position;
  uint8_t* out = put_varint(tag + 1, bytes + delta_bytes);
  std::memcpy(out, fields, bytes);
  std::memcpy(out + bytes, delta_field, delta_bytes);
  publish(tag);
  own->position = out + bytes + delta_bytes;
  own->last_ns += delta_ns;
  impl_->leave(own);
}

// Needs the lock. True when no thread but those that were interrupted inside a record can touch its chunk any more.
bool Writer::Impl::all_quiet() {
  bool all = true;
  for (Slot* slot = slots; slot != nullptr; slot = slot->next) {
    // Once seen outside a record after the barrier, a thread sees the new state before it touches its chunk.
    slot->quiet = slot->quiet || slot->busy.load(std::memory_order_acquire) == 0;
    all = all && slot->quiet;
  }
  return all;
}

// The writer has just been told to stop: waits until no thread is inside a record, pads all chunks and cuts the file.
// Where a thread stays inside one (finish() in a signal handler over a record) the file is left as a killed process
// would leave it.
void Writer::Impl::close_all() {
  const int64_t deadline_ns = monotonic_ns() + kFinishPatience_ns;
  barrier_in_all_threads();
  while (true) {
    if (pthread_mutex_trylock(&mutex) == 0) {
      if (all_quiet()) break;
      pthread_mutex_unlock(&mutex);  // a thread inside a record may need it
    }
    if (monotonic_ns() > deadline_ns) {
      file.close();
      return;
    }
    nap();
  }
  for (Slot* slot = slots; slot != nullptr; slot = slot->next) {
    if (slot->position != nullptr && slot != last_chunk_slot) close_chunk(slot);
  }
  uint64_t file_end = last_chunk_end;
  if (last_chunk_slot != nullptr) {
    file_end -= last_chunk_slot->room();
    if (last_chunk_slot->window != window) {
      munmap(last_chunk_slot->window->base, last_chunk_slot->window->bytes);
      delete last_chunk_slot->window;
    }
    last_chunk_slot->position = last_chunk_slot->end = nullptr;
  }
  file.cut_and_close(file_end);
  munmap(window->base, window->bytes);
  if (upcoming != nullptr) munmap(upcoming->base, upcoming->bytes);
  pthread_mutex_unlock(&mutex);
}

void Writer::finish() {
  uint32_t now = impl_->state.load(std::memory_order_acquire);
  while (now == kRunning || now == kFull) {
    if (impl_->state.compare_exchange_weak(now, kFinished, std::memory_order_acq_rel)) {
      impl_->close_all();
      return;
    }
  }
}

void Writer::abandon() {
  impl_->state.store(kAbandoned, std::memory_order_release);
  impl_->file.close();
}

const std::string& Writer::path() const { return impl_->file.path(); }

uint64_t Writer::packets_lost() const { return impl_->lost.load(std::memory_order_relaxed); }

}  // namespace maya::trace
