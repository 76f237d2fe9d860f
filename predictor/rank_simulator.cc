#include "predictor/rank_simulator.h"

#include <algorithm>
#include <memory>

#include "predictor/transfers.h"

namespace maya::predictor {

RankSimulator::RankSimulator(uint32_t number, const Program& program, std::span<const uint64_t> durations,
                             uint64_t compute_speed, CallState* states, std::pmr::memory_resource* memory,
                             SimulationClock* clock, Transfers* transfers)
    : number_(number),
      communicates_(!program.communications.empty()),
      states_(states),
      calls_(program.calls.data()),
      clock_(*clock),
      threads_(program.threads, memory),
      streams_(program.streams.size(), memory),
      devices_(program.devices, memory),
      durations_(durations),
      launch_latency_ns_(program.launch_latency_ns),
      queued_gap_ns_(program.queued_gap_ns),
      program_(program),
      compute_speed_(compute_speed),
      transfers_(*transfers) {
  const size_t count = program_.calls.size();
  std::uninitialized_default_construct_n(states_, count);
  for (uint32_t i = 0; i < program_.streams.size(); ++i) {
    const SimulatedStream& stream = program_.streams[i];
    streams_[i].device = stream.device;
    streams_[i].priority = stream.priority;
    streams_[i].blocking = stream.blocking;
    streams_[i].legacy_default = stream.legacy_default;
    if (stream.legacy_default) devices_[stream.device].legacy_stream = i;
  }
  std::vector<uint32_t> last(program_.threads, kNone);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t thread = call(i).thread;
    (last[thread] == kNone ? threads_[thread].next : states_[last[thread]].next_in_thread) = i;
    last[thread] = i;
  }
  if (!communicates_) return;
  first_in_unit_.assign(program_.communications.size(), kNone);
  for (uint32_t i = 0; i < program_.communications.size(); ++i) {
    const Communication& c = program_.communications[i];
    if (c.leader == c.call || c.leader == kNone) continue;
    const uint32_t leader = call(c.leader).communication;
    first_in_unit_[i] = first_in_unit_[leader];
    first_in_unit_[leader] = i;
  }
}

void RankSimulator::start() {
  for (uint32_t thread = 0; thread < program_.threads; ++thread) arrange(thread);
}

// Schedules the thread's next call, or lets the thread wait for the calls of other threads that come first.
void RankSimulator::arrange(uint32_t thread) {
  ThreadState& state = threads_[thread];
  if (state.next == kNone) return;
  const HostCall& c = call(state.next);
  for (const uint32_t first : {c.after, c.record}) {
    if (first == kNone || states_[first].call_end_ns != kNever_ns) continue;
    state.next_waiter = states_[first].call_waiters;
    states_[first].call_waiters = thread;
    return;
  }
  uint64_t start = state.free_ns;
  if (c.after != kNone) start = std::max(start, states_[c.after].call_end_ns);
  start += c.gap_ns;
  if (c.record != kNone) start = std::max(start, states_[c.record].call_end_ns);
  schedule(start, state.next, What::kCall);
}

void RankSimulator::return_from(uint32_t index, uint64_t time_ns) {
  states_[index].call_end_ns = time_ns;
  const uint32_t thread = call(index).thread;
  threads_[thread].free_ns = time_ns;
  threads_[thread].next = states_[index].next_in_thread;
  arrange(thread);
  for (uint32_t waiting = states_[index].call_waiters; waiting != kNone;) {
    const uint32_t next = threads_[waiting].next_waiter;
    arrange(waiting);
    waiting = next;
  }
}

bool RankSimulator::crosses_streams(uint32_t stream) const {
  const StreamState& s = streams_[stream];
  const DeviceState& device = devices_[s.device];
  if (s.legacy_default) {
    for (const uint32_t other : device.active)
      if (other != stream && streams_[other].blocking) return true;
    return false;
  }
  return s.blocking && device.legacy_stream != kNone && streams_[device.legacy_stream].active_position != kNone;
}

void RankSimulator::wait_for_work(uint32_t index, uint32_t work) {
  if (work == kNone) return;
  if (states_[work].ended) {
    if (states_[work].work_end_ns > states_[index].after_ns) {
      states_[index].after_ns = states_[work].work_end_ns;
      states_[index].after = work;
    }
    return;
  }
  waiters_.push_back({index, states_[work].waiters, false});
  states_[work].waiters = static_cast<uint32_t>(waiters_.size() - 1);
  ++states_[index].pending;
}

