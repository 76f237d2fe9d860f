// Floating-point formats of 16 and 8 bits. All conversions round to nearest, ties to even.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace maya::device {

inline float half_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = (half >> 10) & 0x1f;
  const uint32_t fraction = half & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  if (exponent == 0) {
    const float tiny = std::ldexp(static_cast<float>(fraction), -24);
    return sign != 0 ? -tiny : tiny;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

inline uint16_t float_to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7e00);
  constexpr float kOverflow = 65520.0f;  // halfway between the largest half and the next step
  if (magnitude >= kOverflow) return static_cast<uint16_t>(sign | 0x7c00);
  constexpr float kSmallestNormal = 6.103515625e-05f;  // 2^-14
  if (magnitude < kSmallestNormal)
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(magnitude, 24))));
  const uint32_t magnitude_bits = bits & 0x7fffffff;
  const uint32_t rounded = magnitude_bits + 0xfff + (magnitude_bits >> 13 & 1);
  return static_cast<uint16_t>(sign | ((rounded >> 13) - (112u << 10)));
}

inline float bfloat16_to_float(uint16_t value) { return std::bit_cast<float>(static_cast<uint32_t>(value) << 16); }

inline uint16_t float_to_bfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return 0x7fc0;
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// What the codes at the end of a format's range stand for.
enum class Float8Specials {
  kInfinity,   // as IEEE 754: infinity, then NaN (E5M2)
  kOneNan,     // no infinity, all ones are NaN (E4M3FN)
  kMinusZero,  // no infinity, no negative zero: its code is NaN (the "FNUZ" formats)
};

// Beyond the largest number a value becomes infinity or, where there is none, NaN, as PyTorch converts, or the largest
// number (CUDA: __NV_SATFINITE).
enum class Overflow { kSpecial, kSaturate };

// 8-bit formats with a sign (Open Compute Project, "OCP 8-bit Floating Point Specification"; FNUZ: arXiv 2206.02915).
template <int kFractionBits, int kBias, Float8Specials kSpecials>
struct Float8 {
  static constexpr uint32_t kInfinityCode = 0x7f >> kFractionBits << kFractionBits;
  // The first code, without its sign, that is no finite number.
  static constexpr uint32_t kFiniteEnd = kSpecials == Float8Specials::kInfinity ? kInfinityCode
                                         : kSpecials == Float8Specials::kOneNan ? 0x7f
                                                                                : 0x80;
  static constexpr int kLastPlace = 1 - kBias - kFractionBits;  // exponent of the smallest subnormal

  static float to_float(uint8_t code) {
    const uint32_t magnitude = code & 0x7f;
    if (kSpecials == Float8Specials::kMinusZero && code == 0x80) return NAN;
    const float sign = (code & 0x80) != 0 ? -1.0f : 1.0f;
    if (magnitude >= kFiniteEnd)
      return kSpecials == Float8Specials::kInfinity && magnitude == kInfinityCode ? sign * INFINITY
                                                                                  : std::copysign(NAN, sign);
    const int exponent = static_cast<int>(magnitude >> kFractionBits);
    const int fraction = static_cast<int>(magnitude & ((1u << kFractionBits) - 1));
    if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), kLastPlace);
    return sign * std::ldexp(static_cast<float>(fraction + (1 << kFractionBits)), exponent - 1 + kLastPlace);
  }

  static uint8_t from_float(float value, Overflow overflow = Overflow::kSpecial) {
    constexpr bool kUnsignedZero = kSpecials == Float8Specials::kMinusZero;
    const uint32_t sign = std::signbit(value) ? 0x80 : 0;
    if (std::isnan(value)) return static_cast<uint8_t>(kUnsignedZero ? 0x80 : sign | 0x7f);
    uint32_t code = value == 0 ? 0 : kFiniteEnd;
    if (value != 0 && std::isfinite(value)) {
      int exponent = 0;
      std::frexp(value, &exponent);
      // Of the last place: that of subnormals for smaller numbers.
      const int place = std::max(exponent - 1 - kFractionBits, kLastPlace);
      const double steps = std::nearbyint(std::ldexp(std::fabs(static_cast<double>(value)), -place));
      code = static_cast<uint32_t>(steps) + (static_cast<uint32_t>(place - kLastPlace) << kFractionBits);
    }
    if (code >= kFiniteEnd) {
      if (overflow == Overflow::kSaturate) return static_cast<uint8_t>(sign | (kFiniteEnd - 1));
      return static_cast<uint8_t>(kUnsignedZero ? 0x80 : sign | kFiniteEnd);
    }
    return static_cast<uint8_t>(kUnsignedZero && code == 0 ? 0 : sign | code);
  }
};

using Float8E4m3fn = Float8<3, 7, Float8Specials::kOneNan>;
using Float8E5m2 = Float8<2, 15, Float8Specials::kInfinity>;
using Float8E4m3fnuz = Float8<3, 8, Float8Specials::kMinusZero>;
using Float8E5m2fnuz = Float8<2, 16, Float8Specials::kMinusZero>;

// A power of two without a sign (Open Compute Project, "OCP Microscaling Formats", E8M0). PyTorch ignores the sign,
// rounds halves up, and makes NaN of what is not finite (torch/headeronly/util/Float8_e8m0fnu.h).
inline float e8m0_to_float(uint8_t code) { return code == 0xff ? NAN : std::ldexp(1.0f, static_cast<int>(code) - 127); }
inline uint8_t float_to_e8m0(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t exponent = bits >> 23 & 0xff, fraction = bits & 0x7fffff;
  constexpr uint32_t kHalf = 0x400000;
  if (exponent == 0xff) return 0xff;
  return static_cast<uint8_t>(exponent + (fraction > kHalf || (fraction == kHalf && exponent > 0) ? 1 : 0));
}

}  // namespace maya::device
