#include "predictor/simulator.h"

#include <algorithm>
#include <queue>

namespace maya::predictor {
namespace {

enum class What : uint8_t { kCall, kReady, kTail, kEnd };

struct Scheduled {
  uint64_t time_ns;
  uint64_t sequence;
  uint32_t call;
  What what;
  // The queue's top is the earliest.
  bool operator<(const Scheduled& other) const {
    return time_ns != other.time_ns ? time_ns > other.time_ns : sequence > other.sequence;
  }
};

// Somebody to tell when a piece of work has ended.
struct Waiter {
  uint32_t target;  // a call that enqueued work, or a host thread
  uint32_t next;
  bool is_thread;
};

// Work on a stream, by the index of the call that enqueued it.
struct Work {
  uint64_t earliest_ns = 0;  // launch latency
  uint64_t after_ns = 0;     // the latest end of what it waits for, apart from its stream
  uint32_t pending = 0;      // pieces of work that must end first, its predecessor on the stream included
  uint32_t waiters = kNone;
  uint32_t next_on_stream = kNone;
  bool ended = false;
  bool holds_engine = false;
  bool marker = false;  // takes no time: stream wait, or a record that stands for several streams
};

struct StreamState {
  uint32_t tail = kNone;          // last work enqueued, whether ended or not
  uint64_t last_end_ns = 0;       // of anything on it
  uint64_t last_work_end_ns = 0;  // of real work
  bool used = false;              // a real piece of work has ended on it
  uint32_t active_position = kNone;
};

struct ThreadState {
  uint32_t next = kNone;  // its next call
  uint64_t free_ns = 0;   // return of its last call
  uint32_t pending = 0;   // pieces of work that its current call waits for
  uint32_t next_waiter = kNone;
};

struct DeviceState {
  uint32_t compute_used_permille = 0;
  bool copy_in_busy = false;
  bool copy_out_busy = false;
  std::vector<uint32_t> waiting[3];  // by Engine, in order of service
  std::vector<uint32_t> active;      // streams with work that has not ended
  uint32_t legacy_stream = kNone;
};

class Simulator {
 public:
  Simulator(const Program& program, std::span<const uint64_t> durations) : program_(program), durations_(durations) {}

  Simulation run();

 private:
  const HostCall& call(uint32_t index) const { return program_.calls[index]; }
  void schedule(uint64_t time_ns, uint32_t index, What what) { queue_.push({time_ns, sequence_++, index, what}); }

  void prepare();
  void arrange(uint32_t thread);
  void execute(uint32_t index);
  void return_from(uint32_t index, uint64_t time_ns);
  void enqueue(uint32_t index, bool marker);
  bool crosses_streams(uint32_t stream) const;
  void wait_for_work(uint32_t index, uint32_t work);
  bool thread_waits_for(uint32_t thread, uint32_t work);
  void maybe_ready(uint32_t index);
  void request_engine(uint32_t index);
  bool fits(const HostCall& c, const DeviceState& device) const;
  void begin(uint32_t index);
  void end(uint32_t index);
  void release_engine(uint32_t index);
  void check_all_done();

