// Launches that a thread has made before: kernel, grid and shape arguments -> trace id and duration. One per thread,
// direct mapped, no lock.
#pragma once

#include <cstdint>

#include "driver_shim/cuda/kernel.h"

namespace maya::cuda {

// At most so many shape arguments take part: as many as device::shape_scalars() gives.
inline constexpr uint32_t kMostScalars = 8;

struct LaunchKey {
  const Kernel* kernel = nullptr;
  uint32_t kernel_id = 0;  // tells a kernel from a later one at the same address
  uint32_t grid[3] = {0, 0, 0};
  uint32_t block[3] = {0, 0, 0};
  uint32_t dynamic_shared_bytes = 0;
  uint32_t cluster[3] = {0, 0, 0};
  uint32_t cooperative = 0;
  uint32_t scalar_count = 0;
  uint64_t scalars[kMostScalars] = {};
};

struct LaunchCache {
  struct Entry {
    LaunchKey key;
    uint32_t configuration = 0;  // 0: empty
    uint64_t duration_ns = 0;
  };
  static constexpr uint32_t kEntries = 1024;
  Entry entries[kEntries];
};

}  // namespace maya::cuda
