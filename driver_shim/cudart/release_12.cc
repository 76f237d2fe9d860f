// Entry points whose form is that of CUDA 12: later ones have other arguments (release_13.cc), or are gone.
#include <cstddef>
#include <cstring>

#include "driver_shim/cudart/runtime.h"

using namespace maya::cudart;

namespace {

cudaError_t capture_info(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id) {
  return with_context(MAYA_DRIVER(cuStreamGetCaptureInfo), stream, as_driver<CUstreamCaptureStatus>(status),
                      reinterpret_cast<cuuint64_t*>(id));
}

cudaError_t capture_info_v2(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                            cudaGraph_t* graph, const cudaGraphNode_t** dependencies, size_t* count) {
  return with_context(MAYA_DRIVER(cuStreamGetCaptureInfo_v2), stream, as_driver<CUstreamCaptureStatus>(status),
                      reinterpret_cast<cuuint64_t*>(id), graph, dependencies, count);
}

cudaError_t capture_info_v3(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                            cudaGraph_t* graph, const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges,
                            size_t* count) {
  return with_context(MAYA_DRIVER(cuStreamGetCaptureInfo_v3), stream, as_driver<CUstreamCaptureStatus>(status),
                      reinterpret_cast<cuuint64_t*>(id), graph, dependencies, as_driver<const CUgraphEdgeData*>(edges),
                      count);
}

cudaError_t update_dependencies(cudaStream_t stream, cudaGraphNode_t* dependencies, size_t count, unsigned flags) {
  return with_context(MAYA_DRIVER(cuStreamUpdateCaptureDependencies), stream, dependencies, count, flags);
}

cudaError_t update_dependencies_v2(cudaStream_t stream, cudaGraphNode_t* dependencies, const cudaGraphEdgeData* data,
                                   size_t count, unsigned flags) {
  return with_context(MAYA_DRIVER(cuStreamUpdateCaptureDependencies_v2), stream, dependencies,
                      as_driver<const CUgraphEdgeData>(data), count, flags);
}

cudaError_t prefetch(const void* pointer, size_t bytes, int device, cudaStream_t stream) {
  return with_context(MAYA_DRIVER(cuMemPrefetchAsync), device_address(pointer), bytes, device, stream);
}

cudaError_t prefetch_v2(const void* pointer, size_t bytes, cudaMemLocation location, unsigned flags,
                        cudaStream_t stream) {
  return with_context(MAYA_DRIVER(cuMemPrefetchAsync_v2), device_address(pointer), bytes,
                      *as_driver<CUmemLocation>(&location), flags, stream);
}

cudaError_t copy_batch(void** destinations, void** sources, size_t* sizes, size_t count,
                       cudaMemcpyAttributes* attributes, size_t* indices, size_t attribute_count, size_t* failed,
                       cudaStream_t stream) {
  return with_context(MAYA_DRIVER(cuMemcpyBatchAsync), reinterpret_cast<CUdeviceptr*>(destinations),
                      reinterpret_cast<CUdeviceptr*>(sources), sizes, count, as_driver<CUmemcpyAttributes>(attributes),
                      indices, attribute_count, failed, stream);
}

cudaError_t copy_3d_batch(size_t count, cudaMemcpy3DBatchOp* operations, size_t* failed, unsigned long long flags,
                          cudaStream_t stream) {
  return with_context(MAYA_DRIVER(cuMemcpy3DBatchAsync), count, as_driver<CUDA_MEMCPY3D_BATCH_OP>(operations), failed,
                      flags, stream);
}

}  // namespace

// The unversioned name serves programs built with CUDA 11, whose struct ends before the members that CUDA 12 added.
MAYA_API cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (properties == nullptr) return fail(cudaErrorInvalidValue);
  cudaDeviceProp whole;
  const cudaError_t status = cudaGetDeviceProperties_v2(&whole, device);
  if (status == cudaSuccess)
    memcpy(static_cast<void*>(properties), &whole, offsetof(cudaDeviceProp, hostRegisterSupported));
  return status;
}

MAYA_API cudaError_t cudaEventElapsedTime_v2(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return with_context(MAYA_DRIVER(cuEventElapsedTime_v2), milliseconds, start, end);
}

