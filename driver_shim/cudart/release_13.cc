// Entry points whose form is that of CUDA 13: they had other arguments in CUDA 12 (release_12.cc), or did not exist.
#include "driver_shim/cudart/runtime.h"

using namespace maya::cudart;

namespace {

cudaError_t capture_info(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                         cudaGraph_t* graph, const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges,
                         size_t* count) {
  return with_context(MAYA_DRIVER(cuStreamGetCaptureInfo_v3), stream, as_driver<CUstreamCaptureStatus>(status),
                      reinterpret_cast<cuuint64_t*>(id), graph, dependencies, as_driver<const CUgraphEdgeData*>(edges),
                      count);
}

cudaError_t update_dependencies(cudaStream_t stream, cudaGraphNode_t* dependencies, const cudaGraphEdgeData* data,
                                size_t count, unsigned flags) {
  return with_context(MAYA_DRIVER(cuStreamUpdateCaptureDependencies_v2), stream, dependencies,
                      as_driver<const CUgraphEdgeData>(data), count, flags);
}

cudaError_t prefetch(const void* pointer, size_t bytes, cudaMemLocation location, unsigned flags, cudaStream_t stream) {
  return with_context(MAYA_DRIVER(cuMemPrefetchAsync_v2), device_address(pointer), bytes,
                      *as_driver<CUmemLocation>(&location), flags, stream);
}

cudaError_t prefetch_batch(void** pointers, size_t* sizes, size_t count, cudaMemLocation* locations, size_t* indices,
                           size_t location_count, unsigned long long flags, cudaStream_t stream) {
  return with_context(MAYA_DRIVER(cuMemPrefetchBatchAsync), reinterpret_cast<CUdeviceptr*>(pointers), sizes, count,
                      as_driver<CUmemLocation>(locations), indices, location_count, flags, stream);
}

cudaError_t discard_batch(void** pointers, size_t* sizes, size_t count, unsigned long long flags, cudaStream_t stream) {
  return with_context(MAYA_DRIVER(cuMemDiscardBatchAsync), reinterpret_cast<CUdeviceptr*>(pointers), sizes, count,
                      flags, stream);
}

cudaError_t discard_and_prefetch_batch(void** pointers, size_t* sizes, size_t count, cudaMemLocation* locations,
                                       size_t* indices, size_t location_count, unsigned long long flags,
                                       cudaStream_t stream) {
  return with_context(MAYA_DRIVER(cuMemDiscardAndPrefetchBatchAsync), reinterpret_cast<CUdeviceptr*>(pointers), sizes,
                      count, as_driver<CUmemLocation>(locations), indices, location_count, flags, stream);
}

cudaError_t copy_batch(void* const* destinations, const void* const* sources, const size_t* sizes, size_t count,
                       cudaMemcpyAttributes* attributes, size_t* indices, size_t attribute_count, cudaStream_t stream) {
  return with_context(MAYA_DRIVER(cuMemcpyBatchAsync_v2),
                      reinterpret_cast<CUdeviceptr*>(const_cast<void**>(destinations)),
                      reinterpret_cast<CUdeviceptr*>(const_cast<void**>(sources)), const_cast<size_t*>(sizes), count,
                      as_driver<CUmemcpyAttributes>(attributes), indices, attribute_count, stream);
}

cudaError_t copy_with_attributes(void* destination, const void* source, size_t bytes, cudaMemcpyAttributes* attributes,
                                 cudaStream_t stream) {
  return with_context(MAYA_DRIVER(cuMemcpyWithAttributesAsync), device_address(destination), device_address(source),
                      bytes, as_driver<CUmemcpyAttributes>(attributes), stream);
}

cudaError_t copy_3d_batch(size_t count, cudaMemcpy3DBatchOp* operations, unsigned long long flags,
                          cudaStream_t stream) {
  return with_context(MAYA_DRIVER(cuMemcpy3DBatchAsync_v2), count, as_driver<CUDA_MEMCPY3D_BATCH_OP>(operations), flags,
                      stream);
}

cudaError_t copy_3d_with_attributes(cudaMemcpy3DBatchOp* operation, unsigned long long flags, cudaStream_t stream) {
  return with_context(MAYA_DRIVER(cuMemcpy3DWithAttributesAsync), as_driver<CUDA_MEMCPY3D_BATCH_OP>(operation), flags,
                      stream);
}

}  // namespace

