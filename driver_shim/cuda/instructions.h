// Counts what a launch asks of the device from the kernel's instructions, where its image carries PTX.
#pragma once

#include <optional>

#include "driver_shim/cuda/kernel.h"
#include "virtual_device/kernel_work.h"

namespace maya::cuda {

// Takes up to some tenths of a second: for the first launch of a configuration. Not thread safe.
std::optional<device::KernelWork> counted_work(Driver& driver, Kernel& kernel, const device::Launch& launch);

// The sizes in a descriptor that cuTensorMapEncode* made; false when it is none.
bool describe_tensor_map(const void* map, uint64_t* tensor_bytes, uint64_t* box_bytes);

}  // namespace maya::cuda
