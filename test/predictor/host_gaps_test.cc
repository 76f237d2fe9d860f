// Host time between calls. All times in nanoseconds.
#include "predictor/host_gaps.h"

#include <catch2/catch.hpp>

#include "predictor/host_costs.h"
#include "predictor/program_builder.h"
#include "test/predictor/trace_builder.h"

using namespace maya;
using namespace maya::predictor;
using maya::test::TraceBuilder;

namespace {
const device::DeviceProfile& h100() { return *device::find_builtin_profile("h100-sxm"); }
}  // namespace

TEST_CASE("a gap runs from the return of the thread's call before, Maya's own time taken out") {
  TraceBuilder b;
  b.launch("a", 1);  // first call of the trace: no gap
  b.own_ns = 300;
  b.after(1000).copy(proto::Copy::HOST_TO_DEVICE, 10, true, false);
  b.own_ns = 0;
  b.after(1500).launch("a", 1);  // 1500 after the entry of the copy, 300 of which were Maya's
  b.own_ns = 9000;
  b.after(10).launch("a", 1);
  b.own_ns = 0;
  b.after(100).launch("a", 1);  // Maya's own time cannot make a gap negative
  const HostGaps gaps = recorded_gaps(b.load());
  CHECK(gaps.gap_ns == std::vector<uint64_t>{0, 1000, 1200, 10, 0});
  CHECK(gaps.after == std::vector<uint32_t>(5, kNone));
}

TEST_CASE("time for which a thread waited for a processor is not the program's") {
  TraceBuilder b;
  b.launch("a", 1);
  b.own_ns = 300;
  b.after(1000).launch("a", 1);
  b.own_ns = 0;
  b.after(4'000'000).launch("a", 1);
  b.after(100).launch("a", 1);
  trace::LoadedTrace trace = b.load();
  trace.events[2].delay_ns = 3'999'000;  // of the 4 ms, 300 ns of which were Maya's
  trace.events[3].delay_ns = 5000;       // more than passed: it cannot make a gap negative
  CHECK(recorded_gaps(trace).gap_ns == std::vector<uint64_t>{0, 1000, 700, 0});
}

TEST_CASE("a thread that slept while another worked is woken by its last call") {
  TraceBuilder b;
  b.launch("a", 1);  // 0: thread 0
  b.thread = 1;
  for (int i = 0; i < 5; ++i) b.after(100).launch("b", 1);  // 1 to 5
  b.thread = 0;
  b.after(40).launch("c", 1);  // 6: thread 0 slept through five calls
  b.thread = 1;
  b.after(7).launch("d", 1);  // 7: thread 1 was away for one call only: its own gap, 40 + 7
  const HostGaps gaps = recorded_gaps(b.load());
  CHECK(gaps.after[6] == 5);
  CHECK(gaps.gap_ns[6] == 40);
  CHECK(gaps.after[7] == kNone);
  CHECK(gaps.gap_ns[7] == 47);
  CHECK(gaps.after[1] == kNone);  // a first call, one call of another thread before it
  CHECK(gaps.gap_ns[1] == 100);
}

