// Memory that graphs hold on a device: none, since graphs are not emulated.
#include <cuda.h>

#include "driver_shim/cuda/gate.h"

using maya::cuda::Call;
using maya::cuda::enter;
using maya::cuda::Needs;

namespace {

bool valid_attribute(CUgraphMem_attribute attribute) {
  return attribute >= CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT && attribute <= CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
}

template <typename Body>
CUresult with_device(CUdevice device, bool valid, Body&& body) {
  return enter(Needs::kInitialized, [&](Call& call) -> CUresult {
    if (!valid) return CUDA_ERROR_INVALID_VALUE;
    if (device < 0 || device >= call.driver().device_count()) return CUDA_ERROR_INVALID_DEVICE;
    return body();
  });
}

}  // namespace

CUresult cuDeviceGraphMemTrim(CUdevice device) {
  return with_device(device, true, [] { return CUDA_SUCCESS; });
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void* value) {
  return with_device(device, value != nullptr && valid_attribute(attribute), [&] {
    *static_cast<cuuint64_t*>(value) = 0;
    return CUDA_SUCCESS;
  });
}

// High watermarks can only be reset to zero.
CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void* value) {
  const bool watermark =
      attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH || attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
  return with_device(device, value != nullptr && watermark && *static_cast<cuuint64_t*>(value) == 0,
                     [] { return CUDA_SUCCESS; });
}
