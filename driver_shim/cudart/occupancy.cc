#include "driver_shim/cudart/registration.h"
#include "driver_shim/cudart/runtime.h"

using namespace maya::cudart;

namespace {

CUlaunchConfig driver_config(const cudaLaunchConfig_t& config) {
  CUlaunchConfig result = {};
  result.gridDimX = config.gridDim.x;
  result.gridDimY = config.gridDim.y;
  result.gridDimZ = config.gridDim.z;
  result.blockDimX = config.blockDim.x;
  result.blockDimY = config.blockDim.y;
  result.blockDimZ = config.blockDim.z;
  result.sharedMemBytes = static_cast<unsigned>(config.dynamicSmemBytes);
  result.hStream = config.stream;
  result.attrs = as_driver<CUlaunchAttribute>(config.attrs);
  result.numAttrs = config.numAttrs;
  return result;
}

}  // namespace

MAYA_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int block_size,
                                                                   size_t shared_bytes) {
  CUfunction handle = nullptr;
  if (const cudaError_t status = find_function(function, &handle); status != cudaSuccess) return status;
  return with_context(MAYA_DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessor), blocks, handle, block_size,
                      shared_bytes);
}

MAYA_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function,
                                                                            int block_size, size_t shared_bytes,
                                                                            unsigned flags) {
  CUfunction handle = nullptr;
  if (const cudaError_t status = find_function(function, &handle); status != cudaSuccess) return status;
  return with_context(MAYA_DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags), blocks, handle, block_size,
                      shared_bytes, flags);
}

MAYA_API cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* function, int blocks,
                                                               int block_size) {
  CUfunction handle = nullptr;
  if (const cudaError_t status = find_function(function, &handle); status != cudaSuccess) return status;
  return with_context(MAYA_DRIVER(cuOccupancyAvailableDynamicSMemPerBlock), bytes, handle, blocks, block_size);
}

MAYA_API cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* function,
                                                          const cudaLaunchConfig_t* config) {
  if (config == nullptr) return fail(cudaErrorInvalidValue);
  CUfunction handle = nullptr;
  if (const cudaError_t status = find_function(function, &handle); status != cudaSuccess) return status;
  const CUlaunchConfig converted = driver_config(*config);
  return with_context(MAYA_DRIVER(cuOccupancyMaxPotentialClusterSize), size, handle, &converted);
}

MAYA_API cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                                    const cudaLaunchConfig_t* config) {
  if (config == nullptr) return fail(cudaErrorInvalidValue);
  CUfunction handle = nullptr;
  if (const cudaError_t status = find_function(function, &handle); status != cudaSuccess) return status;
  const CUlaunchConfig converted = driver_config(*config);
  return with_context(MAYA_DRIVER(cuOccupancyMaxActiveClusters), clusters, handle, &converted);
}
