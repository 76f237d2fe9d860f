// Memory management: allocation on the device, its addresses, and what is free.
#include <cuda.h>

#include <algorithm>

#include "driver_shim/cuda/allocation.h"
#include "driver_shim/cuda/capture.h"
#include "driver_shim/cuda/gate.h"
#include "driver_shim/cuda/pool.h"

using maya::cuda::allocate_device_memory;
using maya::cuda::Call;
using maya::cuda::check_unsafe_call;
using maya::cuda::enter;
using maya::cuda::free_device_memory;
using maya::cuda::Needs;
using maya::device::Allocation;
using maya::device::Layer;

namespace {

// NVIDIA documents only that the pitch may grow with hardware requirements; 512 bytes is
// CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT on all of these devices.
constexpr size_t kPitch_bytes = 512;

}  // namespace

CUresult cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  return enter(Needs::kContext, [&](Call& call) {
    if (free_bytes == nullptr && total_bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    maya::cuda::release_unused_pool_memory(call.driver(), call.context().device);
    const maya::device::DeviceMemoryUse use = call.memory().use(call.context().device);
    uint64_t total = use.capacity_bytes;
    uint64_t free = use.free_bytes;
    if (total == UINT64_MAX) {
      // Unlimited memory looks like the device's own, which is full sooner or later.
      const uint64_t used = use.capacity_bytes - use.free_bytes;
      total = call.driver().profile(call.context().device).total_memory_bytes;
      free = total - std::min(total, used);
    }
    if (free_bytes != nullptr) *free_bytes = free;
    if (total_bytes != nullptr) *total_bytes = total;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  return enter(Needs::kContext, [&](Call& call) -> CUresult {
    if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult status = check_unsafe_call(call.thread()); status != CUDA_SUCCESS) return status;
    return allocate_device_memory(call.driver(), call.context(), bytes, Layer::kAllocations, "cuMemAlloc", address);
  });
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* address, size_t* pitch, size_t width_bytes, size_t height,
                            unsigned int element_bytes) {
  return enter(Needs::kContext, [&](Call& call) -> CUresult {
    if (address == nullptr || pitch == nullptr || width_bytes == 0 || height == 0) return CUDA_ERROR_INVALID_VALUE;
    if (element_bytes != 4 && element_bytes != 8 && element_bytes != 16) return CUDA_ERROR_INVALID_VALUE;
    if (width_bytes > SIZE_MAX - kPitch_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
    const size_t row_bytes = (width_bytes + kPitch_bytes - 1) / kPitch_bytes * kPitch_bytes;
    if (height > SIZE_MAX / row_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
    if (const CUresult unsafe = check_unsafe_call(call.thread()); unsafe != CUDA_SUCCESS) return unsafe;
    const CUresult status = allocate_device_memory(call.driver(), call.context(), row_bytes * height,
                                                   Layer::kAllocations, "cuMemAllocPitch", address);
    if (status == CUDA_SUCCESS) *pitch = row_bytes;
    return status;
  });
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  return enter(Needs::kContext, [&](Call& call) -> CUresult {
    if (const CUresult status = check_unsafe_call(call.thread()); status != CUDA_SUCCESS) return status;
    return free_device_memory(call.driver(), address);
  });
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
  return enter(Needs::kContext, [&](Call& call) {
    Allocation found;
    if (!call.memory().find(address, &found)) return CUDA_ERROR_NOT_FOUND;
    if (base != nullptr) *base = found.base;
    if (bytes != nullptr) *bytes = found.bytes;
    return CUDA_SUCCESS;
  });
}

// No device of this kind hands out file descriptors here; the documented way to say so.
CUresult cuMemGetHandleForAddressRange(void* handle, CUdeviceptr address, size_t bytes, CUmemRangeHandleType type,
                                       unsigned long long flags) {
  return enter(Needs::kInitialized, [&](Call& call) {
    constexpr unsigned long long kFlags = CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE;
    Allocation found;
    if (handle == nullptr || bytes == 0 || type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD || (flags & ~kFlags) != 0)
      return CUDA_ERROR_INVALID_VALUE;
    return call.memory().find(address, &found) ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
  });
}
