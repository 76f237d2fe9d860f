// cudaGetDeviceProperties: every member is a driver attribute of the same meaning (driver_types.h, cudaDeviceProp of
// CUDA 13 and of CUDA 12, which has other members).
#include <cstring>

#include "driver_shim/cudart/runtime.h"

using namespace maya::cudart;

namespace {

// Reads attributes of one device; keeps the first error.
class AttributeReader {
 public:
  explicit AttributeReader(CUdevice device) : device_(device) {}
  int operator()(CUdevice_attribute attribute) {
    int value = 0;
    const CUresult status = initialized_call(MAYA_DRIVER(cuDeviceGetAttribute), &value, attribute, device_);
    if (status_ == CUDA_SUCCESS) status_ = status;
    return value;
  }
  CUresult status() const { return status_; }

 private:
  CUdevice device_;
  CUresult status_ = CUDA_SUCCESS;
};

void fill_texture_limits(AttributeReader& get, cudaDeviceProp* properties) {
  cudaDeviceProp& p = *properties;
  p.maxTexture1D = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH);
  p.maxTexture1DMipmap = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH);
  p.maxTexture2D[0] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH);
  p.maxTexture2D[1] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT);
  p.maxTexture2DMipmap[0] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH);
  p.maxTexture2DMipmap[1] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT);
  p.maxTexture2DLinear[0] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH);
  p.maxTexture2DLinear[1] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT);
  p.maxTexture2DLinear[2] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH);
  p.maxTexture2DGather[0] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH);
  p.maxTexture2DGather[1] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT);
  p.maxTexture3D[0] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH);
  p.maxTexture3D[1] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT);
  p.maxTexture3D[2] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH);
  p.maxTexture3DAlt[0] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE);
  p.maxTexture3DAlt[1] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE);
  p.maxTexture3DAlt[2] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE);
  p.maxTextureCubemap = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH);
  p.maxTexture1DLayered[0] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH);
  p.maxTexture1DLayered[1] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS);
  p.maxTexture2DLayered[0] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH);
  p.maxTexture2DLayered[1] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT);
  p.maxTexture2DLayered[2] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS);
  p.maxTextureCubemapLayered[0] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH);
  p.maxTextureCubemapLayered[1] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS);
  p.maxSurface1D = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH);
  p.maxSurface2D[0] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH);
  p.maxSurface2D[1] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT);
  p.maxSurface3D[0] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH);
  p.maxSurface3D[1] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT);
  p.maxSurface3D[2] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH);
  p.maxSurface1DLayered[0] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH);
  p.maxSurface1DLayered[1] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS);
  p.maxSurface2DLayered[0] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH);
  p.maxSurface2DLayered[1] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT);
  p.maxSurface2DLayered[2] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS);
  p.maxSurfaceCubemap = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH);
  p.maxSurfaceCubemapLayered[0] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH);
  p.maxSurfaceCubemapLayered[1] = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS);
  p.surfaceAlignment = get(CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT);
  p.textureAlignment = get(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
  p.texturePitchAlignment = get(CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT);
}

