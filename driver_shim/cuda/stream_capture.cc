// Stream capture. Graphs are not emulated: nothing is ever capturing, and asking for a capture fails as documented.
#include <cuda.h>

#include "driver_shim/common/entry_table.h"
#include "driver_shim/cuda/stream_call.h"

using maya::cuda::Call;
using maya::cuda::enter;
using maya::cuda::Needs;
using maya::cuda::Stream;
using maya::cuda::with_stream;

namespace {

bool valid_mode(CUstreamCaptureMode mode) {
  return mode >= CU_STREAM_CAPTURE_MODE_GLOBAL && mode <= CU_STREAM_CAPTURE_MODE_RELAXED;
}

CUresult begin(CUstream handle, CUstreamCaptureMode mode, bool per_thread, const char* entry_point) {
  return with_stream(handle, per_thread, valid_mode(mode), [&](Call&, Stream& stream) {
    // "Capture may not be initiated if stream is CU_STREAM_LEGACY", on any driver.
    if (stream.is_default()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    maya::shim::report_unsupported(maya::shim::kLibraryName, entry_point, "CUDA_ERROR_NOT_SUPPORTED");
    return CUDA_ERROR_NOT_SUPPORTED;
  });
}

CUresult end(CUstream handle, CUgraph* graph, bool per_thread) {
  return with_stream(handle, per_thread, graph != nullptr, [&](Call&, Stream&) {
    *graph = nullptr;
    return CUDA_ERROR_ILLEGAL_STATE;  // what a stream that is not capturing answers
  });
}

// Everything but the status is only written for a stream that is capturing.
CUresult status(CUstream handle, CUstreamCaptureStatus* out, bool per_thread) {
  return with_stream(handle, per_thread, out != nullptr, [&](Call&, Stream&) {
    *out = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
  });
}

CUresult update_dependencies(CUstream handle, bool per_thread) {
  return with_stream(handle, per_thread, true, [](Call&, Stream&) { return CUDA_ERROR_ILLEGAL_STATE; });
}

}  // namespace

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return enter(Needs::kInitialized, [&](Call& call) {
    if (mode == nullptr || !valid_mode(*mode)) return CUDA_ERROR_INVALID_VALUE;
    std::swap(*mode, call.thread().capture_mode);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamBeginCapture(CUstream stream) {
  return begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL, false, "cuStreamBeginCapture");
}
CUresult cuStreamBeginCapture_ptsz(CUstream stream) {
  return begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL, true, "cuStreamBeginCapture");
}
CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  return begin(stream, mode, false, "cuStreamBeginCapture");
}
CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode) {
  return begin(stream, mode, true, "cuStreamBeginCapture");
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) { return end(stream, graph, false); }
CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph* graph) { return end(stream, graph, true); }

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* out) { return status(stream, out, false); }
CUresult cuStreamIsCapturing_ptsz(CUstream stream, CUstreamCaptureStatus* out) { return status(stream, out, true); }

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* out, cuuint64_t*) {
  return status(stream, out, false);
}
CUresult cuStreamGetCaptureInfo_ptsz(CUstream stream, CUstreamCaptureStatus* out, cuuint64_t*) {
  return status(stream, out, true);
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* out, cuuint64_t*, CUgraph*,
                                   const CUgraphNode**, size_t*) {
  return status(stream, out, false);
}
CUresult cuStreamGetCaptureInfo_v2_ptsz(CUstream stream, CUstreamCaptureStatus* out, cuuint64_t*, CUgraph*,
                                        const CUgraphNode**, size_t*) {
  return status(stream, out, true);
}

CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* out, cuuint64_t*, CUgraph*,
                                   const CUgraphNode**, const CUgraphEdgeData**, size_t*) {
  return status(stream, out, false);
}
CUresult cuStreamGetCaptureInfo_v3_ptsz(CUstream stream, CUstreamCaptureStatus* out, cuuint64_t*, CUgraph*,
                                        const CUgraphNode**, const CUgraphEdgeData**, size_t*) {
  return status(stream, out, true);
}

CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode*, size_t, unsigned int) {
  return update_dependencies(stream, false);
}
CUresult cuStreamUpdateCaptureDependencies_ptsz(CUstream stream, CUgraphNode*, size_t, unsigned int) {
  return update_dependencies(stream, true);
}
CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode*, const CUgraphEdgeData*, size_t,
                                              unsigned int) {
  return update_dependencies(stream, false);
}
CUresult cuStreamUpdateCaptureDependencies_v2_ptsz(CUstream stream, CUgraphNode*, const CUgraphEdgeData*, size_t,
                                                   unsigned int) {
  return update_dependencies(stream, true);
}
