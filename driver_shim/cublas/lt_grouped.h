// Grouped products of cublasLt (experimental there): every group has sizes of its own, kept in device memory.
#pragma once

#include <cublasLt.h>
#include <cuda.h>

#include <cstdint>

#include "driver_shim/cublas/lt_descriptors.h"

namespace maya::cublas {

// Records one grouped product with its number of groups, and with the sizes of the largest group and the total work
// where the size arrays hold known values; otherwise without sizes.
cublasStatus_t record_grouped(const MatmulDesc& desc, const MatrixLayout& a, const MatrixLayout& b,
                              const MatrixLayout& d, const void* d_array, uint64_t workspace_bytes, CUstream stream);

}  // namespace maya::cublas
