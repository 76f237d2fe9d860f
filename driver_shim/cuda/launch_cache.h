// Launches that a thread has made before: kernel, grid and shape arguments -> trace id and duration. One per thread,
// direct mapped, no lock.
#pragma once

#include <cstdint>

#include "driver_shim/cuda/device_time.h"
#include "driver_shim/cuda/kernel.h"

namespace maya::cuda {

// Packed into whole words by make(), so that comparing and hashing never read what was just written in smaller pieces.
struct LaunchKey {
  static constexpr uint32_t kHeadWords = 5;
  static constexpr uint32_t kClusterWords = 2;  // of launches that say something of clusters, or are cooperative
  // The scalars follow the head, what is said of clusters follows the scalars.
  uint64_t words[kHeadWords + kMostScalars + kClusterWords];
  uint32_t scalars;
  uint32_t count;  // words in use; 0: empty

  // `kernel_id` tells a kernel from a later one at the same address. Scalars are added next, then finish() ends it.
  void make(const Kernel* kernel, uint32_t kernel_id, const device::Launch& launch) {
    make_head(kernel, kernel_id, launch);
    scalars = 0;
  }
  void make_head(const Kernel* kernel, uint32_t kernel_id, const device::Launch& launch) {
    words[0] = reinterpret_cast<uintptr_t>(kernel);
    words[1] = pair(kernel_id, launch.dynamic_shared_bytes);
    words[2] = pair(launch.grid[0], launch.grid[1]);
    words[3] = pair(launch.grid[2], launch.block[0]);
    words[4] = pair(launch.block[1], launch.block[2]);
  }
  // Appends a shape argument; at most kMostScalars.
  void add(uint64_t scalar) { words[kHeadWords + scalars++] = scalar; }
  void finish(const device::Launch& launch) {
    count = kHeadWords + scalars;
    const uint64_t first = pair(launch.cluster[0], launch.cluster[1]);
    const uint64_t second = pair(launch.cluster[2], launch.cooperative);
    if ((first | second) == 0) [[likely]]
      return;
    words[count++] = first;
    words[count++] = second;
  }
  uint32_t scalar_count() const { return scalars; }
  uint64_t scalar(uint32_t i) const { return words[kHeadWords + i]; }

  bool operator==(const LaunchKey& other) const {
    uint64_t different = pair(count, scalars) ^ pair(other.count, other.scalars);
#pragma GCC unroll 5
    for (uint32_t i = 0; i < kHeadWords; ++i) different |= words[i] ^ other.words[i];
    if (different != 0) return false;
    for (uint32_t i = kHeadWords; i < count; ++i) different |= words[i] ^ other.words[i];
    return different == 0;
  }
  uint64_t hash() const {
    uint64_t sum = 0;
#pragma GCC unroll 5
    for (uint32_t i = 0; i < kHeadWords; ++i) sum += words[i] * kMultipliers[i];
    for (uint32_t i = kHeadWords; i < count; ++i) sum += words[i] * (kMultipliers[(i - kHeadWords) % 8] + 2);
    return sum ^ sum >> 32;
  }

 private:
  static uint64_t pair(uint32_t low, uint32_t high) { return uint64_t{high} << 32 | low; }
};

struct LaunchCache {
  struct Entry {
    LaunchKey key;
    uint32_t configuration;  // 0: empty
    uint64_t duration_ns;
  };
  static constexpr uint32_t kEntries = 1024;
  Entry entries[kEntries];  // zero at first
  Entry& slot(uint64_t hash) { return entries[(hash ^ hash >> 16) % kEntries]; }
};

}  // namespace maya::cuda
