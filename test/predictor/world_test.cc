// Predictions of worlds of several ranks, from traces to the report.
#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "predictor/predict.h"
#include "predictor/report.h"
#include "predictor/timeline.h"
#include "test/predictor/json_check.h"
#include "test/predictor/world_traces.h"

using namespace maya;
using namespace maya::predictor;
using namespace maya::test;

namespace {

constexpr int64_t kLarge_bytes = 64 << 20;

Prediction predicted(const std::vector<trace::LoadedTrace>& traces, const Options& options = {}) {
  Prediction prediction;
  const Failure failure = predict(traces, options, &prediction);
  INFO(failure.text);
  REQUIRE_FALSE(failure);
  return prediction;
}

Json json_of(const Prediction& prediction) { return Json::parse(report_json(prediction)); }

void check_width(const std::string& text) {
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; begin = end + 1, end = text.find('\n', begin))
    CHECK(end - begin <= 100);
}

uint64_t sum(const Breakdown& b) {
  return b.compute + b.exposed_communication + b.copies + b.pipeline_bubble + b.waiting_for_ranks + b.host_bound +
         b.idle;
}

// Four equal steps of data parallelism; rank `slow` computes `more` times as much.
void add_steps(WorldTraces* w, uint64_t all, int32_t ranks, int32_t slow, int64_t more) {
  for (int step = 0; step < 4; ++step) {
    for (int32_t r = 0; r < ranks; ++r) {
      for (int layer = 0; layer < 4; ++layer) {
        w->rank(r).after(2'000).gemm(4096, 4096 * (r == slow ? more : 1), 4096);
        w->rank(r).after(2'000).launch("activation", 4096);
      }
    }
    std::vector<int32_t> list(static_cast<size_t>(ranks));
    std::iota(list.begin(), list.end(), 0);
    w->collective(all, list, CollectiveKind::kAllReduce, kLarge_bytes);
    for (int32_t r = 0; r < ranks; ++r) {
      w->rank(r).after(2'000).launch("optimizer", 2048);
      w->rank(r).after(2'000).synchronize(proto::Synchronization::DEVICE);
    }
  }
}

}  // namespace

TEST_CASE("the slowest rank decides, and the others wait for it") {
  WorldTraces w(2);
  const uint64_t all = w.communicator({0, 1});
  add_steps(&w, all, 2, 1, 3);
  const auto traces = w.load();
  const Prediction p = predicted(traces);
  REQUIRE(p.ranks.size() == 2);
  const Breakdown &fast = p.ranks[0].breakdown, &slow = p.ranks[1].breakdown;
  CHECK(p.world.mismatches.empty());
  CHECK(p.world.deadlocks == 0);
  CHECK(slow.compute > 2 * fast.compute);
  // What the fast rank does not compute, it waits for the other: all else is the same on both.
  CHECK(static_cast<double>(fast.waiting_for_ranks) ==
        Approx(static_cast<double>(slow.compute - fast.compute)).epsilon(0.03));
  CHECK(slow.waiting_for_ranks == 0);
  CHECK(static_cast<double>(p.ranks[0].median_ns) == Approx(static_cast<double>(p.ranks[1].median_ns)).epsilon(0.01));
  for (const RankPrediction& rank : p.ranks) {
    CHECK(sum(rank.breakdown) == rank.median_ns);
    CHECK(rank.breakdown.exposed[static_cast<size_t>(CollectiveKind::kAllReduce)] ==
          rank.breakdown.exposed_communication);
    CHECK(rank.breakdown.exposed_communication > 0);
  }
  // The path of the step leads through the products of rank 1, and accounts for all of it.
  REQUIRE_FALSE(p.world.critical_path.empty());
  CHECK(p.world.critical_path.front().name == "cublasGemmEx");
  CHECK(p.world.critical_path.front().rank == 1);
  uint64_t path_ns = 0;
  for (const PathPart& part : p.world.critical_path) path_ns += part.total_ns;
  CHECK(path_ns == p.ranks[p.slowest].median_ns);

  const std::string text = report_text(p);
  check_width(text);
  const Json json = json_of(p);
  CHECK(json["ranks"].number == 2);
  CHECK(json["per_rank"][0]["breakdown_ms"]["waiting_for_ranks"].number > 0);
  CHECK(json["world"]["size"].number == 2);
  CHECK(json["world"]["ranks_inferred"].number == 0);
  CHECK(json["mismatches"].items.empty());
  CHECK(json["critical_path"][0]["rank"].number == 1);
}

TEST_CASE("MFU: the time of the products at peak over the step") {
  WorldTraces w(2);
  const uint64_t all = w.communicator({0, 1});
  add_steps(&w, all, 2, 0, 1);
  const auto traces = w.load();
  const Prediction p = predicted(traces);
  // Four products of 2 * 4096^3 flops; H100 SXM: 989.4 TFLOP/s dense in bfloat16 (NVIDIA H100 datasheet).
  const double flops = 4 * 2.0 * 4096 * 4096 * 4096;
  CHECK(p.ranks[0].model_flops == flops);
  CHECK(p.ranks[0].mfu == Approx(flops / 989.4e12 * 1e9 / static_cast<double>(p.ranks[0].median_ns)).epsilon(0.001));
  CHECK(json_of(p)["mfu"].number == Approx(p.ranks[0].mfu).epsilon(0.001));
}

TEST_CASE("a pipeline of two stages shows its bubble") {
  WorldTraces w(2);
  const uint64_t pipe = w.communicator({0, 1});
  for (int step = 0; step < 4; ++step) {
    for (int r = 0; r < 2; ++r) {
      if (r == 1) w.receive(pipe, 1, 0, 1 << 20);
      for (int layer = 0; layer < 6; ++layer) w.rank(r).after(2'000).gemm(4096, 4096, 4096);
      if (r == 0) w.send(pipe, 0, 1, 1 << 20);
      if (r == 0) w.receive(pipe, 0, 1, 1 << 20);
      for (int layer = 0; layer < 6; ++layer) w.rank(r).after(2'000).gemm(4096, 8192, 4096);
      if (r == 1) w.send(pipe, 1, 0, 1 << 20);
      w.rank(r).after(2'000).launch("optimizer", 2048);
      w.rank(r).after(2'000).synchronize(proto::Synchronization::DEVICE);
    }
  }
  const auto traces = w.load();
  const Prediction p = predicted(traces);
  CHECK(p.world.deadlocks == 0);
  // One micro-batch: each of two stages is idle while the other one works, which takes as long.
  for (const RankPrediction& rank : p.ranks) {
    CHECK(sum(rank.breakdown) == rank.median_ns);
    CHECK(rank.breakdown.waiting_for_ranks == 0);
  }
  const uint64_t bubble = p.ranks[0].breakdown.pipeline_bubble + p.ranks[1].breakdown.pipeline_bubble;
  CHECK(static_cast<double>(bubble) ==
        Approx(static_cast<double>(p.ranks[0].breakdown.compute + p.ranks[1].breakdown.compute)).epsilon(0.1));
}

TEST_CASE("a deadlock is reported with ranks and calls, and the rest of the report is there") {
  WorldTraces w(2);
  const uint64_t pair = w.communicator({0, 1});
  for (int step = 0; step < 4; ++step) {
    for (int r = 0; r < 2; ++r) {
      for (int i = 0; i < 8; ++i) w.rank(r).after(2'000).gemm(1024, 1024, 1024 + i);
      w.send(pair, r, 1 - r, 4096);
      w.receive(pair, r, 1 - r, 4096);
      w.rank(r).after(2'000).launch("optimizer", 2048);
    }
  }
  SECTION("outside of a group") {
    const auto traces = w.load();
    const Prediction p = predicted(traces);
    CHECK(p.world.mismatches.empty());
    CHECK(p.world.deadlocks == 4);  // one in every step: once the first send is let go, the rest follows
    CHECK(p.ranks[p.slowest].median_ns > 0);
    const std::string text = report_text(p);
    check_width(text);
    CHECK(text.find("  rank 0 in ncclSend of 4,096 bytes of float32 to rank 1\n"
                    "    call 1 on a communicator of 2, waits for rank 1\n"
                    "  rank 1 in ncclSend of 4,096 bytes of float32 to rank 0\n"
                    "    call 1 on a communicator of 2, waits for rank 0\n") != std::string::npos);
    const Json json = json_of(p);
    REQUIRE(json["deadlock"]["waiting"].items.size() == 2);
    CHECK(json["deadlock"]["waiting"][0]["rank"].number == 0);
    CHECK(json["deadlock"]["waiting"][0]["waits_for_ranks"][0].number == 1);
  }
  SECTION("the same in groups is none") {
    WorldTraces grouped(2);
    const uint64_t two = grouped.communicator({0, 1});
    for (uint32_t step = 0; step < 4; ++step) {
      for (int r = 0; r < 2; ++r) {
        for (int i = 0; i < 8; ++i) grouped.rank(r).after(2'000).gemm(1024, 1024, 1024 + i);
        grouped.group(step + 1, [&] {
          grouped.send(two, r, 1 - r, 4096);
          grouped.receive(two, r, 1 - r, 4096);
        });
        grouped.rank(r).after(2'000).launch("optimizer", 2048);
      }
    }
    const auto traces = grouped.load();
    const Prediction p = predicted(traces);
    CHECK(p.world.deadlocks == 0);
    CHECK(json_of(p)["deadlock"].kind == Json::Kind::kNull);
  }
}

TEST_CASE("mismatches name the kernel before the call") {
  WorldTraces w(2);
  const uint64_t pair = w.communicator({0, 1});
  for (int r = 0; r < 2; ++r) w.rank(r).after(2'000).launch(r == 0 ? "norm_kernel" : "loss_kernel", 64);
  w.collective(pair, {0}, CollectiveKind::kAllReduce, 64);
  w.collective(pair, {1}, CollectiveKind::kAllReduce, 128);
  const auto traces = w.load();
  const Prediction p = predicted(traces);
  REQUIRE(p.world.mismatches.size() == 1);
  const std::string text = report_text(p);
  check_width(text);
  CHECK(text.find("  ranks call it with different sizes, communicator of 2\n"
                  "    rank 0, call 1: ncclAllReduce of 64 bytes of float32\n"
                  "      after norm_kernel\n"
                  "    rank 1, call 1: ncclAllReduce of 128 bytes of float32\n"
                  "      after loss_kernel\n") != std::string::npos);
  const Json json = json_of(p);
  CHECK(json["mismatches"][0]["kind"].text == "count");
  CHECK(json["mismatches"][0]["sides"][1]["after_kernel"].text == "loss_kernel");
}

TEST_CASE("a missing rank is named") {
  WorldTraces w(4);
  const uint64_t all = w.communicator({0, 1, 2, 3});
  add_steps(&w, all, 4, 0, 1);
  auto traces = w.load();
  traces.erase(traces.begin() + 1, traces.begin() + 3);
  const Prediction p = predicted(traces);
  CHECK(p.world.missing_ranks == std::vector<int32_t>{1, 2});
  CHECK(json_of(p)["world"]["missing_ranks"].text == "1-2");
  REQUIRE_FALSE(p.warnings.empty());
  CHECK(p.warnings.back() == "no trace of rank 1-2 of 4: nobody waits for them; give the traces of all ranks");
}

TEST_CASE("another cluster places ranks on other nodes") {
  WorldTraces w(16);
  w.gpus_per_node = 8;
  std::vector<int32_t> list(16);
  std::iota(list.begin(), list.end(), 0);
  const uint64_t all = w.communicator(list);
  add_steps(&w, all, 16, 0, 1);
  const auto traces = w.load();
  Options options;
  options.cluster = "dgx-h100";
  const Prediction two_nodes = predicted(traces, options);
  CHECK(two_nodes.world.world.communicators[0].nodes == 2);
  CHECK(json_of(two_nodes)["cluster"].text == "dgx-h100");
  options.cluster = "no-such-cluster";
  Prediction none;
  const Failure failure = predict(traces, options, &none);
  CHECK(failure.kind == FailureKind::kUsage);
  CHECK(failure.text.find("unknown cluster: no-such-cluster") == 0);
}

TEST_CASE("timelines of chosen ranks") {
  WorldTraces w(4);
  const uint64_t all = w.communicator({0, 1, 2, 3});
  add_steps(&w, all, 4, 0, 1);
  const auto traces = w.load();
  const Prediction p = predicted(traces);
  std::vector<size_t> chosen;
  REQUIRE_FALSE(choose_ranks(p, "3,0-1", &chosen));
  CHECK(chosen == std::vector<size_t>{0, 1, 3});
  for (const char* wrong : {"", "x", "1-", "2-1", "1,,2", "-1"}) {
    INFO(wrong);
    CHECK(choose_ranks(p, wrong, &chosen).kind == FailureKind::kUsage);
  }
  CHECK(choose_ranks(p, "1,9", &chosen).text == "no such rank in the traces: 9; the report lists the ranks");
}

TEST_CASE("a world of twins: ranks that were not run are inferred, and cost nothing") {
  // Two pipeline stages of two ranks each: 0, 1 | 2, 3. Only 0 and 2 ran.
  WorldTraces w(4);
  const uint64_t stage0 = w.communicator({0, 1}), stage1 = w.communicator({2, 3}), pipe = w.communicator({0, 2});
  for (int step = 0; step < 4; ++step) {
    for (int layer = 0; layer < 6; ++layer) w.rank(0).after(2'000).gemm(4096, 4096, 4096);
    w.send(pipe, 0, 2, 1 << 20);
    w.receive(pipe, 2, 0, 1 << 20);
    for (int layer = 0; layer < 6; ++layer) w.rank(2).after(2'000).gemm(4096, 4096, 4096);
    w.collective(stage0, {0}, CollectiveKind::kAllReduce, kLarge_bytes);
    w.collective(stage1, {2}, CollectiveKind::kAllReduce, kLarge_bytes);
  }
  for (int r = 0; r < 4; ++r) w.rank(r).header().set_twins(true);
  auto all = w.load();
  std::vector<trace::LoadedTrace> traces;
  traces.push_back(std::move(all[0]));
  traces.push_back(std::move(all[2]));
  const Prediction p = predicted(traces);
  REQUIRE(p.ranks.size() == 2);
  CHECK(p.world.deadlocks == 0);
  CHECK(p.world.mismatches.empty());
  CHECK(p.world.missing_ranks.empty());
  CHECK(p.ranks[0].ranks == std::vector<int32_t>{0, 1});
  CHECK(p.ranks[1].ranks == std::vector<int32_t>{2, 3});
  // The second stage waits for the first all the same.
  const auto& matches = p.world.world.matches;
  CHECK(std::count_if(matches.begin(), matches.end(), [](const Match& m) { return m.participants.size() == 2; }) == 4);
  const Json json = json_of(p);
  CHECK(json["ranks"].number == 4);
  CHECK(json["world"]["ranks_run"].number == 2);
  CHECK(json["world"]["ranks_inferred"].number == 2);
  CHECK(json["per_rank"][1]["stands_for"]["ranks"].text == "2-3");
  CHECK(report_text(p).find("2 ranks were run, 0 of them to check others; 2 are inferred") != std::string::npos);
}
