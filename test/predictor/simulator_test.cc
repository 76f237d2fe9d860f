// Schedules calculated by hand. Times in nanoseconds; unless a test says otherwise a launch costs the host 10, the
// launch latency is 20 and the gap between queued work 2.
#include "predictor/simulator.h"

#include <catch2/catch.hpp>

using namespace maya::predictor;

namespace {

struct Schedule {
  Program program;

  Schedule() {
    program.threads = 1;
    program.launch_latency_ns = 20;
    program.queued_gap_ns = 2;
    stream(true);
    program.streams[0].legacy_default = true;
  }
  uint32_t stream(bool blocking, int32_t priority = 0) {
    program.streams.push_back({0, priority, blocking, false});
    return static_cast<uint32_t>(program.streams.size() - 1);
  }
  uint32_t add(CallKind kind, uint32_t stream, uint64_t gap, uint64_t cost) {
    HostCall call;
    call.kind = kind;
    call.stream = stream;
    call.gap_ns = gap;
    call.cost_ns = cost;
    program.calls.push_back(call);
    return static_cast<uint32_t>(program.calls.size() - 1);
  }
  uint32_t launch(uint32_t stream, uint64_t duration, uint64_t gap = 0, Engine engine = Engine::kCompute) {
    const uint32_t i = add(CallKind::kEnqueue, stream, gap, 10);
    program.calls[i].duration_ns = duration;
    program.calls[i].engine = engine;
    return i;
  }
  uint32_t wait(CallKind kind, uint32_t stream, uint32_t record) {
    const uint32_t i = add(kind, stream, 0, 1);
    program.calls[i].record = record;
    return i;
  }
};

}  // namespace

TEST_CASE("device-bound: queued kernels follow each other after the queued gap") {
  Schedule s;
  const uint32_t a = s.launch(0, 100), b = s.launch(0, 50), c = s.launch(0, 50);
  const Simulation r = simulate(s.program);
  REQUIRE(r.error.empty());
  // Calls at 0, 10, 20. a: 0 + 20 = 20 .. 120; b: max(10 + 20, 120 + 2) = 122 .. 172; c: 174 .. 224.
  CHECK(r.call_start_ns == std::vector<uint64_t>{0, 10, 20});
  CHECK(r.call_end_ns == std::vector<uint64_t>{10, 20, 30});
  CHECK(r.work_start_ns[a] == 20);
  CHECK(r.work_end_ns[a] == 120);
  CHECK(r.work_start_ns[b] == 122);
  CHECK(r.work_end_ns[b] == 172);
  CHECK(r.work_start_ns[c] == 174);
  CHECK(r.work_end_ns[c] == 224);
  CHECK(r.launched_late[a]);
  CHECK_FALSE(r.launched_late[b]);
}

TEST_CASE("host-bound: short kernels start one launch latency after their call") {
  Schedule s;
  const uint32_t a = s.launch(0, 5), b = s.launch(0, 5, 90), c = s.launch(0, 5, 90);
  const Simulation r = simulate(s.program);
  // Calls at 0, 10 + 90 = 100, 200; kernels at 20, 120, 220.
  CHECK(r.work_start_ns[a] == 20);
  CHECK(r.work_start_ns[b] == 120);
  CHECK(r.work_start_ns[c] == 220);
  CHECK(r.launched_late[b]);
  CHECK(r.launched_late[c]);
}

TEST_CASE("two streams and an event wait") {
  Schedule s;
  const uint32_t one = s.stream(false), two = s.stream(false);
  const uint32_t a = s.launch(one, 100, 0, Engine::kCommunication);
  const uint32_t record = s.add(CallKind::kEventRecord, one, 0, 1);
  s.wait(CallKind::kStreamWait, two, record);
  const uint32_t b = s.launch(two, 30);
  const uint32_t c = s.launch(one, 10, 0, Engine::kCommunication);
  const Simulation r = simulate(s.program);
  // a: call 0, runs 20 .. 120. Record 10, wait 11, b called at 12: earliest 32, but stream two is held until 120: 120
  // .. 150 (the first work of its stream has no queued gap). c called at 22: max(42, 120 + 2) = 122 .. 132.
  CHECK(r.work_end_ns[a] == 120);
  CHECK(r.work_start_ns[b] == 120);
  CHECK(r.work_end_ns[b] == 150);
  CHECK(r.work_start_ns[c] == 122);
  CHECK_FALSE(r.launched_late[b]);
}

