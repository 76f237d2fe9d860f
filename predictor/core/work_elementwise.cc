// PyTorch's TensorIterator kernels (aten/src/ATen/native/cuda/Loops.cuh, CUDALoops.cuh, DistributionTemplates.h). Their
// first parameter is the element count; vectorised and unrolled forms carry the number of tensors in the type of their
// pointer array, the general form in the arguments of its functor. The functor names the element types.
#include <algorithm>

#include "predictor/core/launch_context.h"

namespace maya::model {
namespace {

constexpr size_t kNotFound = std::string_view::npos;

// "std::array<char*, 3ul>" and "at::detail::Array<char*, 3>" -> 3; 0 when it is neither.
long pointers_in(std::string_view argument) {
  size_t at = argument.find("rray<char*, ");
  if (at == kNotFound) return 0;
  argument.remove_prefix(at + 12);
  return number_in(argument.substr(0, argument.find('>')), 0);
}

// The bracketed text that opens at `open`, without its brackets; empty when it does not close.
std::string_view inside(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '<' || c == '(' || c == '{') ++depth;
    if ((c == '>' && text[i - 1] != '-') || c == ')' || c == '}') --depth;
    if (depth == 0) return text.substr(open + 1, i - open - 1);
  }
  return {};
}

// What one call of a functor takes in and gives out.
struct Signature {
  int inputs = -1;         // -1: unknown
  double input_bytes = 0;  // of all inputs
  double output_bytes = 0;
  DataType type = DataType::kNone;
};

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

void add_inputs(Signature* signature, std::string_view list) {
  signature->inputs = 0;
  for (std::string_view argument : argument_list(list)) {
    const uint32_t bytes = element_bytes_in(argument);
    if (bytes == 0) continue;
    ++signature->inputs;
    signature->input_bytes += bytes;
    if (signature->type == DataType::kNone) signature->type = first_type_in(argument);
  }
}

// "...::{lambda(float, float)#1}": the innermost lambda. It returns what it takes, or a truth value, which its name
// does not say.
bool lambda_signature(std::string_view functor, Signature* signature) {
  size_t at = functor.rfind("{lambda(");
  if (at == kNotFound) return false;
  add_inputs(signature, inside(functor, at + 7));
  signature->output_bytes = signature->inputs > 0 ? signature->input_bytes / signature->inputs : 0;
  // Copies with conversion name both types: converting_copy_kernel_cuda<source, destination>.
  constexpr std::string_view kConversion = "converting_copy_kernel_cuda<";
  const size_t conversion = functor.find(kConversion);
  if (conversion != kNotFound) {
    const auto types = argument_list(inside(functor, conversion + kConversion.size() - 1));
    if (types.size() == 2 && element_bytes_in(types[1]) > 0) signature->output_bytes = element_bytes_in(types[1]);
  }
  return true;
}

