// State of the stream-ordered allocator's pools.
#include <algorithm>

#include "driver_shim/cuda/allocation.h"
#include "driver_shim/cuda/pool.h"
#include "driver_shim/cuda/pool_registry.h"
#include "driver_shim/cuda/recorder.h"

namespace maya::cuda {
namespace {

constexpr size_t kMostPools = 1 << 20;

void record_released(const std::vector<device::Allocation>& released) {
  for (const device::Allocation& chunk : released) Recorder::get().free(chunk);
}

bool trim(Pool& pool, uint64_t keep_bytes) {
  std::vector<device::Allocation> released;
  pool.memory.trim(keep_bytes, &released);
  record_released(released);
  return !released.empty();
}

}  // namespace

PoolRegistry& PoolRegistry::get() {
  static PoolRegistry& registry = *new PoolRegistry;
  return registry;
}

PoolRegistry::PoolRegistry() : pools_(kMostPools) {}

PoolRegistry::DevicePools& PoolRegistry::of_device(Driver& driver, int device) {
  const auto ordinal = static_cast<size_t>(device);
  if (devices_.size() <= ordinal) devices_.resize(ordinal + 1);
  DevicePools& pools = devices_[ordinal];
  if (pools.standard == nullptr) {
    pools.standard = pools_.create(driver.memory(), device, uint64_t{0}, CU_MEM_HANDLE_TYPE_NONE, true);
    if (pools.standard == nullptr) throw std::bad_alloc();
  }
  if (pools.current == nullptr) pools.current = pools.standard;
  return pools;
}

Pool* PoolRegistry::default_pool(Driver& driver, int device) {
  std::lock_guard<std::mutex> lock(mutex_);
  return of_device(driver, device).standard;
}

Pool* PoolRegistry::current_pool(Driver& driver, int device) {
  std::lock_guard<std::mutex> lock(mutex_);
  return of_device(driver, device).current;
}

void PoolRegistry::set_current_pool(Driver& driver, int device, Pool* pool) {
  std::lock_guard<std::mutex> lock(mutex_);
  of_device(driver, device).current = pool;
}

Pool* PoolRegistry::create(Driver& driver, int device, uint64_t maximum_bytes, CUmemAllocationHandleType types) {
  return pools_.create(driver.memory(), device, maximum_bytes, types, false);
}

void PoolRegistry::destroy(Pool& pool) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (DevicePools& pools : devices_)
      if (pools.current == &pool) pools.current = pools.standard;
  }
  pool.destroyed.store(true, std::memory_order_release);
  trim(pool, 0);
}

Pool* PoolRegistry::around(CUdeviceptr address) {
  Pool* found = nullptr;
  pools_.for_each([&](Pool* pool) {
    if (found == nullptr && pool->memory.owns(address)) found = pool;
  });
  return found;
}

Pool* pool_of(CUmemoryPool handle) {
  Pool* pool = PoolRegistry::get().pools().get(handle);
  return pool != nullptr && !pool->destroyed.load(std::memory_order_acquire) ? pool : nullptr;
}

CUmemoryPool pool_around(CUdeviceptr address) {
  return reinterpret_cast<CUmemoryPool>(PoolRegistry::get().around(address));
}

CUresult free_to_pool(Driver&, CUdeviceptr address, uint64_t ready_ns) {
  Pool* pool = PoolRegistry::get().around(address);
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  device::Allocation freed;
  if (pool->memory.free(address, &freed) != device::MemoryStatus::kOk) return CUDA_ERROR_INVALID_VALUE;
  Recorder::get().free(freed);
  uint64_t until = pool->freed_until_ns.load(std::memory_order_relaxed);
  while (until < ready_ns && !pool->freed_until_ns.compare_exchange_weak(until, ready_ns, std::memory_order_relaxed)) {
  }
  if (pool->destroyed.load(std::memory_order_acquire)) trim(*pool, 0);
  return CUDA_SUCCESS;
}

void release_unused_pool_memory(Driver& driver, int device) {
  const uint64_t now_ns = driver.virtual_now_ns();
  PoolRegistry::get().pools().for_each([&](Pool* pool) {
    if (pool->memory.device() != device || pool->freed_until_ns.load(std::memory_order_relaxed) > now_ns) return;
    const uint64_t threshold = pool->release_threshold_bytes.load(std::memory_order_relaxed);
    if (pool->memory.statistics().reserved_bytes > threshold) trim(*pool, threshold);
  });
}

bool trim_pools(Driver&, int device) {
  bool any = false;
  PoolRegistry::get().pools().for_each([&](Pool* pool) {
    if (pool->memory.device() == device && trim(*pool, 0)) any = true;
  });
  return any;
}

}  // namespace maya::cuda
