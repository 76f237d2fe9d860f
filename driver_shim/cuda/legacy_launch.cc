// The launch interface of CUDA 2 and 3: block shape, shared memory and parameters are set on the function before
// cuLaunch.
#include <cuda.h>

#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "driver_shim/cuda/launch.h"
#include "driver_shim/cuda/stream_call.h"

using maya::cuda::Call;
using maya::cuda::enter;
using maya::cuda::Kernel;
using maya::cuda::Needs;

namespace {

constexpr size_t kMostParameter_bytes = 4096;  // of the interface's time

struct Prepared {
  uint32_t block[3] = {1, 1, 1};
  uint32_t shared_bytes = 0;
  std::array<char, kMostParameter_bytes> parameters{};
};

struct PreparedTable {
  std::mutex mutex;
  std::map<CUfunction, Prepared> by_function;
};

PreparedTable& table() {
  static PreparedTable& made = *new PreparedTable;
  return made;
}

template <typename Change>
CUresult prepare(CUfunction function, bool valid, Change&& change) {
  return enter(Needs::kContext, [&](Call&) {
    if (maya::cuda::resolve_kernel(function) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (!valid) return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard<std::mutex> lock(table().mutex);
    change(table().by_function[function]);
    return CUDA_SUCCESS;
  });
}

CUresult set_parameter(CUfunction function, int offset, const void* value, unsigned int bytes) {
  const bool valid =
      offset >= 0 && value != nullptr && uint64_t{static_cast<uint32_t>(offset)} + bytes <= kMostParameter_bytes;
  return prepare(function, valid,
                 [&](Prepared& prepared) { memcpy(prepared.parameters.data() + offset, value, bytes); });
}

CUresult launch_prepared(CUfunction function, int grid_width, int grid_height, CUstream stream) {
  return enter(Needs::kContext, [&](Call&) -> CUresult {
    const Kernel* kernel = maya::cuda::resolve_kernel(function);
    if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (grid_width <= 0 || grid_height <= 0) return CUDA_ERROR_INVALID_VALUE;
    Prepared prepared;
    {
      std::lock_guard<std::mutex> lock(table().mutex);
      if (const auto found = table().by_function.find(function); found != table().by_function.end())
        prepared = found->second;
    }
    std::vector<void*> arguments;
    for (const maya::device::KernelParameter& parameter : kernel->info.parameters) {
      if (uint64_t{parameter.offset} + parameter.size > kMostParameter_bytes) return CUDA_ERROR_INVALID_VALUE;
      arguments.push_back(prepared.parameters.data() + parameter.offset);
    }
    maya::device::Launch launch;
    launch.grid[0] = static_cast<uint32_t>(grid_width);
    launch.grid[1] = static_cast<uint32_t>(grid_height);
    memcpy(launch.block, prepared.block, sizeof launch.block);
    launch.dynamic_shared_bytes = prepared.shared_bytes;
    launch.arguments = arguments.data();
    return maya::cuda::launch_kernel(function, launch, stream, false, nullptr, 0);
  });
}

}  // namespace

CUresult cuFuncSetBlockShape(CUfunction function, int x, int y, int z) {
  return prepare(function, x > 0 && y > 0 && z > 0, [&](Prepared& prepared) {
    prepared.block[0] = static_cast<uint32_t>(x);
    prepared.block[1] = static_cast<uint32_t>(y);
    prepared.block[2] = static_cast<uint32_t>(z);
  });
}

CUresult cuFuncSetSharedSize(CUfunction function, unsigned int bytes) {
  return prepare(function, true, [&](Prepared& prepared) { prepared.shared_bytes = bytes; });
}

CUresult cuParamSetSize(CUfunction function, unsigned int bytes) {
  return prepare(function, bytes <= kMostParameter_bytes, [](Prepared&) {});
}

CUresult cuParamSeti(CUfunction function, int offset, unsigned int value) {
  return set_parameter(function, offset, &value, sizeof value);
}
CUresult cuParamSetf(CUfunction function, int offset, float value) {
  return set_parameter(function, offset, &value, sizeof value);
}
CUresult cuParamSetv(CUfunction function, int offset, void* value, unsigned int bytes) {
  return set_parameter(function, offset, value, bytes);
}

CUresult cuLaunch(CUfunction function) { return launch_prepared(function, 1, 1, nullptr); }
CUresult cuLaunchGrid(CUfunction function, int width, int height) {
  return launch_prepared(function, width, height, nullptr);
}
CUresult cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream) {
  return launch_prepared(function, width, height, stream);
}
