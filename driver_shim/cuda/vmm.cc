// Virtual Memory Management.
#include "driver_shim/cuda/vmm.h"

#include <cuda.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <vector>

#include "driver_shim/common/api.h"
#include "driver_shim/cuda/allocation.h"
#include "driver_shim/cuda/pool.h"
#include "driver_shim/cuda/recorder.h"
#include "driver_shim/cuda/shareable_handle.h"
#include "driver_shim/cuda/stream_call.h"

namespace maya::cuda {
namespace {

using device::Allocation;
using device::AllocationKind;
using device::Memory;
using device::MemoryStatus;

constexpr int kExportTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | CU_MEM_HANDLE_TYPE_FABRIC;

// What cuMemCreate was given, by handle, and access by mapped range. Handles are never used twice.
struct State {
  std::mutex mutex;
  std::map<uint64_t, CUmemAllocationProp> properties;
  struct Access {
    uint64_t end = 0;
    uint64_t readable = 0, writable = 0;  // devices, one bit each
  };
  std::map<uint64_t, Access> access;  // by begin; ranges do not overlap
};
State& state() {
  static State& instance = *new State;
  return instance;
}

// A range loses its access: entries are cut at its ends. The mutex is held.
void clear_access(State& s, uint64_t begin, uint64_t end) {
  auto entry = s.access.lower_bound(begin);
  if (entry != s.access.begin() && std::prev(entry)->second.end > begin) --entry;
  while (entry != s.access.end() && entry->first < end) {
    const uint64_t entry_begin = entry->first;
    const State::Access old = entry->second;
    entry = s.access.erase(entry);
    if (entry_begin < begin) s.access[entry_begin] = {begin, old.readable, old.writable};
    if (old.end > end) s.access[end] = old;
  }
}

State::Access access_at(State& s, uint64_t address) {
  auto entry = s.access.upper_bound(address);
  if (entry == s.access.begin()) return {};
  --entry;
  return address < entry->second.end ? entry->second : State::Access{};
}

bool is_device(Call& call, int ordinal) { return ordinal >= 0 && ordinal < call.driver().device_count(); }

// The documented rules for properties; physical memory on the host is not offered.
CUresult check_properties(Call& call, const CUmemAllocationProp* properties) {
  if (properties == nullptr || properties->type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  switch (properties->location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      break;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
      return CUDA_ERROR_NOT_SUPPORTED;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  if (!is_device(call, properties->location.id)) return CUDA_ERROR_INVALID_DEVICE;
  if ((properties->requestedHandleTypes & ~kExportTypes) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  return CUDA_SUCCESS;
}

void record_freed(const std::vector<Allocation>& freed) {
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  for (const Allocation& gone : freed) {
    s.properties.erase(gone.base);
    Recorder::get().free(gone);
  }
}

Allocation reservation_record(CUdeviceptr base, size_t bytes) {
  Allocation record;
  record.base = base;
  record.bytes = bytes;
  record.kind = AllocationKind::kReserved;
  return record;
}

CUresult set_access(Call& call, CUdeviceptr address, size_t bytes, const CUmemAccessDesc* descriptors, size_t count) {
  if (descriptors == nullptr || count == 0 || bytes == 0 || !call.memory().mapped(address, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  if (address % Memory::kGranularity_bytes != 0 || bytes % Memory::kGranularity_bytes != 0)
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    const CUmemAccessDesc& entry = descriptors[i];
    if (entry.location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(call, entry.location.id)) return CUDA_ERROR_INVALID_DEVICE;
    if (entry.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && entry.flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
        entry.flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
      return CUDA_ERROR_INVALID_VALUE;
  }
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  State::Access access = access_at(s, address);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t bit = 1ull << descriptors[i].location.id;
    const int flags = descriptors[i].flags;
    access.readable = (flags & CU_MEM_ACCESS_FLAGS_PROT_READ) != 0 ? access.readable | bit : access.readable & ~bit;
    access.writable = flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? access.writable | bit : access.writable & ~bit;
  }
  clear_access(s, address, address + bytes);
  access.end = address + bytes;
  s.access[address] = access;
  return CUDA_SUCCESS;
}

}  // namespace

int export_types_at(Call& call, CUdeviceptr address) {
  uint64_t handle = 0;
  if (call.memory().physical_of(address, &handle) != MemoryStatus::kOk) return 0;
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  const auto found = s.properties.find(handle);
  return found == s.properties.end() ? 0 : found->second.requestedHandleTypes;
}

}  // namespace maya::cuda

using namespace maya::cuda;

CUresult cuMemAddressReserve(CUdeviceptr* out, size_t bytes, size_t alignment, CUdeviceptr hint,
                             unsigned long long flags) {
  return enter(Needs::kContext, [&](Call& call) -> CUresult {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    if (out == nullptr || bytes == 0 || bytes % page != 0 || hint % page != 0 || (alignment & (alignment - 1)) != 0 ||
        flags != 0)
      return CUDA_ERROR_INVALID_VALUE;
    CUdeviceptr base = 0;
    uint64_t reserved = 0;
    const MemoryStatus status = call.memory().reserve(bytes, alignment, &reserved, hint);
    if (status != MemoryStatus::kOk) return memory_result(status);
    base = reserved;
    Recorder::get().allocation(reservation_record(base, bytes));
    *out = base;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAddressFree(CUdeviceptr base, size_t bytes) {
  return enter(Needs::kContext, [&](Call& call) {
    const MemoryStatus status = call.memory().unreserve(base, bytes);
    if (status == MemoryStatus::kOk) Recorder::get().free(reservation_record(base, bytes));
    return memory_result(status);
  });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* out, size_t bytes, const CUmemAllocationProp* properties,
                     unsigned long long flags) {
  return enter(Needs::kContext, [&](Call& call) -> CUresult {
    if (out == nullptr || flags != 0 || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult status = check_properties(call, properties); status != CUDA_SUCCESS) return status;
    const int device = properties->location.id;
    uint64_t handle = 0;
    MemoryStatus status = call.memory().create_physical(device, bytes, &handle);
    if (status == MemoryStatus::kOutOfMemory && trim_pools(call.driver(), device))
      status = call.memory().create_physical(device, bytes, &handle);
    if (status != MemoryStatus::kOk) {
      const CUresult result = memory_result(status);
      if (result == CUDA_ERROR_OUT_OF_MEMORY) record_allocation_failure(call.driver(), device, bytes, "cuMemCreate");
      return result;
    }
    try {
      State& s = state();
      std::lock_guard<std::mutex> lock(s.mutex);
      s.properties.emplace(handle, *properties);
    } catch (...) {
      call.memory().release_physical(handle);
      throw;
    }
    Allocation record;
    record.base = handle;
    record.bytes = record.charged_bytes = bytes;
    record.device = device;
    record.kind = AllocationKind::kPhysical;
    Recorder::get().allocation(record);
    *out = handle;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return enter(Needs::kContext, [&](Call& call) {
    Allocation freed;
    const MemoryStatus status = call.memory().release_physical(handle, &freed);
    if (status == MemoryStatus::kOk && freed.bytes != 0) record_freed({freed});
    return memory_result(status);
  });
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  return enter(Needs::kContext, [&](Call& call) -> CUresult {
    // Documented: the offset "currently must be zero".
    if (flags != 0 || offset != 0) return CUDA_ERROR_INVALID_VALUE;
    const MemoryStatus status = call.memory().map(address, bytes, offset, handle, nullptr);
    if (status == MemoryStatus::kOk) Recorder::get().mapping(address, bytes, handle, false);
    return memory_result(status);
  });
}

CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  return enter(Needs::kContext, [&](Call& call) {
    std::vector<Allocation> freed;
    const MemoryStatus status = call.memory().unmap(address, bytes, &freed);
    if (status != MemoryStatus::kOk) return memory_result(status);
    {
      State& s = state();
      std::lock_guard<std::mutex> lock(s.mutex);
      clear_access(s, address, address + bytes);
    }
    Recorder::get().mapping(address, bytes, 0, true);
    record_freed(freed);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* descriptors, size_t count) {
  return enter(Needs::kContext, [&](Call& call) { return set_access(call, address, bytes, descriptors, count); });
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address) {
  return enter(Needs::kContext, [&](Call& call) {
    if (flags == nullptr || location == nullptr || location->type != CU_MEM_LOCATION_TYPE_DEVICE)
      return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(call, location->id)) return CUDA_ERROR_INVALID_DEVICE;
    if (!call.memory().mapped(address, 1)) return CUDA_ERROR_INVALID_VALUE;
    State& s = state();
    std::lock_guard<std::mutex> lock(s.mutex);
    const State::Access access = access_at(s, address);
    if ((access.writable >> location->id & 1) != 0)
      *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    else
      *flags =
          (access.readable >> location->id & 1) != 0 ? CU_MEM_ACCESS_FLAGS_PROT_READ : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemExportToShareableHandle(void* out, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
                                      unsigned long long flags) {
  return enter(Needs::kContext, [&](Call& call) -> CUresult {
    uint64_t bytes = 0;
    int device = 0;
    if (out == nullptr || flags != 0 || call.memory().physical_size(handle, &bytes, &device) != MemoryStatus::kOk)
      return CUDA_ERROR_INVALID_VALUE;
    {
      State& s = state();
      std::lock_guard<std::mutex> lock(s.mutex);
      const auto found = s.properties.find(handle);
      if (found == s.properties.end() || type == CU_MEM_HANDLE_TYPE_NONE ||
          (found->second.requestedHandleTypes & type) == 0)
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
    return export_to_descriptor(handle, bytes, device, static_cast<int*>(out));
  });
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* out, void* descriptor,
                                        CUmemAllocationHandleType type) {
  return enter(Needs::kContext, [&](Call& call) -> CUresult {
    if (out == nullptr || type == CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
    uint64_t handle = 0;
    const auto fd = static_cast<int>(reinterpret_cast<intptr_t>(descriptor));
    if (const CUresult status = import_from_descriptor(fd, &handle); status != CUDA_SUCCESS) return status;
    if (call.memory().retain_physical(handle) != MemoryStatus::kOk) return CUDA_ERROR_INVALID_VALUE;
    *out = handle;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetAllocationGranularity(size_t* out, const CUmemAllocationProp* properties,
                                       CUmemAllocationGranularity_flags option) {
  return enter(Needs::kInitialized, [&](Call& call) -> CUresult {
    if (out == nullptr ||
        (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM && option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
      return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult status = check_properties(call, properties); status != CUDA_SUCCESS) return status;
    *out = Memory::kGranularity_bytes;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* out, CUmemGenericAllocationHandle handle) {
  return enter(Needs::kInitialized, [&](Call&) {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    State& s = state();
    std::lock_guard<std::mutex> lock(s.mutex);
    const auto found = s.properties.find(handle);
    if (found == s.properties.end()) return CUDA_ERROR_INVALID_VALUE;
    *out = found->second;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* out, void* address) {
  return enter(Needs::kContext, [&](Call& call) {
    uint64_t handle = 0;
    if (out == nullptr ||
        call.memory().physical_of(reinterpret_cast<uint64_t>(address), &handle) != MemoryStatus::kOk ||
        call.memory().retain_physical(handle) != MemoryStatus::kOk)
      return CUDA_ERROR_INVALID_VALUE;
    *out = handle;
    return CUDA_SUCCESS;
  });
}
