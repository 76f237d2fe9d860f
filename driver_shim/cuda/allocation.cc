#include "driver_shim/cuda/allocation.h"

#include "driver_shim/cuda/graph_memory.h"
#include "driver_shim/cuda/host_allocation.h"
#include "driver_shim/cuda/pool.h"
#include "driver_shim/cuda/recorder.h"

namespace maya::cuda {
namespace {

constexpr int kReportedHolders = 8;

// Memory goes with its context. Code and variables of modules are their images' business (module.cc).
void release_allocations(Driver& driver, Context& context) {
  for (const device::Allocation& allocation : driver.memory().allocations_of(&context)) {
    if (allocation.layer == device::Layer::kModules) continue;
    device::Allocation freed;
    if (driver.memory().free(allocation.base, &freed) == device::MemoryStatus::kOk) Recorder::get().free(freed);
  }
  release_host_memory(driver, context);
}

[[maybe_unused]] const bool kHookAdded = (add_context_hook(release_allocations), true);

}  // namespace

CUresult memory_result(device::MemoryStatus status) {
  switch (status) {
    case device::MemoryStatus::kOk:
      return CUDA_SUCCESS;
    case device::MemoryStatus::kOutOfMemory:
    case device::MemoryStatus::kNoAddressSpace:
      return CUDA_ERROR_OUT_OF_MEMORY;
    case device::MemoryStatus::kNotFound:
      return CUDA_ERROR_NOT_FOUND;
    case device::MemoryStatus::kInvalidValue:
    case device::MemoryStatus::kInUse:
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_ERROR_UNKNOWN;
}

void record_allocation_failure(Driver& driver, int device, uint64_t bytes, const char* call) {
  const std::vector<uint64_t> largest = driver.memory().largest_allocations(device, kReportedHolders);
  Recorder::get().allocation_failure(call, device, bytes, driver.memory().use(device), largest.data(),
                                     static_cast<int>(largest.size()));
}

CUresult allocate_device_memory(Driver& driver, Context& context, uint64_t bytes, device::Layer layer, const char* call,
                                CUdeviceptr* out) {
  device::Allocation made;
  device::MemoryStatus status = driver.memory().allocate(context.device, bytes, layer, &context, &made);
  if (status == device::MemoryStatus::kOutOfMemory && trim_pools(driver, context.device))
    status = driver.memory().allocate(context.device, bytes, layer, &context, &made);
  if (status != device::MemoryStatus::kOk) {
    const CUresult result = memory_result(status);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) record_allocation_failure(driver, context.device, bytes, call);
    return result;
  }
  Recorder::get().allocation(made);
  *out = made.base;
  return CUDA_SUCCESS;
}

CUresult free_device_memory(Driver& driver, CUdeviceptr address) {
  device::Allocation found;
  if (!driver.memory().find(address, &found) || found.base != address) return CUDA_ERROR_INVALID_VALUE;
  // What was imported looks like plain memory; pools of host memory hand out pinned and managed memory.
  if (pool_around(address) != nullptr) return free_to_pool(driver, address, 0);
  switch (found.kind) {
    case device::AllocationKind::kDevice: {
      device::Allocation freed;
      const device::MemoryStatus status = driver.memory().free(address, &freed);
      if (status == device::MemoryStatus::kOk) Recorder::get().free(freed);
      return memory_result(status);
    }
    case device::AllocationKind::kManaged:
      if (CUresult result; free_graph_allocation(address, &result)) return result;
      return free_host_memory(driver, address, device::AllocationKind::kManaged);
    default: {
      CUresult result = CUDA_ERROR_INVALID_VALUE;
      free_graph_allocation(address, &result);
      return result;
    }
  }
}

}  // namespace maya::cuda
