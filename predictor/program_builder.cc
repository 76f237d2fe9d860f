#include "predictor/program_builder.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "predictor/host_costs.h"
#include "predictor/numbers.h"

namespace maya::predictor {
namespace {

using trace::EventKind;

// CU_STREAM_NON_BLOCKING (cuda.h): the stream does not synchronise with the legacy default stream.
constexpr uint32_t kNonBlockingFlag = 1;
constexpr uint32_t kLegacyDefaultStream = 0;

class Builder {
 public:
  Builder(const trace::LoadedTrace& trace, const CostTable& costs, const HostGaps& gaps,
          const device::DeviceProfile& target, double host_scale)
      : trace_(trace), costs_(costs), gaps_(gaps), target_(target), host_scale_(host_scale) {}

  Program build() {
    program_.launch_latency_ns = whole_ns(target_.launch_latency_ns);
    // Gaps that were measured on the same device are better than those of its profile.
    const bool same_device = trace_.process.device_name() == target_.name;
    const double kernel_gap_ns = same_device ? trace_.process.queued_gap_ns() : 0;
    program_.queued_gap_ns = whole_ns(kernel_gap_ns > 0 ? kernel_gap_ns : target_.queued_gap_ns);
    const double copy_gap_ns = same_device ? trace_.process.queued_copy_gap_ns() : 0;
    copy_gap_ns_ = copy_gap_ns > 0 ? whole_ns(copy_gap_ns) : program_.queued_gap_ns;
    describe_streams();
    program_.calls.reserve(trace_.events.size());
    for (uint32_t i = 0; i < trace_.events.size(); ++i) {
      HostCall call;
      call.thread = index_of(threads_, trace_.events[i].thread);
      call.stream = stream_index(trace_.events[i].stream);
      call.gap_ns = whole_ns(static_cast<double>(gaps_.gap_ns[i]) * host_scale_);
      call.after = gaps_.after[i];
      fill_in(i, &call);
      follow_graph(trace_.events[i], &call);
      if (trace_.events[i].call_ns != 0) measured_call(trace_.events[i], &call);
      program_.calls.push_back(call);
    }
    program_.threads = static_cast<uint32_t>(threads_.size());
    program_.devices = std::max<uint32_t>(1, static_cast<uint32_t>(devices_.size()));
    return std::move(program_);
  }

 private:
  using Indices = std::unordered_map<uint32_t, uint32_t>;
  static uint32_t index_of(Indices& indices, uint32_t id) {
    return indices.try_emplace(id, static_cast<uint32_t>(indices.size())).first->second;
  }

  void describe_streams() {
    index_of(devices_, 0);
    std::unordered_set<uint32_t> described_devices;
    for (const proto::StreamDescriptor& stream : trace_.stream_calls) {
      if (stream.destroyed()) continue;
      SimulatedStream& described = program_.streams.emplace_back();
      described.device = index_of(devices_, stream.device());
      described.priority = stream.priority();
      described.blocking = (stream.flags() & kNonBlockingFlag) == 0;
      // The first stream described on a device is the legacy default stream of its context.
      described.legacy_default = described_devices.insert(stream.device()).second && described.blocking;
      const auto [known, is_new] =
          streams_.try_emplace(stream.id(), static_cast<uint32_t>(program_.streams.size() - 1));
      if (is_new) continue;
      // Ids are reused after a stream was destroyed; the last description is kept.
      program_.streams[known->second] = described;
      program_.streams.pop_back();
    }
  }

  uint32_t stream_index(uint32_t id) {
    const auto [known, is_new] = streams_.try_emplace(id, static_cast<uint32_t>(program_.streams.size()));
    if (is_new) {
      SimulatedStream& stream = program_.streams.emplace_back();
      stream.legacy_default = id == kLegacyDefaultStream;
    }
    return known->second;
  }

  // Any stream of the device, to say which device a synchronisation is about.
  uint32_t stream_of_device(uint32_t id, uint32_t fallback) {
    const auto known = devices_.find(id);
    if (known == devices_.end()) return fallback;
    for (uint32_t i = 0; i < program_.streams.size(); ++i)
      if (program_.streams[i].device == known->second) return i;
    return fallback;
  }

