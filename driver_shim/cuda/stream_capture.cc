// Stream capture.
#include <cuda.h>

#include "driver_shim/cuda/capture.h"
#include "driver_shim/cuda/stream_call.h"

using maya::cuda::Call;
using maya::cuda::Captures;
using maya::cuda::enter;
using maya::cuda::Graph;
using maya::cuda::graph_mutex;
using maya::cuda::GraphEdge;
using maya::cuda::Needs;
using maya::cuda::Stream;
using maya::cuda::StreamCapture;
using maya::cuda::WhileCaptured;
using maya::cuda::with_stream;

namespace {

bool valid_mode(CUstreamCaptureMode mode) {
  return mode >= CU_STREAM_CAPTURE_MODE_GLOBAL && mode <= CU_STREAM_CAPTURE_MODE_RELAXED;
}

template <typename Body>
CUresult on_stream(CUstream handle, bool per_thread, bool valid, Body&& body) {
  return with_stream(handle, per_thread, valid, std::forward<Body>(body), WhileCaptured::kAllowed);
}

CUresult begin(CUstream handle, CUstreamCaptureMode mode, bool per_thread) {
  return on_stream(handle, per_thread, valid_mode(mode), [&](Call& call, Stream& stream) {
    // "Capture may not be initiated if stream is CU_STREAM_LEGACY".
    if (stream.is_default()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return Captures::begin(call.thread(), stream, mode, nullptr, {});
  });
}

CUresult begin_to_graph(CUstream handle, CUgraph graph_handle, const CUgraphNode* dependencies,
                        const CUgraphEdgeData* data, size_t count, CUstreamCaptureMode mode, bool per_thread) {
  return on_stream(handle, per_thread, valid_mode(mode), [&](Call& call, Stream& stream) -> CUresult {
    if (stream.is_default()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    std::lock_guard<std::recursive_mutex> lock(graph_mutex());
    Graph* graph = maya::cuda::graphs().get(graph_handle);
    if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::vector<GraphEdge> edges;
    if (const CUresult status = read_dependencies(*graph, dependencies, data, count, &edges); status != CUDA_SUCCESS)
      return status;
    return Captures::begin(call.thread(), stream, mode, graph, std::move(edges));
  });
}

CUresult end(CUstream handle, CUgraph* out, bool per_thread) {
  return on_stream(handle, per_thread, out != nullptr, [&](Call& call, Stream& stream) {
    Graph* graph = nullptr;
    const CUresult status = Captures::end(call.thread(), stream, &graph);
    *out = handle_of(graph);
    return status;
  });
}

// Where the parts of a capture's state are wanted; null: not.
struct Wanted {
  cuuint64_t* id = nullptr;
  CUgraph* graph = nullptr;
  const CUgraphNode** dependencies = nullptr;
  const CUgraphEdgeData** edges = nullptr;
  size_t* count = nullptr;
};

CUresult info(CUstream handle, CUstreamCaptureStatus* status, const Wanted& wanted, bool per_thread) {
  const bool valid = status != nullptr && (wanted.edges == nullptr || wanted.dependencies != nullptr);
  return on_stream(handle, per_thread, valid, [&](Call&, Stream& stream) {
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (stream.capture() == nullptr) return CUDA_SUCCESS;
    std::lock_guard<std::recursive_mutex> lock(graph_mutex());
    StreamCapture* part = stream.capture();
    if (part == nullptr) return CUDA_SUCCESS;
    // "The blocking stream capture is not invalidated."
    if (part->sequence == nullptr) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    const auto& sequence = *static_cast<const maya::cuda::CaptureSequence*>(part->sequence);
    *status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    if (sequence.invalidated) return CUDA_SUCCESS;
    *status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    part->handles.clear();
    part->edge_data.clear();
    for (const GraphEdge& edge : part->dependencies) {
      if (wanted.dependencies != nullptr && wanted.edges == nullptr && !maya::cuda::is_default(edge.data))
        return CUDA_ERROR_LOSSY_QUERY;
      part->handles.push_back(handle_of(edge.from));
      part->edge_data.push_back(edge.data);
    }
    if (wanted.id != nullptr) *wanted.id = sequence.id;
    if (wanted.graph != nullptr) *wanted.graph = handle_of(sequence.graph);
    if (wanted.dependencies != nullptr) *wanted.dependencies = part->handles.data();
    if (wanted.edges != nullptr) *wanted.edges = part->edge_data.data();
    if (wanted.count != nullptr) *wanted.count = part->handles.size();
    return CUDA_SUCCESS;
  });
}

CUresult update_dependencies(CUstream handle, const CUgraphNode* dependencies, const CUgraphEdgeData* data,
                             size_t count, unsigned int flags, bool per_thread) {
  const bool valid = flags <= CU_STREAM_SET_CAPTURE_DEPENDENCIES && (count == 0 || dependencies != nullptr);
  return on_stream(handle, per_thread, valid, [&](Call&, Stream& stream) -> CUresult {
    std::lock_guard<std::recursive_mutex> lock(graph_mutex());
    StreamCapture* part = nullptr;
    if (const CUresult status = Captures::usable(stream, &part); status != CUDA_SUCCESS) return status;
    std::vector<GraphEdge> edges;
    if (const CUresult status = read_dependencies(*part->graph, dependencies, data, count, &edges);
        status != CUDA_SUCCESS)
      return status;
    return Captures::update_dependencies(stream, std::move(edges), flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES);
  });
}

}  // namespace

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return enter(Needs::kInitialized, [&](Call& call) {
    if (mode == nullptr || !valid_mode(*mode)) return CUDA_ERROR_INVALID_VALUE;
    std::swap(*mode, call.thread().capture_mode);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamBeginCapture(CUstream stream) { return begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL, false); }
CUresult cuStreamBeginCapture_ptsz(CUstream stream) { return begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL, true); }
CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) { return begin(stream, mode, false); }
CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode) { return begin(stream, mode, true); }

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                                     const CUgraphEdgeData* data, size_t count, CUstreamCaptureMode mode) {
  return begin_to_graph(stream, graph, dependencies, data, count, mode, false);
}
CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                                          const CUgraphEdgeData* data, size_t count, CUstreamCaptureMode mode) {
  return begin_to_graph(stream, graph, dependencies, data, count, mode, true);
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) { return end(stream, graph, false); }
CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph* graph) { return end(stream, graph, true); }

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* out) { return info(stream, out, {}, false); }
CUresult cuStreamIsCapturing_ptsz(CUstream stream, CUstreamCaptureStatus* out) { return info(stream, out, {}, true); }

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* out, cuuint64_t* id) {
  return info(stream, out, {.id = id}, false);
}
CUresult cuStreamGetCaptureInfo_ptsz(CUstream stream, CUstreamCaptureStatus* out, cuuint64_t* id) {
  return info(stream, out, {.id = id}, true);
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* out, cuuint64_t* id, CUgraph* graph,
                                   const CUgraphNode** dependencies, size_t* count) {
  return info(stream, out, {id, graph, dependencies, nullptr, count}, false);
}
CUresult cuStreamGetCaptureInfo_v2_ptsz(CUstream stream, CUstreamCaptureStatus* out, cuuint64_t* id, CUgraph* graph,
                                        const CUgraphNode** dependencies, size_t* count) {
  return info(stream, out, {id, graph, dependencies, nullptr, count}, true);
}

CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* out, cuuint64_t* id, CUgraph* graph,
                                   const CUgraphNode** dependencies, const CUgraphEdgeData** edges, size_t* count) {
  return info(stream, out, {id, graph, dependencies, edges, count}, false);
}
CUresult cuStreamGetCaptureInfo_v3_ptsz(CUstream stream, CUstreamCaptureStatus* out, cuuint64_t* id, CUgraph* graph,
                                        const CUgraphNode** dependencies, const CUgraphEdgeData** edges,
                                        size_t* count) {
  return info(stream, out, {id, graph, dependencies, edges, count}, true);
}

CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode* dependencies, size_t count,
                                           unsigned int flags) {
  return update_dependencies(stream, dependencies, nullptr, count, flags, false);
}
CUresult cuStreamUpdateCaptureDependencies_ptsz(CUstream stream, CUgraphNode* dependencies, size_t count,
                                                unsigned int flags) {
  return update_dependencies(stream, dependencies, nullptr, count, flags, true);
}
CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode* dependencies, const CUgraphEdgeData* data,
                                              size_t count, unsigned int flags) {
  return update_dependencies(stream, dependencies, data, count, flags, false);
}
CUresult cuStreamUpdateCaptureDependencies_v2_ptsz(CUstream stream, CUgraphNode* dependencies,
                                                   const CUgraphEdgeData* data, size_t count, unsigned int flags) {
  return update_dependencies(stream, dependencies, data, count, flags, true);
}
