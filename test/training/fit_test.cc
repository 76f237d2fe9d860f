// Fitting: known laws are found again, and what cannot be fitted is said.
#include "predictor/training/fit.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "predictor/core/limits.h"
#include "predictor/core/operation_columns.h"
#include "predictor/training/line_fit.h"
#include "predictor/training/parameters.h"
#include "predictor/training/train.h"
#include "test/training/scratch_folder.h"

using namespace maya;
using namespace maya::training;

namespace {

const device::DeviceProfile& h100() { return *device::find_builtin_profile("h100-sxm"); }

Measurement measurement(const OperationRecord& record, double time_ns) {
  Measurement result;
  result.device = "h100-sxm";
  result.record = record;
  result.time_ns = time_ns;
  result.source = "test";
  return result;
}

// Products that take 1.4 times the roofline with a depth below 2048 and 1.2 times above, plus 3 us, within 2 %.
std::vector<Measurement> products() {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> noise(0.98, 1.02);
  std::vector<Measurement> result;
  for (int64_t rows = 128; rows <= 16384; rows += rows / 4)
    for (int64_t columns : {512, 1024, 2048, 4096, 8192, 12288})
      for (int64_t depth : {512, 1024, 2048, 4096, 8192, 12288}) {
        const OperationRecord record = gemm_record(rows, columns, depth, DataType::kBfloat16);
        const double bound = model::roofline_ns(h100(), work_of(record));
        result.push_back(measurement(record, (3000 + bound * (depth < 2048 ? 1.4 : 1.2)) * noise(random)));
      }
  return result;
}

}  // namespace

TEST_CASE("A line is found again in spite of outliers") {
  std::vector<LineSample> samples;
  for (int i = 0; i < 100; ++i) {
    const double bytes = 1e4 * std::pow(1.15, i), ideal_ns = bytes / 3e12 * 1e9;
    samples.push_back({7, 0, 0, bytes, ideal_ns, (2500 + ideal_ns / 0.8) * (i % 10 == 0 ? 3 : 1)});
  }
  const std::vector<StreamingLine> lines = fit_lines(samples, 1000);
  REQUIRE(lines.size() == 2);  // the operator's own and the common one
  for (const StreamingLine& line : lines) {
    CHECK(line.floor_ns == Approx(2500).epsilon(0.03));
    CHECK(line.share == Approx(0.8).epsilon(0.03));
    CHECK(line.rows == 100);
  }
  samples.resize(kLeastLineRows - 1);
  CHECK(fit_lines(samples, 1000).empty());
}

TEST_CASE("A known law of products is learned, and intervals hold what was kept back") {
  TrainOptions options;
  options.holdout = 0.2;
  Trained trained;
  std::string error;
  REQUIRE(train(h100(), products(), {}, options, &trained, &error));
  REQUIRE(trained.scores.size() == 1);
  const ModelScore& score = trained.scores[0];
  CHECK(text_of(score.name) == "gemm 16-bit");
  CHECK(score.learned.rows > 100);
  CHECK(score.learned.median < 0.03);   // the noise is 2 %
  CHECK(score.roofline.median > 0.15);  // the law lies at least 20 % above
  CHECK(score.learned.coverage > 0.6);
  CHECK(score.learned.coverage < 0.95);
  // Equal input, equal bytes.
  Trained again;
  REQUIRE(train(h100(), products(), {}, options, &again, &error));
  CHECK(table_bytes(again.table) == table_bytes(trained.table));
}

TEST_CASE("Too few rows are refused with the number that is needed") {
  std::vector<Measurement> few = products();
  few.resize(kLeastRows - 1);
  Trained trained;
  std::string error;
  REQUIRE(train(h100(), few, {}, {}, &trained, &error));
  CHECK(trained.table.models.empty());
  REQUIRE(trained.left_out.size() == 1);
  CHECK(trained.left_out[0] == "gemm 16-bit: 3 rows, at least 4 are needed");
  CHECK_FALSE(train(h100(), {}, {}, {}, &trained, &error));
  CHECK(error.find("h100-sxm") != std::string::npos);
}

TEST_CASE("A device without measurements borrows and says so") {
  const device::DeviceProfile& pcie = *device::find_builtin_profile("h100-pcie");
  Trained trained;
  std::string error;
  TrainOptions options;
  options.holdout = 0;
  REQUIRE(train(pcie, {}, {{&h100(), products()}}, options, &trained, &error));
  REQUIRE(trained.table.models.size() == 1);
  CHECK(trained.table.models[0].head.borrowed == 1);
  CHECK(std::string(trained.table.models[0].head.origin) == "h100-sxm");
}

TEST_CASE("Scores by hand") {
  // Errors +10 %, -20 %, 0: median 10 %, mean 10 %, bias 0; two of three inside.
  const Scored rows[] = {{100, 110, 90, 120}, {100, 80, 70, 90}, {100, 100, 90, 110}};
  const Score score = score_of(rows);
  CHECK(score.median == Approx(0.1));
  CHECK(score.mean == Approx(0.1));
  CHECK(score.bias == Approx(0.0).margin(1e-12));
  CHECK(score.coverage == Approx(2.0 / 3));
  CHECK(quantile({1, 2, 3, 4}, 0.5) == Approx(2.5));
  CHECK(quantile({}, 0.5) == 0);
}

TEST_CASE("Parameters are read by device, and replace fitted ones") {
  const ScratchFolder folder;
  const std::string path = folder.write("parameters.txt",
                                        "# comment\nh100-sxm gemm.tf32 1.25  # with a source\n\n"
                                        "h200-sxm gemm.tf32 9\nh100-sxm sustained.slope 0.5\n");
  std::vector<TableParameter> parameters(1);
  std::strcpy(parameters[0].name, "sustained.slope");
  parameters[0].value = 0.1;
  std::string error;
  REQUIRE(read_parameters(path, "h100-sxm", &parameters, &error));
  REQUIRE(parameters.size() == 2);
  CHECK(std::string(parameters[0].name) == "gemm.tf32");
  CHECK(parameters[0].value == 1.25);
  CHECK(parameters[1].value == 0.5);
  for (const char* bad : {"h100-sxm gemm.tf32", "h100-sxm gemm.tf32 fast", "h100-sxm gemm.tf32 1 2 3",
                          "h100-sxm gemm.tf32 1 -2", "h100-sxm a nan"}) {
    CHECK_FALSE(
        read_parameters(folder.write("bad.txt", std::string("\n") + bad + "\n"), "h100-sxm", &parameters, &error));
    CHECK(error.find("line 2") != std::string::npos);
  }
  CHECK_FALSE(read_parameters(folder.path() + "/none", "h100-sxm", &parameters, &error));
}
