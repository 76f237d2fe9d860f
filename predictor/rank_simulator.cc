#include "predictor/rank_simulator.h"

#include <algorithm>

#include "predictor/transfers.h"

namespace maya::predictor {

RankSimulator::RankSimulator(uint32_t number, const Program& program, std::span<const uint64_t> durations,
                             uint64_t compute_speed, SimulationClock* clock, Transfers* transfers)
    : number_(number),
      program_(program),
      durations_(durations),
      compute_speed_(compute_speed),
      clock_(*clock),
      transfers_(*transfers) {
  const size_t count = program_.calls.size();
  result_.call_start_ns.assign(count, kNever_ns);
  result_.call_end_ns.assign(count, kNever_ns);
  result_.work_start_ns.assign(count, kNever_ns);
  result_.work_end_ns.assign(count, kNever_ns);
  result_.launched_late.assign(count, false);
  next_in_thread_.assign(count, kNone);
  call_waiters_.assign(count, kNone);
  recorded_.assign(count, kNone);
  result_.matched_ns.assign(program_.communications.size(), kNever_ns);
  result_.work_held_by.assign(count, kNone);
  result_.call_held_by.assign(count, kNone);
  work_.resize(count);
  streams_.resize(program_.streams.size());
  threads_.resize(program_.threads);
  devices_.resize(program_.devices);
  for (uint32_t i = 0; i < program_.streams.size(); ++i)
    if (program_.streams[i].legacy_default) devices_[program_.streams[i].device].legacy_stream = i;
  std::vector<uint32_t> last(program_.threads, kNone);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t thread = call(i).thread;
    (last[thread] == kNone ? threads_[thread].next : next_in_thread_[last[thread]]) = i;
    last[thread] = i;
  }
  if (program_.communications.empty()) return;
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
    if (first == kNone || result_.call_end_ns[first] != kNever_ns) continue;
    state.next_waiter = call_waiters_[first];
    call_waiters_[first] = thread;
    return;
  }
  uint64_t start = state.free_ns;
  if (c.after != kNone) start = std::max(start, result_.call_end_ns[c.after]);
  start += c.gap_ns;
  if (c.record != kNone) start = std::max(start, result_.call_end_ns[c.record]);
  schedule(start, state.next, What::kCall);
}

void RankSimulator::return_from(uint32_t index, uint64_t time_ns) {
  result_.call_end_ns[index] = time_ns;
  const uint32_t thread = call(index).thread;
  threads_[thread].free_ns = time_ns;
  threads_[thread].next = next_in_thread_[index];
  arrange(thread);
  for (uint32_t waiting = call_waiters_[index]; waiting != kNone;) {
    const uint32_t next = threads_[waiting].next_waiter;
    arrange(waiting);
    waiting = next;
  }
}

bool RankSimulator::crosses_streams(uint32_t stream) const {
  const SimulatedStream& s = program_.streams[stream];
  const DeviceState& device = devices_[s.device];
  if (s.legacy_default) {
    for (const uint32_t other : device.active)
      if (other != stream && program_.streams[other].blocking) return true;
    return false;
  }
  return s.blocking && device.legacy_stream != kNone && streams_[device.legacy_stream].active_position != kNone;
}

void RankSimulator::wait_for_work(uint32_t index, uint32_t work) {
  if (work == kNone) return;
  if (work_[work].ended) {
    if (result_.work_end_ns[work] > work_[index].after_ns) {
      work_[index].after_ns = result_.work_end_ns[work];
      work_[index].after = work;
    }
    return;
  }
  waiters_.push_back({index, work_[work].waiters, false});
  work_[work].waiters = static_cast<uint32_t>(waiters_.size() - 1);
  ++work_[index].pending;
}

