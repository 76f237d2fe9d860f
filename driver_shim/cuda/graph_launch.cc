// Launches of executable graphs: every node has its effects on memory in a valid order, the stream's clock goes on by
// the graph's span, and the trace gets one GraphLaunch packet and a packet for each piece of work behind it.
#include <cuda.h>

#include <atomic>
#include <unordered_map>

#include "driver_shim/cuda/capture.h"
#include "driver_shim/cuda/fill.h"
#include "driver_shim/cuda/graph_exec.h"
#include "driver_shim/cuda/graph_memory.h"
#include "driver_shim/cuda/operation.h"
#include "driver_shim/cuda/pending_work.h"
#include "driver_shim/cuda/profiler.h"
#include "driver_shim/cuda/recorder.h"
#include "driver_shim/cuda/stream_call.h"
#include "driver_shim/cuda/stream_memory_operation.h"

namespace maya::cuda {
namespace {

using Kind = trace::fields::EventCallCall;

// Libraries count groups from 1 on; launches of graphs from here.
constexpr uint32_t kFirstReplayedGroup = 1u << 31;

// One launch on its way. Packets carry the time of the call; the last one carries the time of its end, so that readers
// do not take the time spent in here for the program's.
class Replay {
 public:
  Replay(Call& call, const ExecutableGraph& graph, Stream& stream, uint64_t entry_ns, uint64_t start_ns)
      : call_(call),
        plan_(graph.plan),
        stream_(stream),
        writer_(Recorder::writer()),
        recorder_(Recorder::get()),
        graph_(graph.id),
        entry_ns_(entry_ns),
        start_ns_(start_ns),
        packets_left_(graph.plan.packets) {
    recorder_.graph_launch(graph.id, plan_.packets, stream.id(), entry_ns);
  }

  CUresult run() {
    if (plan_.start_event != 0) {
      event(Kind::kRecord, plan_.start_event, 0);
      for (uint32_t lane = 1; lane < plan_.lanes; ++lane) event(Kind::kWait, plan_.start_event, lane);
    }
    for (const GraphStep& step : plan_.steps) {
      step_ = &step;
      for (const uint32_t waited : step.waits) event(Kind::kWait, waited, step.lane);
      if (step.node->enabled)
        if (const CUresult status = std::visit(*this, step.node->work); status != CUDA_SUCCESS) result_ = status;
      if (step.signal != 0) event(Kind::kRecord, step.signal, step.lane);
    }
    for (const uint32_t waited : plan_.joins) event(Kind::kWait, waited, 0);
    return result_;
  }

  // How much later than planned the graph ends: host functions take the time that they take.
  uint64_t extra_ns() const { return extra_ns_; }

