#include "predictor/training/merge.h"

#include <catch2/catch.hpp>

#include "predictor/core/operation_columns.h"

namespace maya::training {
namespace {

Measurement gemm(int64_t m, double time_ns) {
  Measurement measurement;
  measurement.device = "h100-sxm";
  measurement.record = gemm_record(m, 8, 8, DataType::kBfloat16);
  measurement.time_ns = time_ns;
  measurement.source = "made up";
  return measurement;
}

TEST_CASE("Quantiles are interpolated between neighbours") {
  CHECK(quantile({1, 2, 3, 4, 5}, 0.5) == 3);
  CHECK(quantile({1, 2}, 0.5) == 1.5);
  CHECK(quantile({1, 2, 3, 4, 5}, 0.9) == Approx(4.6));
  CHECK(quantile({7}, 0.1) == 7);
  CHECK(quantile({}, 0.1) == 0);
}

TEST_CASE("Equal operations become their median, with the spread of their times") {
  Report report;
  const std::vector<Measurement> merged = merge({gemm(1, 100), gemm(2, 50), gemm(1, 400), gemm(1, 200)}, &report);
  REQUIRE(merged.size() == 2);
  CHECK(merged[0].time_ns == 200);
  CHECK(merged[0].repeats == 3);
  // Sorted 100, 200, 400: p10 = 100 + 0.2 * 100 = 120, p90 = 200 + 0.8 * 200 = 360.
  CHECK(merged[0].spread == Approx(3));
  CHECK(merged[1].time_ns == 50);
  CHECK(merged[1].spread == 1);
  CHECK(report.text() ==
        "made up: 1 operations measured more than once disagree, by up to a factor of 4.00: their median is used\n");
}

TEST_CASE("Another device, source, clock or launch is another operation") {
  Measurement other_device = gemm(1, 2), other_source = gemm(1, 3), sustained = gemm(1, 4), launch = gemm(1, 5),
              wider = gemm(1, 6);
  other_device.device = "l40s";
  other_source.source = "elsewhere";
  sustained.sustained = true;
  launch.kernel = wider.kernel = "kernel()";
  wider.grid[0] = 2;
  Report report;
  CHECK(merge({gemm(1, 1), other_device, other_source, sustained, launch, wider}, &report).size() == 6);
  CHECK(report.text().empty());
}

TEST_CASE("Times within two percent agree") {
  Report report;
  CHECK(merge({gemm(1, 100), gemm(1, 101)}, &report).size() == 1);
  CHECK(report.text().empty());
}

}  // namespace
}  // namespace maya::training