void RankSimulator::enqueue(uint32_t index, bool marker) {
  const HostCall& c = call(index);
  const SimulatedStream& s = program_.streams[c.stream];
  StreamState& stream = streams_[c.stream];
  DeviceState& device = devices_[s.device];
  Work& w = work_[index];
  w.marker = marker;
  const uint64_t latency_ns = c.latency_ns == kNever_ns ? program_.launch_latency_ns : c.latency_ns;
  w.earliest_ns = marker ? clock_.now_ns : clock_.now_ns + latency_ns;
  if (s.legacy_default) {
    for (const uint32_t other : device.active)
      if (other != c.stream && program_.streams[other].blocking) wait_for_work(index, streams_[other].tail);
  } else if (s.blocking && device.legacy_stream != kNone) {
    wait_for_work(index, streams_[device.legacy_stream].tail);
  }
  if (stream.tail != kNone && !work_[stream.tail].ended) {
    work_[stream.tail].next_on_stream = index;
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
  if (work == kNone || work_[work].ended) return false;
  waiters_.push_back({thread, work_[work].waiters, true});
  work_[work].waiters = static_cast<uint32_t>(waiters_.size() - 1);
  ++threads_[thread].pending;
  return true;
}

void RankSimulator::execute(uint32_t index) {
  const HostCall& c = call(index);
  result_.call_start_ns[index] = clock_.now_ns;
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
        recorded_[index] = index;
        maybe_ready(index);
      } else {
        recorded_[index] = streams_[c.stream].tail;
      }
      break;
    case CallKind::kStreamWait:
      if (c.record != kNone && recorded_[c.record] != kNone && !work_[recorded_[c.record]].ended) {
        enqueue(index, true);
        wait_for_work(index, recorded_[c.record]);
        maybe_ready(index);
      }
      break;
    case CallKind::kEventSynchronize:
      if (c.record != kNone) waits = thread_waits_for(c.thread, recorded_[c.record]);
      break;
    case CallKind::kStreamSynchronize:
      if (program_.streams[c.stream].legacy_default && crosses_streams(c.stream)) {
        enqueue(index, true);
        waits = thread_waits_for(c.thread, index);
        maybe_ready(index);
      } else {
        waits = thread_waits_for(c.thread, streams_[c.stream].tail);
      }
      break;
    case CallKind::kDeviceSynchronize:
      for (const uint32_t stream : devices_[program_.streams[c.stream].device].active)
        waits |= thread_waits_for(c.thread, streams_[stream].tail);
      break;
  }
  if (!waits) return_from(index, issued_ns + (c.kind == CallKind::kEnqueue ? 0 : c.return_ns));
}

// Called whenever something that the work waited for has ended, and once after it was enqueued.
void RankSimulator::maybe_ready(uint32_t index) {
  Work& w = work_[index];
  if (w.pending != 0) return;
  const StreamState& stream = streams_[call(index).stream];
  uint64_t others = std::max(w.after_ns, stream.last_end_ns);
  uint32_t held_by = w.after_ns >= stream.last_end_ns && w.after != kNone ? w.after : stream.last_ended;
  const HostCall& c = call(index);
  const uint64_t gap_ns = c.queued_gap_ns == kNever_ns ? program_.queued_gap_ns : c.queued_gap_ns;
  if (stream.last_work != kNone && !w.marker && stream.last_work_end_ns + gap_ns > others) {
    others = stream.last_work_end_ns + gap_ns;
    held_by = stream.last_work;
  }
  const uint64_t ready = std::max({w.earliest_ns, others, clock_.now_ns});
  result_.launched_late[index] = !w.marker && w.earliest_ns > others;
  result_.work_held_by[index] = w.earliest_ns > others ? kNone : held_by;
  if (ready > clock_.now_ns) {
    schedule(ready, index, What::kReady);
  } else {
    request_engine(index);
  }
}

bool RankSimulator::fits(const HostCall& c, const DeviceState& device) const {
  switch (c.engine) {
    case Engine::kCompute:
      return device.compute_used_permille + std::max(c.width_permille, 1u) <= kWholeDevice_permille;
    case Engine::kCopyIn:
      return !device.copy_in_busy;
    case Engine::kCopyOut:
      return !device.copy_out_busy;
    case Engine::kCommunication:
    case Engine::kHost:
      return true;
  }
  return true;
}

