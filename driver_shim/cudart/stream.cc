#include "driver_shim/cudart/runtime.h"

using namespace maya::cudart;

namespace {

cudaError_t begin_capture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return with_context(MAYA_DRIVER(cuStreamBeginCapture_v2), stream, static_cast<CUstreamCaptureMode>(mode));
}

cudaError_t begin_capture_to_graph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                   const cudaGraphEdgeData* data, size_t count, cudaStreamCaptureMode mode) {
  return with_context(MAYA_DRIVER(cuStreamBeginCaptureToGraph), stream, graph, dependencies,
                      as_driver<const CUgraphEdgeData>(data), count, static_cast<CUstreamCaptureMode>(mode));
}

cudaError_t is_capturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return with_context(MAYA_DRIVER(cuStreamIsCapturing), stream, as_driver<CUstreamCaptureStatus>(status));
}

cudaError_t add_callback(cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned flags) {
  // Both callback types take (stream, status, data), and the two status enumerations share their numbers.
  return with_context(MAYA_DRIVER(cuStreamAddCallback), stream, reinterpret_cast<CUstreamCallback>(callback), data,
                      flags);
}

cudaError_t get_attribute(cudaStream_t stream, cudaStreamAttrID attribute, cudaStreamAttrValue* value) {
  return with_context(MAYA_DRIVER(cuStreamGetAttribute), stream, static_cast<CUstreamAttrID>(attribute),
                      as_driver<CUstreamAttrValue>(value));
}

cudaError_t set_attribute(cudaStream_t stream, cudaStreamAttrID attribute, const cudaStreamAttrValue* value) {
  return with_context(MAYA_DRIVER(cuStreamSetAttribute), stream, static_cast<CUstreamAttrID>(attribute),
                      as_driver<const CUstreamAttrValue>(value));
}

}  // namespace

MAYA_API cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return with_context(MAYA_DRIVER(cuStreamCreate), stream, CU_STREAM_DEFAULT);
}
MAYA_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return with_context(MAYA_DRIVER(cuStreamCreate), stream, flags);
}
MAYA_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return with_context(MAYA_DRIVER(cuStreamCreateWithPriority), stream, flags, priority);
}
MAYA_API cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return with_context(MAYA_DRIVER(cuStreamDestroy_v2), stream);
}

MAYA_API cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return with_context(MAYA_DRIVER(cuStreamSynchronize), stream);
}
MAYA_API cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream) {
  return with_context(MAYA_DRIVER(cuStreamSynchronize), own_stream(stream));
}
MAYA_API cudaError_t cudaStreamQuery(cudaStream_t stream) { return with_context(MAYA_DRIVER(cuStreamQuery), stream); }
MAYA_API cudaError_t cudaStreamQuery_ptsz(cudaStream_t stream) {
  return with_context(MAYA_DRIVER(cuStreamQuery), own_stream(stream));
}
MAYA_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return with_context(MAYA_DRIVER(cuStreamWaitEvent), stream, event, flags);
}
MAYA_API cudaError_t cudaStreamWaitEvent_ptsz(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return with_context(MAYA_DRIVER(cuStreamWaitEvent), own_stream(stream), event, flags);
}

MAYA_API cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return with_context(MAYA_DRIVER(cuStreamGetPriority), stream, priority);
}
MAYA_API cudaError_t cudaStreamGetPriority_ptsz(cudaStream_t stream, int* priority) {
  return with_context(MAYA_DRIVER(cuStreamGetPriority), own_stream(stream), priority);
}
MAYA_API cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  return with_context(MAYA_DRIVER(cuStreamGetFlags), stream, flags);
}
MAYA_API cudaError_t cudaStreamGetFlags_ptsz(cudaStream_t stream, unsigned* flags) {
  return with_context(MAYA_DRIVER(cuStreamGetFlags), own_stream(stream), flags);
}
MAYA_API cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return with_context(MAYA_DRIVER(cuStreamGetId), stream, id);
}
MAYA_API cudaError_t cudaStreamGetId_ptsz(cudaStream_t stream, unsigned long long* id) {
  return with_context(MAYA_DRIVER(cuStreamGetId), own_stream(stream), id);
}
MAYA_API cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  return with_context(MAYA_DRIVER(cuStreamGetDevice), stream, device);
}
MAYA_API cudaError_t cudaStreamGetDevice_ptsz(cudaStream_t stream, int* device) {
  return with_context(MAYA_DRIVER(cuStreamGetDevice), own_stream(stream), device);
}

