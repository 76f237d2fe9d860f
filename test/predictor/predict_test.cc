// The stages together, on traces of the size of a small model.
#include "predictor/predict.h"

#include <catch2/catch.hpp>

#include "predictor/report.h"
#include "predictor/timeline.h"
#include "test/predictor/json_check.h"
#include "test/predictor/trace_builder.h"

using namespace maya;
using namespace maya::predictor;
using maya::test::Json;
using maya::test::TraceBuilder;

namespace {

std::vector<trace::LoadedTrace> one(const TraceBuilder& b) {
  std::vector<trace::LoadedTrace> traces;
  traces.push_back(b.load());
  traces.back().path = "test.pb";
  return traces;
}

Prediction predicted(const std::vector<trace::LoadedTrace>& traces, const Options& options = {}) {
  Prediction prediction;
  const Failure failure = predict(traces, options, &prediction);
  INFO(failure.text);
  REQUIRE_FALSE(failure);
  return prediction;
}

uint64_t sum_of(const Breakdown& b) { return b.compute + b.exposed_communication + b.copies + b.host_bound + b.idle; }

bool mentions(const std::vector<std::string>& warnings, const std::string& what) {
  for (const std::string& warning : warnings)
    if (warning.find(what) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("a training run: steps, sums, shares") {
  TraceBuilder b;
  add_training(&b, 6);
  const std::vector<trace::LoadedTrace> traces = one(b);
  const Prediction prediction = predicted(traces);
  REQUIRE(prediction.ranks.size() == 1);
  const RankPrediction& rank = prediction.ranks[0];
  CHECK(rank.device == "h100-sxm");
  CHECK(rank.complete);
  CHECK(rank.steps.steps.size() == 6);
  CHECK(rank.median_ns > 0);
  CHECK(rank.low_ns <= rank.median_ns);
  CHECK(rank.high_ns >= rank.median_ns);
  CHECK(sum_of(rank.breakdown) == rank.median_ns);
  double share = 0, provenance = 0;
  for (const OperationSummary& operation : rank.operations) share += operation.share;
  for (const double part : rank.provenance) provenance += part;
  CHECK(share == Approx(1));
  CHECK(provenance == Approx(1));
  // 24 matrix products a layer group: 2 forward and 4 backward in each of 4 layers, 5 steps that count.
  uint64_t products = 0;
  for (const OperationSummary& operation : rank.operations)
    if (operation.family == Family::kGemm) products += operation.count;
  CHECK(products == 5 * 4 * 6);
  CHECK(prediction.warnings.empty());
}

TEST_CASE("a host that does all the waiting: step time is host time") {
  // 40 small kernels a step, 1 ms apart: a step lasts 40 ms, and the device waits for the host nearly all the time.
  TraceBuilder b;
  for (int step = 0; step < 5; ++step)
    for (int i = 0; i < 40; ++i) b.after(1'000'000).launch("kernel_" + std::to_string(i), 1);
  const std::vector<trace::LoadedTrace> traces = one(b);
  const RankPrediction rank = std::move(predicted(traces).ranks[0]);
  const double launches_ns = 40 * device::find_builtin_profile("h100-sxm")->launch_host_ns;
  CHECK(static_cast<double>(rank.median_ns) == Approx(40e6 + launches_ns).epsilon(0.001));
  CHECK(static_cast<double>(rank.breakdown.host_bound) > 0.95 * static_cast<double>(rank.median_ns));
  Options fast;
  fast.host_scale = 0.5;
  const RankPrediction faster = std::move(predicted(traces, fast).ranks[0]);
  CHECK(static_cast<double>(faster.median_ns) == Approx(20e6 + launches_ns).epsilon(0.001));
}

TEST_CASE("a step that waits for the host is as uncertain as the host that it will run on") {
  TraceBuilder b;
  for (int step = 0; step < 4; ++step) {
    for (int i = 0; i < 20; ++i) b.after(1'000'000).gemm(256, 256 + 32 * i, 256);
    b.after(1'000'000).fill(100);
  }
  const Prediction prediction = predicted(one(b));
  const RankPrediction& rank = prediction.ranks[0];
  REQUIRE(static_cast<double>(rank.breakdown.host_bound) > 0.9 * static_cast<double>(rank.median_ns));
  // Hosts of published machines take from half of the tracing one's time on.
  const auto middle = static_cast<double>(rank.median_ns);
  CHECK((middle - static_cast<double>(rank.low_ns)) / middle == Approx(0.5).epsilon(0.1));
  CHECK((static_cast<double>(rank.high_ns) - middle) / middle == Approx(0.5).epsilon(0.1));
}

TEST_CASE("a device that does all the work: step time is device time, on a slower device more") {
  TraceBuilder b;
  for (int step = 0; step < 4; ++step) {
    for (int i = 0; i < 20; ++i) b.after(1'000).gemm(8192, 8192 + 256 * i, 8192);
    b.after(1'000).fill(100);
  }
  const std::vector<trace::LoadedTrace> traces = one(b);
  const Prediction h100 = predicted(traces);
  const RankPrediction& rank = h100.ranks[0];
  uint64_t device_ns = 0;
  for (const OperationSummary& operation : rank.operations) device_ns += operation.total_ns;
  const double gaps_ns = 21 * device::find_builtin_profile("h100-sxm")->queued_gap_ns;
  CHECK(static_cast<double>(rank.median_ns) == Approx(static_cast<double>(device_ns) / 3 + gaps_ns).epsilon(0.001));
  CHECK(rank.low_ns < rank.median_ns);
  CHECK(rank.high_ns > rank.median_ns);
  Options a100;
  a100.device = "a100-sxm-80";
  const Prediction slower = predicted(traces, a100);
  CHECK(slower.ranks[0].device == "a100-sxm-80");
  // Peak of bf16: 989 against 312 TFLOP/s.
  CHECK(static_cast<double>(slower.ranks[0].median_ns) > 1.5 * static_cast<double>(rank.median_ns));
}

TEST_CASE("equal traces give equal bytes") {
  TraceBuilder b;
  add_training(&b, 4);
  const std::vector<trace::LoadedTrace> first = one(b), second = one(b);
  Options options;
  options.explain = "gemm";
  const Prediction a = predicted(first, options), c = predicted(second, options);
  CHECK(report_json(a) == report_json(c));
  CHECK(report_text(a) == report_text(c));
}

TEST_CASE("the report is JSON and has the documented members in order") {
  TraceBuilder b;
  add_training(&b, 3);
  const std::vector<trace::LoadedTrace> traces = one(b);
  const Json json = Json::parse(report_json(predicted(traces)));
  std::vector<std::string> names;
  for (const auto& [name, value] : json.members) names.push_back(name);
  CHECK(names == std::vector<std::string>{"format", "device", "ranks", "complete", "steps", "step_time_ms",
                                          "breakdown_ms", "mfu", "model_flops_per_step", "memory", "provenance",
                                          "operations", "critical_path", "warnings"});
  CHECK(json["steps"]["count"].number == 3);
  CHECK(json["steps"]["warm_up"].number == 1);
  CHECK(json["steps"]["found_by"].text == "repetition");
  for (const char* name : {"compute", "communication", "exposed_communication", "copies", "host_bound", "idle"})
    CHECK(json["breakdown_ms"][name].kind == Json::Kind::kNumber);
  for (const char* name : {"context", "modules", "workspaces", "communication", "allocations"})
    CHECK(json["memory"]["peak_by_layer"][name].kind == Json::Kind::kNumber);
  CHECK(json["memory"]["first_failure"].kind == Json::Kind::kNull);
  CHECK(json["operations"].items.size() > 5);
  CHECK(json["memory"]["verdict"].text == "fits");
}

TEST_CASE("what if kernels took another time: names and families, all that match apply") {
  TraceBuilder b;
  for (int step = 0; step < 3; ++step) {
    b.after(1'000).gemm(8192, 8192, 8192);
    b.after(1'000).launch("tiny", 1);
  }
  const std::vector<trace::LoadedTrace> traces = one(b);
  const auto costs = [&](const char* scale, const char* another = nullptr) {
    Options options;
    for (const char* text : {scale, another}) {
      KernelScale parsed;
      if (text == nullptr) continue;
      REQUIRE_FALSE(parse_kernel_scale(text, &parsed));
      options.kernel_scales.push_back(parsed);
    }
    const Prediction prediction = predicted(traces, options);
    std::vector<double> times(2);
    for (const OperationCost& cost : prediction.ranks[0].costs.costs)
      times[cost.work.family == Family::kGemm ? 0 : 1] = cost.estimate.median_ns;
    return times;
  };
  const std::vector<double> plain = costs("nothing=7");
  CHECK(costs("gemm=0.5") == std::vector<double>{plain[0] * 0.5, plain[1]});
  CHECK(costs("TI?Y=3") == std::vector<double>{plain[0], plain[1] * 3});
  CHECK(costs("gemm=2", "*gemm*=2") == std::vector<double>{plain[0] * 4, plain[1]});

  // The step follows.
  Options options;
  options.kernel_scales = {{"gemm", 0.5}, {"no such kernel", 2}};
  const Prediction half = predicted(traces, options), whole = predicted(traces);
  const auto step = [](const Prediction& p) { return static_cast<double>(p.ranks[0].median_ns); };
  CHECK(step(whole) - step(half) == Approx(plain[0] * 0.5).epsilon(0.01));
  const std::string text = report_text(half);
  CHECK(text.find("what if: operations that match gemm take 0.500 times") != std::string::npos);
  CHECK(text.find("no operation matches no such kernel") != std::string::npos);
}

TEST_CASE("explanations say what an estimate rests on") {
  TraceBuilder b;
  for (int step = 0; step < 3; ++step) {
    b.after(1'000).gemm(8192, 8192, 8192);
    b.after(1'000).launch("tiny", 1);
  }
  const std::vector<trace::LoadedTrace> traces = one(b);
  Options options;
  options.explain = "gemm";
  const Prediction prediction = predicted(traces, options);
  REQUIRE(prediction.ranks[0].explanations.size() == 1);
  const Explanation& e = prediction.ranks[0].explanations[0];
  CHECK(e.count == 2);
  CHECK(e.flops == 2.0 * 8192 * 8192 * 8192);
  CHECK(std::string(e.bound) == "compute");
  CHECK(e.compute_ns == Approx(2.0 * 8192 * 8192 * 8192 / 989.4e12 * 1e9));
  CHECK(e.estimate.median_ns >= e.compute_ns);
  const Json json = Json::parse(report_json(prediction));
  CHECK(json["explain"][0]["shape"]["m"].number == 8192);
  CHECK(report_text(prediction).find("m=8192") != std::string::npos);
}

TEST_CASE("traces that end early, and what they are warned of") {
  TraceBuilder b;
  b.finished = false;
  add_training(&b, 3);
  const std::vector<trace::LoadedTrace> traces = one(b);
  const Prediction prediction = predicted(traces);
  CHECK_FALSE(prediction.ranks[0].complete);
  CHECK(mentions(prediction.warnings, "incomplete"));
  CHECK(prediction.ranks[0].median_ns > 0);
}

TEST_CASE("no device work at all") {
  TraceBuilder b;
  const std::vector<trace::LoadedTrace> traces = one(b);
  const Prediction prediction = predicted(traces);
  CHECK(prediction.ranks[0].median_ns == 0);
  CHECK(mentions(prediction.warnings, "no device work"));
  CHECK(Json::parse(report_json(prediction))["steps"]["count"].number == 0);
}

TEST_CASE("several ranks: the slowest decides, all are listed") {
  std::vector<trace::LoadedTrace> traces;
  for (int rank = 0; rank < 3; ++rank) {
    TraceBuilder b;
    b.header().set_rank(rank);
    b.header().set_world_size(3);
    for (int step = 0; step < 4; ++step)
      for (int i = 0; i < (rank == 1 ? 90 : 10); ++i) b.after(100'000).launch("kernel_" + std::to_string(i), 1);
    traces.push_back(b.load());
    traces.back().path = "rank" + std::to_string(rank) + ".pb";
  }
  traces.push_back(TraceBuilder().load());  // a helper process without device work
  const Prediction prediction = predicted(traces);
  REQUIRE(prediction.ranks.size() == 3);
  CHECK(prediction.slowest == 1);
  const Json json = Json::parse(report_json(prediction));
  CHECK(json["ranks"].number == 3);
  CHECK(json["per_rank"].items.size() == 3);
  CHECK(json["per_rank"][1]["step_time_ms"]["median"].number == json["step_time_ms"]["median"].number);
  CHECK(json["per_rank"][0]["step_time_ms"]["median"].number < json["step_time_ms"]["median"].number);
}

TEST_CASE("device of the trace: by profile text, by name, or not at all") {
  TraceBuilder named("no-such-device");
  named.launch("a", 1);
  const std::vector<trace::LoadedTrace> traces = one(named);
  Prediction prediction;
  Failure failure = predict(traces, {}, &prediction);
  CHECK(failure.kind == FailureKind::kInput);
  CHECK(failure.text.find("no-such-device") != std::string::npos);
  CHECK(failure.text.find("h200-sxm") != std::string::npos);
  TraceBuilder with_text("mine");
  std::string text;
  for (const device::BuiltinProfile& builtin : device::builtin_profiles())
    if (builtin.name == "h200-sxm") text = builtin.text;
  with_text.header().set_device_profile(text);
  with_text.launch("a", 1);
  const std::vector<trace::LoadedTrace> own = one(with_text);
  CHECK(predicted(own).ranks[0].device == "h200-sxm");
}

TEST_CASE("a launch whose description is lost counts as the shortest kernel, of unknown provenance") {
  TraceBuilder b;
  for (int step = 0; step < 3; ++step) {
    b.after(1'000).launch("a", 1);
    proto::Packet lost;
    lost.set_launch(4711);
    b.after(1'000).packet(lost);
  }
  const std::vector<trace::LoadedTrace> traces = one(b);
  const Prediction prediction = predicted(traces);
  CHECK(mentions(prediction.warnings, "lost their description"));
  CHECK(prediction.ranks[0].provenance[static_cast<size_t>(Provenance::kUnknown)] > 0);
  for (const OperationSummary& operation : prediction.ranks[0].operations) CHECK(operation.total_ns > 0);
}

TEST_CASE("graphs are not costed, and said so") {
  TraceBuilder b;
  b.launch("a", 1);
  proto::Packet graph;
  graph.mutable_graph_launch()->set_nodes(5);
  b.packet(graph);
  const std::vector<trace::LoadedTrace> traces = one(b);
  CHECK(mentions(predicted(traces).warnings, "CUDA graph"));
}
