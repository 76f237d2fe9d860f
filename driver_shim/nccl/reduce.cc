// Reductions on host values, in the precision of the type (NCCL reduces 16-bit floats in the type itself; rounding
// order may differ).
#include <string.h>

#include <algorithm>
#include <cmath>

#include "driver_shim/nccl/communicator.h"

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

template <float (*From)(uint16_t), uint16_t (*To)(float)>
void each_narrow(void* accumulator, const void* value, size_t count, ncclRedOp_t operation) {
  auto* a = static_cast<uint16_t*>(accumulator);
  const auto* b = static_cast<const uint16_t*>(value);
  for (size_t i = 0; i < count; ++i) a[i] = To(combine(From(a[i]), From(b[i]), operation));
}

template <typename T>
void divide(void* accumulator, size_t count, int ranks) {
  auto* a = static_cast<T*>(accumulator);
  for (size_t i = 0; i < count; ++i) a[i] = static_cast<T>(a[i] / static_cast<T>(ranks));
}

template <float (*From)(uint16_t), uint16_t (*To)(float)>
void divide_narrow(void* accumulator, size_t count, int ranks) {
  auto* a = static_cast<uint16_t*>(accumulator);
  for (size_t i = 0; i < count; ++i) a[i] = To(From(a[i]) / static_cast<float>(ranks));
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
      return each_narrow<from_half, to_half>(accumulator, value, count, operation);
    case ncclBfloat16:
      return each_narrow<from_bfloat, to_bfloat>(accumulator, value, count, operation);
    default:
      memset(accumulator, 0,
             count * type_bytes(type));  // 8-bit floats are not computed: zero is the defined unknown value
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
      return divide_narrow<from_half, to_half>(accumulator, count, ranks);
    case ncclBfloat16:
      return divide_narrow<from_bfloat, to_bfloat>(accumulator, count, ranks);
    default:
      return;
  }
}

}  // namespace maya::nccl
