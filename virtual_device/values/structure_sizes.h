// Sizes inside by-value structures of well-known kernels, which have no scalar parameters that tell how much work a
// launch is.
#pragma once

#include <vector>

#include "virtual_device/kernel.h"
#include "virtual_device/launch_effects.h"
#include "virtual_device/values/kernel_name.h"

namespace maya::device {

// Appends the slots of `kernel`, up to `most` slots in all; nothing when it is none of the kernels known or its
// parameters are not laid out as expected. Slots hold sizes and mask kinds, never addresses.
void add_structure_sizes(const KernelInfo& kernel, const KernelName& name, size_t most,
                         std::vector<ScalarSlot>* scalars);

}  // namespace maya::device
