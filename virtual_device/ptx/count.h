// What a launch of a kernel with known instructions asks of the device.
#pragma once

#include <optional>

#include "virtual_device/kernel_work.h"
#include "virtual_device/ptx/warp.h"

namespace maya::device::ptx {

// Runs some blocks of the grid, spread over it, and takes the others to be like them. Nothing when the kernel is too
// long to be run.
std::optional<KernelWork> count_work(const Program& program, const Launch& launch, const Surroundings& surroundings);

}  // namespace maya::device::ptx
