// Pools of the stream-ordered allocator: the default one of each device and those that programs create.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>

#include "driver_shim/cuda/driver.h"
#include "virtual_device/memory_pool.h"

namespace maya::cuda {

struct Pool {
  Pool(device::Memory& device_memory, int device, uint64_t maximum, CUmemAllocationHandleType handle_types,
       bool is_default)
      : memory(device_memory, device, maximum),
        maximum_bytes(maximum),
        export_types(handle_types),
        default_pool(is_default) {}
  device::MemoryPool memory;
  const uint64_t maximum_bytes;
  const CUmemAllocationHandleType export_types;
  const bool default_pool;
  std::atomic<uint64_t> release_threshold_bytes{0};
  std::atomic<int> reuse_follow_event_dependencies{1};
  std::atomic<int> reuse_allow_opportunistic{1};
  std::atomic<int> reuse_allow_internal_dependencies{1};
  std::atomic<uint64_t> freed_until_ns{0};  // virtual time at which the last free is done
  std::atomic<uint64_t> peer_access{0};     // devices beside its own that may read and write, one bit each
  std::atomic<bool> destroyed{false};       // lives on until its allocations are freed
};

// The live pool behind a handle; null for anything else.
Pool* pool_of(CUmemoryPool handle);
// The pool that an address was allocated from; null when it was not.
CUmemoryPool pool_around(CUdeviceptr address);

// Frees a stream-ordered allocation; the memory is free for others once virtual time reaches `ready_ns`.
CUresult free_to_pool(Driver& driver, CUdeviceptr address, uint64_t ready_ns);

// Documented is that memory above a pool's release threshold goes back at the next synchronisation after the free. It
// is done here where that can be seen: when free memory or pool statistics are asked for, or memory is short, after the
// work before the free has ended.
void release_unused_pool_memory(Driver& driver, int device);
// Gives back all that pools of the device hold unused. False when that was nothing.
bool trim_pools(Driver& driver, int device);

}  // namespace maya::cuda