MAYA_API cudaError_t cudaDeviceGetHostAtomicCapabilities(unsigned* capabilities, const cudaAtomicOperation* operations,
                                                         unsigned count, int device) {
  return with_driver(MAYA_DRIVER(cuDeviceGetHostAtomicCapabilities), capabilities,
                     as_driver<const CUatomicOperation>(operations), count, device);
}

MAYA_API cudaError_t cudaDeviceGetP2PAtomicCapabilities(unsigned* capabilities, const cudaAtomicOperation* operations,
                                                        unsigned count, int source, int destination) {
  return with_driver(MAYA_DRIVER(cuDeviceGetP2PAtomicCapabilities), capabilities,
                     as_driver<const CUatomicOperation>(operations), count, source, destination);
}

MAYA_API cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                                       cudaGraphEdgeData* data, size_t* count) {
  return with_driver(MAYA_DRIVER(cuGraphGetEdges_v2), graph, from, to, as_driver<CUgraphEdgeData>(data), count);
}
MAYA_API cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* out, cudaGraphEdgeData* data,
                                                  size_t* count) {
  return with_driver(MAYA_DRIVER(cuGraphNodeGetDependencies_v2), node, out, as_driver<CUgraphEdgeData>(data), count);
}
MAYA_API cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* out, cudaGraphEdgeData* data,
                                                    size_t* count) {
  return with_driver(MAYA_DRIVER(cuGraphNodeGetDependentNodes_v2), node, out, as_driver<CUgraphEdgeData>(data), count);
}
MAYA_API cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                              const cudaGraphEdgeData* data, size_t count) {
  return with_driver(MAYA_DRIVER(cuGraphAddDependencies_v2), graph, from, to, as_driver<const CUgraphEdgeData>(data),
                     count);
}
MAYA_API cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                                 const cudaGraphNode_t* to, const cudaGraphEdgeData* data,
                                                 size_t count) {
  return with_driver(MAYA_DRIVER(cuGraphRemoveDependencies_v2), graph, from, to, as_driver<const CUgraphEdgeData>(data),
                     count);
}

MAYA_API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                              unsigned long long* id, cudaGraph_t* graph,
                                              const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges,
                                              size_t* count) {
  return capture_info(stream, status, id, graph, dependencies, edges, count);
}
MAYA_API cudaError_t cudaStreamGetCaptureInfo_ptsz(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                                   unsigned long long* id, cudaGraph_t* graph,
                                                   const cudaGraphNode_t** dependencies,
                                                   const cudaGraphEdgeData** edges, size_t* count) {
  return capture_info(own_stream(stream), status, id, graph, dependencies, edges, count);
}
MAYA_API cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                                         const cudaGraphEdgeData* data, size_t count, unsigned flags) {
  return update_dependencies(stream, dependencies, data, count, flags);
}
MAYA_API cudaError_t cudaStreamUpdateCaptureDependencies_ptsz(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                                              const cudaGraphEdgeData* data, size_t count,
                                                              unsigned flags) {
  return update_dependencies(own_stream(stream), dependencies, data, count, flags);
}

MAYA_API cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice,
                                   cudaMemLocation location) {
  return with_context(MAYA_DRIVER(cuMemAdvise_v2), device_address(pointer), bytes, static_cast<CUmem_advise>(advice),
                      *as_driver<CUmemLocation>(&location));
}

