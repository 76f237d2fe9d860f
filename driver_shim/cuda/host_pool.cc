#include "driver_shim/cuda/host_pool.h"

#include <algorithm>

#include "driver_shim/cuda/host_allocation.h"
#include "driver_shim/cuda/recorder.h"

namespace maya::cuda {

CUresult HostPool::allocate(Driver& driver, PoolShare* share, uint64_t bytes, CUdeviceptr* out) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (bytes > UINT64_MAX / 2) return CUDA_ERROR_OUT_OF_MEMORY;
  const uint64_t mapped = SharedArea::whole_pages(bytes);
  if (maximum_bytes_ != 0 && mapped > maximum_bytes_ - std::min(maximum_bytes_, usage_.used.now()))
    return CUDA_ERROR_OUT_OF_MEMORY;
  device::Allocation entry;
  entry.bytes = bytes;
  entry.kind = kind_;
  entry.flags = kind_ == device::AllocationKind::kManaged ? CU_MEM_ATTACH_GLOBAL : CU_MEMHOSTALLOC_PORTABLE;
  if (share == nullptr) {
    if (const CUresult status = map_host_memory(driver, &entry); status != CUDA_SUCCESS) return status;
  } else {
    void* memory = share->allocate(bytes);
    if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    entry.base = entry.host_alias = reinterpret_cast<uint64_t>(memory);
    if (const CUresult status = add_host_memory(driver, entry); status != CUDA_SUCCESS) {
      share->end(driver.memory(), entry.base);
      return status;
    }
  }
  mapped_bytes_[entry.base] = mapped;
  usage_.used.add(mapped);
  usage_.reserved.add(mapped);
  *out = entry.base;
  return CUDA_SUCCESS;
}

CUresult HostPool::free(Driver& driver, PoolShare* share, CUdeviceptr address) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = mapped_bytes_.find(address);
  if (found == mapped_bytes_.end()) return CUDA_ERROR_INVALID_VALUE;
  if (share == nullptr) {
    if (const CUresult status = free_host_memory(driver, address, kind_); status != CUDA_SUCCESS) return status;
  } else {
    device::Allocation removed;
    if (driver.memory().remove_host(address, &removed) != device::MemoryStatus::kOk) return CUDA_ERROR_INVALID_VALUE;
    share->end(driver.memory(), address);
    Recorder::get().free(removed);
  }
  usage_.used.remove(found->second);
  usage_.reserved.remove(found->second);
  mapped_bytes_.erase(found);
  return CUDA_SUCCESS;
}

bool HostPool::owns(CUdeviceptr address) const {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = mapped_bytes_.upper_bound(address);
  return found != mapped_bytes_.begin() && address - (--found)->first < found->second;
}

}  // namespace maya::cuda
