#include "virtual_device/values/number.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

using namespace maya::device;

namespace {

uint16_t stored16(double value, ElementType type) {
  uint16_t bits;
  store_number(Number::of(value), type, &bits);
  return bits;
}

double loaded16(uint16_t bits, ElementType type) { return load_number(&bits, type).real; }

}  // namespace

TEST_CASE("half precision, IEEE 754 binary16", "[values]") {
  const auto half = ElementType::kFloat16;
  CHECK(stored16(1.0, half) == 0x3c00);
  CHECK(stored16(-2.0, half) == 0xc000);
  CHECK(stored16(65504.0, half) == 0x7bff);  // largest
  CHECK(stored16(65519.0, half) == 0x7bff);
  CHECK(stored16(65520.0, half) == 0x7c00);  // ties to even: infinity
  CHECK(stored16(std::ldexp(1.0, -24), half) == 0x0001);
  CHECK(stored16(std::ldexp(1.0, -25), half) == 0x0000);  // tie to even
  CHECK(stored16(std::ldexp(3.0, -25), half) == 0x0002);  // tie to even
  CHECK(stored16(std::ldexp(1.0, -14), half) == 0x0400);
  CHECK(stored16(1.0 + std::ldexp(1.0, -11), half) == 0x3c00);  // tie to even
  CHECK(stored16(1.0 + std::ldexp(3.0, -11), half) == 0x3c02);
  CHECK(stored16(0.1, half) == 0x2e66);
  CHECK(std::isnan(loaded16(0x7e00, half)));
  CHECK(loaded16(0x7c00, half) == std::numeric_limits<double>::infinity());
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const auto pattern = static_cast<uint16_t>(bits);
    REQUIRE(stored16(loaded16(pattern, half), half) == pattern);
  }
}

TEST_CASE("bfloat16 is the upper half of a float, rounded to even", "[values]") {
  const auto type = ElementType::kBfloat16;
  CHECK(stored16(1.0, type) == 0x3f80);
  CHECK(stored16(0.1, type) == 0x3dcd);
  CHECK(stored16(1.0 + std::ldexp(1.0, -8), type) == 0x3f80);
  CHECK(stored16(1.0 + std::ldexp(3.0, -8), type) == 0x3f82);
  CHECK(loaded16(0xc000, type) == -2.0);
  CHECK(stored16(3.4e38, type) == 0x7f80);
}

TEST_CASE("integers: width, sign, saturation of floats", "[values]") {
  CHECK(convert_number(Number::of(300.0), ElementType::kInt8).integer == 44);
  CHECK(convert_number(Number::of(-1.9), ElementType::kInt32).integer == -1);
  CHECK(convert_number(Number::of(1e30), ElementType::kInt64).integer == std::numeric_limits<int64_t>::max());
  CHECK(convert_number(Number::of(std::nan("")), ElementType::kInt64).integer == 0);
  CHECK(convert_number(Number::of(int64_t{-1}), ElementType::kUint32).integer == 4294967295);
  CHECK(convert_number(Number::of(0.5), ElementType::kBool).integer == 1);
  CHECK(convert_number(Number::of(int64_t{16777217}), ElementType::kFloat32).real == 16777216.0);
}

TEST_CASE("scalar types by PyTorch's numbers", "[values]") {
  // c10/core/ScalarType.h: Byte 0, Long 4, Half 5, Float 6, Double 7, Bool 11, BFloat16 15.
  CHECK(element_type_of_scalar(0) == ElementType::kUint8);
  CHECK(element_type_of_scalar(4) == ElementType::kInt64);
  CHECK(element_type_of_scalar(5) == ElementType::kFloat16);
  CHECK(element_type_of_scalar(6) == ElementType::kFloat32);
  CHECK(element_type_of_scalar(7) == ElementType::kFloat64);
  CHECK(element_type_of_scalar(11) == ElementType::kBool);
  CHECK(element_type_of_scalar(15) == ElementType::kBfloat16);
  CHECK(element_type_of_scalar(200) == ElementType::kNone);
}
