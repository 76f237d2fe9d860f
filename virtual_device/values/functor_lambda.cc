// The lambdas that PyTorch's elementwise kernels apply, by the name of the
// function that makes them and their types.
#include <algorithm>
#include <iterator>

#include "virtual_device/values/functor.h"
#include "virtual_device/values/kernel_name.h"

namespace maya::device {

namespace {

using Operation = ElementOperation;

uint32_t align(uint32_t offset, uint32_t alignment) { return (offset + alignment - 1) / alignment * alignment; }

std::string_view enclosing_function(std::string_view text) { return text.substr(0, text.find_first_of("<(")); }

// What stands inside the lambda object.
enum class Captures : uint8_t {
  kNothing,          // one byte
  kNothingButSpace,  // a lambda without captures in a function template or
                     // behind a copy capture: a host pointer
  kOne,              // constants of the computation type
  kTwo,
  kThree,
  kSelectorAndTwo,  // a 32-bit selector, then two of them
  kSelectorAndElement,
  kElement,  // one of the type of the first argument
};

struct Lambda {
  std::string_view function;
  uint8_t inputs;
  Operation operation;
  Captures captures = Captures::kNothing;
  bool gives_bool = false;
  // Computed in the element type, rounding after each step, and not in the
  // wider type for 16-bit floats.
  bool in_element_type = false;
  uint8_t number = 0;    // of the lambda itself, 0: any
  uint8_t dispatch = 0;  // of the dispatching lambda around it, 0: any
};

constexpr Lambda kLambdas[] = {
    {"direct_copy_kernel_cuda", 1, Operation::kCopy},
    {"float16_copy_kernel_cuda", 1, Operation::kCopy},  // of float, as the next one
    {"bfloat16_copy_kernel_cuda", 1, Operation::kCopy},
    {"float8_copy_kernel_cuda", 1, Operation::kCopy},
    {"neg_kernel_cuda", 1, Operation::kNegate},
    {"reciprocal_kernel_cuda", 1, Operation::kReciprocal},
    {"sqrt_kernel_cuda", 1, Operation::kSquareRoot},
    {"rsqrt_kernel_cuda", 1, Operation::kInverseSquareRoot},
    {"floor_kernel_cuda", 1, Operation::kFloor},
    {"ceil_kernel_cuda", 1, Operation::kCeil},
    {"round_kernel_cuda", 1, Operation::kRound},
    {"trunc_kernel_cuda", 1, Operation::kTruncate},
    {"frac_kernel_cuda", 1, Operation::kFraction},
    {"sign_kernel_cuda", 1, Operation::kSign},
    {"signbit_kernel_cuda", 1, Operation::kSignBit, Captures::kNothing, true},
    {"exp_kernel_cuda", 1, Operation::kExponential},
    {"expm1_kernel_cuda", 1, Operation::kExponentialMinusOne},
    {"log_kernel_cuda", 1, Operation::kLogarithm},
    {"log2_kernel_cuda", 1, Operation::kLogarithm2},
    {"log10_kernel_cuda", 1, Operation::kLogarithm10},
    {"log1p_kernel_cuda", 1, Operation::kLogarithmOfOnePlus},
    {"sin_kernel_cuda", 1, Operation::kSine},
    {"cos_kernel_cuda", 1, Operation::kCosine},
    {"tan_kernel_cuda", 1, Operation::kTangent},
    {"asin_kernel_cuda", 1, Operation::kArcSine},
    {"acos_kernel_cuda", 1, Operation::kArcCosine},
    {"atan_kernel_cuda", 1, Operation::kArcTangent},
    {"sinh_kernel_cuda", 1, Operation::kHyperbolicSine},
    {"cosh_kernel_cuda", 1, Operation::kHyperbolicCosine},
    {"tanh_kernel_cuda", 1, Operation::kHyperbolicTangent},
    {"sigmoid_kernel_cuda", 1, Operation::kSigmoid},
    {"erf_kernel_cuda", 1, Operation::kErrorFunction},
    {"silu_kernel", 1, Operation::kSilu},
    {"GeluCUDAKernelImpl", 1, Operation::kGelu, Captures::kNothing, false, false, 0, 2},
    {"bitwise_not_kernel_cuda", 1, Operation::kBitNot},
    {"logical_not_kernel_cuda", 1, Operation::kLogicalNot, Captures::kNothing, true},
    {"isposinf_kernel_impl", 1, Operation::kIsPositiveInfinity, Captures::kNothing, true},
    {"isneginf_kernel_impl", 1, Operation::kIsNegativeInfinity, Captures::kNothing, true},
    {"launch_relu_kernel", 1, Operation::kRelu},
    {"relu_kernel_cuda", 1, Operation::kRelu},
    {"compare_scalar_kernel", 1, Operation::kCompare, Captures::kSelectorAndElement, true},
    {"launch_clamp_scalar", 1, Operation::kClamp, Captures::kSelectorAndTwo},
    {"leaky_relu_kernel", 1, Operation::kLeakyRelu, Captures::kOne},
    {"softplus_kernel", 1, Operation::kSoftplus, Captures::kTwo},
    {"nan_to_num_kernel_cuda", 1, Operation::kNanToNumber, Captures::kThree, false, true},
    {"pow_tensor_scalar_kernel_impl", 1, Operation::kSquare, Captures::kNothingButSpace, false, true, 1},
    {"pow_tensor_scalar_kernel_impl", 1, Operation::kCube, Captures::kNothingButSpace, false, true, 2},
    {"pow_tensor_scalar_kernel_impl", 1, Operation::kInverseSquare, Captures::kNothingButSpace, false, true, 3},
    {"pow_tensor_scalar_kernel_impl", 1, Operation::kPower, Captures::kElement, false, true, 4},
    {"div_floor_kernel_cuda", 1, Operation::kDivideFloor, Captures::kTwo},
    {"div_trunc_kernel_cuda", 1, Operation::kMultiplyTruncate, Captures::kOne},
    {"pow_tensor_tensor_kernel", 2, Operation::kPower, Captures::kNothingButSpace, false, true},
    {"masked_fill_kernel", 2, Operation::kMaskedFill, Captures::kElement, false, true},
    {"lerp_scalar_kernel", 2, Operation::kLerp, Captures::kOne},
    {"where_kernel_impl", 3, Operation::kWhere, Captures::kNothingButSpace},
    {"clamp_kernel_impl", 3, Operation::kClampElements},
    {"lerp_tensor_kernel", 3, Operation::kLerpElements},
    {"addcmul_cuda_kernel", 3, Operation::kAddProduct, Captures::kOne},
    {"addcdiv_cuda_kernel", 3, Operation::kAddQuotient, Captures::kOne},
};

struct Wrapped {
  std::string_view function;
  Operation operation;
};

constexpr Wrapped kWrapped[] = {
    {"maximum_kernel_cuda", Operation::kMaximum},
    {"minimum_kernel_cuda", Operation::kMinimum},
    {"logical_and_kernel_cuda", Operation::kLogicalAnd},
    {"logical_or_kernel_cuda", Operation::kLogicalOr},
    {"logical_xor_kernel_cuda", Operation::kLogicalXor},
    {"remainder_kernel_cuda", Operation::kRemainder},
    {"fmod_kernel_cuda", Operation::kFmod},
    {"div_floor_kernel_cuda", Operation::kDivideFloor},
    {"div_trunc_kernel_cuda", Operation::kDivideTruncate},
    {"lshift_kernel_cuda", Operation::kShiftLeft},
    {"rshift_kernel_cuda", Operation::kShiftRight},
    {"atan2_kernel_cuda", Operation::kArcTangent2},
    {"hypot_kernel_cuda", Operation::kHypotenuse},
    {"copysign_kernel_cuda", Operation::kCopySign},
    {"xlogy_kernel_cuda", Operation::kXLogY},
    {"heaviside_kernel_cuda", Operation::kHeaviside},
};

// The n of "{lambda(...)#n}" at the end; 0 when it is not one digit.
uint8_t lambda_number(std::string_view text) {
  const size_t end = text.rfind('}');
  if (end == std::string_view::npos || end < 2 || text[end - 2] != '#') return 0;
  const char digit = text[end - 1];
  return digit >= '1' && digit <= '9' ? static_cast<uint8_t>(digit - '0') : 0;
}

// The n of the first "{lambda()#n}".
uint8_t dispatch_number(std::string_view text) {
  constexpr std::string_view kMark = "{lambda()#";
  const size_t at = text.find(kMark);
  if (at == std::string_view::npos || at + kMark.size() + 1 >= text.size() || text[at + kMark.size() + 1] != '}')
    return 0;
  const char digit = text[at + kMark.size()];
  return digit >= '1' && digit <= '9' ? static_cast<uint8_t>(digit - '0') : 0;
}

// Places the captured constants and sets the size of the object.
void place_captures(Captures captures, ElementType element, Functor* made) {
  uint32_t count = 0, offset = 0;
  ElementType type = made->compute_type;
  switch (captures) {
    case Captures::kNothing:
      made->bytes = 1;
      return;
    case Captures::kNothingButSpace:
      made->bytes = kLambdaPointer_bytes;
      return;
    case Captures::kOne:
      count = 1;
      break;
    case Captures::kTwo:
      count = 2;
      break;
    case Captures::kThree:
      count = 3;
      break;
    case Captures::kSelectorAndTwo:
      count = 2;
      offset = 4;
      break;
    case Captures::kSelectorAndElement:
      count = 1;
      offset = 4;
      type = element;
      break;
    case Captures::kElement:
      count = 1;
      type = element;
      break;
  }
  const uint32_t size = std::max(element_bytes(type), 1u);
  if (offset != 0) made->selector = {0, ElementType::kInt32};
  offset = align(offset, size);
  for (uint32_t i = 0; i < count; ++i, offset += size) made->operands[i] = {static_cast<uint16_t>(offset), type};
  made->bytes = align(offset, kLambdaPointer_bytes) + kLambdaPointer_bytes;
}

// float8_copy_kernel_cuda of another type: what it converts to shows by the number of the lambda alone, which counts
// the types in this order for each type it converts from (PyTorch 2.1 to 2.8; no kernel of that name since).
ElementType float8_by_number(uint8_t number) {
  static constexpr ElementType kOrder[] = {ElementType::kFloat8E4m3fnNan, ElementType::kFloat8E5m2,
                                           ElementType::kFloat8E4m3fnuz, ElementType::kFloat8E5m2fnuz,
                                           ElementType::kFloat8E8m0fnu};
  return number >= 1 && number <= std::size(kOrder) ? kOrder[number - 1] : ElementType::kNone;
}

// Values that are only moved need a type of their width.
ElementType movable(ElementType type) { return type == ElementType::kUint64 ? ElementType::kInt64 : type; }

// converting_copy_kernel_cuda<input, output>(...)
std::optional<Functor> parse_converting_copy(std::string_view text, ElementType input) {
  const size_t end = text.find(">(");
  if (end == std::string_view::npos) return std::nullopt;
  const auto arguments = template_arguments(text.substr(0, end + 1));
  if (arguments.size() != 2 || element_type(arguments[0]) != input) return std::nullopt;
  Functor made;
  made.operation = Operation::kCopy;
  made.inputs = 1;
  made.input_types[0] = input;
  made.compute_type = operation_type(input);
  made.result_type = element_type(arguments[1]);
  // PyTorch 2.9 to 2.11; later ones have ConvertToFloat8E4M3fnOp.
  if (made.result_type == ElementType::kFloat8E4m3fn) made.result_type = ElementType::kFloat8E4m3fnNan;
  return made;
}

}  // namespace

std::optional<ElementOperation> wrapped_operation(std::string_view function) {
  for (const Wrapped& known : kWrapped)
    if (function == known.function) return known.operation;
  return std::nullopt;
}

std::optional<Functor> parse_lambda_functor(std::string_view text) {
  std::vector<std::string_view> types;
  if (!lambda_arguments(text, &types) || types.empty() || types.size() > kMaximumInputs) return std::nullopt;
  const std::string_view function = enclosing_function(text);
  if (function == "converting_copy_kernel_cuda" && types.size() == 1)
    return parse_converting_copy(text, element_type(types[0]));
  for (const Lambda& known : kLambdas) {
    if (function != known.function || types.size() != known.inputs) continue;
    if (known.number != 0 && lambda_number(text) != known.number) continue;
    if (known.dispatch != 0 && dispatch_number(text) != known.dispatch) continue;
    Functor made;
    made.operation = known.operation;
    made.inputs = known.inputs;
    for (size_t i = 0; i < types.size(); ++i) made.input_types[i] = element_type(types[i]);
    ElementType type = made.input_types[0];
    if (known.operation == Operation::kWhere) {
      made.input_types[1] = made.input_types[2] = type = movable(made.input_types[1]);
    } else if (known.operation == Operation::kCopy) {
      made.input_types[0] = type = movable(type);
    }
    made.result_type = known.gives_bool ? ElementType::kBool : type;
    if (function == "float16_copy_kernel_cuda") made.result_type = ElementType::kFloat16;
    if (function == "bfloat16_copy_kernel_cuda") made.result_type = ElementType::kBfloat16;
    if (function == "float8_copy_kernel_cuda" && element_bytes(type) > 1)
      made.result_type = float8_by_number(lambda_number(text));
    made.compute_type = known.in_element_type ? type : operation_type(type);
    place_captures(known.captures, type, &made);
    return made;
  }
  return std::nullopt;
}

}  // namespace maya::device
