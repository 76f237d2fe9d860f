// Maya's own tables: every family's columns, and every kind of bad input.
#include "predictor/training/schema.h"

#include <catch2/catch.hpp>

#include "test/training/scratch_folder.h"

namespace maya::training {
namespace {

constexpr char kGemmHeader[] = "m,n,k,dtype,time_us\n";

// The error of reading a table, its folder cut off; empty when it was read.
std::string error_of(const std::string& name, const std::string& content) {
  const ScratchFolder folder;
  ReadResult result = read(folder.write(name, content), "h100-sxm");
  if (result.ok) return {};
  if (result.error.starts_with(folder.path())) result.error.erase(0, folder.path().size() + 1);
  return result.error;
}

TEST_CASE("A file belongs to the family its name begins with") {
  const auto family = [](std::string_view name) {
    const FamilyColumns* columns = family_of_table(name);
    return columns == nullptr ? std::string_view() : columns->name;
  };
  CHECK(family("gemm.csv") == "gemm");
  CHECK(family("gemm_h100.csv.gz") == "gemm");
  CHECK(family("grouped_gemm-1.csv") == "grouped_gemm");
  CHECK(family("norm.csv") == "normalization");
  CHECK(family("normalization2.csv") == "normalization");
  CHECK(family("launch.csv") == "launch");
  CHECK(family("gemmology.csv").empty());
  CHECK(family("e2e.csv").empty());
}

TEST_CASE("A row is its operation and its time") {
  // 4096^3 at 200 us: 2 * 4096^3 / 200e-6 = 687 TFLOP/s.
  const Measurement measurement = only("gemm.csv",
                                       "m,n,k,dtype,time_us,device,source,spread,sustained,repeats\n"
                                       "512,1024,2048,bfloat16,4.5,NVIDIA H100 80GB HBM3,my lab,1.25,1,7\n",
                                       "h100-sxm");
  CHECK(measurement.device == "h100-sxm");
  CHECK(measurement.record.get(Key::kM) == 1024);
  CHECK(measurement.record.get(Key::kN) == 512);
  CHECK(measurement.record.get(Key::kK) == 2048);
  CHECK(measurement.time_ns == 4500);
  CHECK(measurement.source == "my lab");
  CHECK(measurement.spread == 1.25);
  CHECK(measurement.repeats == 7);
  CHECK(measurement.sustained);
}

TEST_CASE("Without the optional columns a row is of the wanted device, a burst, and named after its file") {
  const Measurement measurement = only("softmax.csv", "rows,columns,dtype,time_us\n4096,4096,float32,60\n", "h100-sxm");
  CHECK(measurement.source == "softmax.csv");
  CHECK(measurement.spread == 1);
  CHECK(measurement.repeats == 1);
  CHECK_FALSE(measurement.sustained);
  CHECK(measurement.record.family == Family::kSoftmax);
}

TEST_CASE("Every family has a table") {
  struct Example {
    const char *name, *content;
    Family family;
  };
  const Example examples[] = {
      {"attention.csv", "batch,seq_q,seq_kv,heads,head_dim,dtype,causal,time_us\n1,4096,4096,32,128,bfloat16,1,300\n",
       Family::kAttention},
      {"grouped_gemm.csv", "groups,m,n,k,dtype,time_us\n8,4096,4096,4096,bfloat16,300\n", Family::kGroupedGemm},
      {"convolution.csv",
       "batch,channels,height,width,filters,filter_height,filter_width,dtype,time_us\n32,64,56,56,64,3,3,float16,50\n",
       Family::kConvolution},
      {"copy.csv", "kind,bytes,time_us\ndevice_to_device,104857600,80\n", Family::kCopy},
      {"collective.csv", "operation,bytes,ranks,time_us\nall_reduce,1073741824,8,4200\n", Family::kCollective},
      {"optimizer.csv", "rows,columns,dtype,operation,time_us\n1,100000000,float32,adamw,1000\n", Family::kOptimizer},
      {"pooling.csv", "rows,columns,dtype,time_us\n4096,4096,float32,60\n", Family::kPooling},
      {"sort.csv", "rows,columns,dtype,time_us\n4096,4096,float32,600\n", Family::kSort},
  };
  for (const Example& example : examples) {
    INFO(example.name);
    CHECK(only(example.name, example.content, "h100-sxm").record.family == example.family);
  }
}

TEST_CASE("A launch table holds kernels") {
  const Measurement measurement =
      only("launch.csv",
           "kernel,grid_x,grid_y,grid_z,block_x,block_y,block_z,registers,shared_bytes,time_us\n"
           "\"void at::native::f<4, float>(int)\",100,2,1,128,1,1,40,1024,7.5\n",
           "h100-sxm");
  CHECK(measurement.kernel == "void at::native::f<4, float>(int)");
  CHECK(measurement.grid[0] == 100);
  CHECK(measurement.grid[1] == 2);
  CHECK(measurement.block[0] == 128);
  CHECK(measurement.registers == 40);
  CHECK(measurement.shared_bytes == 1024);
  CHECK(measurement.time_ns == 7500);
}

TEST_CASE("Rows of other devices are left out") {
  const ScratchFolder folder;
  const ReadResult result = read(folder.write("gemm.csv",
                                              "m,n,k,dtype,time_us,device\n"
                                              "512,1024,2048,bfloat16,4.5,h100-sxm\n"
                                              "512,1024,2048,bfloat16,9,a100-sxm-80\n"
                                              "512,1024,2048,bfloat16,9,Tesla V100-SXM2-16GB\n"),
                                 "h100-sxm");
  REQUIRE(result.ok);
  CHECK(result.measurements.size() == 1);
  CHECK(result.report.text().find("gemm.csv: left out 2 rows: other devices") != std::string::npos);
}

TEST_CASE("Missing columns are named, all of them") {
  CHECK(error_of("gemm.csv", "m,k\n1,2\n") ==
        "gemm.csv: line 1: missing columns: n, dtype, time_us; a table of gemm needs them");
  CHECK(error_of("launch.csv", "kernel,time_us\nf,2\n") ==
        "launch.csv: line 1: missing columns: grid_x, grid_y, grid_z, block_x, block_y, block_z; a table of launch "
        "needs them");
}

TEST_CASE("Cells that are not what their column holds are named") {
  CHECK(error_of("gemm.csv", std::string(kGemmHeader) + "512,512,512,bfloat16,4\n512,half,512,bfloat16,4\n") ==
        "gemm.csv: line 3: n: `half`: expected a whole number from 0");
  CHECK(error_of("gemm.csv", std::string(kGemmHeader) + "512,512,512,bfloat61,4\n") ==
        "gemm.csv: line 2: dtype: `bfloat61`: expected a type as PyTorch names it, such as bfloat16");
  CHECK(error_of("gemm.csv", "m,n,k,dtype,time_us,spread\n512,512,512,bfloat16,4,0.5\n") ==
        "gemm.csv: line 2: spread: `0.5`: expected a factor of at least 1");
  CHECK(error_of("gemm.csv", "m,n,k,dtype,time_us,sustained\n512,512,512,bfloat16,4,maybe\n") ==
        "gemm.csv: line 2: sustained: `maybe`: expected 0 or 1");
  CHECK(error_of("gemm.csv", "m,n,k,dtype,time_us,repeats\n512,512,512,bfloat16,4,0\n") ==
        "gemm.csv: line 2: repeats: `0`: expected a whole number from 1");
}

TEST_CASE("Times that are not positive numbers are refused and counted, with the first example") {
  const ScratchFolder folder;
  const std::string path = folder.write("gemm.csv", std::string(kGemmHeader) +
                                                        "512,1024,2048,bfloat16,4.5\n"
                                                        "512,1024,2049,bfloat16,-1\n"
                                                        "512,1024,2050,bfloat16,0\n"
                                                        "512,1024,2051,bfloat16,nan\n"
                                                        "512,1024,2052,bfloat16,inf\n"
                                                        "512,1024,2053,bfloat16,fast\n"
                                                        "512,1024,2054,bfloat16,\n");
  const ReadResult result = read(path, "h100-sxm");
  REQUIRE(result.ok);
  CHECK(result.measurements.size() == 1);
  CHECK(result.report.rows_refused() == 6);
  CHECK(result.report.text().find(path + ": refused 2 rows: time is not positive, first " + path +
                                  ": line 3: time is not positive\n") != std::string::npos);
  CHECK(result.report.text().find(path + ": refused 4 rows: time is not a number, first " + path +
                                  ": line 5: time is not a number\n") != std::string::npos);
}

TEST_CASE("Times in another unit are an error that says which") {
  // 8192^3 bfloat16 takes an H100 no less than 2 * 8192^3 / 989e12 = 1112 us.
  const std::string shape = "8192,8192,8192,bfloat16,";
  CHECK(error_of("gemm.csv", kGemmHeader + shape + "1600\n").empty());
  CHECK(error_of("gemm.csv", kGemmHeader + shape + "1.6\n") ==
        "gemm.csv: time_us: far below what the device can do: the times look like milliseconds");
  CHECK(error_of("gemm.csv", kGemmHeader + shape + "1600000\n") ==
        "gemm.csv: time_us: far above what the device can do: the times look like nanoseconds");
  // A copy of 1 GiB over PCIe at 25 GB/s takes 43 ms.
  CHECK(error_of("copy.csv", "kind,bytes,time_us\nhost_to_device,1073741824,43\n").ends_with("look like milliseconds"));
  CHECK(error_of("copy.csv", "kind,bytes,time_us\nhost_to_device,1073741824,43000\n").empty());
}

TEST_CASE("A few odd rows do not make a unit wrong") {
  CHECK(unit_problem({1.1, 1.2, 2000, 1.3, 0.001}).empty());
  CHECK_FALSE(unit_problem({1.1, 2000, 2000}).empty());
  CHECK(unit_problem({}).empty());
}

TEST_CASE("Columns that are not used are said to be") {
  const ScratchFolder folder;
  const ReadResult result =
      read(folder.write("gemm.csv", "m,n,k,dtype,time_us,tranza\n512,1024,2048,bfloat16,4.5,T\n"), "h100-sxm");
  REQUIRE(result.ok);
  CHECK(result.report.text().find("column not used: tranza") != std::string::npos);
}

TEST_CASE("Rows of one operation that disagree give their median, and the spread is reported") {
  const ScratchFolder folder;
  const ReadResult result = read(folder.write("gemm.csv", std::string(kGemmHeader) + "512,1024,2048,bfloat16,4\n"
                                                                                     "512,1024,2048,bfloat16,5\n"
                                                                                     "512,1024,2048,bfloat16,8\n"),
                                 "h100-sxm");
  REQUIRE(result.ok);
  REQUIRE(result.measurements.size() == 1);
  CHECK(result.measurements[0].time_ns == 5000);
  CHECK(result.measurements[0].repeats == 3);
  CHECK(result.report.text().find("1 operations measured more than once disagree, by up to a factor of 2.00") !=
        std::string::npos);
}

}  // namespace
}  // namespace maya::training
