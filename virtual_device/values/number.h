// Elements of tensors as numbers: types, and conversions as CUDA and C++ do them.
#pragma once

#include <cstdint>
#include <string_view>

namespace maya::device {

enum class ElementType : uint8_t {
  kNone,
  kFloat64,
  kFloat32,
  kFloat16,
  kBfloat16,
  kFloat8E4m3fn,
  // The same, where it is known what becomes of values beyond its range: the largest number (PyTorch since 2.12), or
  // NaN (before).
  kFloat8E4m3fnSaturated,
  kFloat8E4m3fnNan,
  kFloat8E5m2,
  kFloat8E4m3fnuz,
  kFloat8E5m2fnuz,
  kFloat8E8m0fnu,
  kInt64,
  kInt32,
  kInt16,
  kInt8,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kBool,
  // Types of which only the size is known here.
  kOpaque1,
  kOpaque4,
  kOpaque8,
  kOpaque16,
};

uint32_t element_bytes(ElementType type);  // 0 for kNone
bool is_computable(ElementType type);      // conversions below exist
bool is_floating(ElementType type);
// From a C++ type name as demangled: "float", "c10::Half", "unsigned char"; kNone for anything else.
ElementType element_type(std::string_view cpp_name);
// From a value of c10::ScalarType (public header c10/core/ScalarType.h).
ElementType element_type_of_scalar(uint8_t scalar_type);
// The type in which PyTorch computes (at::opmath_type): float for the narrower floating types, else the type itself.
ElementType operation_type(ElementType type);

// A value on its way: a floating one is in `real`, an integer one in `integer`.
struct Number {
  bool floating = false;
  double real = 0;
  int64_t integer = 0;

  static Number of(double value) { return {true, value, 0}; }
  static Number of(int64_t value) { return {false, 0, value}; }
  static Number of(bool value) { return {false, 0, value ? 1 : 0}; }
  double as_real() const { return floating ? real : static_cast<double>(integer); }
  bool as_bool() const { return floating ? real != 0 : integer != 0; }
  bool is_nan() const { return floating && real != real; }
};

// `bytes` need not be aligned. The type must be computable.
Number load_number(const void* bytes, ElementType type);
void store_number(Number value, ElementType type, void* bytes);
// Whether the type says what a conversion of the value gives.
bool converts_to(Number value, ElementType type);
// The value after a conversion to `type`.
Number convert_number(Number value, ElementType type);

}  // namespace maya::device
