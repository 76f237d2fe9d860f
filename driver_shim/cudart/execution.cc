// Launches and function attributes. The launch path takes no lock, allocates nothing and makes no system call once a
// kernel was launched before: a table lookup (registration.h), or the handle that __cudaGetKernel gave, then the
// driver's own launch.
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "driver_shim/cudart/registration.h"
#include "driver_shim/cudart/runtime.h"

using namespace maya::cudart;
using maya::KernelLaunch;

namespace {

using LaunchEntry = decltype(maya::MayaTable::launch_plain);

CUresult first_launch(CUkernel kernel, uint64_t grid_xy, uint32_t grid_z, uint64_t block_xy, uint32_t block_z,
                      void** arguments, uint32_t shared_bytes, CUstream stream);
constinit std::atomic<LaunchEntry> launch_entry{&first_launch};

CUresult first_launch(CUkernel kernel, uint64_t grid_xy, uint32_t grid_z, uint64_t block_xy, uint32_t block_z,
                      void** arguments, uint32_t shared_bytes, CUstream stream) {
  const maya::MayaTable* table = maya::shim::driver();
  if (table == nullptr) return static_cast<CUresult>(cudaErrorInsufficientDriver);
  launch_entry.store(table->launch_plain, std::memory_order_relaxed);
  return table->launch_plain(kernel, grid_xy, grid_z, block_xy, block_z, arguments, shared_bytes, stream);
}

CUresult launch_with_attributes(const KernelLaunch& launch) {
  const maya::MayaTable* table = maya::shim::driver();
  return table == nullptr ? static_cast<CUresult>(cudaErrorInsufficientDriver) : table->launch(&launch);
}

// A launch that the driver finds invalid because of its dimensions is an invalid configuration to the runtime.
bool dimensions_are_valid(const KernelLaunch& launch) {
  int device = 0;
  if (current_device(&device) != CUDA_SUCCESS) return true;
  const auto within = [&](uint64_t value, CUdevice_attribute attribute) {
    int limit = 0;
    return value != 0 &&
           initialized_call(MAYA_DRIVER(cuDeviceGetAttribute), &limit, attribute, device) == CUDA_SUCCESS &&
           value <= static_cast<uint64_t>(limit);
  };
  constexpr CUdevice_attribute kGrid[3] = {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
                                           CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z};
  constexpr CUdevice_attribute kBlock[3] = {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
                                            CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z};
  for (int i = 0; i < 3; ++i)
    if (!within(launch.grid[i], kGrid[i]) || !within(launch.block[i], kBlock[i])) return false;
  return within(static_cast<uint64_t>(launch.block[0]) * launch.block[1] * launch.block[2],
                CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
}

[[gnu::cold, gnu::noinline]] cudaError_t launch_failed(const KernelLaunch& launch, CUresult status) {
  if (needs_context(status)) {
    status = prepare_context(status);
    if (status == CUDA_SUCCESS) status = launch_with_attributes(launch);
    if (status == CUDA_SUCCESS) return cudaSuccess;
  }
  if (status == CUDA_ERROR_INVALID_VALUE && !dimensions_are_valid(launch)) return fail(cudaErrorInvalidConfiguration);
  return fail(to_runtime(status));
}

// Eight and four bytes, as the calling convention passes a dim3 in registers. Element by element, the compiler gathers
// them into vector registers, and the load of each would wait for the store before it.
static_assert(sizeof(dim3) == 3 * sizeof(uint32_t));
inline void copy_dimensions(void* to, const void* from) { memcpy(to, from, sizeof(dim3)); }

KernelLaunch make_launch(CUkernel kernel, const dim3& grid, const dim3& block, void** arguments, size_t shared_bytes,
                         cudaStream_t stream) {
  KernelLaunch launch = {};
  launch.kernel = kernel;
  memcpy(launch.grid, &grid, sizeof grid);
  memcpy(launch.block, &block, sizeof block);
  launch.dynamic_shared_bytes = static_cast<uint32_t>(shared_bytes);
  launch.stream = stream;
  launch.arguments = arguments;
  return launch;
}

[[gnu::cold, gnu::noinline]] cudaError_t plain_launch_failed(CUkernel kernel, const dim3& grid, const dim3& block,
                                                             void** arguments, size_t shared_bytes, cudaStream_t stream,
                                                             CUresult status) {
  return launch_failed(make_launch(kernel, grid, block, arguments, shared_bytes, stream), status);
}

inline uint64_t x_and_y(const dim3& dimensions) { return uint64_t{dimensions.y} << 32 | dimensions.x; }

inline cudaError_t launch_kernel(CUkernel kernel, const dim3& grid, const dim3& block, void** arguments,
                                 size_t shared_bytes, cudaStream_t stream) {
  if (shared_bytes > UINT32_MAX) [[unlikely]]
    return fail(cudaErrorInvalidValue);
  const CUresult status = launch_entry.load(std::memory_order_relaxed)(
      kernel, x_and_y(grid), grid.z, x_and_y(block), block.z, arguments, static_cast<uint32_t>(shared_bytes), stream);
  if (status == CUDA_SUCCESS) [[likely]]
    return cudaSuccess;
  return plain_launch_failed(kernel, grid, block, arguments, shared_bytes, stream, status);
}

inline cudaError_t launch_function(const void* function, const dim3& grid, const dim3& block, void** arguments,
                                   size_t shared_bytes, cudaStream_t stream) {
  CUkernel kernel = cached_kernel(function);
  if (kernel == nullptr) [[unlikely]] {
    if (const cudaError_t status = resolve_kernel(function, &kernel); status != cudaSuccess) return fail(status);
  }
  return launch_kernel(kernel, grid, block, arguments, shared_bytes, stream);
}

cudaError_t launch_function_with(const void* function, const dim3& grid, const dim3& block, void** arguments,
                                 size_t shared_bytes, cudaStream_t stream, const CUlaunchAttribute* attributes,
                                 uint32_t attribute_count) {
  if (attribute_count == 0) return launch_function(function, grid, block, arguments, shared_bytes, stream);
  CUkernel kernel = nullptr;
  if (const cudaError_t status = find_kernel(function, &kernel); status != cudaSuccess) return fail(status);
  if (shared_bytes > UINT32_MAX) return fail(cudaErrorInvalidValue);
  KernelLaunch launch = make_launch(kernel, grid, block, arguments, shared_bytes, stream);
  launch.attributes = attributes;
  launch.attribute_count = attribute_count;
  const CUresult status = launch_with_attributes(launch);
  return status == CUDA_SUCCESS ? cudaSuccess : launch_failed(launch, status);
}

inline cudaError_t launch_handle(cudaKernel_t handle, const dim3& grid, const dim3& block, void** arguments,
                                 size_t shared_bytes, cudaStream_t stream) {
  if (handle == nullptr) [[unlikely]]
    return fail(last_resolution_error());
  return launch_kernel(reinterpret_cast<CUkernel>(handle), grid, block, arguments, shared_bytes, stream);
}

inline cudaError_t launch_configured(const cudaLaunchConfig_t* config, const void* function, void** arguments,
                                     cudaStream_t stream) {
  if (config->numAttrs != 0 && config->attrs == nullptr) return fail(cudaErrorInvalidValue);
  return launch_function_with(function, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes, stream,
                              as_driver<const CUlaunchAttribute>(config->attrs), config->numAttrs);
}

cudaError_t launch_cooperative(const void* function, const dim3& grid, const dim3& block, void** arguments,
                               size_t shared_bytes, cudaStream_t stream) {
  CUlaunchAttribute attribute = {};
  attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attribute.value.cooperative = 1;
  return launch_function_with(function, grid, block, arguments, shared_bytes, stream, &attribute, 1);
}

}  // namespace

MAYA_API cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                      size_t shared_bytes, cudaStream_t stream) {
  return launch_function(function, grid, block, arguments, shared_bytes, stream);
}
MAYA_API cudaError_t cudaLaunchKernel_ptsz(const void* function, dim3 grid, dim3 block, void** arguments,
                                           size_t shared_bytes, cudaStream_t stream) {
  return launch_function(function, grid, block, arguments, shared_bytes, own_stream(stream));
}