void RankSimulator::enqueue(uint32_t index, bool marker) {
  const HostCall& c = call(index);
  StreamState& stream = streams_[c.stream];
  DeviceState& device = devices_[stream.device];
  CallState& w = states_[index];
  w.marker = marker;
  w.after_ns = 0;
  const uint64_t latency_ns = c.latency_ns == kNever_ns ? launch_latency_ns_ : c.latency_ns;
  w.earliest_ns = marker ? clock_.now_ns : clock_.now_ns + latency_ns;
  if (stream.legacy_default) {
    for (const uint32_t other : device.active)
      if (other != c.stream && streams_[other].blocking) wait_for_work(index, streams_[other].tail);
  } else if (stream.blocking && device.legacy_stream != kNone) {
    wait_for_work(index, streams_[device.legacy_stream].tail);
  }
  if (stream.tail != kNone && !states_[stream.tail].ended) {
    states_[stream.tail].next_on_stream = index;
    ++w.pending;
  }
  stream.tail = index;
  if (stream.active_position == kNone) {
    stream.active_position = static_cast<uint32_t>(device.active.size());
    device.active.push_back(c.stream);
  }
}

// True when the thread has to wait for it.
bool RankSimulator::thread_waits_for(uint32_t thread, uint32_t work) {
  if (work == kNone || states_[work].ended) return false;
  waiters_.push_back({thread, states_[work].waiters, true});
  states_[work].waiters = static_cast<uint32_t>(waiters_.size() - 1);
  ++threads_[thread].pending;
  return true;
}

void RankSimulator::execute(uint32_t index) {
  const HostCall& c = call(index);
  states_[index].call_start_ns = clock_.now_ns;
  const uint64_t issued_ns = clock_.now_ns + c.cost_ns;
  // Until the wait is over the thread's state holds when the call was issued.
  threads_[c.thread].free_ns = issued_ns;
  bool waits = false;
  switch (c.kind) {
    case CallKind::kOther:
      break;
    case CallKind::kEnqueue:
      if (c.communication != kNone) {
        const uint32_t leader = program_.communications[c.communication].leader;
        if (leader != index && leader != kNone) break;  // the last call of the group puts it on the stream
      }
      enqueue(index, false);
      if (c.blocks) waits = thread_waits_for(c.thread, index);
      maybe_ready(index);
      break;
    case CallKind::kEventRecord:
      if (crosses_streams(c.stream)) {
        enqueue(index, true);
        states_[index].recorded = index;
        maybe_ready(index);
      } else {
        states_[index].recorded = streams_[c.stream].tail;
      }
      break;
    case CallKind::kStreamWait:
      if (c.record != kNone && states_[c.record].recorded != kNone && !states_[states_[c.record].recorded].ended) {
        enqueue(index, true);
        wait_for_work(index, states_[c.record].recorded);
        maybe_ready(index);
      }
      break;
    case CallKind::kEventSynchronize:
      if (c.record != kNone) waits = thread_waits_for(c.thread, states_[c.record].recorded);
      break;
    case CallKind::kStreamSynchronize:
      if (streams_[c.stream].legacy_default && crosses_streams(c.stream)) {
        enqueue(index, true);
        waits = thread_waits_for(c.thread, index);
        maybe_ready(index);
      } else {
        waits = thread_waits_for(c.thread, streams_[c.stream].tail);
      }
      break;
    case CallKind::kDeviceSynchronize:
      for (const uint32_t stream : devices_[streams_[c.stream].device].active)
        waits |= thread_waits_for(c.thread, streams_[stream].tail);
      break;
  }
  if (!waits) return_from(index, issued_ns + (c.kind == CallKind::kEnqueue ? 0 : c.return_ns));
}

void RankSimulator::handle(const ScheduledEvent& event) {
  switch (static_cast<What>(event.what)) {
    case What::kCall:
      execute(event.index);
      break;
    case What::kReady:
      request_engine(event.index);
      break;
    case What::kTail:
      release_engine(event.index);
      break;
    default:
      // A kernel that was slowed down or sped up ends at another time.
      if (states_[event.index].ended || states_[event.index].work_end_ns != clock_.now_ns) return;
      end(event.index);
      break;
  }
  ++events;
}

Simulation RankSimulator::result() const {
  Simulation result;
  const size_t count = program_.calls.size();
  result.events = events;
  result.call_start_ns.resize(count);
  result.call_end_ns.resize(count);
  result.work_start_ns.resize(count);
  result.work_end_ns.resize(count);
  result.launched_late.resize(count);
  result.work_held_by.resize(count);
  result.call_held_by.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    const CallState& state = states_[i];
    result.call_start_ns[i] = state.call_start_ns;
    result.call_end_ns[i] = state.call_end_ns;
    result.work_start_ns[i] = state.begun ? state.work_start_ns : kNever_ns;
    result.work_end_ns[i] = state.begun ? state.work_end_ns : kNever_ns;
    result.launched_late[i] = state.launched_late;
    result.work_held_by[i] = state.work_held_by;
    result.call_held_by[i] = call(i).kind == CallKind::kEventRecord ? kNone : state.call_held_by;
    if (state.call_end_ns == kNever_ns && result.error.empty())
      result.error = "host thread " + std::to_string(call(i).thread) + " waits for ever in call " + std::to_string(i) +
                     " of the trace";
  }
  for (const DeviceState& device : devices_)
    if (!device.active.empty() && result.error.empty())
      result.error = "stream " + std::to_string(device.active.front()) + " waits for ever";
  return result;
}

}  // namespace maya::predictor
