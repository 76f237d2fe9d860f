// The functors of PyTorch's TensorIterator kernels: element types from the C++ types in a demangled name, the operation
// from the name of the function that made them (aten/src/ATen/native/cuda/*Kernel.cu).
#include <algorithm>

#include "predictor/core/launch_context.h"

namespace maya::model {
namespace {

constexpr size_t kNotFound = std::string_view::npos;

std::vector<std::string_view> argument_list(std::string_view text) {
  // parse_kernel_name() splits a parameter list wherever it stands.
  std::string call = "f(" + std::string(text) + ")";
  const KernelName parsed = parse_kernel_name(call);
  std::vector<std::string_view> arguments;
  for (std::string_view parameter : parsed.parameters) {
    size_t at = static_cast<size_t>(parameter.data() - call.data()) - 2;
    arguments.push_back(text.substr(at, parameter.size()));
  }
  return arguments;
}

void add_inputs(FunctorSignature* signature, std::string_view list) {
  signature->inputs = 0;
  double widest = 0;
  for (std::string_view argument : argument_list(list)) {
    const uint32_t bytes = element_bytes_in(argument);
    if (bytes == 0) continue;
    ++signature->inputs;
    signature->input_bytes += bytes;
    if (bytes > widest) signature->type = first_type_in(argument);
    widest = std::max<double>(widest, bytes);
  }
  signature->output_bytes = widest;
}

// "...::{lambda(float, float)#1}": the innermost lambda. It returns the widest type it takes (of bool, float, float in
// torch.where the float), or a truth value, which its name does not say.
bool lambda_signature(std::string_view functor, FunctorSignature* signature) {
  size_t at = functor.rfind("{lambda(");
  if (at == kNotFound) return false;
  add_inputs(signature, inside(functor, at + 7));
  // Copies with conversion name both types: converting_copy_kernel_cuda<source, destination>.
  constexpr std::string_view kConversion = "converting_copy_kernel_cuda<";
  const size_t conversion = functor.find(kConversion);
  if (conversion != kNotFound) {
    const auto types = argument_list(inside(functor, conversion + kConversion.size() - 1));
    if (types.size() == 2 && element_bytes_in(types[1]) > 0) signature->output_bytes = element_bytes_in(types[1]);
  }
  if (contains(functor, "bfloat16_copy_kernel") || contains(functor, "float16_copy_kernel"))
    signature->output_bytes = 2;
  return true;
}

// "__nv_hdl_wrapper_t<..., __nv_dl_tag<...>, float (float, float), captured...>": how host compilers see the same
// lambdas.
bool wrapper_signature(std::string_view functor, FunctorSignature* signature) {
  size_t at = functor.find("__nv_hdl_wrapper_t<");
  if (at == kNotFound) return false;
  const KernelName wrapper = parse_kernel_name(functor.substr(at));
  constexpr size_t kSignatureArgument = 4;
  std::string_view call = wrapper.argument(kSignatureArgument);
  size_t open = call.find(" (");
  if (open == kNotFound) return false;
  add_inputs(signature, inside(call, open + 1));
  signature->output_bytes = element_bytes_in(call.substr(0, open));
  if (signature->type == DataType::kNone) signature->type = first_type_in(call.substr(0, open));
  return true;
}

// Functor classes of BinaryInternal.h and Loops.cuh: <first, second, result, operation>, bound to a scalar or not.
bool class_signature(std::string_view functor, FunctorSignature* signature) {
  const KernelName parsed = parse_kernel_name(functor);
  const std::string_view leaf = parsed.leaf;
  const std::string_view first = parsed.argument(0), second = parsed.argument(1), result = parsed.argument(2);
  signature->type = first_type_in(functor);
  const double each = element_bytes_in(functor);
  if (leaf == "BinaryFunctor" || leaf == "AUnaryFunctor" || leaf == "BUnaryFunctor") {
    signature->inputs = leaf == "BinaryFunctor" ? 2 : 1;
    if (leaf != "AUnaryFunctor") signature->input_bytes += element_bytes_in(first);
    if (leaf != "BUnaryFunctor") signature->input_bytes += element_bytes_in(second);
    signature->output_bytes = element_bytes_in(result);
    return each > 0;
  }
  // Casts to 8-bit floats: ConvertFloatToFloat8E5M2Op and its like name no type that element_bytes_in() knows.
  if (leaf.starts_with("ConvertFloatToFloat8")) {
    *signature = {1, 4, 1, DataType::kFloat32};
    return true;
  }
  if (leaf.starts_with("Fill") || leaf.ends_with("FillFunctor")) {
    signature->inputs = 0;
  } else if (leaf == "CUDAFunctor_add" || leaf == "AddFunctor" || leaf == "MulFunctor" || leaf == "DivFunctor") {
    signature->inputs = 2;
  } else {
    signature->inputs = 1;
  }
  signature->input_bytes = signature->inputs * each;
  signature->output_bytes = each;
  return each > 0;
}

struct NamedOperator {
  std::string_view part;
  Operator op;
};
// The first that matches counts: what is more telling comes first.
constexpr NamedOperator kOperators[] = {
    {"gelu", Operator::kGelu},
    {"Gelu", Operator::kGelu},
    {"silu", Operator::kSilu},
    {"glu_", Operator::kGatedActivation},
    {"copy_kernel", Operator::kCopy},
    {"CopyKernel", Operator::kCopy},
    {"dropout", Operator::kDropout},
    {"masked_scale", Operator::kMul},  // dropout's backward pass: the gradient times the mask
    {"Compare", Operator::kCompare},
    {"logical_", Operator::kCompare},
    {"bitwise_", Operator::kCompare},
    {"Bitwise", Operator::kCompare},
    {"isnan", Operator::kCompare},
    {"isfinite", Operator::kCompare},
    {"isinf", Operator::kCompare},
    {"where_kernel", Operator::kWhere},
    {"masked_fill", Operator::kWhere},
    {"pow_tensor", Operator::kPow},
    {"threshold", Operator::kRelu},
    {"relu", Operator::kRelu},
    {"tanh", Operator::kTanh},
    {"sigmoid", Operator::kTanh},
    {"exp_kernel", Operator::kTanh},
    {"expm1_kernel", Operator::kTanh},
    {"log_kernel", Operator::kTanh},
    {"sqrt_kernel", Operator::kTanh},  // and rsqrt
    {"AUnaryFunctor", Operator::kScalar},
    {"BUnaryFunctor", Operator::kScalar},
    {"OnSelf_", Operator::kScalar},
    {"clamp", Operator::kScalar},
    {"AbsFunctor", Operator::kScalar},
    {"neg_kernel", Operator::kScalar},
    {"reciprocal", Operator::kScalar},
    {"sign_kernel", Operator::kScalar},
    {"DivFunctor", Operator::kDiv},
    {"div_", Operator::kDiv},
    {"MulFunctor", Operator::kMul},
    {"mul_kernel", Operator::kMul},
};

}  // namespace

FunctorSignature functor_signature(std::string_view functor) {
  FunctorSignature signature;
  if (lambda_signature(functor, &signature) && signature.type != DataType::kNone) return signature;
  signature = FunctorSignature();
  if (wrapper_signature(functor, &signature) && signature.type != DataType::kNone) return signature;
  signature = FunctorSignature();
  class_signature(functor, &signature);
  return signature;
}

Operator functor_operator(std::string_view functor, int inputs) {
  for (const NamedOperator& named : kOperators)
    if (contains(functor, named.part)) return named.op;
  if (inputs <= 0) return Operator::kNone;
  return inputs == 1 ? Operator::kTanh : Operator::kAdd;
}

}  // namespace maya::model
