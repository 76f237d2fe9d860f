#include "virtual_device/values/functor.h"

#include <algorithm>

#include "virtual_device/values/kernel_name.h"

namespace maya::device {

namespace {

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

// Name of the function whose lambda a text is: up to its template arguments or
// parameters.
std::string_view enclosing_function(std::string_view text) { return text.substr(0, text.find_first_of("<(")); }

ElementType only_argument(std::string_view text) {
  const auto arguments = template_arguments(text);
  return arguments.size() == 1 ? element_type(arguments[0]) : ElementType::kNone;
}

// The inner function of BinaryFunctor and its relatives: operation, type of its
// arguments, size.
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
  std::vector<std::string_view> arguments;
  if (!lambda_arguments(text, &arguments) || arguments.size() != 2) return std::nullopt;
  const auto operation = wrapped_operation(enclosing_function(text));
  if (!operation) return std::nullopt;
  return Inner{*operation, element_type(arguments[0]), 1, false};
}

// BinaryFunctor<A, B, R, F>, and AUnaryFunctor and BUnaryFunctor whose first or
// second operand is a constant behind F.
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
  made.operands[0] = {static_cast<uint16_t>(offset), inner->type};
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
    made.operands[0] = {0, compute};
    made.operand_is_first = base == "CUDAFunctorOnOther_add";
    made.scale = {size, compute};
    made.bytes = 2u * size;
  }
  return made;
}

std::optional<Functor> parse_any(std::string_view text) {
  text = without_namespace(text);
  const std::string_view base = template_base(text);
  if (base == "FillFunctor") {
    Functor made;
    made.operation = ElementOperation::kFill;
    made.result_type = made.compute_type = only_argument(text);
    made.operands[0] = {0, made.result_type};
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
  // Copy.cu since PyTorch 2.12.
  if (base == "ConvertToFloat8E4M3fnOp" || text == "ConvertFloatToFloat8E5M2Op") {
    Functor made;
    made.operation = ElementOperation::kCopy;
    made.inputs = 1;
    made.input_types[0] = base == text ? ElementType::kFloat32 : only_argument(text);
    made.compute_type = operation_type(made.input_types[0]);
    made.result_type = base == text ? ElementType::kFloat8E5m2 : ElementType::kFloat8E4m3fnSaturated;
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
  return parse_lambda_functor(text);
}

}  // namespace

std::optional<Functor> parse_functor(std::string_view text) {
  auto made = parse_any(text);
  if (!made || !is_computable(made->compute_type) || !is_computable(made->result_type)) return std::nullopt;
  for (int i = 0; i < made->inputs; ++i)
    if (!is_computable(made->input_types[i])) return std::nullopt;
  return made;
}

}  // namespace maya::device
