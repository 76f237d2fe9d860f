// Pinned and registered host memory.
#include <cuda.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver_shim/cuda/allocation.h"
#include "driver_shim/cuda/gate.h"
#include "driver_shim/cuda/host_allocation.h"
#include "driver_shim/cuda/recorder.h"

namespace maya::cuda {
namespace {

using device::Allocation;
using device::AllocationKind;
using device::MemoryStatus;

constexpr unsigned int kHostAllocFlags =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
constexpr unsigned int kRegisterFlags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                                        CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;

uint64_t mapped_bytes(uint64_t bytes) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) & ~(page - 1);
}

bool is_pinned(const Allocation& allocation) {
  return allocation.kind == AllocationKind::kHost || allocation.kind == AllocationKind::kRegistered;
}

CUresult allocate_pinned(void** out, size_t bytes, unsigned int flags) {
  return enter(Needs::kContext, [&](Call& call) -> CUresult {
    if (out == nullptr || bytes == 0 || (flags & ~kHostAllocFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
    return allocate_host_memory(call.driver(), call.context(), bytes, AllocationKind::kHost, flags, out);
  });
}

CUresult register_memory(void* start, size_t bytes, unsigned int flags) {
  return enter(Needs::kContext, [&](Call& call) -> CUresult {
    const auto address = reinterpret_cast<uint64_t>(start);
    if (start == nullptr || bytes == 0 || bytes > UINT64_MAX - address || (flags & ~kRegisterFlags) != 0)
      return CUDA_ERROR_INVALID_VALUE;
    if (call.memory().in_device_range(address) || call.memory().in_device_range(address + bytes - 1))
      return CUDA_ERROR_INVALID_VALUE;
    Allocation entry;
    entry.base = address;
    entry.bytes = bytes;
    entry.device = call.context().device;
    entry.kind = AllocationKind::kRegistered;
    entry.context = &call.context();
    entry.host_alias = address;
    entry.flags = flags;
    const MemoryStatus status = call.memory().add_host(entry);
    if (status == MemoryStatus::kInUse) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    if (status == MemoryStatus::kOk) Recorder::get().allocation(entry);
    return memory_result(status);
  });
}

}  // namespace

CUresult add_host_memory(Driver& driver, const Allocation& entry) {
  try {
    MemoryStatus status = driver.memory().add_host(entry);
    if (status == MemoryStatus::kInUse) {
      // Left over from memory that the program registered and then unmapped without a word.
      Allocation stale;
      while (driver.memory().remove_host_overlap(entry.base, entry.bytes, &stale)) Recorder::get().free(stale);
      status = driver.memory().add_host(entry);
    }
    if (status == MemoryStatus::kOk) Recorder::get().allocation(entry);
    return memory_result(status);
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

CUresult map_host_memory(Driver& driver, Allocation* entry) {
  if (entry->bytes > UINT64_MAX / 2) return CUDA_ERROR_OUT_OF_MEMORY;
  // Managed memory may be larger than the host's, as on a device that evicts; pinned memory may not.
  const int reserve = entry->kind == AllocationKind::kManaged ? MAP_NORESERVE : 0;
  const uint64_t mapped = mapped_bytes(entry->bytes);
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | reserve, -1, 0);
  if (memory == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  entry->base = entry->host_alias = reinterpret_cast<uint64_t>(memory);
  const CUresult status = add_host_memory(driver, *entry);
  if (status != CUDA_SUCCESS) munmap(memory, mapped);
  return status;
}

CUresult allocate_host_memory(Driver& driver, Context& context, uint64_t bytes, AllocationKind kind, unsigned int flags,
                              void** out) {
  if (bytes > UINT64_MAX / 2) return CUDA_ERROR_OUT_OF_MEMORY;
  Allocation entry;
  entry.bytes = bytes;
  entry.device = context.device;
  entry.kind = kind;
  entry.context = &context;
  entry.flags = flags;
  const CUresult status = map_host_memory(driver, &entry);
  if (status == CUDA_SUCCESS)
    *out = reinterpret_cast<void*>(entry.base);
  else if (entry.base == 0)
    record_allocation_failure(driver, context.device, bytes,
                              kind == AllocationKind::kManaged ? "cuMemAllocManaged" : "cuMemHostAlloc");
  return status;
}

CUresult free_host_memory(Driver& driver, uint64_t address, AllocationKind kind) {
  Allocation found;
  if (!driver.memory().find(address, &found) || found.base != address || found.kind != kind)
    return CUDA_ERROR_INVALID_VALUE;
  // Of two racing calls one finds the entry gone.
  if (driver.memory().remove_host(address, &found) != MemoryStatus::kOk) return CUDA_ERROR_INVALID_VALUE;
  munmap(reinterpret_cast<void*>(address), mapped_bytes(found.bytes));
  Recorder::get().free(found);
  return CUDA_SUCCESS;
}

void release_host_memory(Driver& driver, Context& context) {
  for (const Allocation& entry : driver.memory().host_memory_of(&context)) {
    Allocation removed;
    if (driver.memory().remove_host(entry.base, &removed) != MemoryStatus::kOk) continue;
    if (removed.kind != AllocationKind::kRegistered)
      munmap(reinterpret_cast<void*>(removed.base), mapped_bytes(removed.bytes));
    Recorder::get().free(removed);
  }
}

}  // namespace maya::cuda

using namespace maya::cuda;

CUresult cuMemAllocHost_v2(void** out, size_t bytes) { return allocate_pinned(out, bytes, 0); }

CUresult cuMemHostAlloc(void** out, size_t bytes, unsigned int flags) { return allocate_pinned(out, bytes, flags); }

CUresult cuMemFreeHost(void* start) {
  return enter(Needs::kContext, [&](Call& call) {
    return free_host_memory(call.driver(), reinterpret_cast<uint64_t>(start), AllocationKind::kHost);
  });
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* out, void* start, unsigned int flags) {
  return enter(Needs::kContext, [&](Call& call) {
    if (out == nullptr || start == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    Allocation found;
    if (!call.memory().find(reinterpret_cast<uint64_t>(start), &found) || !is_pinned(found))
      return CUDA_ERROR_INVALID_VALUE;
    *out = reinterpret_cast<CUdeviceptr>(start);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostGetFlags(unsigned int* out, void* start) {
  return enter(Needs::kContext, [&](Call& call) {
    Allocation found;
    if (out == nullptr || !call.memory().find(reinterpret_cast<uint64_t>(start), &found) ||
        found.kind != AllocationKind::kHost)
      return CUDA_ERROR_INVALID_VALUE;
    *out = found.flags;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostRegister_v2(void* start, size_t bytes, unsigned int flags) {
  return register_memory(start, bytes, flags);
}

CUresult cuMemHostRegister(void* start, size_t bytes, unsigned int flags) {
  return register_memory(start, bytes, flags);
}

CUresult cuMemHostUnregister(void* start) {
  return enter(Needs::kContext, [&](Call& call) -> CUresult {
    if (start == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Allocation found;
    const auto address = reinterpret_cast<uint64_t>(start);
    if (!call.memory().find(address, &found) || found.kind != AllocationKind::kRegistered)
      return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    // Documented: "the base address must be the same one specified to cuMemHostRegister".
    if (found.base != address) return CUDA_ERROR_INVALID_VALUE;
    if (call.memory().remove_host(address, &found) != MemoryStatus::kOk) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    Recorder::get().free(found);
    return CUDA_SUCCESS;
  });
}
