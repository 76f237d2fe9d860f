// Copy descriptors of the runtime as the driver's.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace maya::cudart {

// Checks and translates; *empty: there is nothing to copy. Errors are remembered.
cudaError_t to_driver_copy(const cudaMemcpy3DParms* parameters, CUDA_MEMCPY3D* out, bool* empty) noexcept;
// The other way round, for what a node of a graph was given.
cudaError_t from_driver_copy(const CUDA_MEMCPY3D& copy, cudaMemcpy3DParms* out) noexcept;
// A copy of bytes between two addresses, and between a symbol and an address: errors are remembered.
cudaError_t to_driver_copy(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind,
                           CUDA_MEMCPY3D* out) noexcept;
cudaError_t symbol_address(const void* symbol, size_t bytes, size_t offset, void** address) noexcept;

}  // namespace maya::cudart
