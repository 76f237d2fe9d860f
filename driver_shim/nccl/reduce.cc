// Reductions on host values, in the precision of the type (NCCL reduces 16-bit floats in the type itself; rounding
// order may differ).
#include <string.h>

#include <algorithm>

#include "driver_shim/nccl/call.h"
#include "virtual_device/values/narrow_float.h"

namespace maya::nccl {
namespace {

using device::bfloat16_to_float;
using device::float_to_bfloat16;
using device::float_to_half;
using device::half_to_float;

float from_e4m3(uint8_t bits) { return device::Float8E4m3fn::to_float(bits); }
float from_e5m2(uint8_t bits) { return device::Float8E5m2::to_float(bits); }
// Saturate at the largest number, as CUDA's own conversions do that NCCL's kernels use.
uint8_t to_e4m3(float value) { return device::Float8E4m3fn::from_float(value, device::Overflow::kSaturate); }
uint8_t to_e5m2(float value) { return device::Float8E5m2::from_float(value, device::Overflow::kSaturate); }

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
      return each_narrow<uint16_t, half_to_float, float_to_half>(accumulator, value, count, operation);
    case ncclBfloat16:
      return each_narrow<uint16_t, bfloat16_to_float, float_to_bfloat16>(accumulator, value, count, operation);
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
      return divide_narrow<uint16_t, half_to_float, float_to_half>(accumulator, count, ranks);
    case ncclBfloat16:
      return divide_narrow<uint16_t, bfloat16_to_float, float_to_bfloat16>(accumulator, count, ranks);
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
      return multiply_narrow<uint16_t, half_to_float, float_to_half>(values, count, scalar);
    case ncclBfloat16:
      return multiply_narrow<uint16_t, bfloat16_to_float, float_to_bfloat16>(values, count, scalar);
    case ncclFloat8e4m3:
      return multiply_narrow<uint8_t, from_e4m3, to_e4m3>(values, count, scalar);
    case ncclFloat8e5m2:
      return multiply_narrow<uint8_t, from_e5m2, to_e5m2>(values, count, scalar);
    default:
      return;
  }
}

}  // namespace maya::nccl
