#include "predictor/training/sources/registry.h"

#include <catch2/catch.hpp>

#include "predictor/training/device_name.h"
#include "test/training/scratch_folder.h"

namespace maya::training {
namespace {

constexpr char kGemm[] = "m,n,k,dtype,time_us\n512,1024,2048,bfloat16,4.5\n";

TEST_CASE("A folder is read file by file, in the order of names; unknown files are reported") {
  const ScratchFolder folder;
  folder.write("b/softmax.csv", "rows,columns,dtype,time_us\n4096,4096,float32,60\n");
  folder.write("a/gemm.csv.gz", kGemm);
  folder.write("README.md", "text");
  folder.write("launch_overhead.csv", "trace,gpu,what,n,p10_us,median_us,p90_us\na,b,c,1,2,3,4\n");
  const ReadResult result = read(folder.path(), "h100-sxm");
  INFO(result.error);
  REQUIRE(result.ok);
  REQUIRE(result.measurements.size() == 2);
  CHECK(result.measurements[0].record.family == Family::kGemm);
  CHECK(result.measurements[1].record.family == Family::kSoftmax);
  CHECK(result.report.files_skipped() == 2);
  CHECK(result.report.text().find("README.md: skipped: not a kind of measurement that is known") != std::string::npos);
  CHECK(result.report.text().find("launch_overhead.csv: skipped: holds no durations") != std::string::npos);
}

TEST_CASE("A single file must be of a known kind") {
  const ScratchFolder folder;
  const std::string path = folder.write("notes.csv", "a,b\n1,2\n");
  CHECK(read(path, "h100-sxm").error ==
        path + ": not a kind of measurement that is known; see predictor/training/SCHEMA.md");
}

TEST_CASE("Paths and devices that do not exist are errors") {
  CHECK(read("/nowhere", "h100-sxm").error == "/nowhere: is neither a file nor a folder");
  const ScratchFolder folder;
  CHECK(read(folder.path(), "h1000").error == "unknown device: h1000");
}

TEST_CASE("A damaged file ends the reading") {
  const ScratchFolder folder;
  const std::string path = folder.write("gemm.csv", "m,n,k,dtype,time_us\n1,2\n");
  CHECK(read(folder.path(), "h100-sxm").error == path + ": line 2: row of 2 cells: expected 5, as in the header");
}

TEST_CASE("Devices have profiles under every name that data uses") {
  CHECK(profile_of("NVIDIA A100-SXM4-80GB") == "a100-sxm-80");
  CHECK(profile_of("NVIDIA A100-PCIE-40GB") == "a100-pcie-40");
  CHECK(profile_of("NVIDIA A100 80GB PCIe") == "a100-pcie-80");
  CHECK(profile_of("NVIDIA H100 80GB HBM3") == "h100-sxm");
  CHECK(profile_of("NVIDIA H100 PCIe") == "h100-pcie");
  CHECK(profile_of("NVIDIA A100-PG509-200") == "a100-sxm-40");
  CHECK(profile_of("NVIDIA B200") == "b200-sxm");
  CHECK(profile_of("a100_sxm") == "a100-sxm-80");
  CHECK(profile_of("h200-sxm") == "h200-sxm");
  for (const char* other : {"Tesla V100-SXM2-16GB", "Tesla T4", "Tesla P100-PCIE-16GB", "NVIDIA A40", "NVIDIA L4",
                            "NVIDIA H800", "NVIDIA GeForce RTX 3090", ""})
    CHECK(profile_of(other).empty());
}

}  // namespace
}  // namespace maya::training