MAYA_API cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, size_t* count) {
  return with_driver(MAYA_DRIVER(cuGraphGetEdges), graph, from, to, count);
}
MAYA_API cudaError_t cudaGraphGetEdges_v2(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                                          cudaGraphEdgeData* data, size_t* count) {
  return with_driver(MAYA_DRIVER(cuGraphGetEdges_v2), graph, from, to, as_driver<CUgraphEdgeData>(data), count);
}
MAYA_API cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* out, size_t* count) {
  return with_driver(MAYA_DRIVER(cuGraphNodeGetDependencies), node, out, count);
}
MAYA_API cudaError_t cudaGraphNodeGetDependencies_v2(cudaGraphNode_t node, cudaGraphNode_t* out,
                                                     cudaGraphEdgeData* data, size_t* count) {
  return with_driver(MAYA_DRIVER(cuGraphNodeGetDependencies_v2), node, out, as_driver<CUgraphEdgeData>(data), count);
}
MAYA_API cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* out, size_t* count) {
  return with_driver(MAYA_DRIVER(cuGraphNodeGetDependentNodes), node, out, count);
}
MAYA_API cudaError_t cudaGraphNodeGetDependentNodes_v2(cudaGraphNode_t node, cudaGraphNode_t* out,
                                                       cudaGraphEdgeData* data, size_t* count) {
  return with_driver(MAYA_DRIVER(cuGraphNodeGetDependentNodes_v2), node, out, as_driver<CUgraphEdgeData>(data), count);
}
MAYA_API cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                              size_t count) {
  return with_driver(MAYA_DRIVER(cuGraphAddDependencies), graph, from, to, count);
}
MAYA_API cudaError_t cudaGraphAddDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t* from,
                                                 const cudaGraphNode_t* to, const cudaGraphEdgeData* data,
                                                 size_t count) {
  return with_driver(MAYA_DRIVER(cuGraphAddDependencies_v2), graph, from, to, as_driver<const CUgraphEdgeData>(data),
                     count);
}
MAYA_API cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                                 const cudaGraphNode_t* to, size_t count) {
  return with_driver(MAYA_DRIVER(cuGraphRemoveDependencies), graph, from, to, count);
}
MAYA_API cudaError_t cudaGraphRemoveDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t* from,
                                                    const cudaGraphNode_t* to, const cudaGraphEdgeData* data,
                                                    size_t count) {
  return with_driver(MAYA_DRIVER(cuGraphRemoveDependencies_v2), graph, from, to, as_driver<const CUgraphEdgeData>(data),
                     count);
}
MAYA_API cudaError_t cudaGraphAddNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                      size_t count, cudaGraphNodeParams* parameters) {
  return cudaGraphAddNode_v2(out, graph, dependencies, nullptr, count, parameters);
}

MAYA_API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                              unsigned long long* id) {
  return capture_info(stream, status, id);
}
MAYA_API cudaError_t cudaStreamGetCaptureInfo_ptsz(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                                   unsigned long long* id) {
  return capture_info(own_stream(stream), status, id);
}
MAYA_API cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                                 unsigned long long* id, cudaGraph_t* graph,
                                                 const cudaGraphNode_t** dependencies, size_t* count) {
  return capture_info_v2(stream, status, id, graph, dependencies, count);
}
MAYA_API cudaError_t cudaStreamGetCaptureInfo_v2_ptsz(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                                      unsigned long long* id, cudaGraph_t* graph,
                                                      const cudaGraphNode_t** dependencies, size_t* count) {
  return capture_info_v2(own_stream(stream), status, id, graph, dependencies, count);
}
MAYA_API cudaError_t cudaStreamGetCaptureInfo_v3(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                                 unsigned long long* id, cudaGraph_t* graph,
                                                 const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges,
                                                 size_t* count) {
  return capture_info_v3(stream, status, id, graph, dependencies, edges, count);
}
MAYA_API cudaError_t cudaStreamGetCaptureInfo_v3_ptsz(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                                      unsigned long long* id, cudaGraph_t* graph,
                                                      const cudaGraphNode_t** dependencies,
                                                      const cudaGraphEdgeData** edges, size_t* count) {
  return capture_info_v3(own_stream(stream), status, id, graph, dependencies, edges, count);
}
MAYA_API cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                                         size_t count, unsigned flags) {
  return update_dependencies(stream, dependencies, count, flags);
}
MAYA_API cudaError_t cudaStreamUpdateCaptureDependencies_ptsz(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                                              size_t count, unsigned flags) {
  return update_dependencies(own_stream(stream), dependencies, count, flags);
}
MAYA_API cudaError_t cudaStreamUpdateCaptureDependencies_v2(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                                            const cudaGraphEdgeData* data, size_t count,
                                                            unsigned flags) {
  return update_dependencies_v2(stream, dependencies, data, count, flags);
}
MAYA_API cudaError_t cudaStreamUpdateCaptureDependencies_v2_ptsz(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                                                 const cudaGraphEdgeData* data, size_t count,
                                                                 unsigned flags) {
  return update_dependencies_v2(own_stream(stream), dependencies, data, count, flags);
}

