// Reductions on host values, in the precision of the type (NCCL reduces 16-bit floats in the type itself; rounding
// order may differ).
#include <string.h>

#include <algorithm>
#include <cmath>

#include "driver_shim/nccl/call.h"

namespace maya::nccl {
namespace {

float from_half(uint16_t bits) {
  const int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  const float sign = (bits & 0x8000) != 0 ? -1.0f : 1.0f;
  if (exponent == 31) return mantissa != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
  return sign * std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
}

uint16_t to_half(float value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return 0x7e00;
  const float magnitude = std::fabs(value);
  if (magnitude >= 65520.0f) return static_cast<uint16_t>(sign | 0x7c00);
  if (magnitude < std::ldexp(1.0f, -25)) return sign;
  int exponent;
  std::frexp(magnitude, &exponent);
  const int shift = std::max(exponent - 11, -24);  // weight of the last mantissa bit, subnormals included
  const auto steps = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, -shift)));
  return static_cast<uint16_t>(sign | (steps + (static_cast<uint32_t>(shift + 24) << 10)));
}

float from_bfloat(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

uint16_t to_bfloat(float value) {
  uint32_t wide;
  memcpy(&wide, &value, sizeof wide);
  if (std::isnan(value)) return 0x7fc0;
  return static_cast<uint16_t>((wide + 0x7fff + ((wide >> 16) & 1)) >> 16);  // round to nearest even
}

// 8-bit floats (Open Compute Project, "OFP8"): E4M3 has bias 7, no infinity and NaN at S.1111.111; E5M2 is the upper
// half of a float16.
float from_e4m3(uint8_t bits) {
  const int exponent = (bits >> 3) & 15, mantissa = bits & 7;
  const float sign = (bits & 0x80) != 0 ? -1.0f : 1.0f;
  if (exponent == 15 && mantissa == 7) return NAN;
  return exponent == 0 ? sign * std::ldexp(static_cast<float>(mantissa), -9)
                       : sign * std::ldexp(static_cast<float>(mantissa + 8), exponent - 10);
}

uint8_t to_e4m3(float value) {
  const uint8_t sign = std::signbit(value) ? 0x80 : 0;
  if (std::isnan(value)) return static_cast<uint8_t>(sign | 0x7f);
  const float magnitude = std::fabs(value);
  if (magnitude >= 448.0f) return static_cast<uint8_t>(sign | 0x7e);  // saturates at the largest value
  if (magnitude < std::ldexp(1.0f, -10)) return sign;
  int exponent;
  std::frexp(magnitude, &exponent);
  const int shift = std::max(exponent - 4, -9);  // weight of the last mantissa bit, subnormals included
  const auto steps = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, -shift)));
  return static_cast<uint8_t>(sign | (steps + (static_cast<uint32_t>(shift + 9) << 3)));
}

float from_e5m2(uint8_t bits) { return from_half(static_cast<uint16_t>(bits << 8)); }

uint8_t to_e5m2(float value) {
  const uint8_t sign = std::signbit(value) ? 0x80 : 0;
  if (std::isnan(value)) return static_cast<uint8_t>(sign | 0x7f);
  const float magnitude = std::fabs(value);
  if (magnitude >= 57344.0f) return static_cast<uint8_t>(sign | 0x7b);  // saturates at the largest value
  if (magnitude < std::ldexp(1.0f, -17)) return sign;
  int exponent;
  std::frexp(magnitude, &exponent);
  const int shift = std::max(exponent - 3, -16);
  const auto steps = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, -shift)));
  return static_cast<uint8_t>(sign | (steps + (static_cast<uint32_t>(shift + 16) << 2)));
}

template <typename T>
T combine(T a, T b, ncclRedOp_t operation) {
  switch (operation) {
    case ncclProd:
      return static_cast<T>(a * b);
    case ncclMax:
      return std::max(a, b);
    case ncclMin:
      return std::min(a, b);
    default:
      return static_cast<T>(a + b);  // sum, and average before its division
  }
}

template <typename T>
void each(void* accumulator, const void* value, size_t count, ncclRedOp_t operation) {
  auto* a = static_cast<T*>(accumulator);
  const auto* b = static_cast<const T*>(value);
  for (size_t i = 0; i < count; ++i) a[i] = combine(a[i], b[i], operation);
}

template <typename Bits, float (*From)(Bits), Bits (*To)(float)>
void each_narrow(void* accumulator, const void* value, size_t count, ncclRedOp_t operation) {
  auto* a = static_cast<Bits*>(accumulator);
  const auto* b = static_cast<const Bits*>(value);
  for (size_t i = 0; i < count; ++i) a[i] = To(combine(From(a[i]), From(b[i]), operation));
}

template <typename T>
void divide(void* accumulator, size_t count, int ranks) {
  auto* a = static_cast<T*>(accumulator);
  for (size_t i = 0; i < count; ++i) a[i] = static_cast<T>(a[i] / static_cast<T>(ranks));
}

