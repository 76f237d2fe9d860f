// Schedules of several ranks, calculated by hand. Times in nanoseconds; a launch costs the host 10, work starts 20
// after its call began and 2 after the work before it on its stream.
#include <catch2/catch.hpp>
#include <deque>

#include "predictor/simulator.h"

using namespace maya;
using namespace maya::predictor;

namespace {

struct Rank {
  Program program;

  Rank() {
    program.threads = 1;
    program.launch_latency_ns = 20;
    program.queued_gap_ns = 2;
    stream();
  }
  uint32_t stream() {
    program.streams.push_back({0, 0, false, false});
    return static_cast<uint32_t>(program.streams.size() - 1);
  }
  uint32_t add(CallKind kind, uint32_t stream, uint64_t gap = 0) {
    HostCall call;
    call.kind = kind;
    call.stream = stream;
    call.gap_ns = gap;
    call.cost_ns = 10;
    program.calls.push_back(call);
    return static_cast<uint32_t>(program.calls.size() - 1);
  }
  uint32_t kernel(uint64_t duration, uint32_t stream = 0, uint64_t gap = 0) {
    const uint32_t i = add(CallKind::kEnqueue, stream, gap);
    program.calls[i].duration_ns = duration;
    return i;
  }
  uint32_t communicate(uint32_t match, uint64_t duration, uint32_t stream = 0,
                       CollectiveKind kind = CollectiveKind::kAllReduce) {
    const uint32_t i = kernel(duration, stream);
    program.calls[i].engine = Engine::kCommunication;
    program.calls[i].communication = static_cast<uint32_t>(program.communications.size());
    Communication c;
    c.call = i;
    c.leader = i;
    c.match = match;
    c.kind = kind;
    c.fabric = Fabric::kNvlink;
    c.sends = kind != CollectiveKind::kRecv;
    c.receives = kind != CollectiveKind::kSend;
    program.communications.push_back(c);
    return i;
  }
  // The calls of one ncclGroup on one stream: the last of them leads.
  void group(std::initializer_list<uint32_t> calls) {
    for (const uint32_t call : calls)
      program.communications[program.calls[call].communication].leader = *(calls.end() - 1);
  }
  uint32_t wait_for_event(uint32_t stream, uint32_t record) {
    const uint32_t i = add(CallKind::kStreamWait, stream);
    program.calls[i].record = record;
    return i;
  }
};

WorldSimulation run(const std::deque<Rank>& ranks, const std::vector<uint32_t>& sizes, const Overlap& overlap = {}) {
  std::vector<const Program*> programs;
  for (const Rank& rank : ranks) programs.push_back(&rank.program);
  WorldSimulation result = simulate_world(programs, sizes, overlap);
  for (const Simulation& each : result.programs) CHECK(each.error.empty());
  return result;
}

}  // namespace

TEST_CASE("an all-reduce begins when the last rank is there") {
  std::deque<Rank> ranks(2);
  ranks[0].kernel(100);
  const uint32_t a = ranks[0].communicate(0, 50);
  ranks[1].kernel(300);
  const uint32_t b = ranks[1].communicate(0, 50);
  const WorldSimulation r = run(ranks, {2});
  // Kernels: 20 .. 120 and 20 .. 320. The all-reduce waits from 122 and from 322; it moves 322 .. 372 on both.
  CHECK(r.programs[0].work_start_ns[a] == 122);
  CHECK(r.programs[0].matched_ns[0] == 322);
  CHECK(r.programs[0].work_end_ns[a] == 372);
  CHECK(r.programs[1].work_start_ns[b] == 322);
  CHECK(r.programs[1].work_end_ns[b] == 372);
  CHECK(r.last_arrival[0].program == 1);
  CHECK(r.last_arrival[0].call == b);
  CHECK(r.deadlocks == 0);
}

