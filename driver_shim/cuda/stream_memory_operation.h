// Batches of memory operations in stream order (cuStreamBatchMemOp), also as nodes of graphs.
#pragma once

#include <cuda.h>

#include <vector>

#include "driver_shim/cuda/gate.h"

namespace maya::cuda {

inline constexpr unsigned int kMostMemoryOperations = 256;  // of one batch, as documented

CUresult run_memory_operations(Call& call, const std::vector<CUstreamBatchMemOpParams>& operations);

}  // namespace maya::cuda
