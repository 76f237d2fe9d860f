// Memsets: the checks and the effect on memory, without a stream.
#pragma once

#include <cuda.h>

#include "virtual_device/memory.h"

namespace maya::cuda {

// CUDA_ERROR_INVALID_VALUE for a bad width, alignment, pitch, size, or memory that a fill may not touch. An empty fill
// is fine.
CUresult check_fill(const device::Memory& memory, const CUDA_MEMSET_NODE_PARAMS& fill);

// Fills memory that check_fill() found right. Rows that follow each other without a gap count as one in `*runs`.
CUresult fill_memory(device::Memory& memory, const CUDA_MEMSET_NODE_PARAMS& fill, size_t* runs = nullptr);

}  // namespace maya::cuda
