// Occupancy functions of the CUDA driver API, over the documented formula in virtual_device/occupancy.h.
#include "virtual_device/occupancy.h"

#include <algorithm>

#include "driver_shim/cuda/gate.h"
#include "driver_shim/cuda/kernel.h"

namespace maya::cuda {

namespace {

constexpr uint32_t kMaximumPortableCluster = 8;  // blocks; CUDA programming guide, "Thread block clusters"
constexpr uint32_t kMaximumNonPortableCluster = 16;

template <typename Body>
CUresult with_function(CUfunction handle, Body&& body) {
  return enter(Needs::kContext, [&](Call& call) {
    Kernel* kernel = resolve_kernel(handle);
    if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    return body(call.driver().profile(call.context().device), *kernel);
  });
}

bool valid_flags(unsigned flags) {
  return (flags & ~static_cast<unsigned>(CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)) == 0;
}

// Blocks in a cluster of a launch: from its attributes, else what the kernel requires, else 0.
uint32_t cluster_of(const CUlaunchConfig& config, const Kernel& kernel) {
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config.attrs[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      return attribute.value.clusterDim.x * attribute.value.clusterDim.y * attribute.value.clusterDim.z;
  }
  uint32_t blocks = 0;
  for (const auto& width : kernel.required_cluster) {
    const auto value = static_cast<uint32_t>(width.load(std::memory_order_relaxed));
    if (value != 0) blocks = std::max(blocks, 1u) * value;
  }
  return blocks;
}

CUresult check_config(const CUlaunchConfig* config) {
  if (config == nullptr || (config->numAttrs != 0 && config->attrs == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  if (config->blockDimX == 0 || config->blockDimY == 0 || config->blockDimZ == 0) return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

device::BlockNeeds needs_of(const CUlaunchConfig& config, const Kernel& kernel) {
  const uint64_t threads = static_cast<uint64_t>(config.blockDimX) * config.blockDimY * config.blockDimZ;
  return block_needs(kernel, static_cast<uint32_t>(std::min<uint64_t>(threads, UINT32_MAX)), config.sharedMemBytes);
}

bool has_clusters(const device::DeviceProfile& profile) { return profile.compute_major >= 9; }

}  // namespace

}  // namespace maya::cuda

using maya::cuda::Kernel;
using maya::cuda::with_function;
using maya::device::DeviceProfile;

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int block_size,
                                                     size_t dynamic_shared) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_size, dynamic_shared,
                                                              CU_OCCUPANCY_DEFAULT);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function, int block_size,
                                                              size_t dynamic_shared, unsigned int flags) {
  return with_function(function, [&](const DeviceProfile& profile, Kernel& kernel) {
    if (blocks == nullptr || block_size <= 0 || !maya::cuda::valid_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
    const auto needs = maya::cuda::block_needs(kernel, static_cast<uint32_t>(block_size), dynamic_shared);
    *blocks = static_cast<int>(maya::device::active_blocks(profile, needs));
    return CUDA_SUCCESS;
  });
}

CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function,
                                          CUoccupancyB2DSize dynamic_of_block, size_t dynamic_shared, int limit) {
  return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, dynamic_of_block, dynamic_shared, limit,
                                                   CU_OCCUPANCY_DEFAULT);
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, CUfunction function,
                                                   CUoccupancyB2DSize dynamic_of_block, size_t dynamic_shared,
                                                   int limit, unsigned int flags) {
  return with_function(function, [&](const DeviceProfile& profile, Kernel& kernel) {
    if (grid == nullptr || block == nullptr || limit < 0 || !maya::cuda::valid_flags(flags))
      return CUDA_ERROR_INVALID_VALUE;
    uint32_t threads = 0, blocks = 0;
    maya::device::best_block(
        profile, maya::cuda::block_needs(kernel, 1, dynamic_shared), static_cast<uint32_t>(limit),
        [&](uint32_t size) -> uint64_t {
          return dynamic_of_block == nullptr ? dynamic_shared : dynamic_of_block(static_cast<int>(size));
        },
        &threads, &blocks);
    *grid = static_cast<int>(blocks);
    *block = static_cast<int>(threads);
    return CUDA_SUCCESS;
  });
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction function, int blocks, int block_size) {
  return with_function(function, [&](const DeviceProfile& profile, Kernel& kernel) {
    if (bytes == nullptr || blocks <= 0 || block_size <= 0) return CUDA_ERROR_INVALID_VALUE;
    const auto needs = maya::cuda::block_needs(kernel, static_cast<uint32_t>(block_size), 0);
    const uint32_t most = maya::device::active_blocks(profile, needs);
    if (static_cast<uint32_t>(blocks) > most) return CUDA_ERROR_INVALID_VALUE;
    *bytes = maya::device::available_dynamic_shared(profile, needs, static_cast<uint32_t>(blocks));
    return CUDA_SUCCESS;
  });
}

CUresult cuOccupancyMaxPotentialClusterSize(int* cluster, CUfunction function, const CUlaunchConfig* config) {
  return with_function(function, [&](const DeviceProfile& profile, Kernel& kernel) {
    if (cluster == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult status = maya::cuda::check_config(config); status != CUDA_SUCCESS) return status;
    if (!maya::cuda::has_clusters(profile)) return CUDA_ERROR_NOT_SUPPORTED;
    const auto needs = maya::cuda::needs_of(*config, kernel);
    const bool wide = kernel.non_portable_cluster_allowed.load(std::memory_order_relaxed) != 0;
    uint32_t size = wide ? maya::cuda::kMaximumNonPortableCluster : maya::cuda::kMaximumPortableCluster;
    while (size > 0 && maya::device::active_clusters(profile, needs, size) == 0) size /= 2;
    *cluster = static_cast<int>(size);
    return CUDA_SUCCESS;
  });
}

CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction function, const CUlaunchConfig* config) {
  return with_function(function, [&](const DeviceProfile& profile, Kernel& kernel) {
    if (clusters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult status = maya::cuda::check_config(config); status != CUDA_SUCCESS) return status;
    if (!maya::cuda::has_clusters(profile)) return CUDA_ERROR_NOT_SUPPORTED;
    const uint32_t size = std::max(maya::cuda::cluster_of(*config, kernel), 1u);
    const bool wide = kernel.non_portable_cluster_allowed.load(std::memory_order_relaxed) != 0;
    if (size > (wide ? maya::cuda::kMaximumNonPortableCluster : maya::cuda::kMaximumPortableCluster))
      return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    *clusters = static_cast<int>(maya::device::active_clusters(profile, maya::cuda::needs_of(*config, kernel), size));
    return CUDA_SUCCESS;
  });
}
