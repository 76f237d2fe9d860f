// The device side of a process in a simulation: work on streams and engines.
#include <algorithm>

#include "predictor/rank_simulator.h"
#include "predictor/transfers.h"

namespace maya::predictor {

// Called whenever something that the work waited for has ended, and once after it was enqueued.
void RankSimulator::maybe_ready(uint32_t index) {
  CallState& w = states_[index];
  if (w.pending != 0) return;
  const StreamState& stream = streams_[call(index).stream];
  uint64_t others = std::max(w.after_ns, stream.last_end_ns);
  uint32_t held_by = w.after_ns >= stream.last_end_ns && w.after != kNone ? w.after : stream.last_ended;
  const HostCall& c = call(index);
  const uint64_t gap_ns = c.queued_gap_ns == kNever_ns ? queued_gap_ns_ : c.queued_gap_ns;
  if (stream.last_work != kNone && !w.marker && stream.last_work_end_ns + gap_ns > others) {
    others = stream.last_work_end_ns + gap_ns;
    held_by = stream.last_work;
  }
  const uint64_t ready = std::max({w.earliest_ns, others, clock_.now_ns});
  w.launched_late = !w.marker && w.earliest_ns > others;
  w.work_held_by = w.earliest_ns > others ? kNone : held_by;
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
  if (states_[index].marker) {
    states_[index].begun = true;
    states_[index].work_start_ns = states_[index].work_end_ns = clock_.now_ns;
    schedule(clock_.now_ns, index, What::kEnd);
    return;
  }
  const HostCall& c = call(index);
  const StreamState& s = streams_[c.stream];
  DeviceState& device = devices_[s.device];
  if (c.engine == Engine::kCommunication || c.engine == Engine::kHost) {
    begin(index);
    return;
  }
  auto& waiting = device.waiting[static_cast<int>(c.engine)];
  if (waiting.empty() && fits(c, device)) {
    begin(index);
    return;
  }
  states_[index].launched_late = false;
  // Whoever releases the engine is noted when the work begins.
  const auto place = std::upper_bound(
      waiting.begin(), waiting.end(), s.priority,
      [&](int32_t priority, uint32_t other) { return priority < streams_[call(other).stream].priority; });
  waiting.insert(place, index);
}

void RankSimulator::begin(uint32_t index) {
  const HostCall& c = call(index);
  DeviceState& device = device_of_call(c);
  if (c.engine == Engine::kCopyIn) device.copy_in_busy = true;
  if (c.engine == Engine::kCopyOut) device.copy_out_busy = true;
  CallState& w = states_[index];
  w.begun = true;
  w.work_start_ns = clock_.now_ns;
  w.work_end_ns = kNever_ns;
  w.holds_engine = true;
  if (c.communication != kNone && c.engine == Engine::kCommunication) {
    begin_communication(index);
    return;
  }
  const uint64_t duration_ns = duration_of(index);
  if (c.engine == Engine::kCompute) {
    device.compute_used_permille += c.width_permille;
    if (communicates_) {
      begin_kernel(index, duration_ns);
      return;
    }
  }
  begin_timed(index, duration_ns);
}

void RankSimulator::begin_timed(uint32_t index, uint64_t duration_ns) {
  const HostCall& c = call(index);
  states_[index].work_end_ns = clock_.now_ns + duration_ns;
  if (c.engine == Engine::kCompute && c.tail_permille > 0 && c.tail_permille < kWholeDevice_permille)
    schedule(clock_.now_ns + duration_ns - duration_ns / kWholeDevice_permille * c.tail_permille, index, What::kTail);
  schedule(clock_.now_ns + duration_ns, index, What::kEnd);
}

// A kernel beside which data may be transferred. Its tail keeps the time that it would have alone.
void RankSimulator::begin_kernel(uint32_t index, uint64_t duration_ns) {
  const uint32_t number = streams_[call(index).stream].device;
  DeviceState& device = devices_[number];
  if (device.kernels++ == 0) transfers_.set_computing(number_, number, true);
  if (compute_speed_ == kFullSpeed) {
    begin_timed(index, duration_ns);
    return;
  }
  RunningKernel kernel{index, {}};
  kernel.progress.begin(clock_.now_ns, duration_ns, device.transferring ? compute_speed_ : kFullSpeed);
  device.running.push_back(kernel);
  begin_timed(index, kernel.progress.end_ns() - clock_.now_ns);
}

void RankSimulator::end_kernel(uint32_t index) {
  const uint32_t number = streams_[call(index).stream].device;
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
    states_[kernel.call].work_end_ns = kernel.progress.end_ns();
    schedule(kernel.progress.end_ns(), kernel.call, What::kEnd);
  }
}

