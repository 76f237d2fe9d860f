#include "driver_shim/cuda/capture.h"

#include <algorithm>
#include <unordered_set>

#include "driver_shim/cuda/stream_call.h"

namespace maya::cuda {
namespace {

// Sequences that have not ended. Under graph_mutex().
std::vector<std::unique_ptr<CaptureSequence>>& sequences() {
  static auto& made = *new std::vector<std::unique_ptr<CaptureSequence>>;
  return made;
}

// What a legacy default stream has while a stream that orders with it is captured.
StreamCapture& implicit_mark() {
  static StreamCapture& made = *new StreamCapture;
  return made;
}

CaptureSequence& sequence_of(const StreamCapture& capture) { return *static_cast<CaptureSequence*>(capture.sequence); }

CaptureSequence* find_sequence(uint64_t id) {
  for (const auto& sequence : sequences())
    if (sequence->id == id) return sequence.get();
  return nullptr;
}

bool orders_with_legacy(const Stream& stream) { return !stream.is_default() && stream.is_blocking(); }

// Marks the legacy default stream of the context while one of its blocking streams is captured.
void mark_legacy(Context& context) {
  bool any = false;
  for (const auto& sequence : sequences())
    for (const auto& part : sequence->streams)
      any = any || (part->stream->context() == &context && orders_with_legacy(*part->stream));
  if (Stream* legacy = context.default_stream.load(std::memory_order_acquire); legacy != nullptr)
    legacy->set_capture(any ? &implicit_mark() : nullptr);
}

// Makes the stream a part of the sequence; its next node comes behind `dependencies`. Changes nothing when it throws.
void join(CaptureSequence& sequence, Stream& stream, std::vector<GraphEdge> dependencies) {
  implicit_mark();  // made now, if it is not there yet
  auto part = std::make_unique<StreamCapture>();
  part->graph = sequence.graph;
  part->sequence = &sequence;
  part->stream = &stream;
  part->dependencies = std::move(dependencies);
  sequence.streams.push_back(std::move(part));
  stream.set_capture(sequence.streams.back().get());
  stream.context()->captured_streams.fetch_add(1, std::memory_order_relaxed);
}

void leave_all(CaptureSequence& sequence) {
  std::vector<std::unique_ptr<StreamCapture>> parts = std::move(sequence.streams);
  sequence.streams.clear();
  for (const auto& part : parts) {
    part->stream->set_capture(nullptr);
    part->stream->context()->captured_streams.fetch_sub(1, std::memory_order_relaxed);
    mark_legacy(*part->stream->context());
  }
}

void merge(std::vector<GraphEdge>* into, const std::vector<GraphEdge>& more) {
  for (const GraphEdge& edge : more) {
    const bool known =
        std::any_of(into->begin(), into->end(), [&](const GraphEdge& have) { return have.from == edge.from; });
    if (!known) into->push_back(edge);
  }
}

// Whether everything that other streams ended with comes before what the origin ended with.
bool all_joined(const CaptureSequence& sequence) {
  std::unordered_set<const GraphNode*> reached;
  std::vector<const GraphNode*> open;
  for (const auto& part : sequence.streams)
    if (part->stream == sequence.origin)
      for (const GraphEdge& edge : part->dependencies) open.push_back(edge.from);
  while (!open.empty()) {
    const GraphNode* node = open.back();
    open.pop_back();
    if (!reached.insert(node).second) continue;
    for (const GraphEdge& edge : node->dependencies) open.push_back(edge.from);
  }
  const auto all_reached = [&](const std::vector<GraphEdge>& ends) {
    return std::all_of(ends.begin(), ends.end(), [&](const GraphEdge& edge) { return reached.contains(edge.from); });
  };
  return all_reached(sequence.ends_of_destroyed) &&
         std::all_of(sequence.streams.begin(), sequence.streams.end(),
                     [&](const auto& part) { return all_reached(part->dependencies); });
}

}  // namespace

CUresult refuse_captured(Stream& stream) { return Captures::refuse(stream); }

CUresult Captures::begin(ThreadState& thread, Stream& stream, CUstreamCaptureMode mode, Graph* to_graph,
                         std::vector<GraphEdge> dependencies) {
  std::lock_guard<std::recursive_mutex> lock(graph_mutex());
  if (stream.capture() != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  static uint64_t next_id = 1;
  auto sequence = std::make_unique<CaptureSequence>();
  OwnedGraph made(to_graph != nullptr ? nullptr : graphs().create());
  sequence->graph = to_graph != nullptr ? to_graph : made.get();
  if (sequence->graph == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  sequence->id = next_id++;
  sequence->owns_graph = to_graph == nullptr;
  sequence->origin = &stream;
  sequence->thread = &thread;
  sequence->mode = mode;
  sequences().reserve(sequences().size() + 1);
  join(*sequence, stream, std::move(dependencies));
  ++sequence->graph->captures;
  made.release();
  sequences().push_back(std::move(sequence));
  count_.fetch_add(1, std::memory_order_acq_rel);
  mark_legacy(*stream.context());
  return CUDA_SUCCESS;
}

CUresult Captures::end(const ThreadState& thread, Stream& stream, Graph** out) {
  std::lock_guard<std::recursive_mutex> lock(graph_mutex());
  *out = nullptr;
  StreamCapture* part = stream.capture();
  if (part == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (part->sequence == nullptr) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  CaptureSequence& sequence = sequence_of(*part);
  if (sequence.origin != &stream) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  if (sequence.mode != CU_STREAM_CAPTURE_MODE_RELAXED && sequence.thread != &thread)
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  CUresult result = CUDA_SUCCESS;
  if (sequence.invalidated)
    result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  else if (!all_joined(sequence))
    result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  leave_all(sequence);
  --sequence.graph->captures;
  if (result == CUDA_SUCCESS)
    *out = sequence.graph;
  else if (sequence.owns_graph)
    destroy_graph(*sequence.graph);
  std::erase_if(sequences(), [&](const auto& held) { return held.get() == &sequence; });
  count_.fetch_sub(1, std::memory_order_acq_rel);
  return result;
}

CUresult Captures::usable(Stream& stream, StreamCapture** out) {
  StreamCapture* part = stream.capture();
  if (part == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (part->sequence == nullptr) return refuse(stream);
  if (sequence_of(*part).invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  *out = part;
  return CUDA_SUCCESS;
}

CUresult Captures::add(Stream& stream, NodeWork work, GraphNode** out) {
  std::lock_guard<std::recursive_mutex> lock(graph_mutex());
  StreamCapture* part = nullptr;
  if (const CUresult status = usable(stream, &part); status != CUDA_SUCCESS) return status;
  GraphNode* made = nullptr;
  if (const CUresult status = add_node(*part->graph, part->dependencies, std::move(work), stream.context(), &made);
      status != CUDA_SUCCESS)
    return status;
  made->lane_hint = uint64_t{stream.id()} + 1;
  part->dependencies.assign(1, GraphEdge{made, {}});
  if (out != nullptr) *out = made;
  return CUDA_SUCCESS;
}

CUresult Captures::allocate(Call& call, Stream& stream, int device, uint64_t bytes, CUdeviceptr* out) {
  std::lock_guard<std::recursive_mutex> lock(graph_mutex());
  StreamCapture* part = nullptr;
  if (const CUresult status = usable(stream, &part); status != CUDA_SUCCESS) return status;
  CUDA_MEM_ALLOC_NODE_PARAMS parameters{};
  parameters.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  parameters.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device}};
  parameters.bytesize = bytes;
  AllocationNode node;
  if (const CUresult status = make_allocation_node(call.driver(), part->dependencies, parameters, &node);
      status != CUDA_SUCCESS)
    return status;
  *out = node.parameters.dptr;
  return add(stream, std::move(node));
}

CUresult Captures::free(Stream& stream, CUdeviceptr address) {
  std::lock_guard<std::recursive_mutex> lock(graph_mutex());
  StreamCapture* part = nullptr;
  if (const CUresult status = usable(stream, &part); status != CUDA_SUCCESS) return status;
  FreeNode node;
  if (const CUresult status = make_free_node(*part->graph, address, &node); status != CUDA_SUCCESS) return status;
  return add(stream, std::move(node));
}

CUresult Captures::record_event(Stream& stream, Event& event) {
  std::lock_guard<std::recursive_mutex> lock(graph_mutex());
  StreamCapture* part = nullptr;
  if (const CUresult status = usable(stream, &part); status != CUDA_SUCCESS) return status;
  CaptureSequence& sequence = sequence_of(*part);
  sequence.events[event.id] = part->dependencies;
  event.captured.store(sequence.id, std::memory_order_release);
  return CUDA_SUCCESS;
}

CUresult Captures::wait_event(Stream& stream, const Event& event) {
  std::lock_guard<std::recursive_mutex> lock(graph_mutex());
  const uint64_t captured = event.captured.load(std::memory_order_acquire);
  CaptureSequence* of_event = captured != 0 ? find_sequence(captured) : nullptr;
  StreamCapture* part = stream.capture();
  if (part == nullptr) {
    if (of_event == nullptr) return CUDA_ERROR_CAPTURED_EVENT;  // its capture has ended
    if (of_event->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    // Work of the legacy default stream cannot be captured.
    if (stream.is_default()) {
      of_event->invalidated = true;
      return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    join(*of_event, stream, of_event->events.at(event.id));
    mark_legacy(*stream.context());
    return CUDA_SUCCESS;
  }
  if (const CUresult status = usable(stream, &part); status != CUDA_SUCCESS) return status;
  CaptureSequence& sequence = sequence_of(*part);
  if (of_event == &sequence) {
    merge(&part->dependencies, sequence.events.at(event.id));
    return CUDA_SUCCESS;
  }
  sequence.invalidated = true;
  if (of_event == nullptr) return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  of_event->invalidated = true;
  return CUDA_ERROR_STREAM_CAPTURE_MERGE;
}

CUresult Captures::update_dependencies(Stream& stream, std::vector<GraphEdge> dependencies, bool replace) {
  StreamCapture* part = nullptr;
  if (const CUresult status = usable(stream, &part); status != CUDA_SUCCESS) return status;
  if (replace)
    part->dependencies = std::move(dependencies);
  else
    merge(&part->dependencies, dependencies);
  return CUDA_SUCCESS;
}

CUresult Captures::refuse(Stream& stream) {
  std::lock_guard<std::recursive_mutex> lock(graph_mutex());
  StreamCapture* part = stream.capture();
  if (part == nullptr) return CUDA_SUCCESS;
  if (part->sequence == nullptr) {
    for (const auto& sequence : sequences())
      for (const auto& other : sequence->streams)
        if (other->stream->context() == stream.context() && orders_with_legacy(*other->stream))
          sequence->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  CaptureSequence& sequence = sequence_of(*part);
  if (sequence.invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  sequence.invalidated = true;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult Captures::refuse_unsafe(const ThreadState& thread) {
  if (thread.capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  std::lock_guard<std::recursive_mutex> lock(graph_mutex());
  CUresult result = CUDA_SUCCESS;
  for (const auto& sequence : sequences()) {
    const bool own = sequence->thread == &thread && sequence->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    const bool of_others =
        thread.capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL && sequence->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!own && !of_others) continue;
    sequence->invalidated = true;
    result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return result;
}

CUresult Captures::refuse_context(const Context& context) {
  if (context.captured_streams.load(std::memory_order_acquire) == 0) return CUDA_SUCCESS;
  std::lock_guard<std::recursive_mutex> lock(graph_mutex());
  for (const auto& sequence : sequences())
    for (const auto& part : sequence->streams)
      if (part->stream->context() == &context) sequence->invalidated = true;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult Captures::refuse_event(const Event& event) {
  const uint64_t captured = event.captured.load(std::memory_order_acquire);
  if (captured == 0) return CUDA_SUCCESS;
  std::lock_guard<std::recursive_mutex> lock(graph_mutex());
  if (CaptureSequence* sequence = find_sequence(captured); sequence != nullptr) sequence->invalidated = true;
  return CUDA_ERROR_CAPTURED_EVENT;
}

void Captures::stream_destroyed(Stream& stream) {
  if (stream.capture() == nullptr) return;
  std::lock_guard<std::recursive_mutex> lock(graph_mutex());
  StreamCapture* part = stream.capture();
  if (part == nullptr || part->sequence == nullptr) return;
  CaptureSequence& sequence = sequence_of(*part);
  if (sequence.origin == &stream) {
    // Nobody can end it any more.
    leave_all(sequence);
    --sequence.graph->captures;
    if (sequence.owns_graph) destroy_graph(*sequence.graph);
    std::erase_if(sequences(), [&](const auto& held) { return held.get() == &sequence; });
    count_.fetch_sub(1, std::memory_order_acq_rel);
    return;
  }
  merge(&sequence.ends_of_destroyed, part->dependencies);
  stream.set_capture(nullptr);
  stream.context()->captured_streams.fetch_sub(1, std::memory_order_relaxed);
  std::erase_if(sequence.streams, [&](const auto& held) { return held.get() == part; });
  mark_legacy(*stream.context());
}

}  // namespace maya::cuda
