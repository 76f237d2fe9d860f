// Pools of the stream-ordered allocator: the default ones, and those that programs create. Memory of a pool is on a
// device, or pinned or managed memory of the host (host_pool.h).
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "driver_shim/cuda/driver.h"
#include "driver_shim/cuda/host_pool.h"
#include "driver_shim/cuda/pool_share.h"
#include "virtual_device/memory_pool.h"

namespace maya::cuda {

// What cuMemPoolCreate was given.
struct PoolProperties {
  CUmemAllocationType type = CU_MEM_ALLOCATION_TYPE_PINNED;
  CUmemLocation location{CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  uint64_t maximum_bytes = 0;  // 0: no limit of its own
  CUmemAllocationHandleType export_types = CU_MEM_HANDLE_TYPE_NONE;
  bool on_device() const {
    return type == CU_MEM_ALLOCATION_TYPE_PINNED && location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  }
};

struct Pool {
  // `shared`: what other processes may map; null where the pool is not for them.
  Pool(device::Memory& device_memory, const PoolProperties& given, bool is_default, std::unique_ptr<PoolShare> shared)
      : properties(given),
        share(std::move(shared)),
        memory(device_memory, given.on_device() ? given.location.id : -1, given.maximum_bytes),
        host(given.type == CU_MEM_ALLOCATION_TYPE_MANAGED ? device::AllocationKind::kManaged
                                                          : device::AllocationKind::kHost,
             given.maximum_bytes),
        default_pool(is_default) {}
  bool on_device() const { return properties.on_device(); }
  // Imported pools hold what cuMemPoolImportPointer brought; nothing can be allocated from them.
  bool imported() const { return share != nullptr && share->imported(); }
  bool owns(CUdeviceptr address) const {
    return (on_device() ? memory.owns(address) : host.owns(address)) || (imported() && share->holds(address));
  }
  device::PoolUsage& usage() { return on_device() ? memory.usage() : host.usage(); }

  const PoolProperties properties;
  const std::unique_ptr<PoolShare> share;
  device::MemoryPool memory;  // of pools on a device
  HostPool host;              // of the others
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
// False where the address is in a pool of another device that `device` was not given access to.
bool pool_lets_in(int device, CUdeviceptr address);

// Frees a stream-ordered allocation; the memory is free for others once virtual time reaches `ready_ns`.
CUresult free_to_pool(Driver& driver, CUdeviceptr address, uint64_t ready_ns);

// Documented is that memory above a pool's release threshold goes back at the next synchronisation after the free. It
// is done here where that can be seen: when free memory or pool statistics are asked for, or memory is short, after the
// work before the free has ended.
void release_unused_pool_memory(Driver& driver, int device);
// Gives back all that pools of the device hold unused. False when that was nothing.
bool trim_pools(Driver& driver, int device);

}  // namespace maya::cuda