  void fill_in(uint32_t i, HostCall* call) {
    const trace::Event& event = trace_.events[i];
    switch (event.kind) {
      case EventKind::kLaunch:
      case EventKind::kOperation:
        enqueue(i, call);
        call->cost_ns = whole_ns(target_.launch_host_ns);
        break;
      case EventKind::kCopy: {
        const proto::Copy& copy = trace_.copies[event.index];
        enqueue(i, call);
        call->cost_ns = host_costs::kCopy_ns;
        const bool staged = copy.pageable() && copy.bytes() > host_costs::kStagedAtOnce_bytes;
        const bool lands_in_pageable = copy.pageable() && copy.kind() == proto::Copy::DEVICE_TO_HOST;
        call->blocks = !copy.asynchronous() || staged || lands_in_pageable;
        // What a measured call did is known.
        if (event.call_ns != 0) call->blocks = !copy.asynchronous();
        // A device-to-device cudaMemcpy does not wait for the copy (same document).
        if (copy.kind() == proto::Copy::DEVICE_TO_DEVICE && event.call_ns == 0) call->blocks = false;
        call->return_ns = call->blocks ? host_costs::kSynchronize_ns : 0;
        break;
      }
      case EventKind::kFill:
        enqueue(i, call);
        call->cost_ns = host_costs::kFill_ns;
        break;
      case EventKind::kEventCall:
        event_call(i, call);
        break;
      case EventKind::kSynchronization:
        synchronization(i, call);
        break;
      case EventKind::kHostFunction:
        call->kind = CallKind::kEnqueue;
        call->engine = Engine::kHost;
        call->duration_ns = std::min<uint64_t>(trace_.host_functions[event.index].measured_ns(), kLongest_ns);
        call->cost_ns = whole_ns(target_.launch_host_ns);
        break;
      case EventKind::kGraphLaunch:
        call->cost_ns = host_costs::kGraphLaunch_ns +
                        host_costs::kGraphLaunchPerNode_ns * trace_.graph_launches[event.index].nodes();
        break;
      case EventKind::kAllocation: {
        const proto::Allocation::Kind kind = trace_.allocations[event.index].kind();
        if (kind == proto::Allocation::DEVICE || kind == proto::Allocation::PHYSICAL)
          call->cost_ns = host_costs::kAllocate_ns;
        if (kind == proto::Allocation::STREAM_ORDERED) call->cost_ns = host_costs::kPoolAllocate_ns;
        break;
      }
      case EventKind::kFree: {
        const proto::Free& freed = trace_.frees[event.index];
        if (freed.kind() == proto::Allocation::STREAM_ORDERED) call->cost_ns = host_costs::kPoolAllocate_ns;
        if (freed.kind() != proto::Allocation::DEVICE) break;
        // cudaFree waits for the device.
        call->kind = CallKind::kDeviceSynchronize;
        call->stream = stream_of_device(freed.device(), call->stream);
        call->cost_ns = host_costs::kFree_ns;
        break;
      }
      default:
        break;
    }
  }

  // What follows the launch of a graph was enqueued by it: it costs no host time of its own, and blocks nobody.
  void follow_graph(const trace::Event& event, HostCall* call) {
    if (event.kind == EventKind::kGraphLaunch) {
      const proto::GraphLaunch& launch = trace_.graph_launches[event.index];
      graph_packets_left_[event.thread] = {launch.nodes_follow() ? launch.nodes() : 0, {}};
      return;
    }
    const auto graph = graph_packets_left_.find(event.thread);
    if (graph == graph_packets_left_.end() || graph->second.packets == 0) return;
    --graph->second.packets;
    call->cost_ns = call->return_ns = 0;
    call->blocks = false;
    const bool is_first = call->kind == CallKind::kEnqueue && graph->second.streams.insert(call->stream).second;
    if (call->kind == CallKind::kEnqueue && !is_first) call->queued_gap_ns = host_costs::kGraphNodeGap_ns;
  }

  // Host time as measured: all of it before a call that only enqueues returns, after the wait of one that waits.
  void measured_call(const trace::Event& event, HostCall* call) {
    const uint64_t call_ns = std::min(event.call_ns, kLongest_ns);
    const bool waits = call->blocks || call->kind == CallKind::kEventSynchronize ||
                       call->kind == CallKind::kStreamSynchronize || call->kind == CallKind::kDeviceSynchronize;
    call->cost_ns = waits ? 0 : call_ns;
    call->return_ns = waits ? call_ns : 0;
    if (call->kind == CallKind::kEnqueue && !waits) call->latency_ns = call_ns + host_costs::kStartAfterReturn_ns;
  }

