// Device memory allocated and freed on behalf of entry points and of our other libraries: charged, recorded, and
// explained when it does not fit.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "driver_shim/cuda/driver.h"
#include "virtual_device/memory.h"

namespace maya::cuda {

// The driver's error for a memory status.
CUresult memory_result(device::MemoryStatus status);

// Records that `bytes` on `device` did not fit: what was free, the layers, the largest holders. `call` is the entry
// point's name.
void record_allocation_failure(Driver& driver, int device, uint64_t bytes, const char* call);

// Allocates for `context` on its device. When it does not fit, memory that stream-ordered pools hold unused is given
// back first, as the driver documents it. CUDA_ERROR_INVALID_VALUE for zero bytes.
CUresult allocate_device_memory(Driver& driver, Context& context, uint64_t bytes, device::Layer layer, const char* call,
                                CUdeviceptr* out);

// Frees what cuMemAlloc, cuMemAllocManaged, cuMemAllocAsync or allocate_device_memory() made. CUDA_ERROR_INVALID_VALUE
// for any other address.
CUresult free_device_memory(Driver& driver, CUdeviceptr address);

}  // namespace maya::cuda