void RankSimulator::request_engine(uint32_t index) {
  if (work_[index].marker) {
    result_.work_start_ns[index] = clock_.now_ns;
    result_.work_end_ns[index] = clock_.now_ns;
    schedule(clock_.now_ns, index, What::kEnd);
    return;
  }
  const HostCall& c = call(index);
  const SimulatedStream& s = program_.streams[c.stream];
  DeviceState& device = devices_[s.device];
  if (c.engine == Engine::kCommunication || c.engine == Engine::kHost) {
    begin(index);
    return;
  }
  std::vector<uint32_t>& waiting = device.waiting[static_cast<int>(c.engine)];
  if (waiting.empty() && fits(c, device)) {
    begin(index);
    return;
  }
  result_.launched_late[index] = false;
  // Whoever releases the engine is noted when the work begins.
  const auto place = std::upper_bound(
      waiting.begin(), waiting.end(), s.priority,
      [&](int32_t priority, uint32_t other) { return priority < program_.streams[call(other).stream].priority; });
  waiting.insert(place, index);
}

void RankSimulator::begin(uint32_t index) {
  const HostCall& c = call(index);
  DeviceState& device = device_of_call(c);
  if (c.engine == Engine::kCopyIn) device.copy_in_busy = true;
  if (c.engine == Engine::kCopyOut) device.copy_out_busy = true;
  result_.work_start_ns[index] = clock_.now_ns;
  work_[index].holds_engine = true;
  if (c.communication != kNone && c.engine == Engine::kCommunication) {
    begin_communication(index);
    return;
  }
  const uint64_t duration_ns = duration_of(index);
  if (c.engine == Engine::kCompute) {
    device.compute_used_permille += c.width_permille;
    if (!program_.communications.empty()) {
      begin_kernel(index, duration_ns);
      return;
    }
  }
  begin_timed(index, duration_ns);
}

void RankSimulator::begin_timed(uint32_t index, uint64_t duration_ns) {
  const HostCall& c = call(index);
  result_.work_end_ns[index] = clock_.now_ns + duration_ns;
  if (c.engine == Engine::kCompute && c.tail_permille > 0 && c.tail_permille < kWholeDevice_permille)
    schedule(clock_.now_ns + duration_ns - duration_ns / kWholeDevice_permille * c.tail_permille, index, What::kTail);
  schedule(clock_.now_ns + duration_ns, index, What::kEnd);
}

// A kernel beside which data may be transferred. Its tail keeps the time that it would have alone.
void RankSimulator::begin_kernel(uint32_t index, uint64_t duration_ns) {
  const uint32_t number = program_.streams[call(index).stream].device;
  DeviceState& device = devices_[number];
  if (device.kernels++ == 0) transfers_.set_computing(number_, number, true);
  if (compute_speed_ == kFullSpeed) {
    begin_timed(index, duration_ns);
    return;
  }
  RunningKernel& kernel = device.running.emplace_back();
  kernel.call = index;
  kernel.progress.begin(clock_.now_ns, duration_ns, device.transferring ? compute_speed_ : kFullSpeed);
  begin_timed(index, kernel.progress.end_ns() - clock_.now_ns);
}

void RankSimulator::end_kernel(uint32_t index) {
  const uint32_t number = program_.streams[call(index).stream].device;
  DeviceState& device = devices_[number];
  if (--device.kernels == 0) transfers_.set_computing(number_, number, false);
  const auto running = std::find_if(device.running.begin(), device.running.end(),
                                    [&](const RunningKernel& kernel) { return kernel.call == index; });
  if (running != device.running.end()) device.running.erase(running);
}

void RankSimulator::set_transferring(uint32_t number, bool transferring) {
  DeviceState& device = devices_[number];
  device.transferring = transferring;
  for (RunningKernel& kernel : device.running) {
    kernel.progress.set_speed(clock_.now_ns, transferring ? compute_speed_ : kFullSpeed);
    result_.work_end_ns[kernel.call] = kernel.progress.end_ns();
    schedule(kernel.progress.end_ns(), kernel.call, What::kEnd);
  }
}