  void enqueue(uint32_t i, HostCall* call) {
    const OperationCost& cost = costs_.costs[costs_.of_event[i]];
    call->kind = CallKind::kEnqueue;
    call->engine = cost.engine;
    call->width_permille = cost.width_permille;
    call->duration_ns = whole_ns(cost.estimate.median_ns);
    set_gap(i, call);
    if (cost.waves > 1) call->tail_permille = static_cast<uint32_t>(kWholeDevice_permille / cost.waves);
    if (costs_.measured_ns[i] != 0) {
      // What ran beside other work was measured beside it.
      call->duration_ns = costs_.measured_ns[i];
      call->width_permille = cost.waves > 1 ? kWholeDevice_permille : 0;
    }
  }

  // The gap to the work before it, where it is not that of kernels launched one by one.
  void set_gap(uint32_t i, HostCall* call) {
    const trace::Event& event = trace_.events[i];
    const bool is_copy = event.kind == EventKind::kCopy || event.kind == EventKind::kFill;
    const bool after_copy = std::exchange(last_is_copy_[call->stream], is_copy);
    if (is_copy && after_copy) call->queued_gap_ns = copy_gap_ns_;
  }

  void event_call(uint32_t i, HostCall* call) {
    const proto::EventCall& event = trace_.event_calls[trace_.events[i].index];
    const auto last = records_.find(event.event());
    const uint32_t record = last == records_.end() ? kNone : last->second;
    switch (event.call()) {
      case proto::EventCall::CREATE:
      case proto::EventCall::DESTROY:
        records_.erase(event.event());
        break;
      case proto::EventCall::RECORD:
        call->kind = CallKind::kEventRecord;
        call->cost_ns = host_costs::kEventRecord_ns;
        records_[event.event()] = i;
        break;
      case proto::EventCall::WAIT:
        call->kind = CallKind::kStreamWait;
        call->cost_ns = host_costs::kStreamWait_ns;
        call->record = record;
        break;
      case proto::EventCall::SYNCHRONIZE:
        call->kind = CallKind::kEventSynchronize;
        call->return_ns = host_costs::kSynchronize_ns;
        call->record = record;
        break;
      case proto::EventCall::QUERY:
        call->cost_ns = host_costs::kEventQuery_ns;
        break;
      default:
        break;
    }
  }

  void synchronization(uint32_t i, HostCall* call) {
    const proto::Synchronization& sync = trace_.synchronizations[trace_.events[i].index];
    switch (sync.scope()) {
      case proto::Synchronization::DEVICE:
        call->kind = CallKind::kDeviceSynchronize;
        call->stream = stream_of_device(sync.device(), call->stream);
        call->return_ns = host_costs::kSynchronize_ns;
        break;
      case proto::Synchronization::STREAM:
        call->kind = CallKind::kStreamSynchronize;
        call->return_ns = host_costs::kSynchronize_ns;
        break;
      default:
        call->cost_ns = host_costs::kEventQuery_ns;
        break;
    }
  }

  const trace::LoadedTrace& trace_;
  const CostTable& costs_;
  const HostGaps& gaps_;
  const device::DeviceProfile& target_;
  double host_scale_;
  Program program_;
  Indices threads_, streams_, devices_;
  struct GraphLeft {
    uint32_t packets = 0;                  // still to come
    std::unordered_set<uint32_t> streams;  // that have had work of the graph
  };
  std::unordered_map<uint32_t, GraphLeft> graph_packets_left_;  // by thread of the trace
  std::unordered_map<uint32_t, bool> last_is_copy_;             // by stream
  uint64_t copy_gap_ns_ = 0;
  Indices records_;  // by event id: the call that recorded it last
};

}  // namespace

Program build_program(const trace::LoadedTrace& trace, const CostTable& costs, const HostGaps& gaps,
                      const device::DeviceProfile& target, double host_scale) {
  return Builder(trace, costs, gaps, target, host_scale).build();
}

}  // namespace maya::predictor
