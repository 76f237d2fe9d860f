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
  if (!pool.on_device()) return false;
  std::vector<device::Allocation> released;
  pool.memory.trim(keep_bytes, &released);
  record_released(released);
  return !released.empty();
}

CUresult free_from(Driver& driver, Pool& pool, CUdeviceptr address) {
  device::Memory& memory = driver.memory();
  if (!pool.on_device() && !pool.imported()) return pool.host.free(driver, pool.share.get(), address);
  device::Allocation found, freed;
  if (!memory.find(address, &found) || found.base != address) return CUDA_ERROR_INVALID_VALUE;
  if (pool.share != nullptr) pool.share->end(memory, address);
  const device::MemoryStatus status = !pool.imported()   ? pool.memory.free(address, &freed)
                                      : pool.on_device() ? memory.free(address, &freed)
                                                         : memory.remove_host(address, &freed);
  if (status != device::MemoryStatus::kOk) return CUDA_ERROR_INVALID_VALUE;
  Recorder::get().free(freed);
  return CUDA_SUCCESS;
}

}  // namespace

PoolRegistry& PoolRegistry::get() {
  static PoolRegistry& registry = *new PoolRegistry;
  return registry;
}

PoolRegistry::PoolRegistry() : pools_(kMostPools) {}

PoolProperties PoolRegistry::of_device(int device) {
  PoolProperties properties;
  properties.location.id = device;
  return properties;
}

PoolRegistry::Place& PoolRegistry::place_of(Driver& driver, const PoolProperties& properties) {
  const bool by_id = properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE ||
                     properties.location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
  Place& place = places_[{properties.type, properties.location.type, by_id ? properties.location.id : 0}];
  if (place.standard == nullptr) {
    place.standard = pools_.create(driver.memory(), properties, true, nullptr);
    if (place.standard == nullptr) throw std::bad_alloc();
  }
  if (place.current == nullptr) place.current = place.standard;
  return place;
}

Pool* PoolRegistry::default_pool(Driver& driver, const PoolProperties& properties) {
  std::lock_guard<std::mutex> lock(mutex_);
  return place_of(driver, properties).standard;
}

Pool* PoolRegistry::current_pool(Driver& driver, const PoolProperties& properties) {
  std::lock_guard<std::mutex> lock(mutex_);
  return place_of(driver, properties).current;
}

void PoolRegistry::set_current_pool(Driver& driver, const PoolProperties& properties, Pool* pool) {
  std::lock_guard<std::mutex> lock(mutex_);
  place_of(driver, properties).current = pool;
}

Pool* PoolRegistry::create(Driver& driver, const PoolProperties& properties, std::unique_ptr<PoolShare> share) {
  return pools_.create(driver.memory(), properties, false, std::move(share));
}

void PoolRegistry::destroy(Pool& pool) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto& [key, place] : places_)
      if (place.current == &pool) place.current = place.standard;
  }
  pool.destroyed.store(true, std::memory_order_release);
  trim(pool, 0);
}

Pool* PoolRegistry::around(CUdeviceptr address) {
  Pool* found = nullptr;
  pools_.for_each([&](Pool* pool) {
    if (found == nullptr && pool->owns(address)) found = pool;
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

bool pool_lets_in(int device, CUdeviceptr address) {
  const Pool* pool = PoolRegistry::get().around(address);
  if (pool == nullptr || !pool->on_device() || pool->properties.location.id == device) return true;
  return (pool->peer_access.load() >> device & 1) != 0;
}

CUresult free_to_pool(Driver& driver, CUdeviceptr address, uint64_t ready_ns) {
  Pool* pool = PoolRegistry::get().around(address);
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult status = free_from(driver, *pool, address); status != CUDA_SUCCESS) return status;
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
    if (pool->memory.usage().reserved.now() > threshold) trim(*pool, threshold);
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
