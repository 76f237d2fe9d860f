#include "virtual_device/values/number.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "virtual_device/values/narrow_float.h"

namespace maya::device {

namespace {

// Float to integer as the device converts: saturating, NaN gives zero.
int64_t to_integer(Number value) {
  if (!value.floating) return value.integer;
  if (std::isnan(value.real)) return 0;
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (value.real >= kLimit) return std::numeric_limits<int64_t>::max();
  if (value.real < -kLimit) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value.real);
}

template <typename T>
T read(const void* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

template <typename T>
void write(void* bytes, T value) {
  std::memcpy(bytes, &value, sizeof(value));
}

}  // namespace

uint32_t element_bytes(ElementType type) {
  switch (type) {
    case ElementType::kNone:
      return 0;
    case ElementType::kInt8:
    case ElementType::kUint8:
    case ElementType::kBool:
    case ElementType::kFloat8E4m3fn:
    case ElementType::kFloat8E4m3fnSaturated:
    case ElementType::kFloat8E4m3fnNan:
    case ElementType::kFloat8E5m2:
    case ElementType::kFloat8E4m3fnuz:
    case ElementType::kFloat8E5m2fnuz:
    case ElementType::kFloat8E8m0fnu:
    case ElementType::kOpaque1:
      return 1;
    case ElementType::kFloat16:
    case ElementType::kBfloat16:
    case ElementType::kInt16:
    case ElementType::kUint16:
      return 2;
    case ElementType::kFloat32:
    case ElementType::kInt32:
    case ElementType::kUint32:
    case ElementType::kOpaque4:
      return 4;
    case ElementType::kFloat64:
    case ElementType::kInt64:
    case ElementType::kUint64:
    case ElementType::kOpaque8:
      return 8;
    case ElementType::kOpaque16:
      return 16;
  }
  return 0;
}

bool is_computable(ElementType type) {
  // Unsigned 64-bit values do not fit a Number.
  return type > ElementType::kNone && type <= ElementType::kBool && type != ElementType::kUint64;
}

bool is_floating(ElementType type) { return type >= ElementType::kFloat64 && type <= ElementType::kFloat8E8m0fnu; }

ElementType element_type(std::string_view name) {
  struct Known {
    std::string_view name;
    ElementType type;
  };
  static constexpr Known kKnown[] = {
      {"float", ElementType::kFloat32},
      {"double", ElementType::kFloat64},
      {"c10::Half", ElementType::kFloat16},
      {"c10::BFloat16", ElementType::kBfloat16},
      {"c10::Float8_e4m3fn", ElementType::kFloat8E4m3fn},
      {"c10::Float8_e5m2", ElementType::kFloat8E5m2},
      {"c10::Float8_e4m3fnuz", ElementType::kFloat8E4m3fnuz},
      {"c10::Float8_e5m2fnuz", ElementType::kFloat8E5m2fnuz},
      {"c10::Float8_e8m0fnu", ElementType::kFloat8E8m0fnu},
      {"long", ElementType::kInt64},
      {"long long", ElementType::kInt64},
      {"int", ElementType::kInt32},
      {"short", ElementType::kInt16},
      {"signed char", ElementType::kInt8},
      {"char", ElementType::kInt8},
      {"unsigned char", ElementType::kUint8},
      {"unsigned short", ElementType::kUint16},
      {"unsigned int", ElementType::kUint32},
      {"unsigned long", ElementType::kUint64},
      {"bool", ElementType::kBool},
      {"c10::complex<c10::Half>", ElementType::kOpaque4},
      {"c10::complex<c10::BFloat16>", ElementType::kOpaque4},
      {"c10::complex<float>", ElementType::kOpaque8},
      {"c10::complex<double>", ElementType::kOpaque16},
      {"c10::qint8", ElementType::kOpaque1},
      {"c10::quint8", ElementType::kOpaque1},
      {"c10::qint32", ElementType::kOpaque4},
  };
  for (const Known& known : kKnown)
    if (known.name == name) return known.type;
  return ElementType::kNone;
}

ElementType element_type_of_scalar(uint8_t scalar_type) {
  static constexpr ElementType kTypes[] = {
      ElementType::kUint8,   ElementType::kInt8,    ElementType::kInt16,    ElementType::kInt32,
      ElementType::kInt64,   ElementType::kFloat16, ElementType::kFloat32,  ElementType::kFloat64,
      ElementType::kOpaque4, ElementType::kOpaque8, ElementType::kOpaque16, ElementType::kBool,
      ElementType::kOpaque1, ElementType::kOpaque1, ElementType::kOpaque4,  ElementType::kBfloat16};
  if (scalar_type < std::size(kTypes)) return kTypes[scalar_type];
  switch (scalar_type) {
    case 23:
      return ElementType::kFloat8E5m2;
    case 24:
      return ElementType::kFloat8E4m3fn;
    case 25:
      return ElementType::kFloat8E5m2fnuz;
    case 26:
      return ElementType::kFloat8E4m3fnuz;
    case 27:
      return ElementType::kUint16;
    case 28:
      return ElementType::kUint32;
    case 29:
      return ElementType::kUint64;
    case 44:
      return ElementType::kFloat8E8m0fnu;
    case 45:
      return ElementType::kOpaque1;  // pairs of 4-bit floats
    default:
      return ElementType::kNone;
  }
}

ElementType operation_type(ElementType type) {
  return is_floating(type) && element_bytes(type) < 4 ? ElementType::kFloat32 : type;
}

Number load_number(const void* bytes, ElementType type) {
  switch (type) {
    case ElementType::kFloat64:
      return Number::of(read<double>(bytes));
    case ElementType::kFloat32:
      return Number::of(static_cast<double>(read<float>(bytes)));
    case ElementType::kFloat16:
      return Number::of(static_cast<double>(half_to_float(read<uint16_t>(bytes))));
    case ElementType::kBfloat16:
      return Number::of(static_cast<double>(bfloat16_to_float(read<uint16_t>(bytes))));
    case ElementType::kFloat8E4m3fn:
    case ElementType::kFloat8E4m3fnSaturated:
    case ElementType::kFloat8E4m3fnNan:
      return Number::of(static_cast<double>(Float8E4m3fn::to_float(read<uint8_t>(bytes))));
    case ElementType::kFloat8E5m2:
      return Number::of(static_cast<double>(Float8E5m2::to_float(read<uint8_t>(bytes))));
    case ElementType::kFloat8E4m3fnuz:
      return Number::of(static_cast<double>(Float8E4m3fnuz::to_float(read<uint8_t>(bytes))));
    case ElementType::kFloat8E5m2fnuz:
      return Number::of(static_cast<double>(Float8E5m2fnuz::to_float(read<uint8_t>(bytes))));
    case ElementType::kFloat8E8m0fnu:
      return Number::of(static_cast<double>(e8m0_to_float(read<uint8_t>(bytes))));
    case ElementType::kInt64:
      return Number::of(read<int64_t>(bytes));
    case ElementType::kInt32:
      return Number::of(int64_t{read<int32_t>(bytes)});
    case ElementType::kInt16:
      return Number::of(int64_t{read<int16_t>(bytes)});
    case ElementType::kInt8:
      return Number::of(int64_t{read<int8_t>(bytes)});
    case ElementType::kUint8:
      return Number::of(int64_t{read<uint8_t>(bytes)});
    case ElementType::kUint16:
      return Number::of(int64_t{read<uint16_t>(bytes)});
    case ElementType::kUint32:
      return Number::of(int64_t{read<uint32_t>(bytes)});
    case ElementType::kBool:
      return Number::of(read<uint8_t>(bytes) != 0);
    default:
      return {};
  }
}

void store_number(Number value, ElementType type, void* bytes) {
  switch (type) {
    case ElementType::kFloat64:
      return write(bytes, value.as_real());
    case ElementType::kFloat32:
      return write(bytes, static_cast<float>(value.as_real()));
    case ElementType::kFloat16:
      return write(bytes, float_to_half(static_cast<float>(value.as_real())));
    case ElementType::kBfloat16:
      return write(bytes, float_to_bfloat16(static_cast<float>(value.as_real())));
    case ElementType::kFloat8E4m3fn:
    case ElementType::kFloat8E4m3fnSaturated:
      return write(bytes, Float8E4m3fn::from_float(static_cast<float>(value.as_real()), Overflow::kSaturate));
    case ElementType::kFloat8E4m3fnNan:
      return write(bytes, Float8E4m3fn::from_float(static_cast<float>(value.as_real())));
    case ElementType::kFloat8E5m2:
      return write(bytes, Float8E5m2::from_float(static_cast<float>(value.as_real())));
    case ElementType::kFloat8E4m3fnuz:
      return write(bytes, Float8E4m3fnuz::from_float(static_cast<float>(value.as_real())));
    case ElementType::kFloat8E5m2fnuz:
      return write(bytes, Float8E5m2fnuz::from_float(static_cast<float>(value.as_real())));
    case ElementType::kFloat8E8m0fnu:
      return write(bytes, float_to_e8m0(static_cast<float>(value.as_real())));
    case ElementType::kInt64:
      return write(bytes, to_integer(value));
    case ElementType::kInt32:
    case ElementType::kUint32:
      return write(bytes, static_cast<uint32_t>(to_integer(value)));
    case ElementType::kInt16:
    case ElementType::kUint16:
      return write(bytes, static_cast<uint16_t>(to_integer(value)));
    case ElementType::kInt8:
    case ElementType::kUint8:
      return write(bytes, static_cast<uint8_t>(to_integer(value)));
    case ElementType::kBool:
      return write(bytes, static_cast<uint8_t>(value.as_bool()));
    default:
      return;
  }
}

bool converts_to(Number value, ElementType type) {
  constexpr double kOverflow = 464;  // halfway from the largest number to the next step
  return type != ElementType::kFloat8E4m3fn || value.is_nan() || std::fabs(value.as_real()) <= kOverflow;
}

Number convert_number(Number value, ElementType type) {
  // The frequent ones without a way through memory.
  switch (type) {
    case ElementType::kFloat64:
      return Number::of(value.as_real());
    case ElementType::kFloat32:
      return Number::of(static_cast<double>(static_cast<float>(value.as_real())));
    case ElementType::kBool:
      return Number::of(value.as_bool());
    case ElementType::kInt64:
      return Number::of(to_integer(value));
    default:
      break;
  }
  unsigned char bytes[8];
  store_number(value, type, bytes);
  return load_number(bytes, type);
}

}  // namespace maya::device
