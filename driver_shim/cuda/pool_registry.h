// All pools of the process, and which one each device allocates from. Thread safe; never destroyed.
#pragma once

#include <mutex>
#include <vector>

#include "driver_shim/cuda/pool.h"
#include "virtual_device/handle_pool.h"

namespace maya::cuda {

class PoolRegistry {
 public:
  static PoolRegistry& get();

  // Made at first use. Throws std::bad_alloc.
  Pool* default_pool(Driver& driver, int device);
  Pool* current_pool(Driver& driver, int device);
  void set_current_pool(Driver& driver, int device, Pool* pool);

  Pool* create(Driver& driver, int device, uint64_t maximum_bytes,
               CUmemAllocationHandleType types);  // null when there are too many
  // Ends the pool: its memory goes back now, or as its allocations are freed. Devices that used it go back to their
  // default pool. The object stays as a tombstone, so that a stale handle is found out and no thread is left with a
  // dangling one.
  void destroy(Pool& pool);
  Pool* around(CUdeviceptr address);
  device::HandlePool<Pool>& pools() { return pools_; }

 private:
  struct DevicePools {
    Pool* standard = nullptr;
    Pool* current = nullptr;
  };
  PoolRegistry();
  DevicePools& of_device(Driver& driver, int device);  // mutex_ held

  device::HandlePool<Pool> pools_;
  std::mutex mutex_;  // guards devices_
  std::vector<DevicePools> devices_;
};

}  // namespace maya::cuda
