// All pools of the process, and which one each device allocates from. Thread safe; never destroyed.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "driver_shim/cuda/pool.h"
#include "virtual_device/handle_pool.h"

namespace maya::cuda {

class PoolRegistry {
 public:
  static PoolRegistry& get();

  // The pools of a location and allocation type: properties that cuMemPoolCreate takes. Made at first use. Throws
  // std::bad_alloc.
  Pool* default_pool(Driver& driver, const PoolProperties& properties);
  Pool* current_pool(Driver& driver, const PoolProperties& properties);
  void set_current_pool(Driver& driver, const PoolProperties& properties, Pool* pool);
  // Those of a device, which cuMemAllocAsync uses.
  static PoolProperties of_device(int device);

  // Null when there are too many.
  Pool* create(Driver& driver, const PoolProperties& properties, std::unique_ptr<PoolShare> share);
  // Ends the pool: its memory goes back now, or as its allocations are freed. Devices that used it go back to their
  // default pool. The object stays as a tombstone, so that a stale handle is found out and no thread is left with a
  // dangling one.
  void destroy(Pool& pool);
  Pool* around(CUdeviceptr address);
  device::HandlePool<Pool>& pools() { return pools_; }

 private:
  struct Place {
    Pool* standard = nullptr;
    Pool* current = nullptr;
  };
  PoolRegistry();
  Place& place_of(Driver& driver, const PoolProperties& properties);  // mutex_ held

  device::HandlePool<Pool> pools_;
  std::mutex mutex_;                                   // guards places_
  std::map<std::tuple<int, int, int>, Place> places_;  // by allocation type, location type and id
};

}  // namespace maya::cuda