  const Program& program_;
  std::span<const uint64_t> durations_;
  Simulation result_;
  std::priority_queue<Scheduled> queue_;
  uint64_t sequence_ = 0;
  uint64_t now_ns_ = 0;
  std::vector<uint32_t> next_in_thread_;
  std::vector<uint32_t> call_waiters_;  // first thread that waits for the call's return
  std::vector<uint32_t> recorded_;      // by kEventRecord call: the work that stands for the event
  std::vector<Work> work_;
  std::vector<Waiter> waiters_;
  std::vector<StreamState> streams_;
  std::vector<ThreadState> threads_;
  std::vector<DeviceState> devices_;
};

void Simulator::prepare() {
  const size_t count = program_.calls.size();
  result_.call_start_ns.assign(count, kNever_ns);
  result_.call_end_ns.assign(count, kNever_ns);
  result_.work_start_ns.assign(count, kNever_ns);
  result_.work_end_ns.assign(count, kNever_ns);
  result_.launched_late.assign(count, false);
  next_in_thread_.assign(count, kNone);
  call_waiters_.assign(count, kNone);
  recorded_.assign(count, kNone);
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
}

// Schedules the thread's next call, or lets the thread wait for the calls of other threads that come first.
void Simulator::arrange(uint32_t thread) {
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

void Simulator::return_from(uint32_t index, uint64_t time_ns) {
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

bool Simulator::crosses_streams(uint32_t stream) const {
  const SimulatedStream& s = program_.streams[stream];
  const DeviceState& device = devices_[s.device];
  if (s.legacy_default) {
    for (const uint32_t other : device.active)
      if (other != stream && program_.streams[other].blocking) return true;
    return false;
  }
  return s.blocking && device.legacy_stream != kNone && streams_[device.legacy_stream].active_position != kNone;
}

void Simulator::wait_for_work(uint32_t index, uint32_t work) {
  if (work == kNone) return;
  if (work_[work].ended) {
    work_[index].after_ns = std::max(work_[index].after_ns, result_.work_end_ns[work]);
    return;
  }
  waiters_.push_back({index, work_[work].waiters, false});
  work_[work].waiters = static_cast<uint32_t>(waiters_.size() - 1);
  ++work_[index].pending;
}

void Simulator::enqueue(uint32_t index, bool marker) {
  const HostCall& c = call(index);
  const SimulatedStream& s = program_.streams[c.stream];
  StreamState& stream = streams_[c.stream];
  DeviceState& device = devices_[s.device];
  Work& w = work_[index];
  w.marker = marker;
  const uint64_t latency_ns = c.latency_ns == kNever_ns ? program_.launch_latency_ns : c.latency_ns;
  w.earliest_ns = marker ? now_ns_ : now_ns_ + latency_ns;
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
bool Simulator::thread_waits_for(uint32_t thread, uint32_t work) {
  if (work == kNone || work_[work].ended) return false;
  waiters_.push_back({thread, work_[work].waiters, true});
  work_[work].waiters = static_cast<uint32_t>(waiters_.size() - 1);
  ++threads_[thread].pending;
  return true;
}

void Simulator::execute(uint32_t index) {
  const HostCall& c = call(index);
  result_.call_start_ns[index] = now_ns_;
  const uint64_t issued_ns = now_ns_ + c.cost_ns;
  // Until the wait is over the thread's state holds when the call was issued.
  threads_[c.thread].free_ns = issued_ns;
  bool waits = false;
  switch (c.kind) {
    case CallKind::kOther:
      break;
    case CallKind::kEnqueue:
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
void Simulator::maybe_ready(uint32_t index) {
  Work& w = work_[index];
  if (w.pending != 0) return;
  const StreamState& stream = streams_[call(index).stream];
  uint64_t others = std::max(w.after_ns, stream.last_end_ns);
  const HostCall& c = call(index);
  const uint64_t gap_ns = c.queued_gap_ns == kNever_ns ? program_.queued_gap_ns : c.queued_gap_ns;
  if (stream.used && !w.marker) others = std::max(others, stream.last_work_end_ns + gap_ns);
  const uint64_t ready = std::max({w.earliest_ns, others, now_ns_});
  result_.launched_late[index] = !w.marker && w.earliest_ns > others;
  if (ready > now_ns_) {
    schedule(ready, index, What::kReady);
  } else {
    request_engine(index);
  }
}

bool Simulator::fits(const HostCall& c, const DeviceState& device) const {
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

void Simulator::request_engine(uint32_t index) {
  if (work_[index].marker) {
    result_.work_start_ns[index] = now_ns_;
    result_.work_end_ns[index] = now_ns_;
    schedule(now_ns_, index, What::kEnd);
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
  const auto place = std::upper_bound(
      waiting.begin(), waiting.end(), s.priority,
      [&](int32_t priority, uint32_t other) { return priority < program_.streams[call(other).stream].priority; });
  waiting.insert(place, index);
}

void Simulator::begin(uint32_t index) {
  const HostCall& c = call(index);
  DeviceState& device = devices_[program_.streams[c.stream].device];
  if (c.engine == Engine::kCompute) device.compute_used_permille += c.width_permille;
  if (c.engine == Engine::kCopyIn) device.copy_in_busy = true;
  if (c.engine == Engine::kCopyOut) device.copy_out_busy = true;
  const uint64_t duration = durations_.empty() ? c.duration_ns : durations_[index];
  result_.work_start_ns[index] = now_ns_;
  result_.work_end_ns[index] = now_ns_ + duration;
  work_[index].holds_engine = true;
  if (c.engine == Engine::kCompute && c.tail_permille > 0 && c.tail_permille < kWholeDevice_permille)
    schedule(now_ns_ + duration - duration / kWholeDevice_permille * c.tail_permille, index, What::kTail);
  schedule(now_ns_ + duration, index, What::kEnd);
}

void Simulator::release_engine(uint32_t index) {
  if (!work_[index].holds_engine) return;
  work_[index].holds_engine = false;
  const HostCall& c = call(index);
  DeviceState& device = devices_[program_.streams[c.stream].device];
  if (c.engine == Engine::kCommunication || c.engine == Engine::kHost) return;
  if (c.engine == Engine::kCompute) device.compute_used_permille -= c.width_permille;
  if (c.engine == Engine::kCopyIn) device.copy_in_busy = false;
  if (c.engine == Engine::kCopyOut) device.copy_out_busy = false;
  std::vector<uint32_t>& waiting = device.waiting[static_cast<int>(c.engine)];
  while (!waiting.empty() && fits(call(waiting.front()), device)) {
    const uint32_t next = waiting.front();
    waiting.erase(waiting.begin());
    begin(next);
  }
}

void Simulator::end(uint32_t index) {
  const HostCall& c = call(index);
  Work& w = work_[index];
  w.ended = true;
  StreamState& stream = streams_[c.stream];
  stream.last_end_ns = std::max(stream.last_end_ns, now_ns_);
  if (!w.marker) {
    stream.used = true;
    stream.last_work_end_ns = now_ns_;
    release_engine(index);
  }
  if (stream.tail == index) {
    DeviceState& device = devices_[program_.streams[c.stream].device];
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
      work_[waiter.target].after_ns = std::max(work_[waiter.target].after_ns, now_ns_);
      --work_[waiter.target].pending;
      maybe_ready(waiter.target);
    } else if (--threads_[waiter.target].pending == 0) {
      ThreadState& thread = threads_[waiter.target];
      return_from(thread.next, std::max(thread.free_ns, now_ns_) + call(thread.next).return_ns);
    }
  }
}

void Simulator::check_all_done() {
  for (uint32_t i = 0; i < program_.calls.size(); ++i) {
    if (result_.call_end_ns[i] != kNever_ns) continue;
    result_.error = "host thread " + std::to_string(call(i).thread) + " waits for ever in call " + std::to_string(i) +
                    " of the trace";
    return;
  }
  for (const DeviceState& device : devices_) {
    if (device.active.empty()) continue;
    result_.error = "stream " + std::to_string(device.active.front()) + " waits for ever";
    return;
  }
}

Simulation Simulator::run() {
  prepare();
  for (uint32_t thread = 0; thread < program_.threads; ++thread) arrange(thread);
  while (!queue_.empty()) {
    const Scheduled next = queue_.top();
    queue_.pop();
    now_ns_ = next.time_ns;
    ++result_.events;
    switch (next.what) {
      case What::kCall:
        execute(next.call);
        break;
      case What::kReady:
        request_engine(next.call);
        break;
      case What::kTail:
        release_engine(next.call);
        break;
      case What::kEnd:
        end(next.call);
        break;
    }
  }
  check_all_done();
  return std::move(result_);
}

}  // namespace

Simulation simulate(const Program& program, std::span<const uint64_t> durations) {
  return Simulator(program, durations).run();
}

}  // namespace maya::predictor
