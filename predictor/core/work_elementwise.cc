// PyTorch's TensorIterator kernels (aten/src/ATen/native/cuda/Loops.cuh, CUDALoops.cuh, DistributionTemplates.h). Their
// first parameter is the element count; vectorised and unrolled forms carry the number of tensors in the type of their
// pointer array, the general form in the arguments of its functor. The functor names the element types.
#include <algorithm>
#include <charconv>

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

// Elements a thread of these kernels handles (thread_work_size() of thread_constants.h), for launches without recorded
// arguments.
constexpr double kElementsOfThread = 4;

// Vectorised kernels since PyTorch 2.7, which name std::array: more for narrow elements (elems_per_thread() of
// thread_constants.h, calc_io_size() of CUDALoops.cuh).
double vectorised_elements_of_thread(std::string_view functor, std::string_view array) {
  if (!array.starts_with("std::array")) return kElementsOfThread;
  const FunctorSignature signature = functor_signature(functor);
  const double input = signature.inputs > 0 ? signature.input_bytes : signature.output_bytes;
  const double bytes = std::min(input, signature.output_bytes);
  return bytes <= 0 || bytes >= 4 ? kElementsOfThread : bytes >= 2 ? 8 : 16;
}

double element_count(const LaunchContext& context, double elements_of_thread) {
  const double most = context.threads() * elements_of_thread;
  const double recorded = static_cast<double>(context.scalar_at(0, -1));
  return recorded >= 0 ? recorded : most;
}

bool is_fill(std::string_view functor) { return functor.find("FillFunctor") != kNotFound; }

// Backward passes of activations are elementwise kernels of their own.
void note_operation(std::string_view functor, const FunctorSignature& signature, int inputs, Work* work) {
  if (is_fill(functor)) return;
  set_operator(work, functor_operator(functor, inputs));
  if (contains(functor, "ackward")) work->shape.set(Key::kDirection, 1);
  if (signature.type == DataType::kNone) work->guessed = true;
}

// Elementwise kernels whose pointer array says how many tensors there are, the `outputs` first. `casts`: tensors of
// other types than the functor's are loaded or stored (memory::LoadWithCast, StoreWithCast), which types is an argument
// that is not recorded: mixed precision and indices make them, so of 32-bit floats one tensor is taken to have 16 bits,
// of 64-bit integers one to have 32.
void array_kernel(const LaunchContext& context, std::string_view functor, long tensors, long outputs, bool casts,
                  double elements_of_thread, Work* work) {
  FunctorSignature signature = functor_signature(functor);
  const FunctorSignature known = signature;
  if (signature.type == DataType::kNone) signature.type = DataType::kFloat32;
  const double each = signature.output_bytes > 0 ? signature.output_bytes : data_type_bits(signature.type) / 8.0;
  const long inputs = std::max(tensors - outputs, 0L);
  double read =
      signature.inputs == inputs
          ? signature.input_bytes
          : static_cast<double>(inputs) * (signature.inputs > 0 ? signature.input_bytes / signature.inputs : each);
  const double narrowed_bytes = signature.type == DataType::kFloat32 ? 2 : signature.type == DataType::kInt64 ? 4 : 0;
  if (casts && read > narrowed_bytes) read -= narrowed_bytes;
  set_streaming(work, is_fill(functor) ? Family::kFill : Family::kElementwise, signature.type,
                element_count(context, elements_of_thread), read, static_cast<double>(outputs) * each);
  note_operation(functor, known, static_cast<int>(inputs), work);
}

