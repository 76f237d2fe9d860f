// The driver API's wrappers and the names of its callback ids.
#include <cuda.h>
#include <cudaProfiler.h>
#include <generated_cuda_meta.h>

#include "driver_shim/common/driver_access.h"
#include "driver_shim/cupti/wrapper.h"

namespace maya::cupti {
namespace {

#define MAYA_CALL(cbid, name, Structure) MAYA_WRAPPED_CALL(Domain::kDriver, cbid, name, Structure)
#include "driver_calls.inc"
#undef MAYA_CALL

}  // namespace

WrappedCalls driver_calls() {
  static std::vector<WrappedCall>& calls = *new std::vector<WrappedCall>{
#define MAYA_CALL(cbid, name, Structure) MAYA_WRAPPED_ENTRY(name)
#include "driver_calls.inc"
#undef MAYA_CALL
  };
  static const WrappedCalls ordered = in_order(calls);
  return ordered;
}

const char* driver_identifier(uint32_t cbid) {
  switch (cbid) {
#define MAYA_NAME(cbid, name) \
  case cbid:                  \
    return name;
#include "driver_calls.inc"
#undef MAYA_NAME
    default:
      return nullptr;
  }
}

const char* driver_symbol_name(uint32_t cbid, const void* parameters) {
  CUfunction function = nullptr;
  switch (cbid) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
      function = static_cast<const cuLaunchKernel_params*>(parameters)->f;
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz:
      function = static_cast<const cuLaunchKernelEx_params*>(parameters)->f;
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
      function = static_cast<const cuLaunchCooperativeKernel_params*>(parameters)->f;
      break;
    default:
      return nullptr;
  }
  const char* name = nullptr;
  return MAYA_DRIVER(cuFuncGetName)(&name, function) == CUDA_SUCCESS ? name : nullptr;
}

}  // namespace maya::cupti
