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

namespace {

uint8_t stored8(double value, ElementType type) {
  uint8_t bits;
  store_number(Number::of(value), type, &bits);
  return bits;
}

double loaded8(uint8_t bits, ElementType type) { return load_number(&bits, type).real; }

}  // namespace

// Codes from the tables of "OCP 8-bit Floating Point Specification", section 5: E4M3 has its largest number, 448, at
// S.1111.110, its smallest, 2^-9, at S.0000.001, and NaN at S.1111.111; E5M2 57344 at S.11110.11, 2^-16 at S.00000.01,
// infinity at S.11111.00.
TEST_CASE("8-bit floats: numbers, ties to even, subnormals, what is beyond the range", "[values]") {
  const auto e4m3 = ElementType::kFloat8E4m3fnSaturated, e5m2 = ElementType::kFloat8E5m2;
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(stored8(448, e4m3) == 0x7e);
  CHECK(stored8(-448, e4m3) == 0xfe);
  CHECK(stored8(1, e4m3) == 0x38);
  CHECK(stored8(std::ldexp(1.0, -6), e4m3) == 0x08);  // smallest normal
  CHECK(stored8(std::ldexp(1.0, -9), e4m3) == 0x01);
  CHECK(stored8(std::ldexp(1.0, -10), e4m3) == 0x00);  // tie to even
  CHECK(stored8(std::ldexp(3.0, -10), e4m3) == 0x02);  // tie to even
  CHECK(stored8(-0.0, e4m3) == 0x80);
  CHECK(stored8(1.0625, e4m3) == 0x38);  // between 1 and 1.125: tie to even
  CHECK(stored8(1.1875, e4m3) == 0x3a);
  CHECK(stored8(464, e4m3) == 0x7e);
  CHECK(stored8(465, e4m3) == 0x7e);
  CHECK(stored8(infinity, e4m3) == 0x7e);
  CHECK(stored8(std::nan(""), e4m3) == 0x7f);
  CHECK(stored8(464, ElementType::kFloat8E4m3fnNan) == 0x7e);  // tie to even
  CHECK(stored8(465, ElementType::kFloat8E4m3fnNan) == 0x7f);
  CHECK(stored8(-infinity, ElementType::kFloat8E4m3fnNan) == 0xff);
  CHECK(converts_to(Number::of(464.0), ElementType::kFloat8E4m3fn));
  CHECK_FALSE(converts_to(Number::of(-465.0), ElementType::kFloat8E4m3fn));
  CHECK(converts_to(Number::of(465.0), e4m3));
  CHECK(stored8(57344, e5m2) == 0x7b);
  CHECK(stored8(61439, e5m2) == 0x7b);
  CHECK(stored8(61440, e5m2) == 0x7c);  // tie to even: infinity
  CHECK(stored8(-infinity, e5m2) == 0xfc);
  CHECK(stored8(std::nan(""), e5m2) == 0x7f);
  CHECK(stored8(std::ldexp(1.0, -16), e5m2) == 0x01);
  CHECK(stored8(std::ldexp(1.0, -17), e5m2) == 0x00);  // tie to even
  CHECK(stored8(1.125, e5m2) == 0x3c);                 // between 1 and 1.25
  CHECK(std::isnan(loaded8(0x7f, e4m3)));
  CHECK(loaded8(0x7c, e5m2) == infinity);
  CHECK(std::isnan(loaded8(0x7d, e5m2)));
  for (const auto type : {e4m3, ElementType::kFloat8E4m3fnNan, e5m2, ElementType::kFloat8E4m3fnuz,
                          ElementType::kFloat8E5m2fnuz, ElementType::kFloat8E8m0fnu})
    for (uint32_t code = 0; code < 256; ++code) {
      const double value = loaded8(static_cast<uint8_t>(code), type);
      // Signs of NaN stay, too.
      if (!std::isnan(value) || (code & 0x7f) == 0x7f) REQUIRE(stored8(value, type) == code);
    }
}

// arXiv 2206.02915: biases 8 and 16, one zero, NaN in the place of the negative one. OCP Microscaling: E8M0 is 2^(code
// - 127), NaN at 255.
TEST_CASE("8-bit floats without a negative zero, and powers of two", "[values]") {
  const auto e4m3 = ElementType::kFloat8E4m3fnuz, e5m2 = ElementType::kFloat8E5m2fnuz,
             e8m0 = ElementType::kFloat8E8m0fnu;
  CHECK(stored8(1, e4m3) == 0x40);
  CHECK(stored8(240, e4m3) == 0x7f);
  CHECK(stored8(248, e4m3) == 0x80);  // tie to even: beyond the range
  CHECK(stored8(-0.0, e4m3) == 0x00);
  CHECK(stored8(-1e-9, e4m3) == 0x00);
  CHECK(stored8(std::nan(""), e4m3) == 0x80);
  CHECK(std::isnan(loaded8(0x80, e4m3)));
  CHECK(stored8(1, e5m2) == 0x40);
  CHECK(stored8(57344, e5m2) == 0x7f);
  CHECK(stored8(65536, e5m2) == 0x80);
  CHECK(stored8(1, e8m0) == 127);
  CHECK(stored8(3, e8m0) == 129);  // halves go up
  CHECK(stored8(-4, e8m0) == 129);
  CHECK(stored8(0, e8m0) == 0);
  CHECK(loaded8(0, e8m0) == std::ldexp(1.0, -127));
  CHECK(std::isnan(loaded8(255, e8m0)));
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
