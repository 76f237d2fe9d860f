#include "test/cuda/counted_allocations.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

namespace driver_test {

std::atomic<uint64_t> allocations{0};
std::atomic<int64_t> fail_malloc_at{-1};
std::atomic<int64_t> fail_mmap_at{-1};

}  // namespace driver_test

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

bool fails_now(std::atomic<int64_t>& countdown) { return countdown.load() >= 0 && countdown.fetch_sub(1) == 0; }

}  // namespace

extern "C" void* __libc_malloc(size_t bytes);

extern "C" __attribute__((visibility("default"))) void* malloc(size_t bytes) {
  driver_test::allocations.fetch_add(1, std::memory_order_relaxed);
  if (fails_now(driver_test::fail_malloc_at)) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_malloc(bytes);
}

extern "C" __attribute__((visibility("default"))) void* mmap(void* address, size_t bytes, int protection, int flags,
                                                             int file, off_t offset) noexcept {
  if (fails_now(driver_test::fail_mmap_at)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}

#endif
