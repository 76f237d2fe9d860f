#include "virtual_device/values/tensor_list_operation.h"

#include <algorithm>

namespace maya::device {

namespace {

using Operation = ElementOperation;
using Constant = TensorListOperation::Constant;
using Role = TensorListOperation::Role;

struct Form {
  std::string_view functor;
  uint32_t operands;  // of the operation
  Constant constant;
  Role role;
};

constexpr Form kForms[] = {
    {"BinaryOpScalarFunctor", 2, Constant::kArgument, Role::kOperand},
    {"BinaryOpScalarListFunctor", 2, Constant::kPerTensor, Role::kOperand},
    {"BinaryOpListAlphaFunctor", 2, Constant::kArgument, Role::kFactor},
    {"BinaryOpScalarTensorFunctor", 2, Constant::kDeviceArgument, Role::kOperand},
    {"UnaryOpFunctor", 1, Constant::kNone, Role::kOperand},
    {"CopyFunctor", 1, Constant::kNone, Role::kOperand},
    {"ZeroFunctor", 0, Constant::kNone, Role::kOperand},
    {"PointwiseOpScalarFunctor", 3, Constant::kArgument, Role::kTermFactor},
    {"PointwiseOpScalarListFunctor", 3, Constant::kPerTensor, Role::kTermFactor},
    {"PointwiseOpScalar0dTensorFunctor", 3, Constant::kArgument, Role::kTermFactor},
    {"PointwiseOpListFunctor", 2, Constant::kNone, Role::kOperand},
    {"TernaryOpListFunctor", 3, Constant::kNone, Role::kOperand},
    {"TernaryOpScalarFunctor", 3, Constant::kArgument, Role::kOperand},
    {"TernaryOpScalarListFunctor", 3, Constant::kPerTensor, Role::kOperand},
};

struct Named {
  std::string_view name;
  uint32_t operands;
  Operation operation;
  bool holds_one;  // the object is not empty: it holds a one of the type
};

constexpr Named kOperations[] = {
    {"std::plus", 2, Operation::kAddScaled, false},
    {"std::minus", 2, Operation::kAddScaled, false},
    {"std::multiplies", 2, Operation::kMultiply, false},
    {"std::divides", 2, Operation::kDivide, false},
    {"maximum", 2, Operation::kMaximum, false},
    {"minimum", 2, Operation::kMinimum, false},
    {"power_functor", 2, Operation::kPower, false},
    {"reverse_power_functor", 2, Operation::kReversePower, false},
    {"std::multiplies", 3, Operation::kAddProduct, false},
    {"std::divides", 3, Operation::kAddQuotient, false},
    {"LerpFunctor", 3, Operation::kLerpElements, false},
    {"std::negate", 1, Operation::kNegate, false},
    {"Abs", 1, Operation::kAbsolute, false},
    {"Sqrt", 1, Operation::kSquareRoot, false},
    {"Rsqrt", 1, Operation::kInverseSquareRoot, false},
    {"Reciprocal", 1, Operation::kReciprocal, true},
    {"Exp", 1, Operation::kExponential, false},
    {"Expm1", 1, Operation::kExponentialMinusOne, false},
    {"Log", 1, Operation::kLogarithm, false},
    {"Log2", 1, Operation::kLogarithm2, false},
    {"Log10", 1, Operation::kLogarithm10, false},
    {"Log1p", 1, Operation::kLogarithmOfOnePlus, false},
    {"Round", 1, Operation::kRound, false},
    {"Trunc", 1, Operation::kTruncate, false},
    {"Truncf", 1, Operation::kTruncate, false},
    {"Floor", 1, Operation::kFloor, false},
    {"Ceil", 1, Operation::kCeil, false},
    {"Sign", 1, Operation::kSign, false},
    {"Tanh", 1, Operation::kHyperbolicTangent, false},
    {"Sigmoid", 1, Operation::kSigmoid, true},
    {"Copy", 1, Operation::kCopy, false},
};

std::string_view without_namespaces(std::string_view name) {
  for (const std::string_view prefix : {"at::native::", "(anonymous namespace)::"})
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  return name;
}

uint32_t small_number(std::string_view text) {
  return text.size() == 1 && text[0] >= '0' && text[0] <= '9' ? static_cast<uint32_t>(text[0] - '0') : 0;
}

const Form* find_form(std::string_view functor) {
  for (const Form& form : kForms)
    if (without_namespaces(template_base(functor)) == form.functor) return &form;
  return nullptr;
}

const Named* find_operation(std::string_view operation, uint32_t operands) {
  const std::string_view name = without_namespaces(template_base(operation));
  for (const Named& known : kOperations)
    if (known.name == name && known.operands == operands) return &known;
  return nullptr;
}

bool has_size(const KernelInfo& kernel, size_t parameter, uint32_t size) {
  return parameter < kernel.parameters.size() && kernel.parameters[parameter].size == size;
}

// Parameters behind metadata, functor and operation.
bool constants_fit(const KernelInfo& kernel, Constant constant, uint32_t size) {
  constexpr uint32_t kPointer_bytes = 8;
  switch (constant) {
    case Constant::kArgument:
      return kernel.parameters.size() == 4 && has_size(kernel, 3, size);
    case Constant::kDeviceArgument:
      return kernel.parameters.size() == 5 && has_size(kernel, 3, kPointer_bytes) && has_size(kernel, 4, size);
    default:
      return kernel.parameters.size() <= 3;
  }
}

// The types of the functor: T; for CopyFunctor the result's and the source's.
bool find_types(const Form& form, const std::vector<std::string_view>& arguments, TensorListOperation* made) {
  Functor& functor = made->functor;
  const bool copies = form.functor == "CopyFunctor";
  functor.result_type = element_type(arguments[0]);
  const ElementType input = copies ? element_type(arguments[1]) : functor.result_type;
  functor.compute_type = operation_type(input);
  if (!is_computable(functor.result_type) || !is_computable(input)) return false;
  std::fill(std::begin(functor.input_types), std::end(functor.input_types), input);
  return true;
}

}  // namespace

std::optional<TensorListOperation> parse_tensor_list_operation(const KernelInfo& kernel, const KernelName& name,
                                                               uint32_t lists) {
  const std::string_view functor = name.template_arguments[1];
  const auto arguments = template_arguments(functor);
  const Form* form = find_form(functor);
  if (form == nullptr || arguments.size() < 2 || !has_size(kernel, 1, 1)) return std::nullopt;
  TensorListOperation made;
  if (!find_types(*form, arguments, &made)) return std::nullopt;
  made.constant = form->constant;
  made.role = form->role;
  made.result = arguments.size() >= 4 ? small_number(arguments.back()) : lists - 1;
  made.second_is_scalar = form->functor == "PointwiseOpScalar0dTensorFunctor";
  const bool takes_constant = form->constant != Constant::kNone && form->role == Role::kOperand;
  made.inputs = form->operands - (takes_constant ? 1 : 0);
  if (made.inputs > lists || made.result >= lists) return std::nullopt;
  Functor& computed = made.functor;
  computed.inputs = static_cast<uint8_t>(form->operands);
  const uint32_t size = element_bytes(computed.compute_type);
  if (form->operands == 0) {
    computed.operation = Operation::kCopy;
    return kernel.parameters.size() == 2 ? std::optional(made) : std::nullopt;
  }
  if (name.template_arguments.size() < 3 || !constants_fit(kernel, form->constant, size)) return std::nullopt;
  const std::string_view operation = name.template_arguments[2];
  constexpr uint32_t kFiniteCheck_bytes = 24;  // two pointers and that of the lambda
  if (form->operands == 1 && operation.starts_with("at::native::_amp_foreach_non_finite_check_and_unscale_cuda_(")) {
    made.checks_finite = true;
    return has_size(kernel, 2, kFiniteCheck_bytes) ? std::optional(made) : std::nullopt;
  }
  const Named* known = find_operation(operation, form->operands);
  if (known == nullptr || !has_size(kernel, 2, known->holds_one ? size : 1)) return std::nullopt;
  computed.operation = known->operation;
  made.negates = known->name == "std::minus";
  if (computed.operation == Operation::kAddScaled) computed.scale = {0, computed.compute_type};
  if (form->role == Role::kTermFactor) computed.operands[0] = {0, computed.compute_type};
  return made;
}

}  // namespace maya::device
