// A pool for stream-ordered allocation (cuMemAllocAsync). It takes chunks of device memory, which are charged, and
// carves allocations out of them, which are not; chunks stay until trimmed.
//
// NVIDIA documents neither growth nor placement. Chosen here: a chunk is 32 MiB, or the request rounded up to 2 MiB
// where that is more, or what a limit leaves where that is less; allocations are multiples of 512 bytes, best fit. A
// request that does not fit first gives unused chunks back, then fails. Thread safe. Memory must outlive the pool.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "virtual_device/memory.h"
#include "virtual_device/memory_free_ranges.h"
#include "virtual_device/pool_usage.h"

namespace maya::device {

class MemoryPool {
 public:
  static constexpr uint64_t kGrowth_bytes = 32ull << 20;

  // maximum_bytes: 0 = no limit but the device's.
  MemoryPool(Memory& memory, int device, uint64_t maximum_bytes)
      : memory_(memory), device_(device), maximum_bytes_(maximum_bytes) {}
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  int device() const { return device_; }

  // *grown: the chunk that was taken for it (kind kPoolGrowth), bytes 0 when none. `released` gets chunks that were
  // given back on the way.
  MemoryStatus allocate(uint64_t bytes, void* context, Allocation* out, Allocation* grown,
                        std::vector<Allocation>* released);
  // kNotFound when `base` is not an allocation of this pool.
  MemoryStatus free(Address base, Allocation* freed);
  bool owns(Address address) const;
  // Gives chunks without allocations back, as long as at least `keep_bytes` stay reserved.
  void trim(uint64_t keep_bytes, std::vector<Allocation>* released);

  // Reserved are chunks; used are allocations, rounded to 512 bytes.
  PoolUsage& usage() { return usage_; }
  const PoolUsage& usage() const { return usage_; }

 private:
  struct Chunk {
    uint64_t bytes = 0;
    uint64_t used_bytes = 0;
    FreeRanges free;
  };
  void trim_locked(uint64_t keep_bytes, std::vector<Allocation>* released);
  std::map<Address, Chunk>::const_iterator chunk_around(Address address) const;

  Memory& memory_;
  const int device_;
  const uint64_t maximum_bytes_;
  mutable std::mutex mutex_;
  std::map<Address, Chunk> chunks_;
  PoolUsage usage_;
};

}  // namespace maya::device
