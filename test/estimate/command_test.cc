// maya-estimate as a command: output, errors and exit statuses of the command-line contract.
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

struct Result {
  int status = -1;
  std::string output;  // standard output and standard error
};

Result run(const std::string& arguments, const std::string& input) {
  const char* bin = std::getenv("MAYA_BIN_PATH");
  REQUIRE(bin != nullptr);
  const std::string command = "printf '" + input + "' | " + bin + "/maya-estimate " + arguments +
                              (arguments.find("2>") == std::string::npos ? " 2>&1" : "");
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  Result result;
  char buffer[4096];
  while (size_t count = fread(buffer, 1, sizeof(buffer), pipe)) result.output.append(buffer, count);
  result.status = WEXITSTATUS(pclose(pipe));
  return result;
}

TEST_CASE("Lines come back with the estimate appended") {
  const Result result = run("--device h100-sxm --family gemm", "m,n,k,dtype,note\\n2048,4096,4096,bfloat16,\"a,b\"\\n");
  CHECK(result.status == 0);
  CHECK(
      result.output.starts_with("m,n,k,dtype,note,median_us,low_us,high_us,provenance\n2048,4096,4096,bfloat16,\"a,b\","
                                "90.252,"));  // public
                                              // measurement,
                                              // 90.252 us
  CHECK(result.output.ends_with(",measured\n"));
}

TEST_CASE("Estimates say where they come from") {
  const auto provenance = [](const std::string& options, const std::string& rows) {
    const std::string output = run(options + " 2>/dev/null", rows).output;
    const size_t comma = output.rfind(',');
    return output.substr(comma + 1, output.size() - comma - 2);
  };
  const std::string h100 = "--device h100-sxm --family gemm";
  CHECK(provenance(h100, "m,n,k,dtype\\n4100,4096,4096,bfloat16\\n") == "interpolated");
  CHECK(provenance(h100, "m,n,k,dtype,transa\\n4096,4096,4096,bfloat16,N\\n") == "extrapolated");
  CHECK(provenance(h100, "m,n,k,dtype\\n4096,4096,4096,float64\\n") == "analytic");
  // The PCIe card was not measured: its figures come from the SXM part.
  CHECK(provenance("--device h100-pcie --family gemm", "m,n,k,dtype\\n2048,4096,4096,bfloat16\\n") == "extrapolated");
}

TEST_CASE("A power limit makes large products slower, and nothing faster") {
  const auto median_us = [](const std::string& options) {
    const std::string output = run(options + " --family gemm", "m,n,k,dtype\\n8192,8192,8192,bfloat16\\n").output;
    const size_t row = output.find("8192,8192,8192,bfloat16,");
    REQUIRE(row != std::string::npos);
    return std::stod(output.substr(row + std::string("8192,8192,8192,bfloat16,").size()));
  };
  const double burst = median_us("--device h200-sxm"), sustained = median_us("--device h200-sxm --sustained");
  // Published: 6 to 17 % at training sizes (shared notes on the H200 at its power limit).
  CHECK(sustained / burst > 1.03);
  CHECK(sustained / burst < 1.2);
}

TEST_CASE("A type without a model says which models are there") {
  const Result result =
      run("--device h100-sxm --family gemm", "m,n,k,dtype\\n512,512,512,float64\\n512,512,512,float64\\n");
  CHECK(result.status == 0);
  CHECK(result.output.find("no model for some rows of family gemm on h100-sxm") != std::string::npos);
  CHECK(result.output.find("gemm 16-bit, ") != std::string::npos);
  CHECK(result.output.find("maya-estimate: ") == result.output.rfind("maya-estimate: "));  // once
}

