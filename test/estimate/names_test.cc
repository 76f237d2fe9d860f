#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "predictor/core/estimate.h"

namespace maya {
namespace {

TEST_CASE("Every family has its own name") {
  std::set<std::string_view> names;
  for (int family = 0; family <= static_cast<int>(Family::kPooling); ++family)
    names.insert(family_name(static_cast<Family>(family)));
  CHECK(names.size() == static_cast<size_t>(Family::kPooling) + 1);
  CHECK(family_name(Family::kGemm) == "gemm");
  CHECK(family_name(Family::kPointToPoint) == "point_to_point");
  CHECK(family_name(static_cast<Family>(200)) == "unknown");
}

TEST_CASE("Types are named as PyTorch names them and have their size") {
  CHECK(data_type_name(DataType::kBfloat16) == "bfloat16");
  CHECK(data_type_name(DataType::kFloat8E4m3) == "float8_e4m3");
  CHECK(data_type_name(DataType::kTf32) == "tf32");
  CHECK(data_type_bits(DataType::kTf32) == 32);
  CHECK(data_type_bits(DataType::kFloat4E2m1) == 4);
  CHECK(data_type_bits(DataType::kBool) == 8);
  CHECK(data_type_bits(DataType::kComplex128) == 128);
  CHECK(data_type_bits(DataType::kNone) == 0);
}

TEST_CASE("Provenances have the names of the report") {
  CHECK(provenance_name(Provenance::kMeasured) == "measured");
  CHECK(provenance_name(Provenance::kAnalytic) == "analytic");
  CHECK(provenance_name(Provenance::kUnknown) == "unknown");
}

}  // namespace
}  // namespace maya
