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
using maya::cuda::PoolRegistry;
using maya::cuda::Recorder;
using maya::cuda::Stream;
using maya::cuda::WhileCaptured;
using maya::cuda::with_stream;
using maya::device::Allocation;

namespace {

bool is_device(Call& call, int ordinal) { return ordinal >= 0 && ordinal < call.driver().device_count(); }
CUmemoryPool handle_of(Pool* pool) { return reinterpret_cast<CUmemoryPool>(pool); }

CUresult allocate_from(Call& call, Pool& pool, size_t bytes, const char* name, CUdeviceptr* out) {
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
      handle, per_thread, out != nullptr && bytes != 0,
      [&](Call& call, Stream& stream) -> CUresult {
        if (stream.capture() != nullptr) return Captures::allocate(call, stream, stream.context()->device, bytes, out);
        Pool* pool = PoolRegistry::get().current_pool(call.driver(), stream.context()->device);
        return allocate_from(call, *pool, bytes, "cuMemAllocAsync", out);
      },
      WhileCaptured::kAllowed);
}

CUresult allocate_from_pool(CUdeviceptr* out, size_t bytes, CUmemoryPool pool_handle, CUstream handle,
                            bool per_thread) {
  return with_stream(
      handle, per_thread, out != nullptr && bytes != 0,
      [&](Call& call, Stream& stream) -> CUresult {
        Pool* pool = pool_of(pool_handle);
        if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (stream.capture() != nullptr) return Captures::allocate(call, stream, pool->memory.device(), bytes, out);
        return allocate_from(call, *pool, bytes, "cuMemAllocFromPoolAsync", out);
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
        if (found.kind == maya::device::AllocationKind::kStreamOrdered)
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

// Only device memory has pools here; managed and host pools are refused as a device without them does.
CUresult located_pool(Call& call, CUmemoryPool* out, const CUmemLocation* location, CUmemAllocationType type,
                      bool current) {
  if (out == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_MEM_ALLOCATION_TYPE_PINNED || location->type != CU_MEM_LOCATION_TYPE_DEVICE)
    return CUDA_ERROR_NOT_SUPPORTED;
  if (!is_device(call, location->id)) return CUDA_ERROR_INVALID_VALUE;
  PoolRegistry& pools = PoolRegistry::get();
  *out = handle_of(current ? pools.current_pool(call.driver(), location->id)
                           : pools.default_pool(call.driver(), location->id));
  return CUDA_SUCCESS;
}

CUresult set_current(Call& call, int device, CUmemoryPool handle) {
  Pool* pool = pool_of(handle);
  if (pool == nullptr || pool->memory.device() != device) return CUDA_ERROR_INVALID_VALUE;
  PoolRegistry::get().set_current_pool(call.driver(), device, pool);
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
        pool.memory.reset_reserved_high();
        return CUDA_SUCCESS;
      case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        if (get<cuuint64_t>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
        pool.memory.reset_used_high();
        return CUDA_SUCCESS;
      default:
        return CUDA_ERROR_INVALID_VALUE;
    }
  });
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  return with_pool(handle, value != nullptr, [&](Call& call, Pool& pool) {
    maya::cuda::release_unused_pool_memory(call.driver(), pool.memory.device());
    const maya::device::MemoryPool::Statistics statistics = pool.memory.statistics();
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
        return put(value, cuuint64_t{statistics.reserved_bytes});
      case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        return put(value, cuuint64_t{statistics.reserved_high_bytes});
      case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        return put(value, cuuint64_t{statistics.used_bytes});
      case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        return put(value, cuuint64_t{statistics.used_high_bytes});
      case CU_MEMPOOL_ATTR_ALLOCATION_TYPE:
        return put(value, CU_MEM_ALLOCATION_TYPE_PINNED);
      case CU_MEMPOOL_ATTR_EXPORT_HANDLE_TYPES:
        return put(value, pool.export_types);
      case CU_MEMPOOL_ATTR_LOCATION_ID:
        return put(value, pool.memory.device());
      case CU_MEMPOOL_ATTR_LOCATION_TYPE:
        return put(value, CU_MEM_LOCATION_TYPE_DEVICE);
      case CU_MEMPOOL_ATTR_MAX_POOL_SIZE:
        return put(value, cuuint64_t{pool.maximum_bytes});
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
      const bool own = entry.location.id == pool.memory.device();
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
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || !is_device(call, location->id))
      return CUDA_ERROR_INVALID_VALUE;
    const bool allowed = location->id == pool.memory.device() || (pool.peer_access.load() >> location->id & 1) != 0;
    *flags = allowed ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolCreate(CUmemoryPool* out, const CUmemPoolProps* properties) {
  return enter(Needs::kInitialized, [&](Call& call) {
    if (out == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
      return properties->allocType == CU_MEM_ALLOCATION_TYPE_INVALID ? CUDA_ERROR_INVALID_VALUE
                                                                     : CUDA_ERROR_NOT_SUPPORTED;
    if (!is_device(call, properties->location.id)) return CUDA_ERROR_INVALID_VALUE;
    constexpr int kTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | CU_MEM_HANDLE_TYPE_FABRIC;
    if ((properties->handleTypes & ~kTypes) != 0) return CUDA_ERROR_NOT_SUPPORTED;
    Pool* made = PoolRegistry::get().create(call.driver(), properties->location.id, properties->maxSize,
                                            properties->handleTypes);
    if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = handle_of(made);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  return with_pool(handle, true, [](Call&, Pool& pool) {
    if (pool.default_pool) return CUDA_ERROR_INVALID_VALUE;
    PoolRegistry::get().destroy(pool);
    return CUDA_SUCCESS;
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
    return set_current(call, location->id, pool);
  });
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* out, CUdevice device) {
  return enter(Needs::kInitialized, [&](Call& call) {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(call, device)) return CUDA_ERROR_INVALID_DEVICE;
    *out = handle_of(PoolRegistry::get().default_pool(call.driver(), device));
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetMemPool(CUmemoryPool* out, CUdevice device) {
  return enter(Needs::kInitialized, [&](Call& call) {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(call, device)) return CUDA_ERROR_INVALID_DEVICE;
    *out = handle_of(PoolRegistry::get().current_pool(call.driver(), device));
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  return enter(Needs::kInitialized, [&](Call& call) {
    if (!is_device(call, device)) return CUDA_ERROR_INVALID_DEVICE;
    return set_current(call, device, pool);
  });
}