MAYA_API cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice, int device) {
  return with_context(MAYA_DRIVER(cuMemAdvise), device_address(pointer), bytes, static_cast<CUmem_advise>(advice),
                      device);
}
MAYA_API cudaError_t cudaMemAdvise_v2(const void* pointer, size_t bytes, cudaMemoryAdvise advice,
                                      cudaMemLocation location) {
  return with_context(MAYA_DRIVER(cuMemAdvise_v2), device_address(pointer), bytes, static_cast<CUmem_advise>(advice),
                      *as_driver<CUmemLocation>(&location));
}
MAYA_API cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, int device, cudaStream_t stream) {
  return prefetch(pointer, bytes, device, stream);
}
MAYA_API cudaError_t cudaMemPrefetchAsync_ptsz(const void* pointer, size_t bytes, int device, cudaStream_t stream) {
  return prefetch(pointer, bytes, device, own_stream(stream));
}
MAYA_API cudaError_t cudaMemPrefetchAsync_v2(const void* pointer, size_t bytes, cudaMemLocation location,
                                             unsigned flags, cudaStream_t stream) {
  return prefetch_v2(pointer, bytes, location, flags, stream);
}
MAYA_API cudaError_t cudaMemPrefetchAsync_v2_ptsz(const void* pointer, size_t bytes, cudaMemLocation location,
                                                  unsigned flags, cudaStream_t stream) {
  return prefetch_v2(pointer, bytes, location, flags, own_stream(stream));
}

MAYA_API cudaError_t cudaMemcpyBatchAsync(void** destinations, void** sources, size_t* sizes, size_t count,
                                          cudaMemcpyAttributes* attributes, size_t* indices, size_t attribute_count,
                                          size_t* failed, cudaStream_t stream) {
  return copy_batch(destinations, sources, sizes, count, attributes, indices, attribute_count, failed, stream);
}
MAYA_API cudaError_t cudaMemcpyBatchAsync_ptsz(void** destinations, void** sources, size_t* sizes, size_t count,
                                               cudaMemcpyAttributes* attributes, size_t* indices,
                                               size_t attribute_count, size_t* failed, cudaStream_t stream) {
  return copy_batch(destinations, sources, sizes, count, attributes, indices, attribute_count, failed,
                    own_stream(stream));
}
MAYA_API cudaError_t cudaMemcpy3DBatchAsync(size_t count, cudaMemcpy3DBatchOp* operations, size_t* failed,
                                            unsigned long long flags, cudaStream_t stream) {
  return copy_3d_batch(count, operations, failed, flags, stream);
}
MAYA_API cudaError_t cudaMemcpy3DBatchAsync_ptsz(size_t count, cudaMemcpy3DBatchOp* operations, size_t* failed,
                                                 unsigned long long flags, cudaStream_t stream) {
  return copy_3d_batch(count, operations, failed, flags, own_stream(stream));
}

// Deprecated names of device calls; each is documented as identical to the call in its body.
MAYA_API cudaError_t cudaThreadExit() { return cudaDeviceReset(); }
MAYA_API cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
MAYA_API cudaError_t cudaThreadSetLimit(cudaLimit limit, size_t value) { return cudaDeviceSetLimit(limit, value); }
MAYA_API cudaError_t cudaThreadGetLimit(size_t* value, cudaLimit limit) { return cudaDeviceGetLimit(value, limit); }
MAYA_API cudaError_t cudaThreadGetCacheConfig(cudaFuncCache* config) { return cudaDeviceGetCacheConfig(config); }
MAYA_API cudaError_t cudaThreadSetCacheConfig(cudaFuncCache config) { return cudaDeviceSetCacheConfig(config); }
