// Unified addressing: what is behind a pointer value.
#include <cuda.h>

#include <cstring>
#include <map>
#include <mutex>

#include "driver_shim/cuda/gate.h"
#include "driver_shim/cuda/pool.h"
#include "driver_shim/cuda/vmm.h"

using namespace maya::cuda;

namespace {

using maya::device::Allocation;
using maya::device::AllocationKind;

struct Pointer {
  CUdeviceptr address = 0;
  bool known = false;     // an allocation, a mapping, or registered memory
  bool reserved = false;  // at least in an address reservation
  Allocation allocation;
  uint64_t range_base = 0;  // the reservation, or the allocation
  uint64_t range_bytes = 0;
};

Pointer look_up(Call& call, CUdeviceptr address) {
  Pointer pointer;
  pointer.address = address;
  pointer.known = call.memory().find(address, &pointer.allocation);
  pointer.reserved = call.memory().find_reservation(address, &pointer.range_base, &pointer.range_bytes);
  if (pointer.known && !pointer.reserved) {
    pointer.range_base = pointer.allocation.base;
    pointer.range_bytes = pointer.allocation.bytes;
  }
  return pointer;
}

bool is_host_kind(const Allocation& allocation) {
  return allocation.kind == AllocationKind::kHost || allocation.kind == AllocationKind::kManaged ||
         allocation.kind == AllocationKind::kRegistered;
}

// Set by CU_POINTER_ATTRIBUTE_SYNC_MEMOPS; all synchronous operations here always synchronise. By allocation id, which
// is never reused.
std::mutex sync_mutex;
std::map<uint64_t, bool>& sync_flags() {
  static std::map<uint64_t, bool>& flags = *new std::map<uint64_t, bool>;
  return flags;
}

template <typename Value>
CUresult put(void* out, Value value) {
  std::memcpy(out, &value, sizeof(value));
  return CUDA_SUCCESS;
}

uint64_t physical_id(Call& call, const Pointer& pointer) {
  uint64_t handle = 0;
  if (call.memory().physical_of(pointer.address, &handle) == maya::device::MemoryStatus::kOk) return handle;
  return pointer.allocation.id;
}

// For pointers that are known. The default values of unknown ones: unknown_attribute().
CUresult known_attribute(Call& call, const Pointer& pointer, CUpointer_attribute attribute, void* out) {
  const Allocation& allocation = pointer.allocation;
  const bool on_host = is_host_kind(allocation);
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return put(out, static_cast<CUcontext>(allocation.context));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: {
      const bool managed_on_device = allocation.kind == AllocationKind::kManaged;
      return put(out,
                 static_cast<unsigned int>(on_host && !managed_on_device ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE));
    }
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return put(out, pointer.address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return on_host ? put(out, reinterpret_cast<void*>(pointer.address)) : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
      return CUDA_ERROR_NOT_SUPPORTED;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: {
      std::lock_guard<std::mutex> lock(sync_mutex);
      const auto found = sync_flags().find(allocation.id);
      return put(out, found != sync_flags().end() && found->second ? 1 : 0);
    }
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return put(out, static_cast<unsigned long long>(allocation.id));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return put(out, allocation.kind == AllocationKind::kManaged ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put(out, allocation.device);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return put(out, allocation.kind == AllocationKind::kDevice ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return put(out, CUdeviceptr{pointer.range_base});
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return put(out, size_t{pointer.range_bytes});
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return put(out, 1);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return put(out, static_cast<unsigned long long>(export_types_at(call, pointer.address)));
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return put(out, 0);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return put(out, static_cast<unsigned int>(CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE));
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return put(out, pool_around(pointer.address));
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return put(out, size_t{allocation.bytes});
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return put(out, CUdeviceptr{allocation.base});
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return put(out, static_cast<unsigned long long>(physical_id(call, pointer)));
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return put(out, 0);
  }
  return CUDA_ERROR_INVALID_VALUE;
}

// What cuPointerGetAttributes answers for pointers it does not know: documented as "default NULL values".
CUresult unknown_attribute(const Pointer& pointer, CUpointer_attribute attribute, void* out) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return put(out, static_cast<void*>(nullptr));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return put(out, CUdeviceptr{0});
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return put(out, CUdeviceptr{pointer.range_base});
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return put(out, size_t{pointer.range_bytes});
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return put(out, 0ull);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put(out, CU_DEVICE_INVALID);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return put(out, 0);
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

bool is_range_attribute(CUpointer_attribute attribute) {
  return attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR || attribute == CU_POINTER_ATTRIBUTE_RANGE_SIZE ||
         attribute == CU_POINTER_ATTRIBUTE_MAPPED;
}

}  // namespace

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  return enter(Needs::kInitialized, [&](Call& call) -> CUresult {
    if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_POINTER && call.thread().current() == nullptr)
      return CUDA_ERROR_INVALID_CONTEXT;
    const Pointer pointer = look_up(call, address);
    if (pointer.known) return known_attribute(call, pointer, attribute, data);
    // A reservation without memory has a range, and is not mapped.
    if (pointer.reserved && is_range_attribute(attribute)) return unknown_attribute(pointer, attribute, data);
    return CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute* attributes, void** data, CUdeviceptr address) {
  return enter(Needs::kInitialized, [&](Call& call) -> CUresult {
    if (count == 0 || attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Pointer pointer = look_up(call, address);
    for (unsigned int i = 0; i < count; ++i) {
      if (data[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
      CUresult status = pointer.known ? known_attribute(call, pointer, attributes[i], data[i])
                                      : unknown_attribute(pointer, attributes[i], data[i]);
      // No host pointer is a null value here, not an error.
      if (status != CUDA_SUCCESS && attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER)
        status = unknown_attribute(pointer, attributes[i], data[i]);
      if (status != CUDA_SUCCESS) return status;
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  return enter(Needs::kContext, [&](Call& call) {
    if (value == nullptr || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) return CUDA_ERROR_INVALID_VALUE;
    const Pointer pointer = look_up(call, address);
    if (!pointer.known) return CUDA_ERROR_INVALID_VALUE;
    unsigned int flag = 0;
    std::memcpy(&flag, value, sizeof(flag));
    std::lock_guard<std::mutex> lock(sync_mutex);
    sync_flags()[pointer.allocation.id] = flag != 0;
    return CUDA_SUCCESS;
  });
}
