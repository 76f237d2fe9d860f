// Stream Ordered Memory Allocator.
#include "driver_shim/cuda/pool.h"
#include "driver_shim/cuda/capture.h"

#include <cuda.h>

#include <cstring>

#include "driver_shim/common/api.h"
#include "driver_shim/cuda/allocation.h"
#include "driver_shim/cuda/gate.h"
#include "driver_shim/cuda/pool_registry.h"
#include "driver_shim/cuda/recorder.h"
#include "driver_shim/cuda/stream_call.h"

using maya::cuda::Call;
using maya::cuda::Captures;
using maya::cuda::enter;
using maya::cuda::Needs;
using maya::cuda::Pool;
using maya::cuda::pool_of;
using maya::cuda::PoolProperties;
using maya::cuda::PoolRegistry;
using maya::cuda::PoolShare;
using maya::cuda::Recorder;
using maya::cuda::Stream;
using maya::cuda::WhileCaptured;
using maya::cuda::with_stream;
using maya::device::Allocation;

namespace {

// Nothing is documented of no bytes; programs (cuda.core) take it that there is an address to be freed.
size_t at_least_one(size_t bytes) { return bytes == 0 ? 1 : bytes; }

bool is_device(Call& call, int ordinal) { return ordinal >= 0 && ordinal < call.driver().device_count(); }
CUmemoryPool handle_of(Pool* pool) { return reinterpret_cast<CUmemoryPool>(pool); }

CUresult allocate_from(Call& call, Pool& pool, size_t bytes, const char* name, CUdeviceptr* out) {
  // "Imported memory pools do not support creating new allocations."
  if (pool.imported()) return CUDA_ERROR_INVALID_VALUE;
  if (!pool.on_device()) return pool.host.allocate(call.driver(), pool.share.get(), bytes, out);
  Allocation made, grown;
  std::vector<Allocation> released;
  const maya::device::MemoryStatus status = pool.memory.allocate(bytes, nullptr, &made, &grown, &released);
  for (const Allocation& chunk : released) Recorder::get().free(chunk);
  if (grown.bytes != 0) Recorder::get().allocation(grown);
  if (status != maya::device::MemoryStatus::kOk) {
    const CUresult result = maya::cuda::memory_result(status);
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
      maya::cuda::record_allocation_failure(call.driver(), pool.memory.device(), bytes, name);
    return result;
  }
  Recorder::get().allocation(made);
  *out = made.base;
  return CUDA_SUCCESS;
}

CUresult allocate(CUdeviceptr* out, size_t bytes, CUstream handle, bool per_thread) {
  return with_stream(
      handle, per_thread, out != nullptr,
      [&](Call& call, Stream& stream) -> CUresult {
        if (stream.capture() != nullptr)
          return Captures::allocate(call, stream, stream.context()->device, at_least_one(bytes), out);
        Pool* pool = PoolRegistry::get().current_pool(call.driver(), PoolRegistry::of_device(stream.context()->device));
        return allocate_from(call, *pool, at_least_one(bytes), "cuMemAllocAsync", out);
      },
      WhileCaptured::kAllowed);
}

CUresult allocate_from_pool(CUdeviceptr* out, size_t bytes, CUmemoryPool pool_handle, CUstream handle,
                            bool per_thread) {
  return with_stream(
      handle, per_thread, out != nullptr,
      [&](Call& call, Stream& stream) -> CUresult {
        Pool* pool = pool_of(pool_handle);
        if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (stream.capture() != nullptr)
          return pool->on_device() ? Captures::allocate(call, stream, pool->memory.device(), at_least_one(bytes), out)
                                   : CUDA_ERROR_NOT_SUPPORTED;
        return allocate_from(call, *pool, at_least_one(bytes), "cuMemAllocFromPoolAsync", out);
      },
      WhileCaptured::kAllowed);
}

CUresult free_ordered(CUdeviceptr address, CUstream handle, bool per_thread) {
  return with_stream(
      handle, per_thread, address != 0,
      [&](Call& call, Stream& stream) -> CUresult {
        if (stream.capture() != nullptr) return Captures::free(stream, address);
        Allocation found;
        if (!call.memory().find(address, &found) || found.base != address) return CUDA_ERROR_INVALID_VALUE;
        if (found.kind == maya::device::AllocationKind::kStreamOrdered || maya::cuda::pool_around(address) != nullptr)
          return maya::cuda::free_to_pool(call.driver(), address, stream.ready_ns());
        return maya::cuda::free_device_memory(call.driver(), address);
      },
      WhileCaptured::kAllowed);
}

template <typename Body>
CUresult with_pool(CUmemoryPool handle, bool valid, Body&& body) {
  return enter(Needs::kInitialized, [&](Call& call) -> CUresult {
    Pool* pool = pool_of(handle);
    if (pool == nullptr || !valid) return CUDA_ERROR_INVALID_VALUE;
    return body(call, *pool);
  });
}

template <typename Value>
CUresult put(void* out, Value value) {
  std::memcpy(out, &value, sizeof(value));
  return CUDA_SUCCESS;
}

template <typename Value>
Value get(const void* in) {
  Value value;
  std::memcpy(&value, in, sizeof(value));
  return value;
}

// The locations that pools of an allocation type can have. The host has one NUMA node here.
CUresult check_place(Call& call, CUmemAllocationType type, const CUmemLocation& location) {
  if (type != CU_MEM_ALLOCATION_TYPE_PINNED && type != CU_MEM_ALLOCATION_TYPE_MANAGED) return CUDA_ERROR_INVALID_VALUE;
  switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return is_device(call, location.id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_MEM_LOCATION_TYPE_HOST:
      return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
      return location.id == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_MEM_LOCATION_TYPE_NONE:
      return type == CU_MEM_ALLOCATION_TYPE_MANAGED ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

// The documented rules of cuMemPoolCreate.
CUresult check_properties(Call& call, const CUmemPoolProps& given) {
  if (const CUresult status = check_place(call, given.allocType, given.location); status != CUDA_SUCCESS) return status;
  constexpr int kTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | CU_MEM_HANDLE_TYPE_FABRIC;
  if ((given.handleTypes & ~kTypes) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  const bool managed = given.allocType == CU_MEM_ALLOCATION_TYPE_MANAGED;
  if (given.handleTypes != CU_MEM_HANDLE_TYPE_NONE && (managed || given.location.type == CU_MEM_LOCATION_TYPE_HOST))
    return CUDA_ERROR_INVALID_VALUE;
  return managed && given.maxSize != 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult located_pool(Call& call, CUmemoryPool* out, const CUmemLocation* location, CUmemAllocationType type,
                      bool current) {
  if (out == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult status = check_place(call, type, *location); status != CUDA_SUCCESS) return status;
  PoolRegistry& pools = PoolRegistry::get();
  const PoolProperties place{type, *location};
  *out = handle_of(current ? pools.current_pool(call.driver(), place) : pools.default_pool(call.driver(), place));
  return CUDA_SUCCESS;
}

bool is_same_place(const PoolProperties& a, const PoolProperties& b) {
  const bool by_id =
      a.location.type == CU_MEM_LOCATION_TYPE_DEVICE || a.location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
  return a.type == b.type && a.location.type == b.location.type && (!by_id || a.location.id == b.location.id);
}

CUresult set_current(Call& call, const PoolProperties& place, CUmemoryPool handle) {
  Pool* pool = pool_of(handle);
  // Imported pools cannot be allocated from.
  if (pool == nullptr || pool->imported() || !is_same_place(pool->properties, place)) return CUDA_ERROR_INVALID_VALUE;
  PoolRegistry::get().set_current_pool(call.driver(), place, pool);
  return CUDA_SUCCESS;
}

bool is_host(CUmemLocationType type) {
  return type == CU_MEM_LOCATION_TYPE_HOST || type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
}

// `share`: of an imported pool; a pool that others may import gets its own here.
CUresult make_pool(Call& call, const PoolProperties& properties, std::unique_ptr<PoolShare> share, CUmemoryPool* out) {
  if (share == nullptr && (properties.export_types & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0) {
    share = PoolShare::create(properties);
    if (share == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  Pool* made = PoolRegistry::get().create(call.driver(), properties, std::move(share));
  if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *out = handle_of(made);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuMemAllocAsync(CUdeviceptr* out, size_t bytes, CUstream stream) {
  return allocate(out, bytes, stream, false);
}
MAYA_API CUresult cuMemAllocAsync_ptsz(CUdeviceptr* out, size_t bytes, CUstream stream) {
  return allocate(out, bytes, stream, true);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* out, size_t bytes, CUmemoryPool pool, CUstream stream) {
  return allocate_from_pool(out, bytes, pool, stream, false);
}
MAYA_API CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr* out, size_t bytes, CUmemoryPool pool, CUstream stream) {
  return allocate_from_pool(out, bytes, pool, stream, true);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) { return free_ordered(address, stream, false); }
MAYA_API CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream) {
  return free_ordered(address, stream, true);
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t keep_bytes) {
  return with_pool(handle, true, [&](Call&, Pool& pool) {
    std::vector<Allocation> released;
    pool.memory.trim(keep_bytes, &released);
    for (const Allocation& chunk : released) Recorder::get().free(chunk);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  return with_pool(handle, value != nullptr, [&](Call&, Pool& pool) {
    switch (attribute) {
      case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        pool.reuse_follow_event_dependencies = get<int>(value);
        return CUDA_SUCCESS;
      case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
        pool.reuse_allow_opportunistic = get<int>(value);
        return CUDA_SUCCESS;
      case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        pool.reuse_allow_internal_dependencies = get<int>(value);
        return CUDA_SUCCESS;
      case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        pool.release_threshold_bytes = get<cuuint64_t>(value);
        return CUDA_SUCCESS;
      case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        if (get<cuuint64_t>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
        pool.usage().reserved.reset_high();
        return CUDA_SUCCESS;
      case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        if (get<cuuint64_t>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
        pool.usage().used.reset_high();
        return CUDA_SUCCESS;
      default:
        return CUDA_ERROR_INVALID_VALUE;
    }
  });
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  return with_pool(handle, value != nullptr, [&](Call& call, Pool& pool) {
    maya::cuda::release_unused_pool_memory(call.driver(), pool.memory.device());
    const maya::device::PoolUsage& usage = pool.usage();
    switch (attribute) {
      case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        return put(value, pool.reuse_follow_event_dependencies.load());
      case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
        return put(value, pool.reuse_allow_opportunistic.load());
      case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        return put(value, pool.reuse_allow_internal_dependencies.load());
      case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        return put(value, cuuint64_t{pool.release_threshold_bytes.load()});
      case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        return put(value, cuuint64_t{usage.reserved.now()});
      case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        return put(value, cuuint64_t{usage.reserved.high()});
      case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        return put(value, cuuint64_t{usage.used.now()});
      case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        return put(value, cuuint64_t{usage.used.high()});
      case CU_MEMPOOL_ATTR_ALLOCATION_TYPE:
        return put(value, pool.properties.type);
      case CU_MEMPOOL_ATTR_EXPORT_HANDLE_TYPES:
        return put(value, pool.properties.export_types);
      case CU_MEMPOOL_ATTR_LOCATION_ID:
        return put(value, pool.properties.location.id);
      case CU_MEMPOOL_ATTR_LOCATION_TYPE:
        return put(value, pool.properties.location.type);
      case CU_MEMPOOL_ATTR_MAX_POOL_SIZE:
        return put(value, cuuint64_t{pool.properties.maximum_bytes});
      case CU_MEMPOOL_ATTR_HW_DECOMPRESS_ENABLED:
        return put(value, 0);
    }
    return CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc* map, size_t count) {
  return with_pool(handle, map != nullptr || count == 0, [&](Call& call, Pool& pool) {
    uint64_t access = pool.peer_access.load();
    for (size_t i = 0; i < count; ++i) {
      const CUmemAccessDesc& entry = map[i];
      if (entry.location.type != CU_MEM_LOCATION_TYPE_DEVICE || !is_device(call, entry.location.id))
        return CUDA_ERROR_INVALID_VALUE;
      if (entry.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && entry.flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        return CUDA_ERROR_INVALID_VALUE;
      const bool own = pool.on_device() && entry.location.id == pool.properties.location.id;
      // A pool is always accessible from its own device.
      if (own && entry.flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) return CUDA_ERROR_INVALID_VALUE;
      const uint64_t bit = 1ull << entry.location.id;
      access = entry.flags == CU_MEM_ACCESS_FLAGS_PROT_NONE ? access & ~bit : access | bit;
    }
    pool.peer_access = access;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool handle, CUmemLocation* location) {
  return with_pool(handle, flags != nullptr && location != nullptr, [&](Call& call, Pool& pool) {
    if (is_host(location->type) && !pool.on_device()) {
      *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
      return CUDA_SUCCESS;
    }
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || !is_device(call, location->id))
      return CUDA_ERROR_INVALID_VALUE;
    // Every device may use managed memory.
    const bool allowed = pool.properties.type == CU_MEM_ALLOCATION_TYPE_MANAGED ||
                         (pool.on_device() && location->id == pool.properties.location.id) ||
                         (pool.peer_access.load() >> location->id & 1) != 0;
    *flags = allowed ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolCreate(CUmemoryPool* out, const CUmemPoolProps* properties) {
  return enter(Needs::kInitialized, [&](Call& call) -> CUresult {
    if (out == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult status = check_properties(call, *properties); status != CUDA_SUCCESS) return status;
    return make_pool(call, {properties->allocType, properties->location, properties->maxSize, properties->handleTypes},
                     nullptr, out);
  });
}

CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  return with_pool(handle, true, [](Call&, Pool& pool) {
    if (pool.default_pool) return CUDA_ERROR_INVALID_VALUE;
    PoolRegistry::get().destroy(pool);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolExportToShareableHandle(void* out, CUmemoryPool handle, CUmemAllocationHandleType type,
                                          unsigned long long flags) {
  return with_pool(handle, out != nullptr && flags == 0, [&](Call&, Pool& pool) {
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && type != CU_MEM_HANDLE_TYPE_FABRIC)
      return CUDA_ERROR_INVALID_VALUE;
    if ((pool.properties.export_types & type) == 0) return CUDA_ERROR_INVALID_VALUE;
    // Fabric handles need the IMEX service.
    if (type == CU_MEM_HANDLE_TYPE_FABRIC) return CUDA_ERROR_NOT_SUPPORTED;
    const int descriptor = pool.share->new_descriptor();
    if (descriptor < 0) return CUDA_ERROR_OUT_OF_MEMORY;
    return put(out, descriptor);
  });
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool* out, void* descriptor, CUmemAllocationHandleType type,
                                            unsigned long long flags) {
  return enter(Needs::kInitialized, [&](Call& call) -> CUresult {
    if (out == nullptr || flags != 0 || type == CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
    PoolProperties properties;
    std::unique_ptr<PoolShare> share =
        PoolShare::open(static_cast<int>(reinterpret_cast<intptr_t>(descriptor)), &properties);
    if (share == nullptr) return CUDA_ERROR_INVALID_VALUE;
    // The exporter may see other devices.
    if (properties.on_device() && !is_device(call, properties.location.id)) return CUDA_ERROR_INVALID_DEVICE;
    return make_pool(call, properties, std::move(share), out);
  });
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData* out, CUdeviceptr address) {
  return enter(Needs::kInitialized, [&](Call& call) -> CUresult {
    const Pool* pool = PoolRegistry::get().around(address);
    Allocation found;
    if (out == nullptr || pool == nullptr || pool->share == nullptr || !call.memory().find(address, &found))
      return CUDA_ERROR_INVALID_VALUE;
    return pool->share->export_pointer(call.memory(), found, out);
  });
}

CUresult cuMemPoolImportPointer(CUdeviceptr* out, CUmemoryPool handle, CUmemPoolPtrExportData* data) {
  return with_pool(handle, out != nullptr && data != nullptr, [&](Call& call, Pool& pool) -> CUresult {
    if (!pool.imported()) return CUDA_ERROR_INVALID_VALUE;
    Allocation made;
    const CUresult status = pool.share->import_pointer(call.driver(), pool.properties, *data, &made);
    if (status == CUDA_SUCCESS) *out = made.base;
    return status;
  });
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool* out, CUmemLocation* location, CUmemAllocationType type) {
  return enter(Needs::kInitialized, [&](Call& call) { return located_pool(call, out, location, type, false); });
}

CUresult cuMemGetMemPool(CUmemoryPool* out, CUmemLocation* location, CUmemAllocationType type) {
  return enter(Needs::kInitialized, [&](Call& call) { return located_pool(call, out, location, type, true); });
}

CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool pool) {
  return enter(Needs::kInitialized, [&](Call& call) -> CUresult {
    CUmemoryPool unused = nullptr;
    if (const CUresult status = located_pool(call, &unused, location, type, true); status != CUDA_SUCCESS)
      return status;
    return set_current(call, {type, *location}, pool);
  });
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* out, CUdevice device) {
  return enter(Needs::kInitialized, [&](Call& call) {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(call, device)) return CUDA_ERROR_INVALID_DEVICE;
    *out = handle_of(PoolRegistry::get().default_pool(call.driver(), PoolRegistry::of_device(device)));
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetMemPool(CUmemoryPool* out, CUdevice device) {
  return enter(Needs::kInitialized, [&](Call& call) {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(call, device)) return CUDA_ERROR_INVALID_DEVICE;
    *out = handle_of(PoolRegistry::get().current_pool(call.driver(), PoolRegistry::of_device(device)));
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  return enter(Needs::kInitialized, [&](Call& call) {
    if (!is_device(call, device)) return CUDA_ERROR_INVALID_DEVICE;
    return set_current(call, PoolRegistry::of_device(device), pool);
  });
}
