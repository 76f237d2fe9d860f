#include <catch2/catch.hpp>
#include <map>

#include "predictor/core/operation_columns.h"

namespace maya {
namespace {

class Cells : public ColumnSource {
 public:
  Cells(std::map<std::string, std::string, std::less<>> cells) : cells_(std::move(cells)) {}
  std::string_view value_of(std::string_view column) const override {
    auto found = cells_.find(column);
    return found == cells_.end() ? std::string_view() : found->second;
  }

 private:
  std::map<std::string, std::string, std::less<>> cells_;
};

const device::DeviceProfile& h100() { return *device::find_builtin_profile("h100-sxm"); }

double row_ns(std::string_view family, const Cells& cells) {
  Estimate estimate;
  std::string error;
  INFO(error);
  REQUIRE(estimate_row(Estimator(h100()), *find_family_columns(family), cells, &estimate, &error));
  return estimate.median_ns;
}

std::string row_error(std::string_view family, const Cells& cells) {
  Estimate estimate;
  std::string error;
  REQUIRE_FALSE(estimate_row(Estimator(h100()), *find_family_columns(family), cells, &estimate, &error));
  return error;
}

RowOperation row_operation(std::string_view family, const Cells& cells) {
  RowOperation operation;
  std::string error;
  const bool understood = operation_of_row(*find_family_columns(family), cells, &operation, &error);
  INFO(error);
  REQUIRE(understood);
  return operation;
}

int64_t number(DataType type) { return static_cast<int64_t>(type); }

TEST_CASE("A matrix product is what cuBLAS is called with for torch.nn.functional.linear") {
  // 512 tokens of 2,048 values by a weight [1024, 2048]. Column major, C is [1024, 512]: m = 1024, n = 512, and the
  // weight, stored [1024, 2048] row major, is read transposed.
  const Cells cells({{"m", "512"}, {"n", "1024.0"}, {"k", "2048"}, {"dtype", "bfloat16"}});
  const OperationRecord record = row_operation("gemm", cells).record;
  CHECK(record.family == Family::kGemm);
  CHECK(record.get(Key::kM) == 1024);
  CHECK(record.get(Key::kN) == 512);
  CHECK(record.get(Key::kK) == 2048);
  CHECK(record.get(Key::kTransA) == 1);
  CHECK(record.get(Key::kTransB) == 0);
  CHECK(record.get(Key::kBatch) == 1);
  CHECK(record.get(Key::kTypeA) == number(DataType::kBfloat16));
  CHECK(record.get(Key::kComputeType) == number(DataType::kFloat32));
  CHECK(row_ns("gemm", cells) == estimate(h100(), work_of(record)).median_ns);
}

TEST_CASE("Layout letters are cuBLAS'") {
  const auto layout = [](const char* a, const char* b) {
    const OperationRecord record =
        row_operation("gemm",
                      Cells({{"m", "1"}, {"n", "2"}, {"k", "3"}, {"dtype", "float16"}, {"transa", a}, {"transb", b}}))
            .record;
    return std::pair(record.get(Key::kTransA), record.get(Key::kTransB));
  };
  CHECK(layout("T", "N") == std::pair<int64_t, int64_t>(1, 0));
  CHECK(layout("N", "N") == std::pair<int64_t, int64_t>(0, 0));
  CHECK(layout("N", "T") == std::pair<int64_t, int64_t>(0, 1));
  CHECK(layout("", "") == std::pair<int64_t, int64_t>(1, 0));
}

TEST_CASE("Types of a product: TF32 is float32 data, 8-bit floats give bfloat16") {
  const Cells tf32({{"m", "1"}, {"n", "2"}, {"k", "3"}, {"dtype", "tf32"}});
  CHECK(row_operation("gemm", tf32).record.get(Key::kTypeA) == number(DataType::kFloat32));
  CHECK(row_operation("gemm", tf32).record.get(Key::kComputeType) == number(DataType::kTf32));
  const Cells doubles({{"m", "1"}, {"n", "2"}, {"k", "3"}, {"dtype", "float64"}});
  CHECK(row_operation("gemm", doubles).record.get(Key::kComputeType) == number(DataType::kFloat64));
  const Cells fp8({{"m", "1"}, {"n", "2"}, {"k", "3"}, {"dtype", "float8_e4m3"}});
  CHECK(row_operation("gemm", fp8).record.get(Key::kTypeC) == number(DataType::kBfloat16));
}

TEST_CASE("An expert layer is three products for each row") {
  // 4 experts, 6 rows: 2 m n k operations each, three times; every expert's three weights are read.
  const Cells cells(
      {{"groups", "4"}, {"m", "6"}, {"n", "32"}, {"k", "16"}, {"dtype", "bfloat16"}, {"operation", "moe"}});
  const OperationRecord record = row_operation("grouped_gemm", cells).record;
  CHECK(record.get(Key::kFlops) == 2 * 6 * 32 * 16 * 3);
  CHECK(record.get(Key::kReadBytes) == (6 * 16 + 4 * 32 * 16 * 3 + 6 * 32 * 3) * 2);
  CHECK(record.get(Key::kM) == 32);
  CHECK(record.get(Key::kN) == 2);  // rows of one expert, rounded up
  CHECK(record.get(Key::kRows) == 6);
}

TEST_CASE("A convolution is its shape") {
  const Cells cells({{"batch", "8"},
                     {"channels", "64"},
                     {"height", "56"},
                     {"width", "55"},
                     {"filters", "128"},
                     {"filter_height", "3"},
                     {"filter_width", "2"},
                     {"dtype", "float16"},
                     {"stride", "2"},
                     {"pad", "1"},
                     {"direction", "backward_filter"}});
  const OperationRecord record = row_operation("convolution", cells).record;
  CHECK(record.get(Key::kFilters) == 128);
  CHECK(record.get(Key::kWidth) == 55);
  CHECK(record.get(Key::kStride) == 2);
  CHECK(record.get(Key::kConvGroups) == 1);
  CHECK(record.get(Key::kConvDirection) == 2);
}

TEST_CASE("A launch is a kernel with its configuration") {
  const char kernel[] =
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
      "at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3>)";
  const Cells cells({{"kernel", kernel},
                     {"grid_x", "1000"},
                     {"grid_y", "1"},
                     {"grid_z", "1"},
                     {"block_x", "128"},
                     {"block_y", "1"},
                     {"block_z", "1"},
                     {"registers", "40"}});
  const RowOperation operation = row_operation("launch", cells);
  CHECK(operation.kernel == kernel);
  CHECK(operation.grid[0] == 1000);
  CHECK(operation.block[0] == 128);
  CHECK(operation.registers == 40);
  LaunchView launch;
  launch.mangled_name = kernel;
  launch.grid[0] = 1000;
  launch.block[0] = 128;
  launch.registers = 40;
  CHECK(row_ns("launch", cells) == estimate(h100(), work_of(launch, kernel)).median_ns);
}

TEST_CASE("Operations carry their operator; unknown ones none") {
  const auto op = [](const char* name) {
    return static_cast<Operator>(
        row_operation("elementwise",
                      Cells({{"rows", "2"}, {"columns", "3"}, {"dtype", "float32"}, {"operation", name}}))
            .record.get(Key::kOperator));
  };
  CHECK(op("add") == Operator::kAdd);
  CHECK(op("gelu") == Operator::kGelu);
  CHECK(op("frobnicate") == Operator::kNone);
}

TEST_CASE("Attention takes a cached prefix and a window") {
  const OperationRecord record = row_operation("attention", Cells({{"batch", "1"},
                                                                   {"seq_q", "64"},
                                                                   {"seq_kv", "96"},
                                                                   {"heads", "8"},
                                                                   {"head_dim", "64"},
                                                                   {"dtype", "float16"},
                                                                   {"prefix", "32"},
                                                                   {"window", "48"}}))
                                     .record;
  CHECK(record.get(Key::kPrefix) == 32);
  CHECK(record.get(Key::kWindow) == 48);
}

TEST_CASE("A copy's kind and bytes are in its record") {
  const OperationRecord record =
      row_operation("copy", Cells({{"kind", "device_to_host_pageable"}, {"bytes", "100"}})).record;
  CHECK(record.family == Family::kCopy);
  CHECK(record.get(Key::kBytes) == 100);
  CHECK(record.get(Key::kDirection) == static_cast<int64_t>(CopyKind::kDeviceToHostPageable));
}

TEST_CASE("Every family of the contract is known") {
  for (const char* name : {"gemm", "grouped_gemm", "attention", "collective", "copy", "norm", "softmax", "elementwise",
                           "convolution", "pooling", "sort", "launch"}) {
    INFO(name);
    CHECK(find_family_columns(name) != nullptr);
  }
  CHECK(find_family_columns("magic") == nullptr);
}

TEST_CASE("Defaults: one batch, forward, as many key heads as heads, one node") {
  const Cells plain(
      {{"batch", "1"}, {"seq_q", "64"}, {"seq_kv", "64"}, {"heads", "8"}, {"head_dim", "64"}, {"dtype", "float16"}});
  const Cells full({{"batch", "1"},
                    {"seq_q", "64"},
                    {"seq_kv", "64"},
                    {"heads", "8"},
                    {"head_dim", "64"},
                    {"dtype", "float16"},
                    {"kv_heads", "8"},
                    {"causal", "0"},
                    {"direction", "forward"}});
  CHECK(row_ns("attention", plain) == row_ns("attention", full));
}

TEST_CASE("Bytes of gathering collectives are the larger buffer") {
  // All-gather of 1 GiB among 8: each rank receives 7/8 of it, as in a reduce-scatter; an all-reduce carries twice that
  // over a ring.
  const double gather =
      row_ns("collective", Cells({{"operation", "all_gather"}, {"bytes", "1073741824"}, {"ranks", "8"}}));
  const double scatter =
      row_ns("collective", Cells({{"operation", "reduce_scatter"}, {"bytes", "1073741824"}, {"ranks", "8"}}));
  CHECK(gather == Approx(scatter).epsilon(0.05));  // measured, not computed
  CHECK(gather > 1073741824 * 7.0 / 8 / h100().nvlink_bandwidth * 1e9);
}

TEST_CASE("Bad cells are named with what was expected") {
  CHECK(row_error("gemm", Cells({{"m", "x"}, {"n", "1"}, {"k", "1"}, {"dtype", "bfloat16"}})) ==
        "m: `x`: expected a whole number from 0");
  CHECK(row_error("gemm", Cells({{"m", "1"}, {"n", "1.5"}, {"k", "1"}, {"dtype", "bfloat16"}})) ==
        "n: `1.5`: expected a whole number from 0");
  CHECK(row_error("gemm", Cells({{"m", "1"}, {"n", "1"}, {"k", "-1"}, {"dtype", "bfloat16"}})) ==
        "k: `-1`: expected a whole number from 0");
  CHECK(row_error("gemm", Cells({{"m", "1"}, {"n", "1"}, {"k", "1"}, {"dtype", "bfloat17"}})) ==
        "dtype: `bfloat17`: expected a type as PyTorch names it, such as bfloat16");
  CHECK(row_error("copy", Cells({{"kind", "sideways"}, {"bytes", "1"}}))
            .starts_with("kind: `sideways`: expected host_to_host, "));
  CHECK(row_error("collective", Cells({{"operation", "all_reduce"}, {"bytes", "1e30"}, {"ranks", "8"}})) ==
        "bytes: `1e30`: expected a whole number from 0");
}

TEST_CASE("Type names") {
  CHECK(data_type_from_name("bfloat16") == DataType::kBfloat16);
  CHECK(data_type_from_name("torch.float16") == DataType::kFloat16);
  CHECK(data_type_from_name("tf32") == DataType::kTf32);
  CHECK(data_type_from_name("float8_e4m3fn") == DataType::kFloat8E4m3);
  CHECK(data_type_from_name("") == DataType::kNone);
}

}  // namespace
}  // namespace maya
