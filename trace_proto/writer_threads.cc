// Threads come and go: a slot for each, given to another thread when its own has ended; forked children stop writing.
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "trace_proto/writer_impl.h"

namespace maya::trace {

constinit thread_local Current current;

namespace {

constexpr size_t kLeastReuse_bytes =
    4096;  // room in the chunk of a thread that ended, for another thread to go on in it

// Once per process: threads that end give their chunks back, forked children stop.
pthread_once_t process_hooks_once = PTHREAD_ONCE_INIT;
pthread_key_t thread_end_key;
pthread_mutex_t live_writers_mutex = PTHREAD_MUTEX_INITIALIZER;
uint64_t last_writer_id = 0;  // guarded by the mutex, as the list of live writers is

}  // namespace

std::atomic<Writer::Impl*> Writer::Impl::live{nullptr};

void barrier_in_all_threads() {
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return;
  if (errno == EPERM && syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 &&
      syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
    return;
  const timespec pause = {0, 10'000'000};
  nanosleep(&pause, nullptr);
}

void Writer::Impl::enlist() {
  pthread_once(&process_hooks_once, install_process_hooks);
  Lock lock(&live_writers_mutex);
  id = ++last_writer_id;
  next_live = live.load();
  live = this;  // next_live is set: one store makes it part of the list
}

void Writer::Impl::delist() {
  Lock lock(&live_writers_mutex);
  std::atomic<Impl*>* link = &live;
  while (*link != this) link = &link->load()->next_live;
  *link = next_live.load();
}

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
  // No lock is taken before a fork: another library's handlers may hold theirs then. The list is whole at every
  // instant.
  pthread_atfork(nullptr, nullptr, [] {
    for (Impl* impl = live; impl != nullptr; impl = impl->next_live)
      impl->state.store(kAbandoned, std::memory_order_release);
    live_writers_mutex = PTHREAD_MUTEX_INITIALIZER;  // whoever held it is not in the child
  });
  syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
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
    if (records_delays) slot->delayed_ns = delays_so_far();
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

}  // namespace maya::trace
