// Host memory that the driver gave out or was told of: pinned, managed, registered. It is ordinary memory of the
// process; device and host address are the same. Managed memory is not charged to a device: where its pages are at a
// time is not modelled.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "driver_shim/cuda/driver.h"
#include "virtual_device/memory.h"

namespace maya::cuda {

// Maps zeroed memory, page aligned, for an allocation of which all but the address is given, and records it. kind:
// kHost or kManaged. entry->base stays 0 when there is no memory to map. free_host_memory() gives it back.
CUresult map_host_memory(Driver& driver, device::Allocation* entry);
// The same for a context, whose end frees it.
CUresult allocate_host_memory(Driver& driver, Context& context, uint64_t bytes, device::AllocationKind kind,
                              unsigned int flags, void** out);
// Lets the driver know of host memory that was just mapped, and records it.
CUresult add_host_memory(Driver& driver, const device::Allocation& entry);
// Frees memory of that kind by its first address. CUDA_ERROR_INVALID_VALUE for any other address.
CUresult free_host_memory(Driver& driver, uint64_t address, device::AllocationKind kind);
// Everything that belongs to a context that ends.
void release_host_memory(Driver& driver, Context& context);

}  // namespace maya::cuda
