// A kernel as the driver hands it out: CUkernel and CUfunction handles are both the address of a Kernel.
//
// Kernels of a library (cuLibraryLoadData) and of a module live in one pool and live as long as their library or
// module. All emulated devices of a process are of one model, so one Kernel serves every context; attributes that a
// program sets hold for all of them.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "driver_shim/cuda/driver.h"
#include "virtual_device/kernel.h"
#include "virtual_device/launch_effects.h"
#include "virtual_device/occupancy.h"

namespace maya::cuda {

class LoadedImage;

// At most so many shape arguments tell launches of a kernel apart: as many as device::shape_scalars() gives.
inline constexpr uint32_t kMostScalars = 8;

struct Kernel {
  Kernel(const device::KernelInfo& kernel_info, uint64_t section_bytes, LoadedImage* owner);
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  // Immutable after construction.
  const device::KernelInfo info;
  const device::KernelBehaviorPtr behavior;                 // never null
  LoadedImage* const image;                                 // the module or library it came from
  const uint64_t code_bytes;                                // 0 when the image is text
  const std::span<const device::ScalarSlot> shape_scalars;  // of `behavior`, kMostScalars at most
  const std::span<const device::PointerSlot> pointers;      // device::watched_pointers()

  // For the launch path, owned by launch.cc.
  std::atomic<uint32_t> trace_id{0};  // of the interned record; 0: not yet in the trace
  std::atomic<uint32_t> variants{0};  // launch configurations interned so far
  std::atomic<uint32_t> key_scalars;  // how many of shape_scalars tell launches apart
  std::atomic<bool> watches{false};   // device::watches_pointers(), once launched
  // A number that no kernel had before, and that this one has until a setting changes that launches look at.
  std::atomic<uint32_t> stamp;
  void renew_stamp();

  // Set by cuFuncSetAttribute and cuKernelSetAttribute.
  std::atomic<int32_t> max_dynamic_shared_bytes;       // what a launch may ask for without an error
  std::atomic<int32_t> preferred_shared_carveout{-1};  // percent, -1 default
  std::atomic<int32_t> required_cluster[3];            // blocks; 0: none
  std::atomic<int32_t> non_portable_cluster_allowed{0};
  std::atomic<int32_t> cluster_scheduling_policy{0};
  std::atomic<int32_t> cache_preference{0};  // CUfunc_cache

  // Devices, one bit each, whose memory holds the kernel's code.
  std::atomic<uint64_t> loaded_devices{0};
};

// The kernel behind a CUfunction or CUkernel handle; null for anything else (null, stale, garbage). Lock-free, a few
// instructions.
extern constinit std::atomic<const device::HandlePool<Kernel>*> known_kernels;  // null before the first is made
inline Kernel* resolve_kernel(const void* handle) noexcept {
  const device::HandlePool<Kernel>* pool = known_kernels.load(std::memory_order_acquire);
  return pool == nullptr ? nullptr : pool->get(handle);
}

// Loads the kernel's code into the memory of a context's device as lazy loading does at first use: charges the modules
// layer. CUDA_ERROR_OUT_OF_MEMORY when it does not fit. A load and a compare when it is loaded already.
CUresult load_kernel_slow(Kernel& kernel, Driver& driver, Context& context);
inline CUresult load_kernel(Kernel& kernel, Driver& driver, Context& context) {
  if ((kernel.loaded_devices.load(std::memory_order_relaxed) >> context.device & 1) != 0) return CUDA_SUCCESS;
  return load_kernel_slow(kernel, driver, context);
}

// Answers of cuFuncGetAttribute and cuKernelGetAttribute, and settings of their Set twins, with the documented errors.
CUresult kernel_attribute(const Kernel& kernel, const device::DeviceProfile& profile, CUfunction_attribute attribute,
                          int* value);
CUresult set_kernel_attribute(Kernel& kernel, const device::DeviceProfile& profile, CUfunction_attribute attribute,
                              int value);
// CUDA_ERROR_INVALID_VALUE when the kernel has no such parameter.
CUresult kernel_parameter(const Kernel& kernel, size_t index, size_t* offset, size_t* size);

// What the occupancy formula needs, with the kernel's settings.
device::BlockNeeds block_needs(const Kernel& kernel, uint32_t threads, uint64_t dynamic_shared_bytes);

}  // namespace maya::cuda
