#include "virtual_device/values/functor.h"

#include <algorithm>
#include <cmath>

#include "virtual_device/values/kernel_name.h"

namespace maya::device {

namespace {

constexpr uint32_t kHostPointer_bytes = 8;  // an extended lambda with captures carries one behind them

// Comparison selectors of PyTorch: enum class OpType { GE, GT, LE, LT } and enum class EqOpType { EQ, NE }.
enum Comparison { kGreaterEqual = 0, kGreater = 1, kLessEqual = 2, kLess = 3 };
enum Equality { kEqual = 0, kNotEqual = 1 };

uint32_t align(uint32_t offset, uint32_t alignment) { return (offset + alignment - 1) / alignment * alignment; }

bool take_prefix(std::string_view* text, std::string_view prefix) {
  if (!text->starts_with(prefix)) return false;
  text->remove_prefix(prefix.size());
  return true;
}

// "at::native::(anonymous namespace)::x" -> "x".
std::string_view without_namespace(std::string_view text) {
  take_prefix(&text, "at::native::");
  take_prefix(&text, "(anonymous namespace)::");
  take_prefix(&text, "binary_internal::");
  return text;
}

// Name of the function whose lambda a text is: up to its template arguments or parameters.
std::string_view enclosing_function(std::string_view text) { return text.substr(0, text.find_first_of("<(")); }

ElementType only_argument(std::string_view text) {
  const auto arguments = template_arguments(text);
  return arguments.size() == 1 ? element_type(arguments[0]) : ElementType::kNone;
}

// The inner function of BinaryFunctor and its relatives: operation, type of its arguments, size.
struct Inner {
  ElementOperation operation;
  ElementType type;
  uint32_t bytes = 1;
  bool has_selector = false;
};

std::optional<Inner> parse_inner(std::string_view text) {
  text = without_namespace(text);
  const std::string_view base = template_base(text);
  struct Named {
    std::string_view name;
    ElementOperation operation;
  };
  static constexpr Named kTemplates[] = {
      {"MulFunctor", ElementOperation::kMultiply},      {"DivFunctor", ElementOperation::kDivide},
      {"BitwiseAndFunctor", ElementOperation::kBitAnd}, {"BitwiseOrFunctor", ElementOperation::kBitOr},
      {"BitwiseXorFunctor", ElementOperation::kBitXor},
  };
  for (const Named& known : kTemplates)
    if (base == known.name) return Inner{known.operation, only_argument(text), 1, false};
  if (base == "CompareEqFunctor") return Inner{ElementOperation::kCompareEqual, only_argument(text), 4, true};
  static constexpr Named kLambdas[] = {
      {"maximum_kernel_cuda", ElementOperation::kMaximum},
      {"minimum_kernel_cuda", ElementOperation::kMinimum},
      {"logical_and_kernel_cuda", ElementOperation::kLogicalAnd},
      {"logical_or_kernel_cuda", ElementOperation::kLogicalOr},
      {"logical_xor_kernel_cuda", ElementOperation::kLogicalXor},
  };
  std::vector<std::string_view> arguments;
  if (!lambda_arguments(text, &arguments) || arguments.size() != 2) return std::nullopt;
  for (const Named& known : kLambdas)
    if (enclosing_function(text) == known.name) return Inner{known.operation, element_type(arguments[0]), 1, false};
  return std::nullopt;
}

// BinaryFunctor<A, B, R, F>, and AUnaryFunctor and BUnaryFunctor whose first or second operand is a constant behind F.
std::optional<Functor> parse_binary(std::string_view text) {
  const std::string_view base = template_base(text);
  const auto arguments = template_arguments(text);
  if (arguments.size() != 4) return std::nullopt;
  const auto inner = parse_inner(arguments[3]);
  if (!inner) return std::nullopt;
  Functor made;
  made.operation = inner->operation;
  made.compute_type = inner->type;
  made.result_type = element_type(arguments[2]);
  if (inner->has_selector) made.selector = {0, ElementType::kInt32};
  if (base == "BinaryFunctor") {
    made.inputs = 2;
    made.input_types[0] = element_type(arguments[0]);
    made.input_types[1] = element_type(arguments[1]);
    made.bytes = inner->bytes;
    return made;
  }
  const bool first = base == "AUnaryFunctor";
  const uint32_t size = std::max(element_bytes(inner->type), 1u);
  const uint32_t offset = align(inner->bytes, size);
  made.inputs = 1;
  made.input_types[0] = element_type(arguments[first ? 1 : 0]);
  made.operand = {static_cast<uint16_t>(offset), inner->type};
  made.operand_is_first = first;
  made.bytes = align(offset + size, std::max(size, inner->bytes));
  return made;
}

std::optional<Functor> parse_add(std::string_view text) {
  const std::string_view base = template_base(text);
  const ElementType type = only_argument(text);
  const ElementType compute = operation_type(type);
  const auto size = static_cast<uint16_t>(element_bytes(compute));
  Functor made;
  made.operation = ElementOperation::kAddScaled;
  made.result_type = made.input_types[0] = made.input_types[1] = type;
  made.compute_type = compute;
  if (base == "CUDAFunctor_add") {
    made.inputs = 2;
    made.scale = {0, compute};
    made.bytes = size;
  } else {
    made.inputs = 1;
    made.operand = {0, compute};
    made.operand_is_first = base == "CUDAFunctorOnOther_add";
    made.scale = {size, compute};
    made.bytes = 2u * size;
  }
  return made;
}

std::optional<Functor> parse_lambda(std::string_view text) {
  std::vector<std::string_view> types;
  if (!lambda_arguments(text, &types) || types.empty() || types.size() > kMaximumInputs) return std::nullopt;
  const std::string_view function = enclosing_function(text);
  Functor made;
  made.inputs = static_cast<uint8_t>(types.size());
  for (size_t i = 0; i < types.size(); ++i) made.input_types[i] = element_type(types[i]);
  const ElementType type = made.input_types[0];
  made.result_type = type;
  made.compute_type = operation_type(type);

  struct Unary {
    std::string_view function;
    ElementOperation operation;
    bool gives_bool;
  };
  static constexpr Unary kUnary[] = {
      {"direct_copy_kernel_cuda", ElementOperation::kCopy, false},
      {"neg_kernel_cuda", ElementOperation::kNegate, false},
      {"reciprocal_kernel_cuda", ElementOperation::kReciprocal, false},
      {"sqrt_kernel_cuda", ElementOperation::kSquareRoot, false},
      {"floor_kernel_cuda", ElementOperation::kFloor, false},
      {"ceil_kernel_cuda", ElementOperation::kCeil, false},
      {"bitwise_not_kernel_cuda", ElementOperation::kBitNot, false},
      {"logical_not_kernel_cuda", ElementOperation::kLogicalNot, true},
      {"isposinf_kernel_impl", ElementOperation::kIsPositiveInfinity, true},
      {"isneginf_kernel_impl", ElementOperation::kIsNegativeInfinity, true},
  };
  for (const Unary& known : kUnary) {
    if (function != known.function || types.size() != 1) continue;
    made.operation = known.operation;
    if (known.gives_bool) made.result_type = ElementType::kBool;
    return made;
  }
  if (function == "converting_copy_kernel_cuda" && types.size() == 1) {
    // converting_copy_kernel_cuda<input, output>(...)
    const size_t end = text.find(">(");
    if (end == std::string_view::npos) return std::nullopt;
    const auto arguments = template_arguments(text.substr(0, end + 1));
    if (arguments.size() != 2 || element_type(arguments[0]) != type) return std::nullopt;
    made.operation = ElementOperation::kCopy;
    made.result_type = element_type(arguments[1]);
    return made;
  }
  if (function == "compare_scalar_kernel" && types.size() == 1) {
    // Captures the comparison, then the scalar.
    const uint32_t size = std::max(element_bytes(type), 1u);
    const uint32_t offset = align(4, size);
    made.operation = ElementOperation::kCompare;
    made.result_type = ElementType::kBool;
    made.selector = {0, ElementType::kInt32};
    made.operand = {static_cast<uint16_t>(offset), type};
    made.bytes = align(offset + size, kHostPointer_bytes) + kHostPointer_bytes;
    return made;
  }
  if (function == "where_kernel_impl" && types.size() == 3) {
    made.operation = ElementOperation::kWhere;
    made.result_type = made.compute_type = made.input_types[1];
    made.bytes = kHostPointer_bytes;
    return made;
  }
  if (function == "masked_fill_kernel" && types.size() == 2) {
    made.operation = ElementOperation::kMaskedFill;
    made.compute_type = type;
    made.operand = {0, type};
    made.bytes = align(element_bytes(type), kHostPointer_bytes) + kHostPointer_bytes;
    return made;
  }
  return std::nullopt;
}

std::optional<Functor> parse_any(std::string_view text) {
  text = without_namespace(text);
  const std::string_view base = template_base(text);
  if (base == "FillFunctor") {
    Functor made;
    made.operation = ElementOperation::kFill;
    made.result_type = made.compute_type = only_argument(text);
    made.operand = {0, made.result_type};
    made.bytes = element_bytes(made.result_type);
    return made;
  }
  if (base == "AbsFunctor") {
    Functor made;
    made.operation = ElementOperation::kAbsolute;
    made.inputs = 1;
    made.result_type = made.input_types[0] = only_argument(text);
    made.compute_type = operation_type(made.result_type);
    return made;
  }
  if (base == "CompareFunctor") {
    Functor made;
    made.operation = ElementOperation::kCompare;
    made.inputs = 2;
    made.compute_type = made.input_types[0] = made.input_types[1] = only_argument(text);
    made.result_type = ElementType::kBool;
    made.selector = {0, ElementType::kInt32};
    made.bytes = 4;
    return made;
  }
  if (base == "BinaryFunctor" || base == "AUnaryFunctor" || base == "BUnaryFunctor") return parse_binary(text);
  if (base.starts_with("CUDAFunctor") && base.ends_with("_add")) return parse_add(text);
  return parse_lambda(text);
}

Number constant(const Functor::Constant& where, const uint8_t* object) {
  return load_number(object + where.offset, where.type);
}

bool compare(int selector, double a, double b, bool* known) {
  *known = true;
  switch (selector) {
    case kGreaterEqual:
      return a >= b;
    case kGreater:
      return a > b;
    case kLessEqual:
      return a <= b;
    case kLess:
      return a < b;
    default:
      *known = false;
      return false;
  }
}

bool compare(int selector, int64_t a, int64_t b, bool* known) {
  *known = selector >= kGreaterEqual && selector <= kLess;
  return selector == kGreaterEqual ? a >= b : selector == kGreater ? a > b : selector == kLessEqual ? a <= b : a < b;
}

Number arithmetic(ElementOperation operation, double a, double b, double scale) {
  switch (operation) {
    case ElementOperation::kAddScaled:
      return Number::of(a + scale * b);
    case ElementOperation::kMultiply:
      return Number::of(a * b);
    case ElementOperation::kDivide:
      return Number::of(a / b);
    case ElementOperation::kMaximum:
      return Number::of(std::isnan(a) ? a : std::isnan(b) ? b : std::max(a, b));
    default:
      return Number::of(std::isnan(a) ? a : std::isnan(b) ? b : std::min(a, b));
  }
}

Number integer_arithmetic(ElementOperation operation, uint64_t a, uint64_t b, uint64_t scale) {
  const auto left = static_cast<int64_t>(a), right = static_cast<int64_t>(b);
  switch (operation) {
    case ElementOperation::kAddScaled:
      return Number::of(static_cast<int64_t>(a + scale * b));
    case ElementOperation::kMultiply:
      return Number::of(static_cast<int64_t>(a * b));
    case ElementOperation::kMaximum:
      return Number::of(std::max(left, right));
    default:
      return Number::of(std::min(left, right));
  }
}

}  // namespace

std::optional<Functor> parse_functor(std::string_view text) {
  auto made = parse_any(text);
  if (!made || !is_computable(made->compute_type) || !is_computable(made->result_type)) return std::nullopt;
  for (int i = 0; i < made->inputs; ++i)
    if (!is_computable(made->input_types[i])) return std::nullopt;
  return made;
}

bool apply_functor(const Functor& functor, const uint8_t* object, const Number* values, Number* result) {
  const ElementOperation operation = functor.operation;
  Number a = functor.inputs > 0 ? values[0] : Number{}, b = functor.inputs > 1 ? values[1] : Number{};
  if (functor.inputs < 2 && functor.operand.type != ElementType::kNone) {
    const Number fixed = constant(functor.operand, object);
    b = functor.operand_is_first ? a : fixed;
    if (functor.operand_is_first) a = fixed;
  }
  const ElementType type = functor.compute_type;
  const auto convert = [type](Number value) { return convert_number(value, type); };
  switch (operation) {
    case ElementOperation::kFill:
      *result = constant(functor.operand, object);
      return true;
    case ElementOperation::kCopy:
      *result = a;
      return true;
    case ElementOperation::kWhere:
      *result = values[0].as_bool() ? values[1] : values[2];
      return true;
    case ElementOperation::kMaskedFill:
      *result = values[1].as_bool() ? constant(functor.operand, object) : values[0];
      return true;
    case ElementOperation::kLogicalAnd:
      *result = Number::of(a.as_bool() && b.as_bool());
      return true;
    case ElementOperation::kLogicalOr:
      *result = Number::of(a.as_bool() || b.as_bool());
      return true;
    case ElementOperation::kLogicalXor:
      *result = Number::of(a.as_bool() != b.as_bool());
      return true;
    case ElementOperation::kLogicalNot:
      *result = Number::of(!a.as_bool());
      return true;
    default:
      break;
  }
  a = convert(a);
  b = convert(b);
  switch (operation) {
    case ElementOperation::kCompare: {
      bool known = false;
      const auto selector = static_cast<int>(constant(functor.selector, object).integer);
      *result = Number::of(a.floating ? compare(selector, a.real, b.real, &known)
                                      : compare(selector, a.integer, b.integer, &known));
      return known;
    }
    case ElementOperation::kCompareEqual: {
      const int64_t selector = constant(functor.selector, object).integer;
      const bool equal = a.floating ? a.real == b.real : a.integer == b.integer;
      *result = Number::of(selector == kEqual ? equal : !equal);
      return selector == kEqual || selector == kNotEqual;
    }
    case ElementOperation::kBitAnd:
      *result = Number::of(a.integer & b.integer);
      return !a.floating;
    case ElementOperation::kBitOr:
      *result = Number::of(a.integer | b.integer);
      return !a.floating;
    case ElementOperation::kBitXor:
      *result = Number::of(a.integer ^ b.integer);
      return !a.floating;
    case ElementOperation::kBitNot:
      // Of bool it is the logical not, as PyTorch does.
      *result = type == ElementType::kBool ? Number::of(!a.as_bool()) : Number::of(~a.integer);
      return !a.floating;
    case ElementOperation::kNegate:
      *result =
          a.floating ? Number::of(-a.real) : Number::of(static_cast<int64_t>(0 - static_cast<uint64_t>(a.integer)));
      return true;
    case ElementOperation::kAbsolute:
      *result = a.floating ? Number::of(std::fabs(a.real))
                           : Number::of(a.integer < 0 ? static_cast<int64_t>(0 - static_cast<uint64_t>(a.integer))
                                                      : a.integer);
      return true;
    case ElementOperation::kReciprocal:
      *result = convert(Number::of(1.0 / a.real));
      return a.floating;
    case ElementOperation::kSquareRoot:
      *result = convert(Number::of(std::sqrt(a.real)));
      return a.floating;
    case ElementOperation::kFloor:
      *result = Number::of(std::floor(a.real));
      return a.floating;
    case ElementOperation::kCeil:
      *result = Number::of(std::ceil(a.real));
      return a.floating;
    case ElementOperation::kIsPositiveInfinity:
      *result = Number::of(std::isinf(a.real) && a.real > 0);
      return a.floating;
    case ElementOperation::kIsNegativeInfinity:
      *result = Number::of(std::isinf(a.real) && a.real < 0);
      return a.floating;
    default:
      break;
  }
  const Number scale = functor.scale.type == ElementType::kNone ? Number{} : constant(functor.scale, object);
  if (a.floating) {
    // Products and sums of two floats are exact or correctly rounded in double, so one conversion at the end is a
    // float's rounding; a scaled sum is rounded once, as the device's fused multiply-add does.
    *result = convert(arithmetic(operation, a.real, b.real, scale.as_real()));
    return true;
  }
  if (operation == ElementOperation::kDivide) return false;
  *result = convert(integer_arithmetic(operation, static_cast<uint64_t>(a.integer), static_cast<uint64_t>(b.integer),
                                       static_cast<uint64_t>(scale.integer)));
  return true;
}

}  // namespace maya::device