MAYA_API cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaStreamAttrID attribute,
                                            cudaStreamAttrValue* value) {
  return get_attribute(stream, attribute, value);
}
MAYA_API cudaError_t cudaStreamGetAttribute_ptsz(cudaStream_t stream, cudaStreamAttrID attribute,
                                                 cudaStreamAttrValue* value) {
  return get_attribute(own_stream(stream), attribute, value);
}
MAYA_API cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID attribute,
                                            const cudaStreamAttrValue* value) {
  return set_attribute(stream, attribute, value);
}
MAYA_API cudaError_t cudaStreamSetAttribute_ptsz(cudaStream_t stream, cudaStreamAttrID attribute,
                                                 const cudaStreamAttrValue* value) {
  return set_attribute(own_stream(stream), attribute, value);
}
MAYA_API cudaError_t cudaStreamCopyAttributes(cudaStream_t destination, cudaStream_t source) {
  return with_context(MAYA_DRIVER(cuStreamCopyAttributes), destination, source);
}
MAYA_API cudaError_t cudaStreamCopyAttributes_ptsz(cudaStream_t destination, cudaStream_t source) {
  return with_context(MAYA_DRIVER(cuStreamCopyAttributes), own_stream(destination), own_stream(source));
}
MAYA_API cudaError_t cudaCtxResetPersistingL2Cache() { return with_context(MAYA_DRIVER(cuCtxResetPersistingL2Cache)); }

MAYA_API cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                           unsigned flags) {
  return add_callback(stream, callback, data, flags);
}
MAYA_API cudaError_t cudaStreamAddCallback_ptsz(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                                unsigned flags) {
  return add_callback(own_stream(stream), callback, data, flags);
}
MAYA_API cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, size_t length, unsigned flags) {
  return with_context(MAYA_DRIVER(cuStreamAttachMemAsync), stream, device_address(pointer), length, flags);
}
MAYA_API cudaError_t cudaStreamAttachMemAsync_ptsz(cudaStream_t stream, void* pointer, size_t length, unsigned flags) {
  return with_context(MAYA_DRIVER(cuStreamAttachMemAsync), own_stream(stream), device_address(pointer), length, flags);
}

MAYA_API cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return with_driver(MAYA_DRIVER(cuThreadExchangeStreamCaptureMode), as_driver<CUstreamCaptureMode>(mode));
}
MAYA_API cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return begin_capture(stream, mode);
}
MAYA_API cudaError_t cudaStreamBeginCapture_ptsz(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return begin_capture(own_stream(stream), mode);
}
MAYA_API cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                                   const cudaGraphNode_t* dependencies, const cudaGraphEdgeData* data,
                                                   size_t count, cudaStreamCaptureMode mode) {
  return begin_capture_to_graph(stream, graph, dependencies, data, count, mode);
}
MAYA_API cudaError_t cudaStreamBeginCaptureToGraph_ptsz(cudaStream_t stream, cudaGraph_t graph,
                                                        const cudaGraphNode_t* dependencies,
                                                        const cudaGraphEdgeData* data, size_t count,
                                                        cudaStreamCaptureMode mode) {
  return begin_capture_to_graph(own_stream(stream), graph, dependencies, data, count, mode);
}
MAYA_API cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return with_context(MAYA_DRIVER(cuStreamEndCapture), stream, graph);
}
MAYA_API cudaError_t cudaStreamEndCapture_ptsz(cudaStream_t stream, cudaGraph_t* graph) {
  return with_context(MAYA_DRIVER(cuStreamEndCapture), own_stream(stream), graph);
}
MAYA_API cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return is_capturing(stream, status);
}
MAYA_API cudaError_t cudaStreamIsCapturing_ptsz(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return is_capturing(own_stream(stream), status);
}
