// Reports of a prediction that is written out by hand, against golden/. MAYA_UPDATE_GOLDEN=1 writes the golden files
// anew.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "predictor/report.h"
#include "test/predictor/json_check.h"

using namespace maya;
using namespace maya::predictor;

namespace {

void check_golden(const std::string& name, const std::string& text) {
  const char* source = std::getenv("MAYA_SOURCE_DIR");
  REQUIRE(source != nullptr);
  const std::string path = std::string(source) + "/test/predictor/golden/" + name;
  if (std::getenv("MAYA_UPDATE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << text;
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file.good());
  std::stringstream expected;
  expected << file.rdbuf();
  CHECK(text == expected.str());
}

RankPrediction example_rank(const trace::LoadedTrace* trace) {
  RankPrediction rank;
  rank.trace = trace;
  rank.device = "h100-sxm";
  rank.complete = true;
  rank.steps.steps.resize(4);
  rank.steps.warm_up = 1;
  rank.steps.found_by = FoundBy::kRepetition;
  rank.median_ns = 41'234'567;
  rank.low_ns = 38'900'000;
  rank.high_ns = 44'000'001;
  rank.breakdown = {30'000'000, 5'000'000, 4'000'000, 1'234'567, 5'000'000, 1'000'000};
  rank.provenance = {0, 0, 0, 0.9, 0.1};
  rank.operations = {{"cublasGemmEx", Family::kGemm, 300, 80'000'000, 0.8, Provenance::kAnalytic},
                     {"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
                      "std::array<char*, 1ul> >(int, "
                      "at::native::FillFunctor<float>, std::array<char*, 1ul>)",
                      Family::kElementwise, 90, 10'000'000, 0.1, Provenance::kAnalytic},
                     {"my \"kernel\"", Family::kUnknown, 3, 10'000'000, 0.1, Provenance::kUnknown}};
  rank.memory.capacity_bytes = 85'028'896'768;
  rank.memory.driver_reserve_bytes = 4'194'304;
  rank.memory.peak_bytes = 22'000'000'000;
  rank.memory.peak_by_layer = {20'000'000'000, 0, 600'000'000, 200'000'000, 1'000'000'000, 200'000'000};
  rank.memory.needed_bytes = 22'004'194'304;
  rank.memory.fits_on = {"h100-sxm", "a100-sxm-40"};
  return rank;
}

}  // namespace

TEST_CASE("a run that fits") {
  trace::LoadedTrace trace;
  trace.path = "gpt-1.pb";
  Prediction prediction;
  prediction.ranks.push_back(example_rank(&trace));
  prediction.warnings = {"a warning"};
  check_golden("fits.txt", report_text(prediction));
  check_golden("fits.json", report_json(prediction));
  CHECK(test::Json::parse(report_json(prediction))["operations"][2]["name"].text == "my \"kernel\"");
}

TEST_CASE("a run out of memory, two ranks") {
  trace::LoadedTrace first, second;
  first.path = "gpt-1-rank0.pb";
  second.path = "gpt-2-rank1.pb";
  Prediction prediction;
  prediction.cluster = "my-cluster";
  prediction.ranks.push_back(example_rank(&first));
  prediction.ranks.push_back(example_rank(&second));
  RankPrediction& rank = prediction.ranks[1];
  rank.rank = 1;
  rank.complete = false;
  rank.median_ns = 50'000'000;
  rank.memory.out_of_memory = true;
  rank.memory.fits_on = {};
  MemoryFailure& failure = rank.memory.first_failure.emplace();
  failure.call = "cuMemAlloc_v2";
  failure.requested_bytes = 70'000'000'000;
  failure.free_bytes = 1'000'000'000;
  failure.capacity_bytes = 85'028'896'768;
  failure.layers = rank.memory.peak_by_layer;
  failure.largest_holders = {8'000'000'000, 4'000'000'000};
  failure.operation = "cublasGemmEx";
  prediction.slowest = 1;
  check_golden("out_of_memory.txt", report_text(prediction));
  check_golden("out_of_memory.json", report_json(prediction));
  test::Json::parse(report_json(prediction));
}

TEST_CASE("explanations") {
  trace::LoadedTrace trace;
  Prediction prediction;
  prediction.ranks.push_back(example_rank(&trace));
  Explanation& e = prediction.ranks[0].explanations.emplace_back();
  e.name = "cublasGemmEx";
  e.family = Family::kGemm;
  e.count = 24;
  e.shape = {{"m", 3072}, {"n", 8192}, {"k", 768}};
  e.type = DataType::kBfloat16;
  e.flops = 38'654'705'664;
  e.read_bytes = 17'301'504;
  e.written_bytes = 50'331'648;
  e.compute_ns = 39'069;
  e.memory_ns = 20'176;
  e.floor_ns = 1'500;
  e.bound = "compute";
  e.estimate = {55'000, 45'000, 70'000, Provenance::kAnalytic};
  check_golden("explain.txt", report_text(prediction));
  check_golden("explain.json", report_json(prediction));
}