TEST_CASE("an event that was never recorded, or whose work has ended, holds nothing") {
  Schedule s;
  const uint32_t one = s.stream(false), two = s.stream(false);
  s.launch(one, 10);
  const uint32_t record = s.add(CallKind::kEventRecord, one, 0, 0);
  s.wait(CallKind::kStreamWait, two, kNone);
  const uint32_t b = s.launch(two, 10, 500);
  s.wait(CallKind::kStreamWait, two, record);
  const uint32_t c = s.launch(two, 10);
  const Simulation r = simulate(s.program);
  CHECK(r.work_start_ns[b] == r.call_start_ns[b] + 20);
  CHECK(r.work_start_ns[c] == r.work_end_ns[b] + 2);
}

TEST_CASE("a record stands for what was on the stream when it was made") {
  Schedule s;
  const uint32_t one = s.stream(false), two = s.stream(false);
  const uint32_t a = s.launch(one, 100, 0, Engine::kCommunication);
  const uint32_t record = s.add(CallKind::kEventRecord, one, 0, 0);
  s.launch(one, 1000, 0, Engine::kCommunication);  // later than the record
  s.wait(CallKind::kStreamWait, two, record);
  const uint32_t b = s.launch(two, 10);
  const Simulation r = simulate(s.program);
  CHECK(r.work_start_ns[b] == r.work_end_ns[a]);
}

TEST_CASE("synchronisations hold the host until the work has ended") {
  Schedule s;
  const uint32_t one = s.stream(false), two = s.stream(false);
  s.launch(one, 100, 0, Engine::kCommunication);                     // call 0, 20 .. 120
  const uint32_t record = s.add(CallKind::kEventRecord, one, 0, 0);  // 10
  s.launch(two, 300, 0, Engine::kCommunication);                     // call 10, 30 .. 330
  s.launch(one, 50, 0, Engine::kCommunication);                      // call 20, 122 .. 172
  const uint32_t event_sync = s.wait(CallKind::kEventSynchronize, one, record);
  const uint32_t stream_sync = s.add(CallKind::kStreamSynchronize, one, 0, 1);
  const uint32_t device_sync = s.add(CallKind::kDeviceSynchronize, 0, 0, 1);
  const uint32_t idle_sync = s.add(CallKind::kDeviceSynchronize, 0, 0, 1);
  for (const uint32_t i : {event_sync, stream_sync, device_sync, idle_sync}) s.program.calls[i].return_ns = 7;
  const Simulation r = simulate(s.program);
  REQUIRE(r.error.empty());
  CHECK(r.call_start_ns[event_sync] == 30);
  CHECK(r.call_end_ns[event_sync] == 120 + 7);
  CHECK(r.call_end_ns[stream_sync] == 172 + 7);
  CHECK(r.call_end_ns[device_sync] == 330 + 7);
  CHECK(r.call_end_ns[idle_sync] == 337 + 1 + 7);  // nothing to wait for: cost and return only
}

TEST_CASE("a blocking copy holds the host, an asynchronous one overlaps with compute") {
  Schedule s;
  const uint32_t one = s.stream(false), two = s.stream(false);
  const uint32_t kernel = s.launch(one, 100);                       // call 0, 20 .. 120
  const uint32_t in = s.launch(two, 60, 0, Engine::kCopyIn);        // call 10, 30 .. 90
  const uint32_t in_again = s.launch(one, 40, 0, Engine::kCopyIn);  // call 20: its stream is busy until 120, 122 .. 162
  const uint32_t out = s.launch(two, 30, 0, Engine::kCopyOut);      // call 30, 92 .. 122
  s.program.calls[out].blocks = true;
  s.program.calls[out].return_ns = 3;
  const uint32_t last = s.launch(one, 1);
  const Simulation r = simulate(s.program);
  CHECK(r.work_start_ns[kernel] == 20);
  CHECK(r.work_start_ns[in] == 30);
  CHECK(r.work_end_ns[in] == 90);
  CHECK(r.work_start_ns[in_again] == 122);
  CHECK(r.work_start_ns[out] == 92);
  CHECK(r.call_end_ns[out] == 122 + 3);
  CHECK(r.call_start_ns[last] == 125);
}

