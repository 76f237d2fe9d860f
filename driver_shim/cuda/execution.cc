// Execution control: the launch entry points.
#include <cuda.h>

#include <cstring>
#include <vector>

#include "driver_shim/cuda/gate.h"
#include "driver_shim/cuda/launch.h"

using maya::cuda::launch_kernel;
using maya::cuda::read_extra;

namespace maya::cuda {

CUresult read_extra(const device::KernelInfo& kernel, void** extra, std::vector<void*>* arguments) {
  char* buffer = nullptr;
  const size_t* bytes = nullptr;
  for (size_t i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
      buffer = static_cast<char*>(extra[i + 1]);
    else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE)
      bytes = static_cast<const size_t*>(extra[i + 1]);
    else
      return CUDA_ERROR_INVALID_VALUE;
  }
  if (kernel.parameters.empty()) return CUDA_SUCCESS;
  if (buffer == nullptr || bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (const device::KernelParameter& parameter : kernel.parameters) {
    if (uint64_t{parameter.offset} + parameter.size > *bytes) return CUDA_ERROR_INVALID_VALUE;
    arguments->push_back(buffer + parameter.offset);
  }
  return CUDA_SUCCESS;
}

}  // namespace maya::cuda

namespace {

CUresult launch_with(CUfunction function, maya::device::Launch& launch, CUstream stream, bool per_thread,
                     void** parameters, void** extra, const CUlaunchAttribute* attributes = nullptr,
                     uint32_t attribute_count = 0) {
  launch.arguments = parameters;
  if (extra == nullptr) return launch_kernel(function, launch, stream, per_thread, attributes, attribute_count);
  return maya::cuda::enter(maya::cuda::Needs::kInitialized, [&](maya::cuda::Call&) -> CUresult {
    if (parameters != nullptr) return CUDA_ERROR_INVALID_VALUE;
    const maya::cuda::Kernel* kernel = maya::cuda::resolve_kernel(function);
    if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    std::vector<void*> pointers;
    if (const CUresult status = read_extra(kernel->info, extra, &pointers); status != CUDA_SUCCESS) return status;
    launch.arguments = pointers.data();
    return launch_kernel(function, launch, stream, per_thread, attributes, attribute_count);
  });
}

maya::device::Launch make_launch(uint32_t grid_x, uint32_t grid_y, uint32_t grid_z, uint32_t block_x, uint32_t block_y,
                                 uint32_t block_z, uint32_t shared_bytes) {
  maya::device::Launch launch;
  launch.grid[0] = grid_x, launch.grid[1] = grid_y, launch.grid[2] = grid_z;
  launch.block[0] = block_x, launch.block[1] = block_y, launch.block[2] = block_z;
  launch.dynamic_shared_bytes = shared_bytes;
  return launch;
}

CUresult launch_configured(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra,
                           bool per_thread) {
  if (config == nullptr)
    return maya::cuda::enter(maya::cuda::Needs::kInitialized,
                             [](maya::cuda::Call&) { return CUDA_ERROR_INVALID_VALUE; });
  maya::device::Launch launch = make_launch(config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,
                                            config->blockDimY, config->blockDimZ, config->sharedMemBytes);
  return launch_with(function, launch, config->hStream, per_thread, parameters, extra, config->attrs, config->numAttrs);
}

}  // namespace

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                        unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
                        CUstream stream, void** parameters, void** extra) {
  if (extra == nullptr) [[likely]]
    return maya::cuda::launch_plain(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream,
                                    parameters);
  maya::device::Launch launch = make_launch(grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes);
  return launch_with(function, launch, stream, false, parameters, extra);
}

CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                             unsigned int block_x, unsigned int block_y, unsigned int block_z,
                             unsigned int shared_bytes, CUstream stream, void** parameters, void** extra) {
  maya::device::Launch launch = make_launch(grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes);
  return launch_with(function, launch, stream, true, parameters, extra);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
  return launch_configured(config, function, parameters, extra, false);
}

CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
  return launch_configured(config, function, parameters, extra, true);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                                   unsigned int block_x, unsigned int block_y, unsigned int block_z,
                                   unsigned int shared_bytes, CUstream stream, void** parameters) {
  maya::device::Launch launch = make_launch(grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes);
  launch.cooperative = true;
  return launch_with(function, launch, stream, false, parameters, nullptr);
}

CUresult cuLaunchCooperativeKernel_ptsz(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                        unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                        unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                                        void** parameters) {
  maya::device::Launch launch = make_launch(grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes);
  launch.cooperative = true;
  return launch_with(function, launch, stream, true, parameters, nullptr);
}