// The general form over strided tensors: the functor sits inside gpu_kernel_impl's lambda.
void strided_kernel(const LaunchContext& context, std::string_view argument, Work* work) {
  // <threads of a block, elements of a thread, functor>
  const double elements_of_thread = static_cast<double>(number_in(context.name.argument(1), 4));
  std::string_view functor = argument;
  size_t implementation = argument.find("gpu_kernel_impl");
  if (implementation != kNotFound) {
    size_t open = argument.find('<', implementation);
    if (open != kNotFound) functor = inside(argument, open);
  }
  FunctorSignature signature = functor_signature(functor);
  const FunctorSignature known = signature;
  if (signature.type == DataType::kNone) {
    signature.type = DataType::kFloat32;
    signature.inputs = 1;
    signature.input_bytes = signature.output_bytes = 4;
  }
  set_streaming(work, is_fill(functor) ? Family::kFill : Family::kElementwise, signature.type,
                element_count(context, elements_of_thread), signature.input_bytes, signature.output_bytes);
  note_operation(functor, known, signature.inputs, work);
  if (signature.inputs < 2) {
    work->shape.set(Key::kImplementation, static_cast<int64_t>(Implementation::kStrided));
    return;
  }
  // PyTorch takes this form for two or more inputs nearly always because all but one are broadcast: masks, biases,
  // numbers in tensors. Those come from the cache.
  work->shape.set(Key::kImplementation, static_cast<int64_t>(Implementation::kBroadcast));
  work->read_bytes = element_count(context, elements_of_thread) * signature.input_bytes / signature.inputs;
}

// The bytes of an element of each input, then of each output, where they were recorded behind the element count.
void use_recorded_widths(const LaunchContext& context, long inputs, long outputs, Work* work) {
  double read = 0, written = 0;
  constexpr int64_t kWidest_bytes = 16;
  for (long i = 0; i < inputs + outputs; ++i) {
    const int64_t bytes = context.scalar(static_cast<uint32_t>(i) + 1, 0);
    if (bytes <= 0 || bytes > kWidest_bytes) return;
    (i < inputs ? read : written) += static_cast<double>(bytes);
  }
  const double elements = element_count(context, kElementsOfThread);
  work->read_bytes = read * elements;
  work->written_bytes = written * elements;
}

bool unrolled_kernel(const LaunchContext& context, Work* work) {
  const auto& arguments = context.name.template_arguments;
  long tensors = 1, outputs = 1;
  bool casts = false;
  if (context.name.leaf == "unrolled_elementwise_kernel_for_multi_outputs")
    outputs = std::max(number_in(context.name.argument(0), 1), 1L);
  for (std::string_view argument : arguments) {
    tensors = std::max(tensors, pointers_in(argument));
    casts = casts || contains(argument, "LoadWithCast<") || contains(argument, "StoreWithCast<");
  }
  for (std::string_view argument : arguments) {
    // The functor is the first type that is neither a count nor the pointer array.
    if (number_in(argument, -1) >= 0 || pointers_in(argument) > 0) continue;
    array_kernel(context, argument, tensors, outputs, casts, kElementsOfThread, work);
    if (casts) use_recorded_widths(context, tensors - outputs, outputs, work);
    // One element at a time, often with a cast: as slow as strided access.
    work->shape.set(Key::kImplementation, static_cast<int64_t>(Implementation::kStrided));
    return true;
  }
  return false;
}

bool dropout_kernel(const LaunchContext& context, Work* work) {
  // fused_dropout_kernel: (input, result, mask, element count, ...), a mask of one byte each; masked_scale_kernel is
  // its backward pass.
  const DataType type = type_named(context.name.argument(0));
  const double elements = static_cast<double>(context.scalar(0, whole(context.threads() * kElementsOfThread)));
  const bool backward = context.name.leaf == "masked_scale_kernel";
  set_operation(work, Family::kElementwise, Operator::kDropout, type == DataType::kNone ? DataType::kFloat32 : type, 1,
                elements, backward);
  return true;
}

// The second template argument: elements in one unit, 1 where it is none.
int64_t packed_elements(const LaunchContext& context) {
  int64_t count = 1;
  const std::string_view text = context.name.argument(1);
  std::from_chars(text.data(), text.data() + text.size(), count);
  return std::clamp<int64_t>(count, 1, 16);
}

