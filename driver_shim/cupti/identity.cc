// Version, results, and the numbers of contexts, streams, devices and graphs.
#include "driver_shim/cupti/identity.h"

#include <cstdio>

#include "driver_shim/common/api.h"
#include "driver_shim/common/driver_access.h"
#include "driver_shim/cupti/thread_state.h"

namespace maya::cupti {

uint32_t context_identity(CUcontext context) {
  NotReported guard(thread_state());
  unsigned long long id = 0;
  const auto get_id = MAYA_DRIVER(cuCtxGetId);
  return get_id != nullptr && get_id(context, &id) == CUDA_SUCCESS ? static_cast<uint32_t>(id) : 0;
}

CUptiResult stream_identity(CUcontext context, CUstream stream, bool per_thread, uint32_t* id) {
  const MayaTable* const driver = shim::driver();
  if (driver == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  NotReported guard(thread_state());
  const bool is_default = stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
  // The default streams are those of the current context.
  const bool changes_context = is_default && context != nullptr;
  if (changes_context && MAYA_DRIVER(cuCtxPushCurrent_v2)(context) != CUDA_SUCCESS) return CUPTI_ERROR_INVALID_STREAM;
  uint32_t trace_id = 0;
  CUcontext owner = nullptr;
  const CUresult status = driver->stream_id(stream, per_thread ? 1 : 0, &trace_id, &owner);
  if (changes_context) MAYA_DRIVER(cuCtxPopCurrent_v2)(&context);
  if (status != CUDA_SUCCESS || (context != nullptr && owner != context)) return CUPTI_ERROR_INVALID_STREAM;
  *id = public_stream_id(trace_id);
  return CUPTI_SUCCESS;
}

}  // namespace maya::cupti

using namespace maya::cupti;

namespace {

struct ResultText {
  CUptiResult result;
  const char* name;
};
#define MAYA_RESULT(name) \
  { name, #name }
constexpr ResultText kResults[] = {
    MAYA_RESULT(CUPTI_SUCCESS),
    MAYA_RESULT(CUPTI_ERROR_INVALID_PARAMETER),
    MAYA_RESULT(CUPTI_ERROR_INVALID_DEVICE),
    MAYA_RESULT(CUPTI_ERROR_INVALID_CONTEXT),
    MAYA_RESULT(CUPTI_ERROR_INVALID_EVENT_DOMAIN_ID),
    MAYA_RESULT(CUPTI_ERROR_INVALID_EVENT_ID),
    MAYA_RESULT(CUPTI_ERROR_INVALID_EVENT_NAME),
    MAYA_RESULT(CUPTI_ERROR_INVALID_OPERATION),
    MAYA_RESULT(CUPTI_ERROR_OUT_OF_MEMORY),
    MAYA_RESULT(CUPTI_ERROR_HARDWARE),
    MAYA_RESULT(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT),
    MAYA_RESULT(CUPTI_ERROR_API_NOT_IMPLEMENTED),
    MAYA_RESULT(CUPTI_ERROR_MAX_LIMIT_REACHED),
    MAYA_RESULT(CUPTI_ERROR_NOT_READY),
    MAYA_RESULT(CUPTI_ERROR_NOT_COMPATIBLE),
    MAYA_RESULT(CUPTI_ERROR_NOT_INITIALIZED),
    MAYA_RESULT(CUPTI_ERROR_INVALID_METRIC_ID),
    MAYA_RESULT(CUPTI_ERROR_INVALID_METRIC_NAME),
    MAYA_RESULT(CUPTI_ERROR_QUEUE_EMPTY),
    MAYA_RESULT(CUPTI_ERROR_INVALID_HANDLE),
    MAYA_RESULT(CUPTI_ERROR_INVALID_STREAM),
    MAYA_RESULT(CUPTI_ERROR_INVALID_KIND),
    MAYA_RESULT(CUPTI_ERROR_INVALID_EVENT_VALUE),
    MAYA_RESULT(CUPTI_ERROR_DISABLED),
    MAYA_RESULT(CUPTI_ERROR_INVALID_MODULE),
    MAYA_RESULT(CUPTI_ERROR_INVALID_METRIC_VALUE),
    MAYA_RESULT(CUPTI_ERROR_HARDWARE_BUSY),
    MAYA_RESULT(CUPTI_ERROR_NOT_SUPPORTED),
    MAYA_RESULT(CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED),
    MAYA_RESULT(CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE),
    MAYA_RESULT(CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_NON_P2P_DEVICES),
    MAYA_RESULT(CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_WITH_MPS),
    MAYA_RESULT(CUPTI_ERROR_CDP_TRACING_NOT_SUPPORTED),
    MAYA_RESULT(CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED),
    MAYA_RESULT(CUPTI_ERROR_CUDA_COMPILER_NOT_COMPATIBLE),
    MAYA_RESULT(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES),
    MAYA_RESULT(CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED),
    MAYA_RESULT(CUPTI_ERROR_OPENACC_UNDEFINED_ROUTINE),
    MAYA_RESULT(CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED),
    MAYA_RESULT(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED),
    MAYA_RESULT(CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES),
    MAYA_RESULT(CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED),
    MAYA_RESULT(CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED),
    MAYA_RESULT(CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED),
    MAYA_RESULT(CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED),
    MAYA_RESULT(CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED),
    MAYA_RESULT(CUPTI_ERROR_INVALID_CHIP_NAME),
#if CUPTI_API_VERSION >= 130000
    MAYA_RESULT(CUPTI_ERROR_HES_TRACE_NOT_SUPPORTED_ON_MPS),
#endif
    MAYA_RESULT(CUPTI_ERROR_UNKNOWN),
};
#undef MAYA_RESULT

CUptiResult result_text(CUptiResult result, const char** text) {
  if (text == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  for (const ResultText& row : kResults)
    if (row.result == result) {
      *text = row.name;
      return CUPTI_SUCCESS;
    }
  return CUPTI_ERROR_INVALID_PARAMETER;
}

// A driver call that reads one thing, kept out of the profile.
template <typename Body>
CUptiResult ask(bool valid, CUptiResult failure, Body&& body) {
  return guarded([&] {
    if (!valid) return CUPTI_ERROR_INVALID_PARAMETER;
    if (maya::shim::driver() == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
    NotReported guard(thread_state());
    const CUresult status = body();
    if (status == CUDA_ERROR_NOT_INITIALIZED) return CUPTI_ERROR_NOT_INITIALIZED;
    return status == CUDA_SUCCESS ? CUPTI_SUCCESS : failure;
  });
}

}  // namespace

MAYA_API CUptiResult cuptiGetVersion(uint32_t* version) {
  if (version == nullptr) return finish(CUPTI_ERROR_INVALID_PARAMETER);
  // cupti_version.h: "v28 : CUDA Toolkit 12.9 Update 1", the last of CUDA 12.
  *version = MAYA_CUDA_MAJOR == 12 ? 28 : CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}
MAYA_API CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  return finish(result_text(result, text));
}
MAYA_API CUptiResult cuptiGetErrorMessage(CUptiResult result, const char** text) {
  return finish(result_text(result, text));
}

MAYA_API CUptiResult cuptiGetContextId(CUcontext context, uint32_t* id) {
  if (id != nullptr && context == nullptr) return finish(CUPTI_ERROR_INVALID_CONTEXT);
  return ask(id != nullptr, CUPTI_ERROR_INVALID_CONTEXT, [&] {
    unsigned long long unique = 0;
    const CUresult status = MAYA_DRIVER(cuCtxGetId)(context, &unique);
    if (status == CUDA_SUCCESS) *id = static_cast<uint32_t>(unique);
    return status;
  });
}
MAYA_API CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t* id) {
  return ask(id != nullptr, CUPTI_ERROR_INVALID_DEVICE, [&] {
    CUdevice device = 0;
    if (context == nullptr) {
      const CUresult status = MAYA_DRIVER(cuCtxGetDevice)(&device);
      if (status == CUDA_SUCCESS) *id = static_cast<uint32_t>(device);
      return status;
    }
    CUresult status = MAYA_DRIVER(cuCtxPushCurrent_v2)(context);
    if (status != CUDA_SUCCESS) return status;
    status = MAYA_DRIVER(cuCtxGetDevice)(&device);
    MAYA_DRIVER(cuCtxPopCurrent_v2)(&context);
    if (status == CUDA_SUCCESS) *id = static_cast<uint32_t>(device);
    return status;
  });
}
MAYA_API CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread, uint32_t* id) {
  return guarded([&] {
    return id == nullptr ? CUPTI_ERROR_INVALID_PARAMETER : stream_identity(context, stream, per_thread != 0, id);
  });
}
MAYA_API CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t* id) {
  return cuptiGetStreamIdEx(context, stream, 0, id);
}