// All communications of the group begin, this one being their leader.
void RankSimulator::begin_communication(uint32_t index) {
  const uint32_t leader = call(index).communication;
  work_[index].parts = 1;
  for (uint32_t i = first_in_unit_[leader]; i != kNone; i = first_in_unit_[i]) ++work_[index].parts;
  for (uint32_t i = first_in_unit_[leader]; i != kNone; i = first_in_unit_[i]) {
    const uint32_t member = program_.communications[i].call;
    result_.work_start_ns[member] = clock_.now_ns;
    result_.work_held_by[member] = result_.work_held_by[index];
    result_.launched_late[member] = result_.launched_late[index];
    transfers_.arrive(number_, i);
  }
  transfers_.arrive(number_, leader);
}

void RankSimulator::part_ended(uint32_t communication) {
  const Communication& c = program_.communications[communication];
  const uint32_t leader = c.leader == kNone ? c.call : c.leader;
  result_.work_end_ns[c.call] = clock_.now_ns;
  if (--work_[leader].parts != 0) return;
  result_.work_end_ns[leader] = clock_.now_ns;
  ++events;
  end(leader);
}

void RankSimulator::release_engine(uint32_t index) {
  if (!work_[index].holds_engine) return;
  work_[index].holds_engine = false;
  const HostCall& c = call(index);
  DeviceState& device = device_of_call(c);
  if (c.engine == Engine::kCommunication || c.engine == Engine::kHost) return;
  if (c.engine == Engine::kCompute) device.compute_used_permille -= c.width_permille;
  if (c.engine == Engine::kCopyIn) device.copy_in_busy = false;
  if (c.engine == Engine::kCopyOut) device.copy_out_busy = false;
  std::vector<uint32_t>& waiting = device.waiting[static_cast<int>(c.engine)];
  while (!waiting.empty() && fits(call(waiting.front()), device)) {
    const uint32_t next = waiting.front();
    waiting.erase(waiting.begin());
    result_.work_held_by[next] = index;
    begin(next);
  }
}

void RankSimulator::end(uint32_t index) {
  const HostCall& c = call(index);
  Work& w = work_[index];
  w.ended = true;
  StreamState& stream = streams_[c.stream];
  stream.last_end_ns = clock_.now_ns;
  stream.last_ended = index;
  if (!w.marker) {
    stream.last_work = index;
    stream.last_work_end_ns = clock_.now_ns;
    if (c.engine == Engine::kCompute && !program_.communications.empty()) end_kernel(index);
    release_engine(index);
  }
  if (stream.tail == index) {
    DeviceState& device = device_of_call(c);
    const uint32_t moved = device.active.back();
    device.active[stream.active_position] = moved;
    streams_[moved].active_position = stream.active_position;
    device.active.pop_back();
    stream.active_position = kNone;
  }
  if (w.next_on_stream != kNone) {
    --work_[w.next_on_stream].pending;
    maybe_ready(w.next_on_stream);
  }
  for (uint32_t i = w.waiters; i != kNone;) {
    const Waiter waiter = waiters_[i];
    i = waiter.next;
    if (!waiter.is_thread) {
      work_[waiter.target].after_ns = clock_.now_ns;
      work_[waiter.target].after = index;
      --work_[waiter.target].pending;
      maybe_ready(waiter.target);
    } else if (--threads_[waiter.target].pending == 0) {
      ThreadState& thread = threads_[waiter.target];
      if (clock_.now_ns > thread.free_ns) result_.call_held_by[thread.next] = index;
      return_from(thread.next, std::max(thread.free_ns, clock_.now_ns) + call(thread.next).return_ns);
    }
  }
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
      if (work_[event.index].ended || result_.work_end_ns[event.index] != clock_.now_ns) return;
      end(event.index);
      break;
  }
  ++events;
}

bool RankSimulator::finish() {
  result_.events = events;
  for (uint32_t i = 0; i < program_.calls.size(); ++i) {
    if (result_.call_end_ns[i] != kNever_ns) continue;
    result_.error = "host thread " + std::to_string(call(i).thread) + " waits for ever in call " + std::to_string(i) +
                    " of the trace";
    return false;
  }
  for (const DeviceState& device : devices_) {
    if (device.active.empty()) continue;
    result_.error = "stream " + std::to_string(device.active.front()) + " waits for ever";
    return false;
  }
  return true;
}

}  // namespace maya::predictor
