// Where pools of host memory, pinned or managed, get theirs: each allocation is a mapping of its own, in whole pages,
// that goes back when it is freed. Thread safe.
#pragma once

#include <cuda.h>

#include <map>
#include <mutex>

#include "driver_shim/cuda/driver.h"
#include "driver_shim/cuda/pool_share.h"
#include "virtual_device/pool_usage.h"

namespace maya::cuda {

class HostPool {
 public:
  HostPool(device::AllocationKind kind, uint64_t maximum_bytes) : kind_(kind), maximum_bytes_(maximum_bytes) {}

  // `share`: the area that it comes from; null: memory of this process alone. CUDA_ERROR_OUT_OF_MEMORY when there is
  // none left.
  CUresult allocate(Driver& driver, PoolShare* share, uint64_t bytes, CUdeviceptr* out);
  // CUDA_ERROR_INVALID_VALUE when the address is not the first of an allocation of this pool.
  CUresult free(Driver& driver, PoolShare* share, CUdeviceptr address);
  bool owns(CUdeviceptr address) const;

  // Reserved is what is used: whole pages.
  device::PoolUsage& usage() { return usage_; }
  const device::PoolUsage& usage() const { return usage_; }

 private:
  const device::AllocationKind kind_;
  const uint64_t maximum_bytes_;
  mutable std::mutex mutex_;
  std::map<CUdeviceptr, uint64_t> mapped_bytes_;  // by first address
  device::PoolUsage usage_;
};

}  // namespace maya::cuda