TEST_CASE("the bubble of a 1F1B pipeline is (p - 1) / (m + p - 1)") {
  // Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters", section 2.2: with p stages, m
  // micro-batches, a forward pass of f and a backward pass of b each, a step takes (m + p - 1) (f + b) when
  // communication costs nothing. Launches are free here, transfers take no time.
  const uint32_t p = 4, m = 8;
  const uint64_t f = 1000, b = 2000;
  std::deque<Rank> ranks(p);
  // Match numbers: activations from stage s to s + 1, then gradients back, by micro-batch.
  const auto forward_match = [&](uint32_t stage, uint32_t batch) { return (stage * m + batch) * 2; };
  const auto backward_match = [&](uint32_t stage, uint32_t batch) { return (stage * m + batch) * 2 + 1; };
  for (uint32_t s = 0; s < p; ++s) {
    Rank& rank = ranks[s];
    rank.program.launch_latency_ns = rank.program.queued_gap_ns = 0;
    uint32_t next_forward = 0, next_backward = 0;
    const auto forward = [&] {
      if (s > 0) rank.communicate(forward_match(s - 1, next_forward), 0, 0, CollectiveKind::kRecv);
      rank.kernel(f);
      if (s + 1 < p) {
        const uint32_t record = rank.add(CallKind::kEventRecord, 0);
        (void)record;
        // Sent on a stream of its own, as PyTorch's pipelines do.
        const uint32_t send_stream = rank.stream();
        rank.wait_for_event(send_stream, record);
        rank.communicate(forward_match(s, next_forward), 0, send_stream, CollectiveKind::kSend);
      }
      ++next_forward;
    };
    const auto backward = [&] {
      if (s + 1 < p) rank.communicate(backward_match(s, next_backward), 0, 0, CollectiveKind::kRecv);
      rank.kernel(b);
      if (s > 0) {
        const uint32_t record = rank.add(CallKind::kEventRecord, 0);
        const uint32_t send_stream = rank.stream();
        rank.wait_for_event(send_stream, record);
        rank.communicate(backward_match(s - 1, next_backward), 0, send_stream, CollectiveKind::kSend);
      }
      ++next_backward;
    };
    const uint32_t warm_up = std::min(p - s - 1, m);
    for (uint32_t i = 0; i < warm_up; ++i) forward();
    for (uint32_t i = warm_up; i < m; ++i) {
      forward();
      backward();
    }
    while (next_backward < m) backward();
    for (HostCall& call : rank.program.calls) call.cost_ns = 0;
  }
  const WorldSimulation r = run(ranks, std::vector<uint32_t>(p * m * 2, 2));
  CHECK(r.deadlocks == 0);
  uint64_t end = 0;
  for (uint32_t s = 0; s < p; ++s)
    for (const uint64_t t : r.programs[s].work_end_ns)
      if (t != kNever_ns) end = std::max(end, t);
  CHECK(end == (m + p - 1) * (f + b));
  const double bubble = 1 - static_cast<double>(m * (f + b)) / static_cast<double>(end);
  CHECK(bubble == Approx(3.0 / 11.0));
}

TEST_CASE("a ring of sends and receives in groups goes round") {
  std::deque<Rank> ranks(3);
  std::vector<uint32_t> sends, receives;
  for (uint32_t i = 0; i < 3; ++i) {
    ranks[i].kernel(100 * (i + 1));
    const uint32_t send = ranks[i].communicate(i, 40, 0, CollectiveKind::kSend);
    const uint32_t receive = ranks[i].communicate((i + 2) % 3, 40, 0, CollectiveKind::kRecv);
    ranks[i].group({send, receive});
    sends.push_back(send);
    receives.push_back(receive);
  }
  const WorldSimulation r = run(ranks, {2, 2, 2});
  CHECK(r.deadlocks == 0);
  // Groups start at 122, 222, 322. 0 -> 1: 222 .. 262; 1 -> 2 and 2 -> 0: 322 .. 362.
  CHECK(r.programs[0].work_start_ns[sends[0]] == 122);
  CHECK(r.programs[0].matched_ns[0] == 222);
  CHECK(r.programs[1].work_end_ns[receives[1]] == 362);  // the leader's end is the group's: rank 1 also sends to 2
  CHECK(r.programs[0].work_end_ns[sends[0]] == 262);
  CHECK(r.programs[2].work_end_ns[receives[2]] == 362);
  CHECK(r.programs[0].work_end_ns[receives[0]] == 362);
}

TEST_CASE("crossing sends outside of a group are a deadlock, and the rest goes on") {
  std::deque<Rank> ranks(2);
  std::vector<uint32_t> ends;
  for (uint32_t i = 0; i < 2; ++i) {
    ranks[i].communicate(i, 40, 0, CollectiveKind::kSend);
    ranks[i].communicate(1 - i, 40, 0, CollectiveKind::kRecv);
    ends.push_back(ranks[i].kernel(100));
  }
  const WorldSimulation r = run(ranks, {2, 2});
  CHECK(r.deadlocks > 0);
  REQUIRE(r.first_deadlock.waiting.size() == 2);
  CHECK(r.first_deadlock.time_ns == 20);
  for (uint32_t i = 0; i < 2; ++i) {
    CHECK(r.first_deadlock.waiting[i].call.program == i);
    CHECK(r.first_deadlock.waiting[i].call.call == 0);
    CHECK(r.first_deadlock.waiting[i].match == i);
    CHECK(r.programs[i].work_end_ns[ends[i]] != kNever_ns);
  }
}

TEST_CASE("collectives of two communicators in different order on one stream are a deadlock") {
  std::deque<Rank> ranks(2);
  ranks[0].communicate(0, 10);
  ranks[0].communicate(1, 10);
  ranks[1].communicate(1, 10);
  ranks[1].communicate(0, 10);
  const WorldSimulation r = run(ranks, {2, 2});
  CHECK(r.deadlocks == 1);
  REQUIRE(r.first_deadlock.waiting.size() == 2);
  CHECK(r.first_deadlock.waiting[0].match == 0);
  CHECK(r.first_deadlock.waiting[1].match == 1);
}

