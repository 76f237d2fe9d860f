// This process's page of virtual_device/process_use.h, through which NVML and nvidia-smi see it from other processes.
#pragma once

#include "driver_shim/cuda/configuration.h"
#include "virtual_device/process_use.h"

namespace maya::cuda {

// Makes the page: a memory file without a name in any folder, so that nothing is left behind however the process ends.
// Where the system refuses one, other processes do not see this one. Never null, always the same; lives for ever.
device::ProcessUse* publish_process_use(const Configuration& configuration);

}  // namespace maya::cuda