TEST_CASE("a thread that watches others does not wake one that was in a call of its own") {
  TraceBuilder b;
  b.own_ns = 10'000;
  b.launch("a", 1);  // 0: thread 0, for 10 us of Maya's own time
  b.own_ns = 0;
  b.thread = 1;
  for (int i = 0; i < 5; ++i) b.after(100).launch("poll", 1);  // 1 to 5, until 500
  b.thread = 0;
  b.after(9'550).launch("c", 1);  // 6: at 10,050, 50 after its call returned
  const HostGaps gaps = recorded_gaps(b.load());
  CHECK(gaps.after[6] == kNone);
  CHECK(gaps.gap_ns[6] == 50);
}

TEST_CASE("the backward thread of a training step hands over both ways") {
  TraceBuilder b;
  add_training(&b, 3);
  const trace::LoadedTrace trace = b.load();
  const HostGaps gaps = recorded_gaps(trace);
  size_t hand_overs = 0;
  for (size_t i = 0; i < trace.events.size(); ++i)
    if (gaps.after[i] != kNone) {
      ++hand_overs;
      CHECK(trace.events[gaps.after[i]].thread != trace.events[i].thread);
      CHECK(gaps.after[i] + 1 == i);
    }
  CHECK(hand_overs == 6);
}

TEST_CASE("steady steps use the median of a call position's gaps, the warm-up keeps its own") {
  TraceBuilder b;
  // Five steps of ten kernels; gap of kernel i in step s is 1000 + i, but 50,000 once a step, each time at another
  // kernel.
  for (int step = 0; step < 5; ++step)
    for (int i = 0; i < 10; ++i) {
      const bool disturbed = i == 2 * step + 1;
      b.after(disturbed ? 50'000 : 1'000 + static_cast<uint64_t>(i)).launch("kernel_" + std::to_string(i), 10);
    }
  const trace::LoadedTrace trace = b.load();
  const CostTable costs = estimate_trace(trace, Estimator(h100()));
  const Steps steps = find_steps(trace, costs);
  REQUIRE(steps.steps.size() == 5);
  REQUIRE(steps.warm_up == 1);
  HostGaps gaps = recorded_gaps(trace);
  use_median_gaps(trace, costs, steps, &gaps);
  CHECK(gaps.gap_ns[1] == 50'000);  // warm-up
  for (size_t i = 10; i < 50; ++i) CHECK(gaps.gap_ns[i] == 1'000 + i % 10);
}

TEST_CASE("ranks that ran side by side share the 10th percentile of a call position's gaps") {
  std::vector<trace::LoadedTrace> traces;
  for (uint64_t rank = 0; rank < 4; ++rank) {
    TraceBuilder b;
    for (uint64_t step = 0; step < 6; ++step)
      for (uint64_t i = 0; i < 10; ++i)
        b.after(1'000 + i + 100 * (rank * 5 + step)).launch("kernel_" + std::to_string(i), 10);
    traces.push_back(b.load());
  }
  std::vector<CostTable> costs;
  std::vector<Steps> steps;
  std::vector<HostGaps> gaps;
  for (const trace::LoadedTrace& trace : traces) {
    costs.push_back(estimate_trace(trace, Estimator(h100())));
    steps.push_back(find_steps(trace, costs.back()));
    REQUIRE(steps.back().steps.size() == 6);
    REQUIRE(steps.back().warm_up == 1);
    gaps.push_back(recorded_gaps(trace));
  }
  std::vector<GapSource> sources;
  for (size_t i = 0; i < 4; ++i) sources.push_back({&traces[i], &costs[i], &steps[i], &gaps[i]});
  use_gaps_of_all(sources);
  // Steps 1 to 5 of ranks 0 to 3: 20 gaps of 1000 + i + 100, 200, ... 2000. The second of them is the 10th percentile.
  for (const HostGaps& each : gaps)
    for (size_t i = 10; i < 60; ++i) CHECK(each.gap_ns[i] == 1'200 + i % 10);
}

TEST_CASE("a call that only some steps make keeps its gap, and the others stay aligned") {
  TraceBuilder b;
  for (int step = 0; step < 5; ++step)
    for (int i = 0; i < 10; ++i) {
      b.after(1'000 + static_cast<uint64_t>(10 * step)).launch("kernel_" + std::to_string(i), 10);
      if (step == 3 && i == 4) b.after(77'000).allocate(1, 100);
    }
  const trace::LoadedTrace trace = b.load();
  const CostTable costs = estimate_trace(trace, Estimator(h100()));
  const Steps steps = find_steps(trace, costs);
  REQUIRE(steps.steps.size() == 5);
  HostGaps gaps = recorded_gaps(trace);
  use_median_gaps(trace, costs, steps, &gaps);
  // Median over steps 1 to 4: 1010, 1020, 1030, 1040 -> the lower of the middle two.
  CHECK(gaps.gap_ns[12] == 1'020);
  CHECK(gaps.gap_ns[35] == 77'000);
  CHECK(gaps.gap_ns[36] == 1'020);
  CHECK(gaps.gap_ns[50] == 1'020);
}

TEST_CASE("--host-scale multiplies gaps and nothing else") {
  TraceBuilder b;
  b.launch("a", 1);
  b.after(1000).launch("a", 1);
  const trace::LoadedTrace trace = b.load();
  const CostTable costs = estimate_trace(trace, Estimator(h100()));
  const HostGaps gaps = recorded_gaps(trace);
  const Program slow = build_program(trace, costs, gaps, h100(), 2.5),
                same = build_program(trace, costs, gaps, h100(), 1);
  CHECK(same.calls[1].gap_ns == 1000);
  CHECK(slow.calls[1].gap_ns == 2500);
  CHECK(slow.calls[1].cost_ns == same.calls[1].cost_ns);
  CHECK(slow.calls[1].duration_ns == same.calls[1].duration_ns);
}

TEST_CASE("what blocks the host and what does not") {
  TraceBuilder b;
  b.copy(proto::Copy::HOST_TO_DEVICE, 100 << 20, true, false);  // 0 pinned, asynchronous
  b.copy(proto::Copy::HOST_TO_DEVICE, 100 << 20, true, true);   // 1 pageable, large: staged
  b.copy(proto::Copy::HOST_TO_DEVICE, 1 << 10, true, true);     // 2 pageable, small
  b.copy(proto::Copy::DEVICE_TO_HOST, 4, true, true);           // 3 into pageable memory
  b.copy(proto::Copy::DEVICE_TO_HOST, 4, true, false);          // 4 into pinned memory
  b.copy(proto::Copy::DEVICE_TO_HOST, 4, false, false);         // 5 synchronous
  b.copy(proto::Copy::DEVICE_TO_DEVICE, 4, false, false);       // 6 does not wait, says the driver's documentation
  const trace::LoadedTrace trace = b.load();
  const Program p = build_program(trace, estimate_trace(trace, Estimator(h100())), recorded_gaps(trace), h100(), 1);
  const bool expected[] = {false, true, false, true, false, true, false};
  for (size_t i = 0; i < 7; ++i) CHECK(p.calls[i].blocks == expected[i]);
  CHECK(p.calls[0].engine == Engine::kCopyIn);
  CHECK(p.calls[4].engine == Engine::kCopyOut);
}

TEST_CASE("events refer to their latest record, a new event has none") {
  TraceBuilder b;
  b.event(proto::EventCall::CREATE, 5);
  b.event(proto::EventCall::WAIT, 5);    // 1: never recorded
  b.event(proto::EventCall::RECORD, 5);  // 2
  b.event(proto::EventCall::RECORD, 5);  // 3
  b.event(proto::EventCall::WAIT, 5);    // 4: means 3
  b.event(proto::EventCall::DESTROY, 5);
  b.event(proto::EventCall::CREATE, 5);       // the id is used again
  b.event(proto::EventCall::SYNCHRONIZE, 5);  // 7
  const trace::LoadedTrace trace = b.load();
  const Program p = build_program(trace, estimate_trace(trace, Estimator(h100())), recorded_gaps(trace), h100(), 1);
  CHECK(p.calls[1].record == kNone);
  CHECK(p.calls[4].record == 3);
  CHECK(p.calls[7].record == kNone);
}

TEST_CASE("streams: the first of a device is its legacy default, flag 1 is non-blocking") {
  TraceBuilder b;
  b.describe_stream(0, 0);
  b.describe_stream(3, 1);
  b.describe_stream(4, 0);
  b.stream = 3;
  b.launch("a", 1);
  const trace::LoadedTrace trace = b.load();
  const Program p = build_program(trace, estimate_trace(trace, Estimator(h100())), recorded_gaps(trace), h100(), 1);
  REQUIRE(p.streams.size() == 3);
  CHECK(p.streams[0].legacy_default);
  CHECK_FALSE(p.streams[1].blocking);
  CHECK(p.streams[2].blocking);
  CHECK_FALSE(p.streams[2].legacy_default);
  CHECK(p.calls[3].stream == 1);
}

TEST_CASE("what follows the launch of a CUDA graph belongs to that one call") {
  TraceBuilder b;
  b.launch("before", 1);  // 0
  proto::Packet launch;
  launch.mutable_graph_launch()->set_graph(1);
  launch.mutable_graph_launch()->set_nodes(5);
  launch.mutable_graph_launch()->set_nodes_follow(true);
  b.after(1000).packet(launch);  // 1
  b.launch("a", 1);              // 2: all at the time of the call
  b.stream = 7;
  b.launch("b", 1);  // 3: of a branch
  b.stream = 0;
  b.copy(proto::Copy::DEVICE_TO_HOST, 4, true, true);  // 4: a node blocks nobody
  b.event(proto::EventCall::RECORD, 9);                // 5
  b.after(250).launch("c", 1);                         // 6: the last one is stamped when the replay was over
  b.after(2000).launch("after", 1);                    // 7: 2000 after that
  const trace::LoadedTrace trace = b.load();
  const HostGaps gaps = recorded_gaps(trace);
  CHECK(gaps.gap_ns == std::vector<uint64_t>{0, 1000, 0, 0, 0, 0, 0, 2000});
  const Program p = build_program(trace, estimate_trace(trace, Estimator(h100())), gaps, h100(), 1);
  CHECK(p.calls[1].cost_ns == host_costs::kGraphLaunch_ns + 5 * host_costs::kGraphLaunchPerNode_ns);
  for (size_t i = 2; i <= 6; ++i) {
    CHECK(p.calls[i].cost_ns == 0);
    CHECK_FALSE(p.calls[i].blocks);
  }
  // The first node of each stream follows what was there before; later ones follow each other closely.
  CHECK(p.calls[2].queued_gap_ns != host_costs::kGraphNodeGap_ns);
  CHECK(p.calls[3].queued_gap_ns != host_costs::kGraphNodeGap_ns);
  CHECK(p.calls[4].queued_gap_ns == host_costs::kGraphNodeGap_ns);
  CHECK(p.calls[6].queued_gap_ns == host_costs::kGraphNodeGap_ns);
  CHECK(p.calls[7].cost_ns > 0);
  CHECK(p.calls[7].queued_gap_ns != host_costs::kGraphNodeGap_ns);
}

TEST_CASE("a graph of many nodes is one call to a thread that watches others") {
  TraceBuilder b;
  b.launch("a", 1);  // 0: thread 0
  b.thread = 1;
  proto::Packet launch;
  launch.mutable_graph_launch()->set_nodes(50);
  launch.mutable_graph_launch()->set_nodes_follow(true);
  b.after(100).packet(launch);
  for (int i = 0; i < 50; ++i) b.launch("b", 1);
  b.thread = 0;
  b.after(40).launch("c", 1);  // 52: away for one call only, 140 ns
  const HostGaps gaps = recorded_gaps(b.load());
  REQUIRE(gaps.gap_ns.size() == 53);
  CHECK(gaps.after[52] == kNone);
  CHECK(gaps.gap_ns[52] == 140);
}
