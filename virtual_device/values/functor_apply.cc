// What the function objects of PyTorch's elementwise kernels compute.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "virtual_device/values/functor.h"

namespace maya::device {

namespace {

using Operation = ElementOperation;

// Selectors of PyTorch: enum class OpType { GE, GT, LE, LT }, enum class
// EqOpType { EQ, NE } and enum class ClampLimits { Min, Max, MinMax }.
enum Comparison { kGreaterEqual = 0, kGreater = 1, kLessEqual = 2, kLess = 3 };
enum Equality { kEqual = 0, kNotEqual = 1 };
enum ClampLimits { kClampMin = 0, kClampMax = 1, kClampBoth = 2 };

Number constant(const Functor::Constant& where, const uint8_t* object) {
  return load_number(object + where.offset, where.type);
}

template <typename T>
bool compare(int64_t selector, T a, T b, bool* known) {
  *known = selector >= kGreaterEqual && selector <= kLess;
  return selector == kGreaterEqual ? a >= b : selector == kGreater ? a > b : selector == kLessEqual ? a <= b : a < b;
}

// Not a number wins, the first one first.
Number larger(double a, double b) { return Number::of(std::isnan(a) ? a : std::isnan(b) ? b : std::max(a, b)); }
Number smaller(double a, double b) { return Number::of(std::isnan(a) ? a : std::isnan(b) ? b : std::min(a, b)); }

int64_t wrap(uint64_t value) { return static_cast<int64_t>(value); }
uint64_t bits(int64_t value) { return static_cast<uint64_t>(value); }

// Of one real argument. False when the operation is none of these.
bool real_function(Operation operation, double a, double* result) {
  switch (operation) {
    case Operation::kNegate:
      return *result = -a, true;
    case Operation::kAbsolute:
      return *result = std::fabs(a), true;
    case Operation::kReciprocal:
      return *result = 1.0 / a, true;
    case Operation::kSquareRoot:
      return *result = std::sqrt(a), true;
    case Operation::kInverseSquareRoot:
      return *result = 1.0 / std::sqrt(a), true;
    case Operation::kFloor:
      return *result = std::floor(a), true;
    case Operation::kCeil:
      return *result = std::ceil(a), true;
    case Operation::kRound:
      return *result = std::nearbyint(a), true;
    case Operation::kTruncate:
      return *result = std::trunc(a), true;
    case Operation::kFraction:
      return *result = a - std::trunc(a), true;
    case Operation::kSign:
      return *result = a > 0 ? 1 : a < 0 ? -1 : 0, true;
    case Operation::kExponential:
      return *result = std::exp(a), true;
    case Operation::kExponentialMinusOne:
      return *result = std::expm1(a), true;
    case Operation::kLogarithm:
      return *result = std::log(a), true;
    case Operation::kLogarithm2:
      return *result = std::log2(a), true;
    case Operation::kLogarithm10:
      return *result = std::log10(a), true;
    case Operation::kLogarithmOfOnePlus:
      return *result = std::log1p(a), true;
    case Operation::kSine:
      return *result = std::sin(a), true;
    case Operation::kCosine:
      return *result = std::cos(a), true;
    case Operation::kTangent:
      return *result = std::tan(a), true;
    case Operation::kArcSine:
      return *result = std::asin(a), true;
    case Operation::kArcCosine:
      return *result = std::acos(a), true;
    case Operation::kArcTangent:
      return *result = std::atan(a), true;
    case Operation::kHyperbolicSine:
      return *result = std::sinh(a), true;
    case Operation::kHyperbolicCosine:
      return *result = std::cosh(a), true;
    case Operation::kHyperbolicTangent:
      return *result = std::tanh(a), true;
    case Operation::kSigmoid:
      return *result = 1.0 / (1.0 + std::exp(-a)), true;
    case Operation::kErrorFunction:
      return *result = std::erf(a), true;
    case Operation::kSilu:
      return *result = a / (1.0 + std::exp(-a)), true;
    case Operation::kGelu:
      return *result = a * 0.5 * (1.0 + std::erf(a / std::numbers::sqrt2)), true;
    case Operation::kRelu:
      return *result = std::isnan(a) ? a : std::max(a, 0.0), true;
    default:
      return false;
  }
}

bool integer_function(Operation operation, int64_t a, int64_t* result) {
  switch (operation) {
    case Operation::kNegate:
      return *result = wrap(0 - bits(a)), true;
    case Operation::kAbsolute:
      return *result = a < 0 ? wrap(0 - bits(a)) : a, true;
    case Operation::kFloor:
    case Operation::kCeil:
    case Operation::kRound:
    case Operation::kTruncate:
      return *result = a, true;
    case Operation::kSign:
      return *result = (a > 0) - (a < 0), true;
    case Operation::kSquare:
      return *result = wrap(bits(a) * bits(a)), true;
    case Operation::kCube:
      return *result = wrap(bits(a) * bits(a) * bits(a)), true;
    case Operation::kRelu:
      return *result = std::max<int64_t>(a, 0), true;
    default:
      return false;
  }
}

double remainder_like_divisor(double a, double b) {
  const double left = std::fmod(a, b);
  return left != 0 && (b < 0) != (left < 0) ? left + b : left;
}

double divide_floor(double a, double b) {
  if (b == 0) return a / b;
  const double left = std::fmod(a, b);
  double quotient = (a - left) / b;
  if (left != 0 && (b < 0) != (left < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double down = std::floor(quotient);
  return quotient - down > 0.5 ? down + 1 : down;
}

bool real_binary(Operation operation, double a, double b, double* result) {
  switch (operation) {
    case Operation::kMultiply:
      return *result = a * b, true;
    case Operation::kDivide:
      return *result = a / b, true;
    case Operation::kMaximum:
      return *result = larger(a, b).real, true;
    case Operation::kMinimum:
      return *result = smaller(a, b).real, true;
    case Operation::kPower:
      return *result = std::pow(a, b), true;
    case Operation::kReversePower:
      return *result = std::pow(b, a), true;
    case Operation::kRemainder:
      return *result = remainder_like_divisor(a, b), true;
    case Operation::kFmod:
      return *result = std::fmod(a, b), true;
    case Operation::kDivideFloor:
      return *result = divide_floor(a, b), true;
    case Operation::kDivideTruncate:
      return *result = std::trunc(a / b), true;
    case Operation::kArcTangent2:
      return *result = std::atan2(a, b), true;
    case Operation::kHypotenuse:
      return *result = std::hypot(a, b), true;
    case Operation::kCopySign:
      return *result = std::copysign(a, b), true;
    case Operation::kXLogY:
      return *result = std::isnan(b) ? b : a == 0 ? 0 : a * std::log(b), true;
    case Operation::kHeaviside:
      return *result = a == 0 ? b : a < 0 ? 0 : 1, true;
    case Operation::kLeakyRelu:
      return *result = a > 0 ? a : a * b, true;
    default:
      return false;
  }
}

int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  uint64_t result = 1, factor = bits(base);
  for (uint64_t left = bits(exponent); left != 0; left >>= 1, factor *= factor)
    if ((left & 1) != 0) result *= factor;
  return wrap(result);
}

// `width`: bits of the type. Division by zero, and of the smallest value by -1,
// have no defined value.
bool integer_binary(Operation operation, int64_t a, int64_t b, int64_t width, int64_t* result) {
  const bool divisible = b != 0 && !(b == -1 && a == std::numeric_limits<int64_t>::min());
  switch (operation) {
    case Operation::kMultiply:
      return *result = wrap(bits(a) * bits(b)), true;
    case Operation::kMaximum:
      return *result = std::max(a, b), true;
    case Operation::kMinimum:
      return *result = std::min(a, b), true;
    case Operation::kPower:
      return *result = power(a, b), true;
    case Operation::kReversePower:
      return *result = power(b, a), true;
    case Operation::kFmod:
      return divisible && (*result = a % b, true);
    case Operation::kRemainder:
      if (!divisible) return false;
      *result = a % b;
      if (*result != 0 && (*result < 0) != (b < 0)) *result += b;
      return true;
    case Operation::kDivideTruncate:
      return divisible && (*result = a / b, true);
    case Operation::kDivideFloor:
      if (!divisible) return false;
      *result = a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
      return true;
    case Operation::kShiftLeft:
      return *result = b < 0 || b >= width ? 0 : wrap(bits(a) << b), true;
    case Operation::kShiftRight:
      return *result = a >> (b < 0 || b >= width ? width - 1 : b), true;
    case Operation::kHeaviside:
      return *result = a == 0 ? b : a < 0 ? 0 : 1, true;
    case Operation::kBitAnd:
      return *result = a & b, true;
    case Operation::kBitOr:
      return *result = a | b, true;
    case Operation::kBitXor:
      return *result = a ^ b, true;
    default:
      return false;
  }
}

// Elements that are chosen, moved or taken as truth values, without arithmetic.
// False when the operation computes.
bool choose(const Functor& functor, const uint8_t* object, const Number* values, Number a, Number b, Number* result) {
  switch (functor.operation) {
    case Operation::kFill:
      return *result = constant(functor.operands[0], object), true;
    case Operation::kCopy:
      return *result = a, true;
    case Operation::kWhere:
      return *result = values[0].as_bool() ? values[1] : values[2], true;
    case Operation::kMaskedFill:
      return *result = values[1].as_bool() ? constant(functor.operands[0], object) : values[0], true;
    case Operation::kLogicalAnd:
      return *result = Number::of(a.as_bool() && b.as_bool()), true;
    case Operation::kLogicalOr:
      return *result = Number::of(a.as_bool() || b.as_bool()), true;
    case Operation::kLogicalXor:
      return *result = Number::of(a.as_bool() != b.as_bool()), true;
    case Operation::kLogicalNot:
      return *result = Number::of(!a.as_bool()), true;
    default:
      return false;
  }
}

Number clamp(Number a, int64_t limits, Number low, Number high) {
  if (a.is_nan()) return a;
  if (a.floating) {
    if (limits == kClampMin) return Number::of(std::max(a.real, low.real));
    if (limits == kClampMax) return Number::of(std::min(a.real, low.real));
    return Number::of(std::min(std::max(a.real, low.real), high.real));
  }
  if (limits == kClampMin) return Number::of(std::max(a.integer, low.integer));
  if (limits == kClampMax) return Number::of(std::min(a.integer, low.integer));
  return Number::of(std::min(std::max(a.integer, low.integer), high.integer));
}

double lerp(double from, double to, double weight) {
  return std::fabs(weight) < 0.5 ? from + weight * (to - from) : to - (to - from) * (1 - weight);
}

}  // namespace

bool apply_functor(const Functor& functor, const uint8_t* object, const Number* values, Number* result) {
  const Operation operation = functor.operation;
  Number a = functor.inputs > 0 ? values[0] : Number{}, b = functor.inputs > 1 ? values[1] : Number{};
  Number fixed[kMaximumOperands];
  for (int i = 0; i < kMaximumOperands; ++i)
    if (functor.operands[i].type != ElementType::kNone) fixed[i] = constant(functor.operands[i], object);
  if (functor.inputs < 2 && functor.operands[0].type != ElementType::kNone) {
    b = functor.operand_is_first ? a : fixed[0];
    if (functor.operand_is_first) a = fixed[0];
  }
  if (choose(functor, object, values, a, b, result)) return true;
  const ElementType type = functor.compute_type;
  const auto convert = [type](Number value) { return convert_number(value, type); };
  a = convert(a);
  b = convert(b);
  const Number c = functor.inputs > 2 ? convert(values[2]) : Number{};
  const int64_t selector = functor.selector.type == ElementType::kNone ? 0 : constant(functor.selector, object).integer;
  switch (operation) {
    case Operation::kCompare: {
      bool known = false;
      *result = Number::of(a.floating ? compare(selector, a.real, b.real, &known)
                                      : compare(selector, a.integer, b.integer, &known));
      return known;
    }
    case Operation::kCompareEqual: {
      const bool equal = a.floating ? a.real == b.real : a.integer == b.integer;
      *result = Number::of(selector == kEqual ? equal : !equal);
      return selector == kEqual || selector == kNotEqual;
    }
    case Operation::kBitNot:
      // Of bool it is the logical not, as PyTorch does.
      *result = type == ElementType::kBool ? Number::of(!a.as_bool()) : Number::of(~a.integer);
      return !a.floating;
    case Operation::kSignBit:
      *result = Number::of(a.floating ? std::signbit(a.real) : a.integer < 0);
      return true;
    case Operation::kIsPositiveInfinity:
      *result = Number::of(std::isinf(a.real) && a.real > 0);
      return a.floating;
    case Operation::kIsNegativeInfinity:
      *result = Number::of(std::isinf(a.real) && a.real < 0);
      return a.floating;
    case Operation::kClamp:
      *result = clamp(a, selector, fixed[0], fixed[1]);
      return selector >= kClampMin && selector <= kClampBoth;
    case Operation::kClampElements:
      *result = b.is_nan() ? b : c.is_nan() && !a.is_nan() ? c : clamp(a, kClampBoth, b, c);
      return true;
    case Operation::kSoftplus: {
      const double scaled = a.real * fixed[0].real;
      *result = convert(scaled > fixed[1].real ? a : Number::of(std::log1p(std::exp(scaled)) / fixed[0].real));
      return a.floating;
    }
    case Operation::kNanToNumber:
      *result = !a.floating || std::isfinite(a.real) ? a : fixed[std::isnan(a.real) ? 0 : a.real > 0 ? 1 : 2];
      return true;
    case Operation::kMultiplyTruncate:
      *result = Number::of(std::trunc(convert(Number::of(a.real * b.real)).real));
      return a.floating;
    case Operation::kSquare:
    case Operation::kCube:
    case Operation::kInverseSquare: {
      if (!a.floating) break;
      Number product = convert(Number::of(a.real * a.real));
      if (operation == Operation::kCube) product = Number::of(product.real * a.real);
      if (operation == Operation::kInverseSquare) product = Number::of(1.0 / product.real);
      *result = convert(product);
      return true;
    }
    case Operation::kLerp:
    case Operation::kLerpElements:
      *result = convert(Number::of(lerp(a.real, b.real, operation == Operation::kLerp ? fixed[0].real : c.real)));
      return a.floating;
    case Operation::kAddProduct:
    case Operation::kAddQuotient: {
      // A fused multiply-add, so rounded once, but for a quotient and a product
      // that is scaled.
      if (!a.floating) {
        if (operation == Operation::kAddQuotient) return false;
        *result =
            convert(Number::of(wrap(bits(a.integer) + bits(fixed[0].integer) * bits(b.integer) * bits(c.integer))));
        return true;
      }
      double term = b.real * c.real;
      if (operation == Operation::kAddQuotient) term = b.real / c.real;
      if (operation == Operation::kAddQuotient || fixed[0].real != 1) term = convert(Number::of(term)).real;
      *result = convert(Number::of(a.real + fixed[0].real * term));
      return true;
    }
    case Operation::kAddScaled: {
      // Products and sums of two floats are exact or correctly rounded in double,
      // so one conversion at the end is a float's rounding; a scaled sum is
      // rounded once, as the device's fused multiply-add does.
      const Number scale = functor.scale.type == ElementType::kNone ? Number{} : constant(functor.scale, object);
      *result = convert(a.floating ? Number::of(a.real + scale.as_real() * b.real)
                                   : Number::of(wrap(bits(a.integer) + bits(scale.integer) * bits(b.integer))));
      return true;
    }
    default:
      break;
  }
  double real = 0;
  int64_t integer = 0;
  const auto width = static_cast<int64_t>(8 * element_bytes(type));
  if (a.floating) {
    if (!real_function(operation, a.real, &real) && !real_binary(operation, a.real, b.real, &real)) return false;
    *result = convert(Number::of(real));
  } else {
    if (!integer_function(operation, a.integer, &integer) &&
        !integer_binary(operation, a.integer, b.integer, width, &integer))
      return false;
    *result = convert(Number::of(integer));
  }
  return true;
}

}  // namespace maya::device