MAYA_API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                        size_t shared_bytes, cudaStream_t stream) {
  return launch_handle(kernel, grid, block, arguments, shared_bytes, stream);
}
MAYA_API cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                             size_t shared_bytes, cudaStream_t stream) {
  return launch_handle(kernel, grid, block, arguments, shared_bytes, own_stream(stream));
}

MAYA_API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  if (config == nullptr) return fail(cudaErrorInvalidConfiguration);
  return launch_configured(config, function, arguments, config->stream);
}
MAYA_API cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t* config, const void* function,
                                              void** arguments) {
  if (config == nullptr) return fail(cudaErrorInvalidConfiguration);
  return launch_configured(config, function, arguments, own_stream(config->stream));
}

MAYA_API cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                                 size_t shared_bytes, cudaStream_t stream) {
  return launch_cooperative(function, grid, block, arguments, shared_bytes, stream);
}
MAYA_API cudaError_t cudaLaunchCooperativeKernel_ptsz(const void* function, dim3 grid, dim3 block, void** arguments,
                                                      size_t shared_bytes, cudaStream_t stream) {
  return launch_cooperative(function, grid, block, arguments, shared_bytes, own_stream(stream));
}

// Pushes and pops alternate, but for kernel<<<...>>>(f()) where f launches too: only then is a configuration put aside.
MAYA_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream) {
  ThreadState& thread = thread_state;
  if (thread.configured) [[unlikely]] {
    auto* outer = new (std::nothrow) OuterConfiguration{thread.configuration, thread.outer};
    if (outer == nullptr) return fail(cudaErrorMemoryAllocation);
    thread.outer = outer;
  }
  copy_dimensions(&thread.configuration.grid, &grid);
  copy_dimensions(&thread.configuration.block, &block);
  thread.configuration.shared_bytes = shared_bytes;
  thread.configuration.stream = stream;
  thread.configured = true;
  return 0;
}