TEST_CASE("one copy engine a direction") {
  Schedule s;
  const uint32_t one = s.stream(false), two = s.stream(false);
  const uint32_t a = s.launch(one, 100, 0, Engine::kCopyIn), b = s.launch(two, 100, 0, Engine::kCopyIn);
  const Simulation r = simulate(s.program);
  CHECK(r.work_end_ns[a] == 120);
  CHECK(r.work_start_ns[b] == 120);
}

TEST_CASE("kernels share the device while they fit, urgent streams go first") {
  Schedule s;
  const uint32_t low = s.stream(false, 0), small = s.stream(false, 0), urgent = s.stream(false, -1);
  const uint32_t wide = s.launch(low, 100);     // call 0: 20 .. 120, fills the device
  const uint32_t narrow = s.launch(small, 50);  // ready at 30, waits
  const uint32_t other = s.launch(urgent, 40);  // ready at 40, waits, but is served before
  s.program.calls[narrow].width_permille = 600;
  s.program.calls[other].width_permille = 600;
  const Simulation r = simulate(s.program);
  CHECK(r.work_end_ns[wide] == 120);
  CHECK(r.work_start_ns[other] == 120);
  CHECK(r.work_start_ns[narrow] == 160);  // 600 + 600 permille do not fit
  Schedule t;
  const uint32_t first = t.launch(t.stream(false), 100), second = t.launch(t.stream(false), 100);
  t.program.calls[first].width_permille = t.program.calls[second].width_permille = 500;
  const Simulation both = simulate(t.program);
  CHECK(both.work_start_ns[first] == 20);
  CHECK(both.work_start_ns[second] == 30);
}

TEST_CASE("legacy default stream and blocking streams wait for each other, non-blocking ones do not") {
  Schedule s;
  const uint32_t blocking = s.stream(true), free = s.stream(false);
  const uint32_t a = s.launch(blocking, 100, 0, Engine::kCommunication);  // call 0: 20 .. 120
  const uint32_t b = s.launch(0, 50, 0, Engine::kCommunication);          // call 10: legacy waits for a: 120 .. 170
  const uint32_t c = s.launch(blocking, 10, 0, Engine::kCommunication);   // call 20: waits for legacy: 170 .. 180
  const uint32_t d = s.launch(free, 10, 0, Engine::kCommunication);       // call 30: 50 .. 60
  const Simulation r = simulate(s.program);
  CHECK(r.work_end_ns[a] == 120);
  CHECK(r.work_start_ns[b] == 120);
  CHECK(r.work_end_ns[b] == 170);
  CHECK(r.work_start_ns[c] == 170);
  CHECK(r.work_start_ns[d] == 50);
}

TEST_CASE("synchronising the legacy default stream waits for blocking streams, and so does a record on it") {
  Schedule s;
  const uint32_t blocking = s.stream(true), other = s.stream(false);
  s.launch(blocking, 100, 0, Engine::kCommunication);  // 20 .. 120
  const uint32_t record = s.add(CallKind::kEventRecord, 0, 0, 1);
  s.wait(CallKind::kStreamWait, other, record);
  const uint32_t b = s.launch(other, 10, 0, Engine::kCommunication);
  const uint32_t sync = s.add(CallKind::kStreamSynchronize, 0, 0, 1);
  const Simulation r = simulate(s.program);
  CHECK(r.work_start_ns[b] == 120);
  CHECK(r.call_end_ns[sync] == 120);
}

TEST_CASE("a thread that slept goes on when the other's last call has returned") {
  Schedule s;
  s.program.threads = 2;
  const uint32_t a = s.launch(0, 10);     // thread 0, call 0 .. 10
  const uint32_t b = s.launch(0, 10, 5);  // thread 1: woken by a, 5 later
  const uint32_t c = s.launch(0, 10, 7);  // thread 0 again: woken by b
  s.program.calls[b].thread = 1;
  s.program.calls[b].after = a;
  s.program.calls[c].after = b;
  const Simulation r = simulate(s.program);
  CHECK(r.call_start_ns[b] == 15);
  CHECK(r.call_start_ns[c] == 32);  // b returned at 25
}

