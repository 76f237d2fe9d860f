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
  REQUIRE(estimate_row(h100(), *find_family_columns(family), cells, &estimate, &error));
  return estimate.median_ns;
}

std::string row_error(std::string_view family, const Cells& cells) {
  Estimate estimate;
  std::string error;
  REQUIRE_FALSE(estimate_row(h100(), *find_family_columns(family), cells, &estimate, &error));
  return error;
}

TEST_CASE("A row is the operation it describes") {
  OperationRecord record(Family::kGemm, "");
  record.set(Key::kM, 512)
      .set(Key::kN, 1024)
      .set(Key::kK, 2048)
      .set(Key::kTypeA, static_cast<int64_t>(DataType::kBfloat16));
  const Cells cells({{"m", "512"}, {"n", "1024.0"}, {"k", "2048"}, {"dtype", "bfloat16"}});
  CHECK(row_ns("gemm", cells) == estimate(h100(), work_of(record)).median_ns);
}

TEST_CASE("Every family of the contract is known") {
  for (const char* name : {"gemm", "attention", "collective", "copy", "norm", "softmax", "elementwise"}) {
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
  CHECK(gather == Approx(scatter));
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