TEST_CASE("A damaged or missing table is one line and status 3") {
  for (const char* table : {"/dev/null", "/nonexistent.table", "/etc/passwd"}) {
    const Result result =
        run(std::string("--device h100-sxm --family gemm --table ") + table, "m,n,k,dtype\\n1,1,1,bfloat16\\n");
    INFO(table << ": " << result.output);
    CHECK(result.status == 3);
    CHECK(std::count(result.output.begin(), result.output.end(), '\n') == 1);
    CHECK(result.output.find(table) != std::string::npos);
  }
}

TEST_CASE("JSON carries the same figures") {
  const Result result = run("--device a100-sxm-80 --family copy --json", "kind,bytes\\ndevice_to_device,1048576\\n");
  CHECK(result.status == 0);
  CHECK(result.output.find("\"device\": \"a100-sxm-80\"") != std::string::npos);
  CHECK(result.output.find("\"median_us\": ") != std::string::npos);
}

TEST_CASE("Families are listed with their columns") {
  const Result result = run("--families", "");
  CHECK(result.status == 0);
  CHECK(result.output.find("gemm: m,n,k,dtype[,transa][,transb][,batch]\n") != std::string::npos);
}

TEST_CASE("Wrong usage ends with status 2 and names what is known") {
  CHECK(run("--family gemm --device h1000", "").status == 2);
  CHECK(run("--family gemm --device h1000", "").output.find("h100-sxm") != std::string::npos);
  CHECK(run("--family magic", "").status == 2);
  CHECK(run("--family magic", "")
            .output.starts_with("maya-estimate: unknown family: magic; known are gemm grouped_gemm attention"));
  CHECK(run("", "").status == 2);
  CHECK(run("--family gemm --nonsense", "").status == 2);
}

TEST_CASE("A table that cannot be used ends with status 3 and names the line") {
  CHECK(run("--family gemm", "").output ==
        "maya-estimate: standard input: line 1: empty table: expected a header; see --families\n");
  CHECK(run("--family gemm", "").status == 3);
  CHECK(run("--family gemm", "m,n\\n").output ==
        "maya-estimate: standard input: line 1: missing column: k; see --families\n");
  const Result bad = run("--family gemm", "m,n,k,dtype\\n1,1,1,bfloat16\\n1,1,one,bfloat16\\n");
  CHECK(bad.status == 3);
  CHECK(bad.output.find(
            "maya-estimate: standard input: line 3: k: `one`: expected a whole number from 0; see --families\n") !=
        std::string::npos);
  CHECK(run("--family gemm --input /nowhere/table.csv", "").status == 3);
}

TEST_CASE("A full disk ends with status 4") { CHECK(run("--families >/dev/full", "").status == 4); }

}  // namespace

TEST_CASE("Collectives run on the cluster that is named") {
  const std::string rows = "operation,bytes,ranks,nodes\nall_gather,1073741824,64,8\n";
  const auto time_of = [&](const std::string& options) {
    const Result result = run("--device a100-sxm-40 --family collective " + options, rows);
    INFO(result.output);
    REQUIRE(result.status == 0);
    const std::string line = "all_gather,1073741824,64,8,";
    const size_t at = result.output.find(line);
    REQUIRE(at != std::string::npos);
    return std::stod(result.output.substr(at + line.size()));
  };
  // 7/8 of 1 GiB enters each node at 50 GB/s (p4d: 4 x 100 Gb/s) and at 200 GB/s (8 x 200 Gb/s).
  CHECK(time_of("--cluster p4d") > 1073741824 * 7.0 / 8 / 50e9 * 1e6);
  CHECK(time_of("--cluster dgx-a100-40") > 1073741824 * 7.0 / 8 / 200e9 * 1e6);
  CHECK(time_of("--cluster p4d") > 2 * time_of(""));
  CHECK(time_of("--cluster dgx-a100-40") == time_of(""));
  const Result unknown = run("--family collective --cluster nowhere", rows);
  CHECK(unknown.status == 2);
  CHECK(unknown.output.find("unknown cluster: nowhere; known are dgx-h100, ") != std::string::npos);
}