MAYA_API CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t* id) {
  return ask(graph != nullptr && id != nullptr, CUPTI_ERROR_INVALID_PARAMETER,
             [&] { return MAYA_DRIVER(cuGraphGetId)(graph, id); });
}
MAYA_API CUptiResult cuptiGetGraphExecId(CUgraphExec graph, uint32_t* id) {
  return ask(graph != nullptr && id != nullptr, CUPTI_ERROR_INVALID_PARAMETER,
             [&] { return MAYA_DRIVER(cuGraphExecGetId)(graph, id); });
}
MAYA_API CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t* id) {
  return ask(node != nullptr && id != nullptr, CUPTI_ERROR_INVALID_PARAMETER, [&] {
    unsigned long long unique = 0;
    const CUresult status = MAYA_DRIVER(cuGraphNodeGetToolsId)(node, &unique);
    if (status == CUDA_SUCCESS) *id = unique;
    return status;
  });
}

// The oldest architectures of CUDA 13 and 12: Turing and Maxwell (release notes, "Deprecated architectures").
MAYA_API CUptiResult cuptiComputeCapabilitySupported(int major, int minor, int* support) {
  if (support == nullptr) return finish(CUPTI_ERROR_INVALID_PARAMETER);
  constexpr int kOldest = MAYA_CUDA_MAJOR >= 13 ? 75 : 50, kNewest = 121;
  const int capability = major * 10 + minor;
  *support = capability >= kOldest && capability <= kNewest ? 1 : 0;
  return CUPTI_SUCCESS;
}
MAYA_API CUptiResult cuptiDeviceSupported(CUdevice device, int* support) {
  return ask(support != nullptr, CUPTI_ERROR_INVALID_DEVICE, [&] {
    int major = 0, minor = 0;
    const auto get = MAYA_DRIVER(cuDeviceGetAttribute);
    CUresult status = get(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    if (status == CUDA_SUCCESS) status = get(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    if (status == CUDA_SUCCESS) cuptiComputeCapabilitySupported(major, minor, support);
    return status;
  });
}
MAYA_API CUptiResult cuptiDeviceVirtualizationMode(CUdevice device, CUpti_DeviceVirtualizationMode* mode) {
  return ask(mode != nullptr, CUPTI_ERROR_INVALID_DEVICE, [&] {
    int major = 0;
    const CUresult status =
        MAYA_DRIVER(cuDeviceGetAttribute)(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    if (status == CUDA_SUCCESS) *mode = CUPTI_DEVICE_VIRTUALIZATION_MODE_NONE;
    return status;
  });
}
