#include "driver_shim/cuda/fork_guard.h"

#include <pthread.h>
#include <sys/mman.h>

namespace maya::cuda {
namespace {

// Kernels before 4.14 know no MADV_WIPEONFORK; fork() of the C library is then still noticed.
void after_fork_in_child() {
  if (fork_guard.started.load(std::memory_order_relaxed)) fork_guard.alive->store(0, std::memory_order_relaxed);
}

std::atomic<uint32_t>* map_page() {
  constexpr size_t kPage_bytes = 4096;
  void* page = mmap(nullptr, kPage_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  madvise(page, kPage_bytes, MADV_WIPEONFORK);
  pthread_atfork(nullptr, nullptr, &after_fork_in_child);
  return static_cast<std::atomic<uint32_t>*>(page);
}

// At load, so that no two threads can meet here.
__attribute__((constructor)) void make_fork_guard() { fork_guard.alive = map_page(); }

}  // namespace

constinit ForkGuard fork_guard{nullptr};

bool arm_fork_guard() noexcept {
  if (fork_guard.alive == nullptr) return false;
  if (in_forked_child()) return true;
  fork_guard.alive->store(1, std::memory_order_relaxed);
  fork_guard.started.store(true, std::memory_order_release);
  return true;
}

}  // namespace maya::cuda