  CUresult operator()(const KernelNode& node) {
    const Kernel* kernel = resolve_kernel(node.handle);
    if (kernel != nullptr) device::apply_effects(*kernel->behavior, node.launch, call_.memory());
    if (kernel != nullptr && Profiler::attached()) Profiler::tell_launch(place(), *kernel, node.launch);
    if (writer_ != nullptr) writer_->launch(step_->trace_id, stream_id(), next_time());
    return CUDA_SUCCESS;
  }
  CUresult operator()(const OperationNode& node) {
    if (node.replayed != nullptr) node.replayed->replay(node.replayed->argument, reinterpret_cast<CUstream>(&stream_));
    for (const MemoryRange& range : node.writes) call_.memory().make_unknown(range.address, range.bytes);
    write_operation(step_->trace_id, group_of(node), stream_id(), next_time());
    if (Profiler::attached()) Profiler::tell_operation(place(), node.record);
    return CUDA_SUCCESS;
  }
  CUresult operator()(const CopyNode& node) {
    const CUresult status = move_volume(call_.memory(), node.to, node.from, node.extent);
    const CopyWork& copy = step_->copy;
    recorder_.copy(static_cast<int>(copy.kind), copy.bytes, true, copy.pageable, copy.rows, stream_id(), next_time(), 0,
                   0);
    if (Profiler::attached()) Profiler::tell_copy(place(), copy, true);
    return status;
  }
  CUresult operator()(const FillNode& node) {
    const CUresult status = fill_memory(call_.memory(), node.parameters);
    recorder_.fill(step_->fill_bytes, node.parameters.value, node.parameters.elementSize, true, node.parameters.height,
                   stream_id(), next_time(), 0);
    if (Profiler::attached()) Profiler::tell_fill(place(), step_->fill_bytes, node.parameters.value, true);
    return status;
  }
  CUresult operator()(const HostNode& node) {
    PendingWork::wait_stream(stream_);
    const uint64_t begin_ns = trace::now_ns();
    node.parameters.fn(node.parameters.userData);
    const uint64_t measured_ns = trace::now_ns() - begin_ns;
    extra_ns_ += measured_ns;
    recorder_.host_function(stream_id(), measured_ns, next_time());
    return CUDA_SUCCESS;
  }
  CUresult operator()(const EventRecordNode& node) {
    Event* recorded = call_.driver().events().get(node.event);
    if (recorded == nullptr) {
      next_time();
      return CUDA_ERROR_INVALID_HANDLE;
    }
    recorded->captured.store(0, std::memory_order_relaxed);
    recorded->time_ns.store(start_ns_ + extra_ns_ + step_->end_ns, std::memory_order_relaxed);
    recorded->recorded.store(true, std::memory_order_release);
    PendingWork::event_recorded(recorded->id, stream_);
    event(Kind::kRecord, recorded->id, step_->lane);
    return CUDA_SUCCESS;
  }
  CUresult operator()(const EventWaitNode& node) {
    const Event* waited = call_.driver().events().get(node.event);
    if (waited == nullptr) {
      next_time();
      return CUDA_ERROR_INVALID_HANDLE;
    }
    PendingWork::stream_waits(stream_, waited->id);
    event(Kind::kWait, waited->id, step_->lane);
    return CUDA_SUCCESS;
  }
  CUresult operator()(const AllocationNode& node) { return begin_graph_allocation(node); }
  CUresult operator()(const FreeNode& node) { return end_graph_allocation(node.address); }
  CUresult operator()(const MemoryOperationNode& node) { return run_memory_operations(call_, node.operations); }
  CUresult operator()(const EmptyNode&) { return CUDA_SUCCESS; }
  CUresult operator()(const ChildNode&) { return CUDA_SUCCESS; }
  CUresult operator()(const ConditionalNode&) { return CUDA_SUCCESS; }

 private:
  uint32_t stream_id(uint32_t lane) const { return lane == 0 ? stream_.id() : plan_.lane_streams[lane - 1]; }
  uint32_t stream_id() const { return stream_id(step_->lane); }
  WorkPlace place() const {
    const uint64_t end_ns = start_ns_ + extra_ns_ + step_->end_ns;
    return {call_.driver(), *stream_.context(), stream_id(),       end_ns, step_->end_ns - step_->start_ns, entry_ns_,
            graph_,         step_->node->id,    stream_.priority()};
  }
  void event(uint32_t kind, uint32_t id, uint32_t lane) {
    recorder_.event(static_cast<int>(kind), id, stream_id(lane), false, 0, 0, 0, next_time());
  }
  // Numbers of groups hold for one launch.
  uint32_t group_of(const OperationNode& node) {
    static std::atomic<uint32_t> next{kFirstReplayedGroup};
    if (node.group == 0) return 0;
    const auto [known, is_new] = groups_.try_emplace(node.group, 0);
    if (is_new) known->second = next.fetch_add(1, std::memory_order_relaxed);
    return known->second;
  }
  uint64_t next_time() { return --packets_left_ == 0 ? trace::now_ns() : entry_ns_; }