// "__nv_hdl_wrapper_t<..., __nv_dl_tag<...>, float (float, float), captured...>": how host compilers see the same
// lambdas.
bool wrapper_signature(std::string_view functor, Signature* signature) {
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
bool class_signature(std::string_view functor, Signature* signature) {
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

Signature signature_of(std::string_view functor) {
  Signature signature;
  if (lambda_signature(functor, &signature) && signature.type != DataType::kNone) return signature;
  signature = Signature();
  if (wrapper_signature(functor, &signature) && signature.type != DataType::kNone) return signature;
  signature = Signature();
  class_signature(functor, &signature);
  return signature;
}

// Elements a thread of these kernels handles (thread_work_size() of thread_constants.h), for launches without recorded
// arguments.
constexpr double kElementsOfThread = 4;

double element_count(const LaunchContext& context, double elements_of_thread) {
  const double most = context.threads() * elements_of_thread;
  const double recorded = static_cast<double>(context.scalar_at(0, -1));
  return recorded >= 0 ? recorded : most;
}

bool is_fill(std::string_view functor) { return functor.find("FillFunctor") != kNotFound; }

// elementwise kernels whose pointer array says how many tensors there are, the output first.
void array_kernel(const LaunchContext& context, std::string_view functor, long tensors, double elements_of_thread,
                  Work* work) {
  Signature signature = signature_of(functor);
  if (signature.type == DataType::kNone) signature.type = DataType::kFloat32;
  double each = signature.output_bytes > 0 ? signature.output_bytes : data_type_bits(signature.type) / 8.0;
  double inputs = std::max<double>(static_cast<double>(tensors) - 1, 0);
  double input_each = signature.inputs > 0 ? signature.input_bytes / signature.inputs : each;
  set_streaming(work, is_fill(functor) ? Family::kFill : Family::kElementwise, signature.type,
                element_count(context, elements_of_thread), inputs * input_each, each);
}

// The general form over strided tensors: the functor sits inside gpu_kernel_impl's lambda.
void strided_kernel(const LaunchContext& context, std::string_view argument, Work* work) {
  std::string_view functor = argument;
  size_t implementation = argument.find("gpu_kernel_impl");
  if (implementation != kNotFound) {
    size_t open = argument.find('<', implementation);
    if (open != kNotFound) functor = inside(argument, open);
  }
  Signature signature = signature_of(functor);
  if (signature.type == DataType::kNone) {
    signature.type = DataType::kFloat32;
    signature.inputs = 1;
    signature.input_bytes = signature.output_bytes = 4;
  }
  set_streaming(work, is_fill(functor) ? Family::kFill : Family::kElementwise, signature.type,
                element_count(context, kElementsOfThread), signature.input_bytes, signature.output_bytes);
  work->shape.set(Key::kImplementation, static_cast<int64_t>(Implementation::kStrided));
}

}  // namespace

bool elementwise_work(const LaunchContext& context, Work* work) {
  const std::string_view leaf = context.name.leaf;
  const auto& arguments = context.name.template_arguments;
  if (leaf == "vectorized_elementwise_kernel" || leaf == "vectorized_templated_elementwise_kernel") {
    const double vector = static_cast<double>(number_in(context.name.argument(0), 4));
    array_kernel(context, context.name.argument(1), std::max(pointers_in(context.name.argument(2)), 1L),
                 std::max(kElementsOfThread, vector), work);
    return true;
  }
  if (leaf == "unrolled_elementwise_kernel" || leaf == "unrolled_elementwise_kernel_for_multi_outputs" ||
      leaf == "unrolled_templated_elementwise_kernel") {
    long tensors = 1;
    for (std::string_view argument : arguments) tensors = std::max(tensors, pointers_in(argument));
    for (std::string_view argument : arguments) {
      // The functor is the first type that is neither a count nor the pointer array.
      if (number_in(argument, -1) >= 0 || pointers_in(argument) > 0) continue;
      array_kernel(context, argument, tensors, kElementsOfThread, work);
      // One element at a time, often with a cast: as slow as strided access.
      work->shape.set(Key::kImplementation, static_cast<int64_t>(Implementation::kStrided));
      return true;
    }
    return false;
  }
  if (leaf == "elementwise_kernel" && arguments.size() >= 3) {
    strided_kernel(context, arguments[2], work);
    return true;
  }
  if (leaf == "elementwise_kernel_with_index") {  // arange and its like: written only
    const uint32_t bytes = element_bytes_in(context.name.argument(1));
    set_streaming(work, Family::kFill, DataType::kInt64, element_count(context, kElementsOfThread), 0,
                  bytes == 0 ? 8 : bytes);
    return true;
  }
  if (leaf == "distribution_elementwise_grid_stride_kernel") {
    const DataType type = type_named(context.name.argument(0));
    const double unroll = static_cast<double>(number_in(context.name.argument(1), 4));
    set_streaming(work, Family::kRandom, type == DataType::kNone ? DataType::kFloat32 : type,
                  element_count(context, unroll), 0, type == DataType::kFloat64 ? 8 : 4);
    return true;
  }
  if (leaf == "fused_dropout_kernel_vec" || leaf == "fused_dropout_kernel" || leaf == "masked_scale_kernel") {
    const DataType type = type_named(context.name.argument(0));
    const double bytes = std::max(data_type_bits(type) / 8.0, 2.0);
    const double elements = static_cast<double>(context.scalar(0, whole(context.threads() * kElementsOfThread)));
    set_streaming(work, Family::kRandom, type, elements, bytes, bytes + 1);  // and a mask of one byte each
    return true;
  }
  if (leaf == "transpose_copy_tiled_kernel" || leaf == "triu_tril_kernel") {
    // triu_tril: (result, input, diagonal, elements, row length).
    const double bytes = std::max<double>(element_bytes_in(context.name.argument(0)), 1);
    const int64_t recorded = leaf == "triu_tril_kernel" ? context.scalar(1, 0) : 0;
    const double elements = recorded > 0 ? static_cast<double>(recorded) : context.threads() * kElementsOfThread;
    set_streaming(work, Family::kElementwise, type_named(context.name.argument(0)), elements, bytes, bytes);
    work->guessed = recorded <= 0;
    return true;
  }
  return false;
}

}  // namespace maya::model