MAYA_API cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, cudaMemLocation location, unsigned flags,
                                          cudaStream_t stream) {
  return prefetch(pointer, bytes, location, flags, stream);
}
MAYA_API cudaError_t cudaMemPrefetchAsync_ptsz(const void* pointer, size_t bytes, cudaMemLocation location,
                                               unsigned flags, cudaStream_t stream) {
  return prefetch(pointer, bytes, location, flags, own_stream(stream));
}
MAYA_API cudaError_t cudaMemPrefetchBatchAsync(void** pointers, size_t* sizes, size_t count, cudaMemLocation* locations,
                                               size_t* indices, size_t location_count, unsigned long long flags,
                                               cudaStream_t stream) {
  return prefetch_batch(pointers, sizes, count, locations, indices, location_count, flags, stream);
}
MAYA_API cudaError_t cudaMemPrefetchBatchAsync_ptsz(void** pointers, size_t* sizes, size_t count,
                                                    cudaMemLocation* locations, size_t* indices, size_t location_count,
                                                    unsigned long long flags, cudaStream_t stream) {
  return prefetch_batch(pointers, sizes, count, locations, indices, location_count, flags, own_stream(stream));
}
MAYA_API cudaError_t cudaMemDiscardBatchAsync(void** pointers, size_t* sizes, size_t count, unsigned long long flags,
                                              cudaStream_t stream) {
  return discard_batch(pointers, sizes, count, flags, stream);
}
MAYA_API cudaError_t cudaMemDiscardBatchAsync_ptsz(void** pointers, size_t* sizes, size_t count,
                                                   unsigned long long flags, cudaStream_t stream) {
  return discard_batch(pointers, sizes, count, flags, own_stream(stream));
}
MAYA_API cudaError_t cudaMemDiscardAndPrefetchBatchAsync(void** pointers, size_t* sizes, size_t count,
                                                         cudaMemLocation* locations, size_t* indices,
                                                         size_t location_count, unsigned long long flags,
                                                         cudaStream_t stream) {
  return discard_and_prefetch_batch(pointers, sizes, count, locations, indices, location_count, flags, stream);
}
MAYA_API cudaError_t cudaMemDiscardAndPrefetchBatchAsync_ptsz(void** pointers, size_t* sizes, size_t count,
                                                              cudaMemLocation* locations, size_t* indices,
                                                              size_t location_count, unsigned long long flags,
                                                              cudaStream_t stream) {
  return discard_and_prefetch_batch(pointers, sizes, count, locations, indices, location_count, flags,
                                    own_stream(stream));
}

MAYA_API cudaError_t cudaMemcpyBatchAsync(void* const* destinations, const void* const* sources, const size_t* sizes,
                                          size_t count, cudaMemcpyAttributes* attributes, size_t* indices,
                                          size_t attribute_count, cudaStream_t stream) {
  return copy_batch(destinations, sources, sizes, count, attributes, indices, attribute_count, stream);
}
MAYA_API cudaError_t cudaMemcpyBatchAsync_ptsz(void* const* destinations, const void* const* sources,
                                               const size_t* sizes, size_t count, cudaMemcpyAttributes* attributes,
                                               size_t* indices, size_t attribute_count, cudaStream_t stream) {
  return copy_batch(destinations, sources, sizes, count, attributes, indices, attribute_count, own_stream(stream));
}

MAYA_API cudaError_t cudaMemcpyWithAttributesAsync(void* destination, const void* source, size_t bytes,
                                                   cudaMemcpyAttributes* attributes, cudaStream_t stream) {
  return copy_with_attributes(destination, source, bytes, attributes, stream);
}
MAYA_API cudaError_t cudaMemcpyWithAttributesAsync_ptsz(void* destination, const void* source, size_t bytes,
                                                        cudaMemcpyAttributes* attributes, cudaStream_t stream) {
  return copy_with_attributes(destination, source, bytes, attributes, own_stream(stream));
}

MAYA_API cudaError_t cudaMemcpy3DBatchAsync(size_t count, cudaMemcpy3DBatchOp* operations, unsigned long long flags,
                                            cudaStream_t stream) {
  return copy_3d_batch(count, operations, flags, stream);
}
MAYA_API cudaError_t cudaMemcpy3DBatchAsync_ptsz(size_t count, cudaMemcpy3DBatchOp* operations,
                                                 unsigned long long flags, cudaStream_t stream) {
  return copy_3d_batch(count, operations, flags, own_stream(stream));
}
MAYA_API cudaError_t cudaMemcpy3DWithAttributesAsync(cudaMemcpy3DBatchOp* operation, unsigned long long flags,
                                                     cudaStream_t stream) {
  return copy_3d_with_attributes(operation, flags, stream);
}
MAYA_API cudaError_t cudaMemcpy3DWithAttributesAsync_ptsz(cudaMemcpy3DBatchOp* operation, unsigned long long flags,
                                                          cudaStream_t stream) {
  return copy_3d_with_attributes(operation, flags, own_stream(stream));
}