TEST_CASE("a wait for an event that another thread records waits for that call") {
  Schedule s;
  s.program.threads = 2;
  const uint32_t one = s.stream(false), two = s.stream(false);
  const uint32_t a = s.launch(one, 40, 100, Engine::kCommunication);  // thread 0: call 100, 120 .. 160
  const uint32_t record = s.add(CallKind::kEventRecord, one, 0, 1);   // thread 0: 110 .. 111
  const uint32_t wait = s.wait(CallKind::kStreamWait, two, record);   // thread 1: would be made at 0
  const uint32_t b = s.launch(two, 10, 0, Engine::kCommunication);
  s.program.calls[wait].thread = s.program.calls[b].thread = 1;
  const Simulation r = simulate(s.program);
  CHECK(r.call_start_ns[wait] == 111);
  CHECK(r.work_start_ns[b] == r.work_end_ns[a]);
}

TEST_CASE("a call that waits for itself is reported, not hung on") {
  Schedule s;
  s.launch(0, 10);
  s.launch(0, 10);
  s.program.calls[0].after = 1;  // never happens in a built program
  const Simulation r = simulate(s.program);
  CHECK(r.error == "host thread 0 waits for ever in call 0 of the trace");
}

TEST_CASE("a million waits in a row need no stack") {
  Schedule s;
  const uint32_t one = s.stream(false), two = s.stream(false);
  const uint32_t a = s.launch(one, 1'000'000'000, 0, Engine::kCommunication);
  const uint32_t record = s.add(CallKind::kEventRecord, one, 0, 0);
  for (int i = 0; i < 200'000; ++i) s.wait(CallKind::kStreamWait, two, record);
  const uint32_t b = s.launch(two, 10);
  const Simulation r = simulate(s.program);
  CHECK(r.work_start_ns[b] == r.work_end_ns[a]);
}

TEST_CASE("other durations for the same program") {
  Schedule s;
  const uint32_t a = s.launch(0, 100), b = s.launch(0, 100);
  const std::vector<uint64_t> durations = {50, 60};
  const Simulation r = simulate(s.program, durations);
  CHECK(r.work_end_ns[a] == 70);
  CHECK(r.work_end_ns[b] == 72 + 60);
}

TEST_CASE("a kernel of many waves lets the next one begin when its last blocks run") {
  Schedule s;
  const uint32_t one = s.stream(false), two = s.stream(false), three = s.stream(false);
  const uint32_t many = s.launch(one, 1000);  // 20 .. 1020; four waves: the last one begins at 770
  const uint32_t next = s.launch(two, 100);   // ready at 30
  const uint32_t same = s.launch(one, 100);   // on its own stream nothing changes
  s.program.calls[many].tail_permille = 250;
  const uint32_t small = s.launch(three, 10);  // ready at 50; holds nothing, but waits for such kernels
  s.program.calls[small].width_permille = 0;
  const Simulation r = simulate(s.program);
  CHECK(r.work_end_ns[many] == 1020);
  CHECK(r.work_start_ns[next] == 770);
  CHECK(r.work_start_ns[small] == 870);  // `next` fills the device until then
  CHECK(r.work_start_ns[same] == 1022);
}

TEST_CASE("kernels of no width run beside each other and let wide ones begin") {
  Schedule s;
  const uint32_t a = s.launch(s.stream(false), 100), b = s.launch(s.stream(false), 100),
                 c = s.launch(s.stream(false), 9);
  s.program.calls[a].width_permille = s.program.calls[b].width_permille = 0;
  const Simulation r = simulate(s.program);
  CHECK(r.work_start_ns[a] == 20);
  CHECK(r.work_start_ns[b] == 30);
  CHECK(r.work_start_ns[c] == 40);
}

TEST_CASE("latency and queued gap of single calls") {
  Schedule s;
  const uint32_t a = s.launch(0, 100), b = s.launch(0, 100), c = s.launch(0, 100);
  s.program.calls[a].latency_ns = 3;
  s.program.calls[b].queued_gap_ns = 7;
  const Simulation r = simulate(s.program);
  CHECK(r.work_start_ns[a] == 3);
  CHECK(r.work_start_ns[b] == 110);  // 103 + 7
  CHECK(r.work_start_ns[c] == 212);  // 210 + 2
}
