// Where the bytes go: windows of the file, chunks of a window, and their orderly end.
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "trace_proto/writer_impl.h"

namespace maya::trace {
namespace {

constexpr size_t kLeastChunk_bytes = 32 << 10;
constexpr size_t kMostChunk_bytes = 1 << 20;
constexpr size_t kMostWindow_bytes = 16 << 20;
constexpr uint64_t kMostTimePackets = 64;  // longer pauses start a new chunk
constexpr int64_t kFinishPatience_ns = 200'000'000;

int64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

void nap() {
  const timespec pause = {0, 50'000};
  nanosleep(&pause, nullptr);
}

}  // namespace

bool Writer::Impl::start(const Options& options, std::string* error) {
  records_delays = options.records_delays;
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

}  // namespace maya::trace