MAYA_API cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
  ThreadState& thread = thread_state;
  if (!thread.configured) return fail(cudaErrorMissingConfiguration);
  copy_dimensions(grid, &thread.configuration.grid);
  copy_dimensions(block, &thread.configuration.block);
  *shared_bytes = thread.configuration.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = thread.configuration.stream;
  thread.configured = thread.outer != nullptr;
  if (thread.outer != nullptr) [[unlikely]] {
    const std::unique_ptr<OuterConfiguration> outer(thread.outer);
    thread.configuration = outer->configuration;
    thread.outer = outer->next;
  }
  return cudaSuccess;
}

MAYA_API cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return with_context(MAYA_DRIVER(cuLaunchHostFunc), stream, function, data);
}
MAYA_API cudaError_t cudaLaunchHostFunc_ptsz(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return with_context(MAYA_DRIVER(cuLaunchHostFunc), own_stream(stream), function, data);
}
MAYA_API cudaError_t cudaLaunchHostFunc_v2(cudaStream_t stream, cudaHostFn_t function, void* data, unsigned mode) {
  return with_context(MAYA_DRIVER(cuLaunchHostFunc_v2), stream, function, data, mode);
}
MAYA_API cudaError_t cudaLaunchHostFunc_v2_ptsz(cudaStream_t stream, cudaHostFn_t function, void* data, unsigned mode) {
  return with_context(MAYA_DRIVER(cuLaunchHostFunc_v2), own_stream(stream), function, data, mode);
}

MAYA_API cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  if (attributes == nullptr) return fail(cudaErrorInvalidValue);
  CUfunction handle = nullptr;
  if (const cudaError_t status = find_function(function, &handle); status != cudaSuccess) return status;
  cudaFuncAttributes result = {};
  CUresult status = CUDA_SUCCESS;
  const auto get = [&](CUfunction_attribute attribute) {
    int value = 0;
    if (const CUresult got = initialized_call(MAYA_DRIVER(cuFuncGetAttribute), &value, attribute, handle);
        got != CUDA_SUCCESS)
      status = got;
    return value;
  };
  result.sharedSizeBytes = get(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  result.constSizeBytes = get(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
  result.localSizeBytes = get(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  result.maxThreadsPerBlock = get(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  result.numRegs = get(CU_FUNC_ATTRIBUTE_NUM_REGS);
  result.ptxVersion = get(CU_FUNC_ATTRIBUTE_PTX_VERSION);
  result.binaryVersion = get(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  result.cacheModeCA = get(CU_FUNC_ATTRIBUTE_CACHE_MODE_CA);
  result.maxDynamicSharedSizeBytes = get(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  result.preferredShmemCarveout = get(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
  result.clusterDimMustBeSet = get(CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET);
  result.requiredClusterWidth = get(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH);
  result.requiredClusterHeight = get(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT);
  result.requiredClusterDepth = get(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH);
  result.clusterSchedulingPolicyPreference = get(CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
  result.nonPortableClusterSizeAllowed = get(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
  if (status != CUDA_SUCCESS) return finish(status);
  *attributes = result;
  return cudaSuccess;
}

MAYA_API cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  CUfunction handle = nullptr;
  if (const cudaError_t status = find_function(function, &handle); status != cudaSuccess) return status;
  return with_context(MAYA_DRIVER(cuFuncSetAttribute), handle, static_cast<CUfunction_attribute>(attribute), value);
}

MAYA_API cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache config) {
  CUfunction handle = nullptr;
  if (const cudaError_t status = find_function(function, &handle); status != cudaSuccess) return status;
  return with_context(MAYA_DRIVER(cuFuncSetCacheConfig), handle, static_cast<CUfunc_cache>(config));
}

// Has had no effect since sm_50; no longer declared by the header but still exported.
MAYA_API cudaError_t cudaFuncSetSharedMemConfig(const void* function, cudaSharedMemConfig config) {
  CUfunction handle = nullptr;
  if (const cudaError_t status = find_function(function, &handle); status != cudaSuccess) return status;
  if (config < cudaSharedMemBankSizeDefault || config > cudaSharedMemBankSizeEightByte)
    return fail(cudaErrorInvalidValue);
  return cudaSuccess;
}

MAYA_API cudaError_t cudaFuncGetName(const char** name, const void* function) {
  if (name == nullptr) return fail(cudaErrorInvalidValue);
  CUkernel kernel = nullptr;
  if (const cudaError_t status = find_kernel(function, &kernel); status != cudaSuccess) return fail(status);
  return with_driver(MAYA_DRIVER(cuKernelGetName), name, kernel);
}

MAYA_API cudaError_t cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset, size_t* size) {
  CUkernel kernel = nullptr;
  if (const cudaError_t status = find_kernel(function, &kernel); status != cudaSuccess) return fail(status);
  return with_driver(MAYA_DRIVER(cuKernelGetParamInfo), kernel, index, offset, size);
}

MAYA_API cudaError_t cudaFuncGetParamCount(const void* function, size_t* count) {
  CUkernel kernel = nullptr;
  if (const cudaError_t status = find_kernel(function, &kernel); status != cudaSuccess) return fail(status);
  return with_driver(MAYA_DRIVER(cuKernelGetParamCount), kernel, count);
}