template <typename Bits, float (*From)(Bits), Bits (*To)(float)>
void divide_narrow(void* accumulator, size_t count, int ranks) {
  auto* a = static_cast<Bits*>(accumulator);
  for (size_t i = 0; i < count; ++i) a[i] = To(From(a[i]) / static_cast<float>(ranks));
}

template <typename T>
void multiply(void* values, size_t count, const void* scalar) {
  T factor;
  memcpy(&factor, scalar, sizeof factor);
  auto* a = static_cast<T*>(values);
  for (size_t i = 0; i < count; ++i) a[i] = static_cast<T>(a[i] * factor);
}

template <typename Bits, float (*From)(Bits), Bits (*To)(float)>
void multiply_narrow(void* values, size_t count, const void* scalar) {
  Bits factor;
  memcpy(&factor, scalar, sizeof factor);
  auto* a = static_cast<Bits*>(values);
  for (size_t i = 0; i < count; ++i) a[i] = To(From(a[i]) * From(factor));
}

}  // namespace

void reduce_into(void* accumulator, const void* value, size_t count, ncclDataType_t type, ncclRedOp_t operation) {
  switch (type) {
    case ncclInt8:
      return each<int8_t>(accumulator, value, count, operation);
    case ncclUint8:
      return each<uint8_t>(accumulator, value, count, operation);
    case ncclInt32:
      return each<int32_t>(accumulator, value, count, operation);
    case ncclUint32:
      return each<uint32_t>(accumulator, value, count, operation);
    case ncclInt64:
      return each<int64_t>(accumulator, value, count, operation);
    case ncclUint64:
      return each<uint64_t>(accumulator, value, count, operation);
    case ncclFloat32:
      return each<float>(accumulator, value, count, operation);
    case ncclFloat64:
      return each<double>(accumulator, value, count, operation);
    case ncclFloat16:
      return each_narrow<uint16_t, from_half, to_half>(accumulator, value, count, operation);
    case ncclBfloat16:
      return each_narrow<uint16_t, from_bfloat, to_bfloat>(accumulator, value, count, operation);
    case ncclFloat8e4m3:
      return each_narrow<uint8_t, from_e4m3, to_e4m3>(accumulator, value, count, operation);
    case ncclFloat8e5m2:
      return each_narrow<uint8_t, from_e5m2, to_e5m2>(accumulator, value, count, operation);
    default:
      return;
  }
}

void finish_average(void* accumulator, size_t count, ncclDataType_t type, int ranks) {
  switch (type) {
    case ncclInt8:
      return divide<int8_t>(accumulator, count, ranks);
    case ncclUint8:
      return divide<uint8_t>(accumulator, count, ranks);
    case ncclInt32:
      return divide<int32_t>(accumulator, count, ranks);
    case ncclUint32:
      return divide<uint32_t>(accumulator, count, ranks);
    case ncclInt64:
      return divide<int64_t>(accumulator, count, ranks);
    case ncclUint64:
      return divide<uint64_t>(accumulator, count, ranks);
    case ncclFloat32:
      return divide<float>(accumulator, count, ranks);
    case ncclFloat64:
      return divide<double>(accumulator, count, ranks);
    case ncclFloat16:
      return divide_narrow<uint16_t, from_half, to_half>(accumulator, count, ranks);
    case ncclBfloat16:
      return divide_narrow<uint16_t, from_bfloat, to_bfloat>(accumulator, count, ranks);
    case ncclFloat8e4m3:
      return divide_narrow<uint8_t, from_e4m3, to_e4m3>(accumulator, count, ranks);
    case ncclFloat8e5m2:
      return divide_narrow<uint8_t, from_e5m2, to_e5m2>(accumulator, count, ranks);
    default:
      return;
  }
}

void scale(void* values, size_t count, ncclDataType_t type, const void* scalar) {
  switch (type) {
    case ncclInt8:
      return multiply<int8_t>(values, count, scalar);
    case ncclUint8:
      return multiply<uint8_t>(values, count, scalar);
    case ncclInt32:
      return multiply<int32_t>(values, count, scalar);
    case ncclUint32:
      return multiply<uint32_t>(values, count, scalar);
    case ncclInt64:
      return multiply<int64_t>(values, count, scalar);
    case ncclUint64:
      return multiply<uint64_t>(values, count, scalar);
    case ncclFloat32:
      return multiply<float>(values, count, scalar);
    case ncclFloat64:
      return multiply<double>(values, count, scalar);
    case ncclFloat16:
      return multiply_narrow<uint16_t, from_half, to_half>(values, count, scalar);
    case ncclBfloat16:
      return multiply_narrow<uint16_t, from_bfloat, to_bfloat>(values, count, scalar);
    case ncclFloat8e4m3:
      return multiply_narrow<uint8_t, from_e4m3, to_e4m3>(values, count, scalar);
    case ncclFloat8e5m2:
      return multiply_narrow<uint8_t, from_e5m2, to_e5m2>(values, count, scalar);
    default:
      return;
  }
}

}  // namespace maya::nccl