void fill_execution_limits(AttributeReader& get, cudaDeviceProp* properties) {
  cudaDeviceProp& p = *properties;
  p.sharedMemPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  p.sharedMemPerBlockOptin = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  p.sharedMemPerMultiprocessor = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  p.reservedSharedMemPerBlock = get(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  p.regsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  p.regsPerMultiprocessor = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  p.warpSize = get(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  p.maxThreadsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  p.maxThreadsPerMultiProcessor = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  p.maxBlocksPerMultiProcessor = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  p.maxThreadsDim[0] = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
  p.maxThreadsDim[1] = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
  p.maxThreadsDim[2] = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
  p.maxGridSize[0] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  p.maxGridSize[1] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
  p.maxGridSize[2] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  p.major = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  p.minor = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  p.multiProcessorCount = get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  p.concurrentKernels = get(CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS);
  p.cooperativeLaunch = get(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
  p.clusterLaunch = get(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);
  p.computePreemptionSupported = get(CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED);
  p.streamPrioritiesSupported = get(CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED);
  p.unifiedFunctionPointers = get(CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS);
  p.asyncEngineCount = get(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
}

void fill_memory(AttributeReader& get, cudaDeviceProp* properties) {
  cudaDeviceProp& p = *properties;
  p.memPitch = get(CU_DEVICE_ATTRIBUTE_MAX_PITCH);
  p.totalConstMem = get(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
  p.memoryBusWidth = get(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  p.l2CacheSize = get(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  p.persistingL2CacheMaxSize = get(CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE);
  p.accessPolicyMaxWindowSize = get(CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE);
  p.globalL1CacheSupported = get(CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED);
  p.localL1CacheSupported = get(CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED);
  p.canMapHostMemory = get(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
  p.unifiedAddressing = get(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
  p.managedMemory = get(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
  p.hostNativeAtomicSupported = get(CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED);
  p.pageableMemoryAccess = get(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
  p.concurrentManagedAccess = get(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
  p.canUseHostPointerForRegisteredMem = get(CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM);
  p.pageableMemoryAccessUsesHostPageTables = get(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES);
  p.directManagedMemAccessFromHost = get(CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST);
  p.hostRegisterSupported = get(CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
  p.hostRegisterReadOnlySupported = get(CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED);
  p.sparseCudaArraySupported = get(CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED);
  p.deferredMappingCudaArraySupported = get(CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED);
  p.memoryPoolsSupported = get(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
  p.memoryPoolSupportedHandleTypes = get(CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES);
  p.gpuDirectRDMASupported = get(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED);
  p.gpuDirectRDMAFlushWritesOptions = get(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS);
  p.gpuDirectRDMAWritesOrdering = get(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING);
}

void fill_system(AttributeReader& get, cudaDeviceProp* properties) {
  cudaDeviceProp& p = *properties;
  p.integrated = get(CU_DEVICE_ATTRIBUTE_INTEGRATED);
  p.ECCEnabled = get(CU_DEVICE_ATTRIBUTE_ECC_ENABLED);
  p.pciBusID = get(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
  p.pciDeviceID = get(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
  p.pciDomainID = get(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
  p.tccDriver = get(CU_DEVICE_ATTRIBUTE_TCC_DRIVER);
  p.isMultiGpuBoard = get(CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD);
  p.multiGpuBoardGroupID = get(CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID);
  p.timelineSemaphoreInteropSupported = get(CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED);
  p.ipcEventSupported = get(CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED);
#if CUDART_VERSION >= 13000
  p.deviceNumaConfig = get(CU_DEVICE_ATTRIBUTE_NUMA_CONFIG);
  p.deviceNumaId = get(CU_DEVICE_ATTRIBUTE_NUMA_ID);
  p.mpsEnabled = get(CU_DEVICE_ATTRIBUTE_MPS_ENABLED);
  p.hostNumaId = get(CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID);
  p.gpuPciDeviceID = get(CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID);
  p.gpuPciSubsystemID = get(CU_DEVICE_ATTRIBUTE_GPU_PCI_SUBSYSTEM_ID);
  p.hostNumaMultinodeIpcSupported = get(CU_DEVICE_ATTRIBUTE_HOST_NUMA_MULTINODE_IPC_SUPPORTED);
#else
  p.clockRate = get(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  p.memoryClockRate = get(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  p.deviceOverlap = get(CU_DEVICE_ATTRIBUTE_GPU_OVERLAP);
  p.kernelExecTimeoutEnabled = get(CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT);
  p.computeMode = get(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
  p.maxTexture1DLinear = get(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH);
  p.singleToDoublePrecisionPerfRatio = get(CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO);
  p.cooperativeMultiDeviceLaunch = get(CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH);
#endif
}

CUresult read_properties(int device, cudaDeviceProp* properties) {
  CUdevice handle = 0;
  if (const CUresult status = initialized_call(MAYA_DRIVER(cuDeviceGet), &handle, device); status != CUDA_SUCCESS)
    return status;
  memset(properties, 0, sizeof *properties);
  CUuuid uuid = {};
  CUresult status = initialized_call(MAYA_DRIVER(cuDeviceGetName), properties->name,
                                     static_cast<int>(sizeof properties->name), handle);
  if (status == CUDA_SUCCESS) status = initialized_call(MAYA_DRIVER(cuDeviceGetUuid_v2), &uuid, handle);
  if (status == CUDA_SUCCESS)
    status = initialized_call(MAYA_DRIVER(cuDeviceTotalMem_v2), &properties->totalGlobalMem, handle);
  memcpy(&properties->uuid, &uuid, sizeof properties->uuid);
  AttributeReader get(handle);
  fill_execution_limits(get, properties);
  fill_memory(get, properties);
  fill_texture_limits(get, properties);
  fill_system(get, properties);
  return status == CUDA_SUCCESS ? get.status() : status;
}

}  // namespace

#if CUDART_VERSION >= 13000
MAYA_API cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
#else
MAYA_API cudaError_t cudaGetDeviceProperties_v2(cudaDeviceProp* properties, int device) {
#endif
  if (properties == nullptr) return fail(cudaErrorInvalidValue);
  cudaDeviceProp result;
  const CUresult status = read_properties(device, &result);
  if (status == CUDA_SUCCESS) *properties = result;
  return finish(status);
}

// "The device which has properties that best match *prop": here the first that offers at least the asked compute
// capability and memory, else device 0. All devices of a process are of one model.
MAYA_API cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* wanted) {
  if (device == nullptr || wanted == nullptr) return fail(cudaErrorInvalidValue);
  int count = 0;
  if (const CUresult status = initialized_call(MAYA_DRIVER(cuDeviceGetCount), &count); status != CUDA_SUCCESS)
    return finish(status);
  *device = 0;
  for (int candidate = 0; candidate < count; ++candidate) {
    cudaDeviceProp offered;
    if (const CUresult status = read_properties(candidate, &offered); status != CUDA_SUCCESS) return finish(status);
    const bool newer =
        offered.major > wanted->major || (offered.major == wanted->major && offered.minor >= wanted->minor);
    if (newer && offered.totalGlobalMem >= wanted->totalGlobalMem) {
      *device = candidate;
      break;
    }
  }
  return cudaSuccess;
}