TEST_CASE("collectives of one device share its links") {
  std::deque<Rank> ranks(1);
  Rank& rank = ranks[0];
  const uint32_t other = rank.stream();
  const uint32_t a = rank.communicate(kNone, 1000);
  const uint32_t b = rank.communicate(kNone, 200, other);
  SECTION("each uses all of them") {
    const WorldSimulation r = run(ranks, {});
    // a alone 20 .. 30: 990 left. b begins at 30; both at half speed until b has done its 200, at 430. a has done 200
    // more: 790 left, at full speed until 1220.
    CHECK(r.programs[0].work_end_ns[b] == 430);
    CHECK(r.programs[0].work_end_ns[a] == 1220);
  }
  SECTION("together they use less than all") {
    for (Communication& c : rank.program.communications) c.link_share_permille = 500;
    const WorldSimulation r = run(ranks, {});
    CHECK(r.programs[0].work_end_ns[b] == 230);
    CHECK(r.programs[0].work_end_ns[a] == 1020);
  }
  SECTION("one uses other links") {
    rank.program.communications[1].fabric = Fabric::kNetwork;
    const WorldSimulation r = run(ranks, {});
    CHECK(r.programs[0].work_end_ns[b] == 230);
    CHECK(r.programs[0].work_end_ns[a] == 1020);
  }
  SECTION("one sends, the other receives") {
    rank.program.communications[0].receives = false;
    rank.program.communications[1].sends = false;
    const WorldSimulation r = run(ranks, {});
    CHECK(r.programs[0].work_end_ns[b] == 230);
    CHECK(r.programs[0].work_end_ns[a] == 1020);
  }
}

TEST_CASE("the slowest end of a collective decides for all") {
  std::deque<Rank> ranks(2);
  const uint32_t a = ranks[0].communicate(0, 1000);
  ranks[1].communicate(0, 1000);
  const uint32_t other = ranks[1].stream();
  const uint32_t b = ranks[1].communicate(kNone, 100, other);
  const WorldSimulation r = run(ranks, {2});
  // Both begin at 20; rank 1 shares 30 .. 230, in which each gets 100 done: 890 left at 230, until 1120.
  CHECK(r.programs[1].work_end_ns[b] == 230);
  CHECK(r.programs[0].work_end_ns[a] == 1120);
}

TEST_CASE("kernels and transfers slow each other down while they overlap") {
  std::deque<Rank> ranks(1);
  Rank& rank = ranks[0];
  const uint32_t other = rank.stream();
  const uint32_t kernel = rank.kernel(1000);
  const uint32_t transfer = rank.communicate(kNone, 400, other);
  SECTION("kernels only") {
    const WorldSimulation r = run(ranks, {}, {2.0, 1.0});
    // The transfer runs 30 .. 430; the kernel does 10 before it and 200 beside it: 790 left at 430.
    CHECK(r.programs[0].work_end_ns[transfer] == 430);
    CHECK(r.programs[0].work_end_ns[kernel] == 1220);
  }
  SECTION("transfers only") {
    const WorldSimulation r = run(ranks, {}, {1.0, 2.0});
    CHECK(r.programs[0].work_end_ns[kernel] == 1020);
    CHECK(r.programs[0].work_end_ns[transfer] == 830);
  }
  SECTION("a transfer that was measured is left alone") {
    rank.program.communications[0].fixed = true;
    const WorldSimulation r = run(ranks, {}, {1.0, 2.0});
    CHECK(r.programs[0].work_end_ns[transfer] == 430);
  }
}

TEST_CASE("waiting for others is no transfer: it slows nothing down") {
  std::deque<Rank> ranks(2);
  const uint32_t other = ranks[0].stream();
  const uint32_t kernel = ranks[0].kernel(1000);
  ranks[0].communicate(0, 100, other);
  ranks[1].kernel(5000);
  ranks[1].communicate(0, 100);
  const WorldSimulation r = run(ranks, {2}, {2.0, 2.0});
  CHECK(r.programs[0].work_end_ns[kernel] == 1020);
}

TEST_CASE("equal input gives equal schedules") {
  std::deque<Rank> ranks(5);
  for (uint32_t i = 0; i < 5; ++i)
    for (uint32_t k = 0; k < 50; ++k) {
      ranks[i].kernel(10 + (i * 7 + k * 13) % 40);
      ranks[i].communicate(k, 30);
    }
  const std::vector<uint32_t> sizes(50, 5);
  const WorldSimulation a = run(ranks, sizes, {1.2, 1.1}), b = run(ranks, sizes, {1.2, 1.1});
  for (size_t i = 0; i < 5; ++i) {
    CHECK(a.programs[i].work_start_ns == b.programs[i].work_start_ns);
    CHECK(a.programs[i].work_end_ns == b.programs[i].work_end_ns);
  }
  CHECK(a.events == b.events);
}
