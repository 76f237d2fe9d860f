// The documented limits of a launch, and launch attributes. Only looked at when a thread makes a launch of a kind for
// the first time.
#include <cuda.h>

#include <string>

#include "driver_shim/common/entry_table.h"
#include "driver_shim/cuda/launch.h"
#include "virtual_device/occupancy.h"

namespace maya::cuda {
namespace {

// Limits of every device since compute capability 3.0 (CUDA programming guide, technical specifications per compute
// capability).
constexpr uint32_t kMostGrid[3] = {0x7fffffff, 65535, 65535};
constexpr uint32_t kMostBlock[3] = {1024, 1024, 64};
constexpr uint64_t kMostPortableCluster = 8;
constexpr uint64_t kMostCluster = 16;  // with cudaFuncAttributeNonPortableClusterSizeAllowed

CUresult check_cluster(const Kernel& kernel, const device::Launch& launch, const device::DeviceProfile& profile) {
  const uint64_t blocks = uint64_t{launch.cluster[0]} * launch.cluster[1] * launch.cluster[2];
  const bool more = kernel.non_portable_cluster_allowed.load(std::memory_order_relaxed) != 0;
  if (profile.compute_major < 9 && blocks > 1) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  if (blocks == 0 || blocks > (more ? kMostCluster : kMostPortableCluster)) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  for (int i = 0; i < 3; ++i)
    if (launch.grid[i] % launch.cluster[i] != 0) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult check_launch(const Kernel& kernel, const device::Launch& launch, const device::DeviceProfile& profile) {
  if (!kernel.info.device_launch.empty()) {
    const std::string what = "dynamic parallelism (kernel " + kernel.info.name + " calls " + kernel.info.device_launch +
                             "; launch from the host instead)";
    shim::report_unsupported("libcuda.so.1", what.c_str(), "CUDA_ERROR_NOT_SUPPORTED");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  for (int i = 0; i < 3; ++i) {
    if (launch.grid[i] == 0 || launch.grid[i] > kMostGrid[i]) return CUDA_ERROR_INVALID_VALUE;
    if (launch.block[i] == 0 || launch.block[i] > kMostBlock[i]) return CUDA_ERROR_INVALID_VALUE;
    if (kernel.info.required_block[i] != 0 && launch.block[i] != kernel.info.required_block[i])
      return CUDA_ERROR_INVALID_VALUE;
  }
  const uint32_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  if (threads > profile.threads_per_block) return CUDA_ERROR_INVALID_VALUE;
  if (threads > device::threads_by_registers(kernel.info.registers)) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  if (threads > kernel.info.max_threads) return CUDA_ERROR_INVALID_VALUE;
  if (launch.cluster[0] != 0)
    if (const CUresult status = check_cluster(kernel, launch, profile); status != CUDA_SUCCESS) return status;
  if (launch.cooperative) {
    const uint64_t resident =
        uint64_t{device::active_blocks(profile, block_needs(kernel, threads, launch.dynamic_shared_bytes))} *
        profile.multiprocessors;
    if (uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2] > resident)
      return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  }
  return CUDA_SUCCESS;
}

CUresult read_attributes(const CUlaunchAttribute* attributes, uint32_t count, device::Launch* launch,
                         AttributeEvents* events) {
  if (attributes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (uint32_t i = 0; i < count; ++i) {
    const CUlaunchAttributeValue& value = attributes[i].value;
    switch (attributes[i].id) {
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        launch->cooperative = value.cooperative != 0;
        break;
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        launch->cluster[0] = value.clusterDim.x;
        launch->cluster[1] = value.clusterDim.y;
        launch->cluster[2] = value.clusterDim.z;
        if (value.clusterDim.x == 0 || value.clusterDim.y == 0 || value.clusterDim.z == 0)
          return CUDA_ERROR_INVALID_CLUSTER_SIZE;
        break;
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
        if (events->count < 2) events->events[events->count++] = value.programmaticEvent.event;
        break;
      case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
        if (events->count < 2) events->events[events->count++] = value.launchCompletionEvent.event;
        break;
      // These change how fast a launch is on a real device, not what it does.
      case CU_LAUNCH_ATTRIBUTE_IGNORE:
      case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
      case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
      case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
      case CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE:
      case CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE:
        break;
      case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        return CUDA_ERROR_NOT_SUPPORTED;  // graphs only
      default:
        return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return CUDA_SUCCESS;
}

}  // namespace maya::cuda
