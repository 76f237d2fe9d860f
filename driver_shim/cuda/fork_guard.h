// Tells a forked child of a process that had started the driver. Every public call in such a child fails with
// CUDA_ERROR_NOT_INITIALIZED, takes no lock and writes nothing: a lock may have been held by another thread at the time
// of the fork, and the trace is the parent's.
#pragma once

#include <atomic>
#include <cstdint>

namespace maya::cuda {

// One page that the kernel wipes in every forked child, however it was forked (MADV_WIPEONFORK).
struct ForkGuard {
  std::atomic<uint32_t>* alive;      // 1 in the process that started the driver, 0 in its children
  std::atomic<bool> started{false};  // travels to children
};
extern ForkGuard fork_guard;

// Called before the driver's first lock is taken. False when no page can be had.
bool arm_fork_guard() noexcept;

inline bool in_forked_child() noexcept {
  return fork_guard.started.load(std::memory_order_relaxed) && fork_guard.alive->load(std::memory_order_relaxed) == 0;
}

// The same for who knows that the driver had been started, by this process or the one that it comes from.
inline bool started_driver_is_gone() noexcept { return fork_guard.alive->load(std::memory_order_relaxed) == 0; }

}  // namespace maya::cuda