// All communications of the group begin, this one being their leader.
void RankSimulator::begin_communication(uint32_t index) {
  const uint32_t leader = call(index).communication;
  states_[index].parts = 1;
  for (uint32_t i = first_in_unit_[leader]; i != kNone; i = first_in_unit_[i]) ++states_[index].parts;
  for (uint32_t i = first_in_unit_[leader]; i != kNone; i = first_in_unit_[i]) {
    const uint32_t member = program_.communications[i].call;
    states_[member].begun = true;
    states_[member].work_start_ns = clock_.now_ns;
    states_[member].work_held_by = states_[index].work_held_by;
    states_[member].launched_late = states_[index].launched_late;
    transfers_.arrive(number_, i);
  }
  transfers_.arrive(number_, leader);
}

void RankSimulator::part_ended(uint32_t communication) {
  const Communication& c = program_.communications[communication];
  const uint32_t leader = c.leader == kNone ? c.call : c.leader;
  states_[c.call].work_end_ns = clock_.now_ns;
  if (--states_[leader].parts != 0) return;
  states_[leader].work_end_ns = clock_.now_ns;
  ++events;
  end(leader);
}

void RankSimulator::release_engine(uint32_t index) {
  if (!states_[index].holds_engine) return;
  states_[index].holds_engine = false;
  const HostCall& c = call(index);
  DeviceState& device = device_of_call(c);
  if (c.engine == Engine::kCommunication || c.engine == Engine::kHost) return;
  if (c.engine == Engine::kCompute) device.compute_used_permille -= c.width_permille;
  if (c.engine == Engine::kCopyIn) device.copy_in_busy = false;
  if (c.engine == Engine::kCopyOut) device.copy_out_busy = false;
  auto& waiting = device.waiting[static_cast<int>(c.engine)];
  while (!waiting.empty() && fits(call(waiting.front()), device)) {
    const uint32_t next = waiting.front();
    waiting.erase(waiting.begin());
    states_[next].work_held_by = index;
    begin(next);
  }
}

void RankSimulator::end(uint32_t index) {
  const HostCall& c = call(index);
  CallState& w = states_[index];
  w.ended = true;
  StreamState& stream = streams_[c.stream];
  stream.last_end_ns = clock_.now_ns;
  stream.last_ended = index;
  if (!w.marker) {
    stream.last_work = index;
    stream.last_work_end_ns = clock_.now_ns;
    if (c.engine == Engine::kCompute && communicates_) end_kernel(index);
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
    --states_[w.next_on_stream].pending;
    maybe_ready(w.next_on_stream);
  }
  for (uint32_t i = w.waiters; i != kNone;) {
    const Waiter waiter = waiters_[i];
    i = waiter.next;
    if (!waiter.is_thread) {
      states_[waiter.target].after_ns = clock_.now_ns;
      states_[waiter.target].after = index;
      --states_[waiter.target].pending;
      maybe_ready(waiter.target);
    } else if (--threads_[waiter.target].pending == 0) {
      ThreadState& thread = threads_[waiter.target];
      if (clock_.now_ns > thread.free_ns) states_[thread.next].call_held_by = index;
      return_from(thread.next, std::max(thread.free_ns, clock_.now_ns) + call(thread.next).return_ns);
    }
  }
}

}  // namespace maya::predictor
