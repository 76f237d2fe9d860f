// The one body behind every launch of a kernel.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <vector>

#include "driver_shim/common/maya_table.h"
#include "driver_shim/cuda/kernel.h"
#include "virtual_device/kernel.h"

namespace maya::cuda {

// Checks and makes the launch. `launch.kernel` is set here; `launch.arguments` may be null only for kernels without
// parameters.
CUresult launch_kernel(const void* kernel_handle, device::Launch& launch, CUstream stream, bool per_thread,
                       const CUlaunchAttribute* attributes, uint32_t attribute_count) noexcept;

// The same without attributes, on the legacy form of `stream`, in cuLaunchKernel's order. The quickest.
CUresult launch_plain(const void* kernel, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z, uint32_t block_x,
                      uint32_t block_y, uint32_t block_z, uint32_t shared_bytes, CUstream stream,
                      void** arguments) noexcept;

// MayaTable::launch and launch_plain.
CUresult launch_from_library(const KernelLaunch* launch) noexcept;
CUresult launch_plain_from_library(CUkernel kernel, uint64_t grid_xy, uint32_t grid_z, uint64_t block_xy,
                                   uint32_t block_z, void** arguments, uint32_t shared_bytes, CUstream stream) noexcept;

// What a launch is in the trace, and how long it takes.
struct ResolvedLaunch {
  uint32_t configuration = 0;
  uint64_t duration_ns = 0;
};
// The same checks as a launch, without making it.
CUresult resolve_launch(Driver& driver, Context& context, Kernel& kernel, const device::Launch& launch,
                        ResolvedLaunch* out);

// Turns CUDA's `extra` form into pointers to parameters. CUDA_ERROR_INVALID_VALUE for an unknown name, a buffer without
// a size or one that is too small for the kernel.
CUresult read_extra(const device::KernelInfo& kernel, void** extra, std::vector<void*>* arguments);

// The documented limits of a launch; CUDA_SUCCESS when it is possible on the device.
CUresult check_launch(const Kernel& kernel, const device::Launch& launch, const device::DeviceProfile& profile);

// Reads the launch attributes into `launch`. Events that attributes name are collected in `events` (at most two).
struct AttributeEvents {
  CUevent events[2] = {nullptr, nullptr};
  uint32_t count = 0;
};
CUresult read_attributes(const CUlaunchAttribute* attributes, uint32_t count, device::Launch* launch,
                         AttributeEvents* events);

}  // namespace maya::cuda
