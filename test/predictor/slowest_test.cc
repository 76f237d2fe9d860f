// The slowest of many devices: its expected distance, and what it does to predictions of worlds.
#include <catch2/catch.hpp>

#include "predictor/predict.h"
#include "predictor/report.h"
#include "predictor/world/slowest.h"
#include "test/predictor/json_check.h"
#include "test/predictor/world_traces.h"

using namespace maya;
using namespace maya::predictor;
using namespace maya::test;

namespace {

Prediction predicted(const std::vector<trace::LoadedTrace>& traces, std::optional<double> spread) {
  Options options;
  options.device_spread = spread;
  Prediction prediction;
  REQUIRE_FALSE(predict(traces, options, &prediction));
  return prediction;
}

// Steps of kernels, a fill and a copy; `communicates`: with an all-reduce of all ranks at their ends.
std::vector<trace::LoadedTrace> steps(int32_t ranks, bool communicates) {
  WorldTraces world(ranks);
  std::vector<int32_t> all;
  for (int32_t rank = 0; rank < ranks; ++rank) all.push_back(rank);
  const uint64_t communicator = world.communicator(all);
  for (int step = 0; step < 4; ++step) {
    for (const int32_t rank : all) {
      TraceBuilder& trace = world.rank(rank);
      for (int layer = 0; layer < 4; ++layer) trace.after(2'000).gemm(8192, 8192, 8192);
      trace.after(2'000).launch("activation", 4096);
      trace.after(2'000).fill(1 << 26);
      trace.after(2'000).copy(proto::Copy::DEVICE_TO_DEVICE, 1 << 26, true, false);
    }
    if (communicates) world.collective(communicator, all, CollectiveKind::kAllReduce, 64 << 20);
    for (const int32_t rank : all) world.rank(rank).after(2'000).synchronize(proto::Synchronization::DEVICE);
  }
  return world.load();
}

// Median time of the operation of that name over its time in the other prediction.
double ratio_of(const std::string& name, const Prediction& one, const Prediction& other) {
  const auto time_of = [&](const Prediction& prediction) {
    for (const OperationCost& cost : prediction.ranks[0].costs.costs)
      if (cost.name == name) return cost.estimate.median_ns;
    FAIL("no operation " << name);
    return 0.0;
  };
  return time_of(one) / time_of(other);
}

}  // namespace

TEST_CASE("the largest of normal variables lies where tables of order statistics say") {
  // H. L. Harter, Expected values of normal order statistics, Biometrika 48 (1961), table 1; 1,000: D. Teichroew
  // (1956).
  const std::pair<uint64_t, double> table[] = {{2, 0.56419},  {3, 0.84628},  {4, 1.02938},  {5, 1.16296},  {8, 1.42360},
                                               {10, 1.53875}, {20, 1.86748}, {50, 2.24907}, {100, 2.50759}};
  for (const auto& [count, value] : table) {
    INFO(count);
    CHECK(expected_largest(count) == Approx(value).margin(2e-5));
  }
  CHECK(expected_largest(0) == 0);
  CHECK(expected_largest(1) == 0);
  // 1,024 of them: 3.24 for 1,000 and growing by ln(1.024) over the square root of 2 ln 1,000 (extreme value theory).
  CHECK(expected_largest(1000) == Approx(3.2414).margin(2e-4));
  CHECK(expected_largest(1024) == Approx(3.2414 + 0.0237 / 3.717).margin(1e-3));
  CHECK(expected_largest(1'000'000) > expected_largest(16'384));
}

TEST_CASE("factors: deviations times spread, the interval by its error, in bounds whatever the arguments") {
  const SlowestDevice eight = slowest_device(8, 0.02, 0.005);
  CHECK(eight.devices == 8);
  CHECK(eight.median == Approx(1 + 0.02 * 1.4236).epsilon(1e-5));
  CHECK(eight.low == Approx(1 + (0.02 - 1.2816 * 0.005) * 1.4236).epsilon(1e-5));
  CHECK(eight.high == Approx(1 + (0.02 + 1.2816 * 0.005) * 1.4236).epsilon(1e-5));
  CHECK(slowest_device(8, 0.001, 0.005).low == 1);
  CHECK(slowest_device(1, 0.02, 0.005).median == 1);
  CHECK(slowest_device(8, -1, -1).median == 1);
  CHECK(slowest_device(8, 9, 0).median == Approx(1 + kMostDeviceSpread * 1.4236).epsilon(1e-5));
}

TEST_CASE("kernels of ranks that wait for each other take the time of the slowest device; copies and fills do not") {
  const auto traces = steps(4, true);
  const Prediction alike = predicted(traces, 0.0), unlike = predicted(traces, 0.02);
  const double factor = 1 + 0.02 * 1.02938;  // four devices, by the table above
  CHECK(ratio_of("cublasGemmEx", unlike, alike) == Approx(factor).epsilon(1e-5));
  CHECK(ratio_of("activation", unlike, alike) == Approx(factor).epsilon(1e-5));
  CHECK(ratio_of("Memset (Device)", unlike, alike) == 1);
  CHECK(ratio_of("Memcpy DtoD (Device -> Device)", unlike, alike) == 1);
  CHECK(ratio_of("ncclAllReduce", unlike, alike) == 1);
  CHECK(unlike.ranks[0].median_ns > alike.ranks[0].median_ns);
  // What comes with Maya is published for GPUs of a cluster: between none and five hundredths.
  const Prediction usual = predicted(traces, std::nullopt);
  CHECK(usual.world.slowest_device.spread > 0);
  CHECK(usual.world.slowest_device.spread < 0.05);
  CHECK(usual.world.slowest_device.low < usual.world.slowest_device.median);
  CHECK(ratio_of("cublasGemmEx", usual, alike) == Approx(usual.world.slowest_device.median));
}

TEST_CASE("ranks that never communicate, and one rank, wait for nobody") {
  for (const auto& traces : {steps(4, false), steps(1, true)}) {
    const Prediction alike = predicted(traces, 0.0), unlike = predicted(traces, 0.02);
    CHECK(unlike.world.slowest_device.median == 1);
    CHECK(ratio_of("cublasGemmEx", unlike, alike) == 1);
    CHECK(report_text(unlike).find("--device-spread") == std::string::npos);
  }
}

TEST_CASE("reports say how much longer the slowest device takes, of how many, and from which spread") {
  const auto traces = steps(4, true);
  Options options;
  options.device_spread = 0.02;
  options.explain = "cublasGemmEx";
  Prediction prediction;
  REQUIRE_FALSE(predict(traces, options, &prediction));
  const std::string text = report_text(prediction);
  CHECK(text.find("kernels take 1.021 times their estimates: the slowest of 4 devices (--device-spread 0.020)") !=
        std::string::npos);
  CHECK(text.find("slowest device  1.021 times the estimate") != std::string::npos);
  const Json json = Json::parse(report_json(prediction));
  CHECK(json["slowest_device"]["devices"].number == 4);
  CHECK(json["slowest_device"]["spread"].number == Approx(0.02));
  CHECK(json["slowest_device"]["kernel_factor"].number == Approx(1 + 0.02 * 1.02938).epsilon(1e-5));
}
