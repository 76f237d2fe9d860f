// The test program's own malloc and mmap, which the driver takes like any library: they count, and can be told to fail
// once.
#pragma once

#include <atomic>
#include <cstdint>

namespace driver_test {

extern std::atomic<uint64_t> allocations;    // calls of malloc so far
extern std::atomic<int64_t> fail_malloc_at;  // so many more calls succeed, then one fails; negative: none does
extern std::atomic<int64_t> fail_mmap_at;

}  // namespace driver_test
