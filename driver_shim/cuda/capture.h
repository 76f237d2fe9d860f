// Streams that are being captured into graphs (CUDA programming guide, "Creating a Graph Using Stream Capture").
//
// A stream outside of a capture costs one load. Everything else in here takes graph_mutex().
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "driver_shim/cuda/gate.h"
#include "driver_shim/cuda/graph.h"

namespace maya::device {

// A stream's part in a capture sequence.
struct StreamCapture {
  maya::cuda::Graph* graph = nullptr;
  void* sequence = nullptr;  // maya::cuda::CaptureSequence; null: the mark on a legacy default stream
  Stream* stream = nullptr;
  std::vector<maya::cuda::GraphEdge> dependencies;  // of the next node
  std::vector<CUgraphNode> handles;                 // of `dependencies`, as handed out by cuStreamGetCaptureInfo
  std::vector<CUgraphEdgeData> edge_data;
};

}  // namespace maya::device

namespace maya::cuda {

using device::StreamCapture;

struct CaptureSequence {
  uint64_t id = 0;
  Graph* graph = nullptr;
  bool owns_graph = true;  // false: begun with cuStreamBeginCaptureToGraph
  Stream* origin = nullptr;
  const ThreadState* thread = nullptr;  // that began it
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  bool invalidated = false;
  std::vector<std::unique_ptr<StreamCapture>> streams;
  std::vector<GraphEdge> ends_of_destroyed;  // what streams that were destroyed since then had last; to be joined too
  // Events recorded in it: the nodes that they stand behind.
  std::unordered_map<uint32_t, std::vector<GraphEdge>> events;
};

// Capture sequences of the process.
class Captures {
 public:
  // False almost always: then no call is refused because of a capture.
  static bool any() { return count_.load(std::memory_order_acquire) != 0; }

  static CUresult begin(ThreadState& thread, Stream& stream, CUstreamCaptureMode mode, Graph* to_graph,
                        std::vector<GraphEdge> dependencies);
  static CUresult end(const ThreadState& thread, Stream& stream, Graph** out);

  // The capture of a stream, for calls that work in one. INVALIDATED, and IMPLICIT for a legacy default stream.
  static CUresult usable(Stream& stream, StreamCapture** out);
  // Makes every later node of the stream follow this one.
  static CUresult add(Stream& stream, NodeWork work, GraphNode** out = nullptr);
  // Nodes that allocate (on `device`) and free; the address holds from now on.
  static CUresult allocate(Call& call, Stream& stream, int device, uint64_t bytes, CUdeviceptr* out);
  static CUresult free(Stream& stream, CUdeviceptr address);
  static CUresult record_event(Stream& stream, Event& event);
  // Joins the stream into the capture that the event belongs to, or makes its next node wait for the event's.
  static CUresult wait_event(Stream& stream, const Event& event);
  static CUresult update_dependencies(Stream& stream, std::vector<GraphEdge> dependencies, bool replace);

  // A call that a stream in capture does not allow: ends the usefulness of the capture, as documented.
  static CUresult refuse(Stream& stream);
  // "Potentially unsafe" calls, by the thread's mode: see cuThreadExchangeStreamCaptureMode.
  static CUresult refuse_unsafe(const ThreadState& thread);
  // Waiting for a whole context.
  static CUresult refuse_context(const Context& context);
  static CUresult refuse_event(const Event& event);

  static void stream_destroyed(Stream& stream);

 private:
  static inline constinit std::atomic<uint32_t> count_{0};
};

// For calls that are not put on a stream, so that no capture sees them: cuMemAlloc and so on.
inline CUresult check_unsafe_call(const ThreadState& thread) {
  return Captures::any() ? Captures::refuse_unsafe(thread) : CUDA_SUCCESS;
}

}  // namespace maya::cuda
