// What a pool has in common with other processes: an area that each of them maps (shared_area.h), and which addresses
// lie where in it. Pinned memory is in the area itself; device memory has a window there (virtual_device/memory.h),
// from the first export of a pointer on. Thread safe.
#pragma once

#include <cuda.h>

#include <map>
#include <memory>
#include <mutex>

#include "driver_shim/cuda/driver.h"
#include "driver_shim/cuda/shared_area.h"
#include "virtual_device/memory.h"

namespace maya::cuda {

struct PoolProperties;

class PoolShare {
 public:
  // For a pool that is made here; null when the system has no descriptor left.
  static std::unique_ptr<PoolShare> create(const PoolProperties& properties);
  // For the pool of another process, or of this one again; null when the descriptor is none of a pool. *properties are
  // those that the pool was made with.
  static std::unique_ptr<PoolShare> open(int descriptor, PoolProperties* properties);

  bool imported() const { return imported_; }
  int new_descriptor() const { return area_->new_descriptor(); }

  // Zeroed pinned memory in the area; null when there is none left.
  void* allocate(uint64_t bytes);
  // What another process needs to know about an allocation of this pool.
  CUresult export_pointer(device::Memory& memory, const device::Allocation& allocation, CUmemPoolPtrExportData* out);
  // The other way round: device memory without charge, or pinned memory.
  CUresult import_pointer(Driver& driver, const PoolProperties& properties, const CUmemPoolPtrExportData& data,
                          device::Allocation* out);
  // True when the address lies in something that was imported.
  bool holds(CUdeviceptr address) const;
  // Ends what allocate(), export_pointer() or import_pointer() began for this first address; false when nothing.
  bool end(device::Memory& memory, CUdeviceptr address);

 private:
  struct Part {
    uint64_t bytes = 0;         // of the program's
    uint64_t offset = 0;        // in the area
    uint64_t mapped_bytes = 0;  // from there
    unsigned char* mapping = nullptr;
    bool window = false;
  };
  PoolShare(std::unique_ptr<SharedArea> area, bool imported) : area_(std::move(area)), imported_(imported) {}
  bool map_new(uint64_t bytes, uint64_t mapped_bytes, Part* out);

  const std::unique_ptr<SharedArea> area_;
  const bool imported_;
  mutable std::mutex mutex_;
  std::map<CUdeviceptr, Part> parts_;  // by address in this process
};

}  // namespace maya::cuda