  Call& call_;
  const GraphPlan& plan_;
  Stream& stream_;
  trace::Writer* const writer_;
  Recorder& recorder_;
  const uint32_t graph_;
  const uint64_t entry_ns_, start_ns_;
  const GraphStep* step_ = nullptr;
  uint32_t packets_left_;
  std::unordered_map<uint32_t, uint32_t> groups_;  // as captured -> of this launch
  uint64_t extra_ns_ = 0;
  CUresult result_ = CUDA_SUCCESS;
};

}  // namespace

CUresult launch_graph(Call& call, ExecutableGraph& graph, Stream& stream, uint64_t entry_ns) {
  Driver& driver = call.driver();
  if (graph.changed) {
    const GraphNode* failed = nullptr;
    if (const CUresult status = make_plan(driver, graph, &failed); status != CUDA_SUCCESS) return status;
  }
  if (const CUresult status = prepare_graph_memory(graph, true); status != CUDA_SUCCESS) return status;
  uint64_t earliest_ns = driver.to_virtual_ns(entry_ns) + driver.launch_latency_ns();
  for (const GraphStep& step : graph.plan.steps) {
    if (graph.plan.waits.empty()) break;
    const EventWaitNode* wait = std::get_if<EventWaitNode>(&step.node->work);
    const Event* event = wait != nullptr && step.node->enabled ? driver.events().get(wait->event) : nullptr;
    if (event == nullptr || !event->recorded.load(std::memory_order_acquire)) continue;
    const uint64_t time_ns = event->time_ns.load(std::memory_order_relaxed);
    if (time_ns > step.start_ns) earliest_ns = std::max(earliest_ns, time_ns - step.start_ns);
  }
  const uint64_t end_ns = stream.enqueue(earliest_ns, graph.plan.span_ns, driver.queued_gap_ns());
  Replay replay(call, graph, stream, entry_ns, end_ns - graph.plan.span_ns);
  const CUresult result = replay.run();
  Profiler::tell_graph({driver, *stream.context(), stream.id(), end_ns + replay.extra_ns(),
                        graph.plan.span_ns + replay.extra_ns(), entry_ns, graph.id, 0, stream.priority()});
  if (replay.extra_ns() != 0) stream.enqueue(end_ns, replay.extra_ns(), 0);
  return result;
}

namespace {

CUresult launch(CUgraphExec handle, CUstream stream_handle, bool per_thread) {
  const uint64_t entry_ns = trace::now_ns();
  return with_stream(
      stream_handle, per_thread, true,
      [&](Call& call, Stream& stream) -> CUresult {
        std::unique_lock<std::recursive_mutex> lock(graph_mutex());
        ExecutableGraph* graph = executable_graphs().get(handle);
        if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
        if (stream.capture() != nullptr) {
          ChildNode child{clone_graph(*graph->graph)};
          if (child.graph == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
          const CUresult status = is_exclusive(*child.graph) ? Captures::refuse(stream) : Captures::add(stream, child);
          if (status != CUDA_SUCCESS) destroy_graph(*child.graph);
          return status;
        }
        std::lock_guard<std::mutex> launching(graph->launch_mutex);
        lock.unlock();
        return launch_graph(call, *graph, stream, entry_ns);
      },
      WhileCaptured::kAllowed);
}

CUresult upload(CUgraphExec handle, CUstream stream_handle, bool per_thread) {
  return with_stream(stream_handle, per_thread, true, [&](Call&, Stream&) -> CUresult {
    std::lock_guard<std::recursive_mutex> lock(graph_mutex());
    ExecutableGraph* graph = executable_graphs().get(handle);
    if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard<std::mutex> launching(graph->launch_mutex);
    return prepare_graph_memory(*graph, false);
  });
}

}  // namespace
}  // namespace maya::cuda

CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream) { return maya::cuda::launch(graph, stream, false); }
CUresult cuGraphLaunch_ptsz(CUgraphExec graph, CUstream stream) { return maya::cuda::launch(graph, stream, true); }
CUresult cuGraphUpload(CUgraphExec graph, CUstream stream) { return maya::cuda::upload(graph, stream, false); }
CUresult cuGraphUpload_ptsz(CUgraphExec graph, CUstream stream) { return maya::cuda::upload(graph, stream, true); }
