// The runtime API's wrappers and the names of its callback ids.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <generated_cuda_runtime_api_meta.h>

#include <atomic>

#include "driver_shim/common/driver_access.h"
#include "driver_shim/cupti/wrapper.h"

namespace maya::cupti {
namespace {

#define MAYA_CALL(cbid, name, Structure) MAYA_WRAPPED_CALL(Domain::kRuntime, cbid, name, Structure)
#include "runtime_calls.inc"
#undef MAYA_CALL

}  // namespace

WrappedCalls runtime_calls() {
  static std::vector<WrappedCall>& calls = *new std::vector<WrappedCall>{
#define MAYA_CALL(cbid, name, Structure) MAYA_WRAPPED_ENTRY(name)
#include "runtime_calls.inc"
#undef MAYA_CALL
  };
  static const WrappedCalls ordered = in_order(calls);
  return ordered;
}

const char* runtime_identifier(uint32_t cbid) {
  switch (cbid) {
#define MAYA_NAME(cbid, name) \
  case cbid:                  \
    return name;
#include "runtime_calls.inc"
#undef MAYA_NAME
    default:
      return nullptr;
  }
}

const char* runtime_symbol(uint32_t cbid, const void* parameters) {
  const void* function = nullptr;
  switch (cbid) {
    case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000:
    case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000:
      function = static_cast<const cudaLaunchKernel_v7000_params*>(parameters)->func;
      break;
    case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060:
    case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_ptsz_v11060:
      function = static_cast<const cudaLaunchKernelExC_v11060_params*>(parameters)->func;
      break;
    case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000:
    case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_ptsz_v9000:
      function = static_cast<const cudaLaunchCooperativeKernel_v9000_params*>(parameters)->func;
      break;
    default:
      return nullptr;
  }
  const auto get_name =
      reinterpret_cast<decltype(&::cudaFuncGetName)>(Wrapper<call_cudaFuncGetName, decltype(&::cudaFuncGetName)>::body);
  const char* name = nullptr;
  return function != nullptr && get_name != nullptr && get_name(&name, function) == cudaSuccess ? name : nullptr;
}

}  // namespace maya::cupti
