#include "driver_shim/cudart/runtime.h"

using namespace maya::cudart;

MAYA_API cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return with_context(MAYA_DRIVER(cuEventCreate), event, CU_EVENT_DEFAULT);
}
MAYA_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return with_context(MAYA_DRIVER(cuEventCreate), event, flags);
}
MAYA_API cudaError_t cudaEventDestroy(cudaEvent_t event) { return with_context(MAYA_DRIVER(cuEventDestroy_v2), event); }
MAYA_API cudaError_t cudaEventQuery(cudaEvent_t event) { return with_context(MAYA_DRIVER(cuEventQuery), event); }
MAYA_API cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return with_context(MAYA_DRIVER(cuEventSynchronize), event);
}
MAYA_API cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return with_context(MAYA_DRIVER(cuEventElapsedTime_v2), milliseconds, start, end);
}

MAYA_API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return with_context(MAYA_DRIVER(cuEventRecord), event, stream);
}
MAYA_API cudaError_t cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t stream) {
  return with_context(MAYA_DRIVER(cuEventRecord), event, own_stream(stream));
}
MAYA_API cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return with_context(MAYA_DRIVER(cuEventRecordWithFlags), event, stream, flags);
}
MAYA_API cudaError_t cudaEventRecordWithFlags_ptsz(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return with_context(MAYA_DRIVER(cuEventRecordWithFlags), event, own_stream(stream), flags);
}

MAYA_API cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event) {
  return with_context(MAYA_DRIVER(cuIpcGetEventHandle), as_driver<CUipcEventHandle>(handle), event);
}
MAYA_API cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle) {
  return with_context(MAYA_DRIVER(cuIpcOpenEventHandle), event, *as_driver<CUipcEventHandle>(&handle));
}
