// Virtual memory management: what other parts of the driver ask about mapped memory.
#pragma once

#include <cuda.h>

#include "driver_shim/cuda/gate.h"

namespace maya::cuda {

// The handle types that the memory mapped at `address` may be exported as; 0 for memory that is not mapped, or may not
// be.
int export_types_at(Call& call, CUdeviceptr address);

}  // namespace maya::cuda
