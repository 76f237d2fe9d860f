// A kernel as the driver hands it out: CUkernel and CUfunction handles are both the address of a Kernel.
//
// Kernels of a library (cuLibraryLoadData) and of a module live in one pool and live as long as their library or module. All emulated devices of a
// process are of one model, so one Kernel serves every context; attributes that a program sets hold for all of them.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>

#include "virtual_device/kernel.h"
#include "virtual_device/launch_effects.h"

namespace maya::cuda {

struct LoadedImage;

struct Kernel {
  Kernel(device::KernelInfo kernel_info, LoadedImage* owner);
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  // Immutable after construction.
  device::KernelInfo info;
  device::KernelBehaviorPtr behavior;   // never null
  LoadedImage* image;                   // the module or library it came from

  // For the launch path: ids of interned trace records, owned by launch.cc.
  std::atomic<uint32_t> trace_id{0};    // 0: not yet in the trace
  std::atomic<uint32_t> variants{0};    // launch configurations interned so far

  // Set by cuFuncSetAttribute and cuKernelSetAttribute.
  std::atomic<int32_t> max_dynamic_shared_bytes;         // what a launch may ask for without an error
  std::atomic<int32_t> preferred_shared_carveout{-1};    // percent, -1 default
  std::atomic<int32_t> required_cluster[3];              // 0: none
  std::atomic<int32_t> non_portable_cluster_allowed{0};
  std::atomic<int32_t> cluster_scheduling_policy{0};
  std::atomic<int32_t> cache_preference{0};              // CUfunc_cache
  std::atomic<int32_t> shared_config{0};                 // CUsharedconfig
};

// The kernel behind a CUfunction or CUkernel handle; null for anything else (null, stale, garbage). Lock-free, a few instructions.
Kernel* resolve_kernel(const void* handle) noexcept;

}  // namespace maya::cuda
