// The published data itself, where it lies beside the sources: how much of it becomes measurements.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <iostream>
#include <map>

#include "test/training/scratch_folder.h"

namespace maya::training {
namespace {

// Empty when the data is not there; the test is then passed over, visibly.
std::string data_folder() {
  const char* source = std::getenv("MAYA_SOURCE_DIR");
  const std::string folder = source == nullptr ? "" : std::string(source) + "/../shared/data";
  if (source != nullptr && std::filesystem::is_directory(folder)) return folder;
  std::cout << "skipped: ../shared/data is not there\n";
  return {};
}

std::map<std::string, size_t> counts(const std::vector<Measurement>& measurements) {
  std::map<std::string, size_t> by_source_and_family;
  for (const Measurement& measurement : measurements) {
    const Family family = measurement.kernel.empty() ? measurement.record.family : Family::kUnknown;
    const std::string kind = measurement.kernel.empty() ? std::string(family_name(family)) : "launch";
    ++by_source_and_family[measurement.source + " " + kind];
  }
  return by_source_and_family;
}

TEST_CASE("All of the data is read for every device, and no row is refused") {
  const std::string folder = data_folder();
  if (folder.empty()) return;
  for (const char* device : {"a100-sxm-40", "a100-sxm-80", "a100-pcie-40", "a100-pcie-80", "h100-sxm", "h100-pcie",
                             "h200-sxm", "l40s", "b200-sxm"}) {
    const ReadResult result = read(folder, device);
    INFO(device);
    INFO(result.error);
    CHECK(result.ok);
    CHECK(result.report.rows_refused() == 0);
  }
}

TEST_CASE("H100: products, attention and expert layers are there in number") {
  const std::string folder = data_folder();
  if (folder.empty()) return;
  std::map<std::string, size_t> count = counts(read(folder, "h100-sxm").measurements);
  CHECK(count["aiconfigurator gemm"] > 60000);  // bfloat16 and 8-bit
  CHECK(count["aiconfigurator attention"] > 30000);
  CHECK(count["aiconfigurator grouped_gemm"] > 10000);
  CHECK(count["neusight gemm"] > 1500);
  CHECK(count["vidur gemm"] > 15000);
  CHECK(count["flash-attention attention"] > 100);
  CHECK(count["traces launch"] > 300);
}

}  // namespace
}  // namespace maya::training