// Copies of a matrix that change its layout or cut a triangle out of it.
bool matrix_copy_kernel(const LaunchContext& context, Work* work) {
  const bool triangle = contains(context.name.leaf, "triu_tril_kernel");
  // triu_tril: (result, input, diagonal, elements, row length), its first two as structures of sizes and strides;
  // transpose_copy_tiled_kernel<unit, elements of one unit, ...>: (source, destination, columns, rows, pitches), which
  // count units each way.
  double elements = context.threads() * kElementsOfThread;
  const int64_t first = context.scalar(triangle ? 1 : 0, 0), second = context.scalar(1, 0);
  work->guessed = first <= 0;
  if (triangle && first > 0) elements = static_cast<double>(first);
  if (!triangle && first > 0 && second > 0)
    elements = static_cast<double>(first) * static_cast<double>(second) * static_cast<double>(packed_elements(context));
  const bool guessed = work->guessed;
  const DataType type = first_type_in(context.name.argument(0));
  set_operation(work, Family::kElementwise, Operator::kCopy, type == DataType::kNone ? DataType::kFloat32 : type, 1,
                elements, false);
  work->guessed = guessed;
  return true;
}

// Elementwise kernels outside TensorIterator: (element count, ...).
bool counted_kernel(const LaunchContext& context, Work* work) {
  const std::string_view leaf = context.name.leaf;
  const DataType type = first_type_in(context.name.argument(0));
  const double elements = element_count(context, 1);
  if (leaf == "glu_backward_kernel") {
    set_operation(work, Family::kElementwise, Operator::kGatedActivation, type, 1, elements, true);
    return true;
  }
  if (leaf.starts_with("kernelPointwiseApply")) {  // (structures of sizes and strides, element count, ...)
    const double tensors = static_cast<double>(number_in(leaf.substr(leaf.size() - 1), 2));
    const double count = static_cast<double>(context.scalar(0, whole(context.threads())));
    const double bytes = 4;
    set_streaming(work, Family::kElementwise, DataType::kFloat32, count, (tensors - 1) * bytes, bytes);
    set_operator(work, Operator::kTanh);
    return true;
  }
  return false;
}

// Fills with numbers made on the way: arange, linspace, random numbers.
bool generator_kernel(const LaunchContext& context, Work* work) {
  const std::string_view leaf = context.name.leaf;
  if (leaf == "elementwise_kernel_with_index") {  // arange and its like: (element count, functor, result)
    const uint32_t bytes = element_bytes_in(context.name.argument(1));
    set_streaming(work, Family::kFill, DataType::kInt64, element_count(context, kElementsOfThread), 0,
                  bytes == 0 ? 8 : bytes);
    return true;
  }
  if (contains(leaf, "distribution_elementwise_grid_stride_kernel") || contains(leaf, "distribution_binary_") ||
      leaf.starts_with("distribution_")) {
    const DataType type = type_named(context.name.argument(0));
    const double unroll = static_cast<double>(number_in(context.name.argument(1), 4));
    set_streaming(work, Family::kRandom, type == DataType::kNone ? DataType::kFloat32 : type,
                  element_count(context, unroll), 0, type == DataType::kFloat64 ? 8 : 4);
    return true;
  }
  return false;
}

}  // namespace

bool elementwise_work(const LaunchContext& context, Work* work) {
  const std::string_view leaf = context.name.leaf;
  const auto& arguments = context.name.template_arguments;
  if (leaf == "vectorized_elementwise_kernel" || leaf == "vectorized_templated_elementwise_kernel") {
    const double vector = static_cast<double>(number_in(context.name.argument(0), 4));
    const std::string_view functor = context.name.argument(1), array = context.name.argument(2);
    array_kernel(context, functor, std::max(pointers_in(array), 1L), 1,
                 leaf == "vectorized_templated_elementwise_kernel",
                 std::max(vectorised_elements_of_thread(functor, array), vector), work);
    return true;
  }
  if (leaf == "unrolled_elementwise_kernel" || leaf == "unrolled_elementwise_kernel_for_multi_outputs" ||
      leaf == "unrolled_templated_elementwise_kernel")
    return unrolled_kernel(context, work);
  if (leaf == "elementwise_kernel" && arguments.size() >= 3) {
    strided_kernel(context, arguments[2], work);
    return true;
  }
  if (leaf == "fused_dropout_kernel_vec" || leaf == "fused_dropout_kernel" || leaf == "masked_scale_kernel")
    return dropout_kernel(context, work);
  if (leaf.starts_with("transpose_copy_tiled_kernel") || contains(leaf, "triu_tril_kernel"))
    return matrix_copy_kernel(context, work);
  return counted_kernel(context, work) || generator_kernel(context, work);
}

}  // namespace maya::model
