// Launches that a thread has made before: kernel, grid and shape arguments -> trace id and duration. One per thread,
// direct mapped, no lock.
#pragma once

#include <algorithm>
#include <cstdint>

#include "driver_shim/cuda/device_time.h"
#include "driver_shim/cuda/kernel.h"

namespace maya::cuda {

// Grid and block of a launch as calls hand them over in registers.
struct Dimensions {
  uint64_t grid_xy, block_xy;  // x in the low half
  uint32_t grid_z, block_z;

  static uint64_t pair(uint32_t low, uint32_t high) { return uint64_t{high} << 32 | low; }
  static Dimensions of(const device::Launch& launch) {
    return {pair(launch.grid[0], launch.grid[1]), pair(launch.block[0], launch.block[1]), launch.grid[2],
            launch.block[2]};
  }
};

// What tells launches apart, in whole words, so that comparing and hashing never read what was just written in smaller
// pieces.
struct LaunchKey {
  static constexpr uint32_t kHeadWords = 5;
  static constexpr uint32_t kTailWords = kMostScalars + 1;
  uint64_t head[kHeadWords];
  uint64_t tail[kTailWords];  // the shape arguments, then what is said of clusters, if anything is
  uint16_t tail_count, scalar_count;

  uint64_t sum;  // of the words so far, for the hash

  // `stamp` tells a kernel from a later one at the same address, and from itself with other settings.
  [[gnu::always_inline]] LaunchKey(const Kernel* kernel, uint32_t stamp, const Dimensions& dimensions,
                                   uint32_t shared_bytes)
      : head{reinterpret_cast<uintptr_t>(kernel), dimensions.grid_xy, Dimensions::pair(dimensions.grid_z, stamp),
             dimensions.block_xy, Dimensions::pair(dimensions.block_z, shared_bytes)},
        tail_count(0),
        scalar_count(0),
        sum(0) {
#pragma GCC unroll 5
    for (uint32_t i = 0; i < kHeadWords; ++i) sum += head[i] * kMultipliers[i];
  }
  void set_stamp(uint32_t stamp) {
    const uint64_t old = head[2];
    head[2] = Dimensions::pair(static_cast<uint32_t>(old), stamp);
    sum += (head[2] - old) * kMultipliers[2];
  }

  [[gnu::always_inline]] void add_scalars(const Kernel& kernel, void* const* arguments) {
    const uint32_t count = kernel.key_scalars.load(std::memory_order_relaxed);
    const device::ScalarSlot* slot = kernel.shape_scalars.data();
    uint64_t multiplier = kMultipliers[kHeadWords];
    for (uint32_t i = 0; i < count; ++i, ++slot, multiplier += 2) {
      const char* bytes = static_cast<const char*>(arguments[slot->parameter]) + slot->offset_in_parameter;
      uint64_t value = 0;
      if (slot->size == 4) [[likely]] {
        uint32_t word = 0;
        memcpy(&word, bytes, sizeof word);
        value = word;
      } else if (slot->size >= sizeof value) {
        memcpy(&value, bytes, sizeof value);
      } else {
        for (uint32_t at = 0; at < slot->size; ++at) value |= uint64_t{static_cast<uint8_t>(bytes[at])} << 8 * at;
      }
      tail[i] = value;
      sum += value * multiplier;
    }
    tail_count = scalar_count = static_cast<uint16_t>(count);
  }
  // No cluster has so many blocks as do not fit: larger numbers are alike, and refused.
  void add_cluster(const device::Launch& launch) {
    constexpr uint32_t kBits = 20, kMost = (1u << kBits) - 1;
    uint64_t word = launch.cooperative;
    for (const uint32_t blocks : launch.cluster) word = word << kBits | std::min(blocks, kMost);
    if (word == 0) return;
    tail[tail_count++] = word;
    sum += word * kMultipliers[kHeadWords + 1];
  }

  [[gnu::always_inline]] uint64_t hash() const {
    const uint64_t folded = sum ^ sum >> 32;
    return folded ^ folded >> 16;
  }
};

struct LaunchCache {
  // Two cache lines; the first has all that a launch with one shape argument needs.
  struct alignas(64) Entry {
    uint64_t head[LaunchKey::kHeadWords];
    uint16_t tail_count, scalar_count;
    uint32_t configuration;  // 0: empty
    uint64_t duration_ns;
    uint64_t tail[LaunchKey::kTailWords];

    void set(const LaunchKey& key, uint32_t made_configuration, uint64_t made_duration_ns) {
      std::copy_n(key.head, LaunchKey::kHeadWords, head);
      std::copy_n(key.tail, key.tail_count, tail);
      tail_count = key.tail_count;
      scalar_count = key.scalar_count;
      configuration = made_configuration;
      duration_ns = made_duration_ns;
    }
    [[gnu::always_inline]] bool matches(const LaunchKey& key) const {
      uint64_t different = tail_count ^ key.tail_count;
#pragma GCC unroll 5
      for (uint32_t i = 0; i < LaunchKey::kHeadWords; ++i) different |= head[i] ^ key.head[i];
      if (different != 0) return false;
      for (uint32_t i = 0; i < key.tail_count; ++i) different |= tail[i] ^ key.tail[i];
      return different == 0;
    }
  };
  static_assert(sizeof(Entry) == 128);
  static constexpr uint32_t kEntries = 1024;
  Entry entries[kEntries];  // zero at first: no kernel has the address 0
  Entry& slot(uint64_t hash) { return entries[hash % kEntries]; }
};

}  // namespace maya::cuda
