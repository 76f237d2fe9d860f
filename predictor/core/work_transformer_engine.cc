// Kernels of Transformer Engine (public source transformer_engine/common): casts to 8 bits with and without a
// transposed copy, activations, scale factors, rotary embedding, the router of experts. Sizes are among their
// arguments, element types among their parameters. Its norms are in work_norm.cc, its softmax in work_softmax.cc, lists
// of tensors in work_multi_tensor.cc.
#include "predictor/core/launch_context.h"

namespace maya::model {
namespace {

// Tensors by the place of a parameter that points to them, or of the template argument that is their type; a place that
// stands twice is a tensor with twice the elements.
struct EngineKernel {
  std::string_view leaf;
  Family family;
  Operator op;  // kNone: the activation in the name, a plain cast where there is none
  bool backward;
  int count;  // place of the integer that counts elements, or kFirstTwo
  std::string_view read, written;
  bool types_in_template = false;  // tensors are passed as descriptors of the tensor memory accelerator
};
constexpr int kFirstTwo = -1;  // the first two are factors
constexpr EngineKernel kKernels[] = {
    // vectorized_pointwise.h: (input, ..., result, ..., elements); (gradient, input, result, ..., elements);
    // (input, result, ..., rows, columns of the result); (gradient, input, result, ..., rows, columns of the gradient).
    {"unary_kernel", Family::kElementwise, Operator::kNone, false, 0, "0", "2"},
    {"unary_grad_kernel", Family::kElementwise, Operator::kNone, true, 0, "01", "2"},
    {"gated_act_kernel", Family::kElementwise, Operator::kGatedActivation, false, kFirstTwo, "00", "1"},
    {"dgated_act_kernel", Family::kElementwise, Operator::kGatedActivation, true, kFirstTwo, "011", "22"},
    // cast_transpose.cu, transpose.cu, cast_transpose_fusion.cu, and the forms that are compiled at run time:
    // (input, ..., result, transposed result, ..., row length, rows).
    {"cast_transpose_general_kernel", Family::kElementwise, Operator::kCopy, false, kFirstTwo, "0", "23"},
    {"cast_transpose_optimized_kernel", Family::kElementwise, Operator::kCopy, false, kFirstTwo, "0", "23"},
    {"transpose_general_kernel", Family::kElementwise, Operator::kCopy, false, kFirstTwo, "0", "2"},
    {"transpose_optimized_kernel", Family::kElementwise, Operator::kCopy, false, kFirstTwo, "0", "2"},
    {"dgated_act_cast_transpose_kernel", Family::kElementwise, Operator::kGatedActivation, true, kFirstTwo, "011",
     "2233"},
    {"dgated_act_cast_transpose_kernel_notaligned", Family::kElementwise, Operator::kGatedActivation, true, kFirstTwo,
     "011", "2233"},
    // Scales of 128 x 128 elements or of 128 in a row: (input, result, transposed result, ..., row length, rows).
    {"block_scaled_cast_transpose_kernel", Family::kElementwise, Operator::kCopy, false, kFirstTwo, "0", "12"},
    {"block_scaled_cast_transpose_kernel_notaligned", Family::kElementwise, Operator::kCopy, false, kFirstTwo, "0",
     "12"},
    {"block_scaled_1d_cast_transpose_kernel", Family::kElementwise, Operator::kCopy, false, kFirstTwo, "0", "12"},
    // Shards of weights of a distributed optimizer: (input, ..., elements of the shard).
    {"fp8_block_scaling_partial_cast_kernel", Family::kElementwise, Operator::kCopy, false, 5, "0", "1"},
    {"fp8_block_scaling_compute_partial_amax_kernel", Family::kReduction, Operator::kMax, false, 5, "0", ""},
    {"mxfp8_scaling_partial_cast_kernel", Family::kElementwise, Operator::kCopy, false, 5, "0", "12"},
    {"mxfp8_scaling_compute_partial_amax_kernel", Family::kReduction, Operator::kMax, false, 5, "0", ""},
    {"amax_kernel", Family::kReduction, Operator::kMax, false, 0, "0", ""},
    // (result, partial sums, row length, rows)
    {"reduce_dbias_kernel", Family::kReduction, Operator::kSum, false, kFirstTwo, "1", ""},
    // Compute capability 10.
    {"cast_fp8_1D_kernel", Family::kElementwise, Operator::kNone, false, 0, "0", "1"},
    {"cast_fp8_2D_kernel", Family::kElementwise, Operator::kNone, false, kFirstTwo, "4", "5", true},
};

// Bytes of an element of each tensor, added up.
double bytes_at(const KernelName& name, const EngineKernel& kernel, std::string_view places) {
  double bytes = 0;
  for (const char place : places) {
    const auto i = static_cast<size_t>(place - '0');
    const std::string_view parameter = i < name.parameters.size() ? name.parameters[i] : std::string_view();
    bytes += element_bytes_in(kernel.types_in_template ? name.argument(i) : parameter);
  }
  return bytes;
}

Operator activation_in(std::string_view text) {
  constexpr std::string_view kActivations[] = {"gelu", "silu", "relu", "sigmoid"};
  for (const std::string_view activation : kActivations)
    if (contains(text, activation)) return functor_operator(activation, 1);
  return Operator::kCopy;
}

double element_count(const LaunchContext& context, int place) {
  if (place != kFirstTwo) return static_cast<double>(context.scalar(static_cast<uint32_t>(place), 0));
  return static_cast<double>(context.scalar(0, 0)) * static_cast<double>(context.scalar(1, 0));
}

// `type` may be none where a name tells no more than a width.
void set_pass(const LaunchContext& context, Work* work, Family family, Operator op, bool backward, DataType type,
              double elements, double read_bytes, double written_bytes) {
  // Half of what a thread could move in two vector accesses of 16 bytes each way.
  constexpr double kGuessedElementsOfThread = 8;
  work->guessed = elements <= 0;
  const double count = elements > 0 ? elements : context.threads() * kGuessedElementsOfThread;
  const bool guessed = work->guessed;
  set_streaming(work, family, type == DataType::kNone ? DataType::kBfloat16 : type, count, read_bytes, written_bytes);
  set_operator(work, op);
  if (backward) work->shape.set(Key::kDirection, 1);
  work->guessed = guessed;
}

bool listed_work(const LaunchContext& context, Work* work) {
  const KernelName& name = context.name;
  for (const EngineKernel& kernel : kKernels) {
    if (name.leaf != kernel.leaf) continue;
    const double read_bytes = bytes_at(name, kernel, kernel.read),
                 written_bytes = bytes_at(name, kernel, kernel.written);
    if (read_bytes + written_bytes <= 0) return false;  // another library's of the same name
    const std::string_view typed =
        kernel.types_in_template ? name.argument(static_cast<size_t>(kernel.read[0] - '0')) : name.parameters[0];
    set_pass(context, work, kernel.family, kernel.op == Operator::kNone ? activation_in(context.text) : kernel.op,
             kernel.backward, first_type_in(typed), element_count(context, kernel.count), read_bytes, written_bytes);
    return true;
  }
  return false;
}

// CTDBiasDActParam<input, activation's input, result, computed type>, (parameters, row length, rows, tiles): two
// results, and partial sums of the bias that weigh nothing. The form that is compiled at run time does not tell in its
// name whether there is an activation's input: without it, as in linear layers.
bool fused_cast_work(const LaunchContext& context, Work* work) {
  const KernelName& name = context.name;
  const bool compiled_before = name.leaf == "cast_transpose_fused_kernel_notaligned";
  if (!compiled_before && name.leaf != "cast_transpose_fusion_kernel_optimized") return false;
  if (name.parameters.empty()) return false;
  const KernelName tensors = parse_kernel_name(name.parameters[0]);
  const bool activation_gradient = compiled_before && number_in(name.argument(1), 0) != 0;
  const double input_bytes = bytes_in(tensors.argument(0), 2), result_bytes = bytes_in(tensors.argument(2), 1);
  set_pass(context, work, Family::kElementwise, activation_in(context.text), activation_gradient,
           first_type_in(tensors.argument(0)), element_count(context, kFirstTwo),
           input_bytes + (activation_gradient ? bytes_in(tensors.argument(1), 2) : 0), 2 * result_bytes);
  return true;
}

// Blocks of 32 elements with a factor of a byte each, along rows, along columns, or both (compute capability 10):
// quantize_mxfp8_kernel<bias sums, activation's gradient, activation, ..., input, result, rows, columns, ...>,
// quantize_gated_mxfp8_kernel<backward, ..., input, result, rows, columns, ...>, quantize_mxfp8_kernel_cast_only<
// traits<input, result, rows, columns, ...>, ...>, dequantize_mxfp8_kernel<input, result, ...>; (..., rows, columns,
// ...).
bool block_of_32_work(const LaunchContext& context, Work* work) {
  const std::string_view leaf = context.name.leaf;
  constexpr double kFactor_bytes = 1.0 / 32;
  const bool gated = leaf == "quantize_gated_mxfp8_kernel", cast_only = leaf == "quantize_mxfp8_kernel_cast_only";
  if (leaf == "dequantize_mxfp8_kernel") {
    set_pass(context, work, Family::kElementwise, Operator::kCopy, false, first_type_in(context.name.argument(1)),
             element_count(context, kFirstTwo), 1 + kFactor_bytes, bytes_in(context.name.argument(1), 2));
    return true;
  }
  if (!gated && !cast_only && leaf != "quantize_mxfp8_kernel") return false;
  const KernelName traits = parse_kernel_name(cast_only ? context.name.argument(0) : context.text);
  const size_t types = cast_only ? 0 : gated ? 4 : 5;
  const bool known = !cast_only || traits.leaf == "CastTraits";  // its other traits write both
  const double results = known ? static_cast<double>((number_in(traits.argument(types + 2), 1) != 0) +
                                                     (number_in(traits.argument(types + 3), 1) != 0))
                               : 2;
  const bool backward = !cast_only && number_in(traits.argument(gated ? 0 : 1), 0) != 0;
  const double inputs = gated ? (backward ? 3 : 2) : (backward ? 2 : 1), outputs = gated && backward ? 2 : 1;
  set_pass(context, work, Family::kElementwise, gated ? Operator::kGatedActivation : activation_in(context.text),
           backward, first_type_in(traits.argument(types)), element_count(context, kFirstTwo),
           inputs * bytes_in(traits.argument(types), 2), outputs * results * (1 + kFactor_bytes));
  return true;
}

// Several matrices in one launch, their sizes in a structure: a block takes a tile of 32 x 32 vectors, which may stick
// out of its matrix. multi_cast_transpose_kernel<elements of a vector along rows, along columns, ..., input, result>.
bool many_casts_work(const LaunchContext& context, Work* work) {
  const KernelName& name = context.name;
  if (name.leaf != "multi_cast_transpose_kernel") return false;
  constexpr double kVectorsOfTile = 32 * 32;
  const double vector = static_cast<double>(number_in(name.argument(0), 4) * number_in(name.argument(1), 4));
  set_pass(context, work, Family::kElementwise, Operator::kCopy, false, first_type_in(name.argument(4)),
           context.blocks() * kVectorsOfTile * vector, bytes_in(name.argument(4), 2),
           2 * bytes_in(name.argument(5), 1));
  return true;
}

// fused_rope.cu: (source, ..., context ranks, rank, sequence, heads, head size, ...), a block a token.
bool rotary_work(const LaunchContext& context, Work* work) {
  if (!context.name.leaf.starts_with("fused_rope_")) return false;
  const double elements = static_cast<double>(context.scalar(3, 0)) * static_cast<double>(context.scalar(4, 0));
  const double bytes = bytes_in(context.name.argument(0), 2);
  set_pass(context, work, Family::kElementwise, Operator::kRotary, contains(context.name.leaf, "backward"),
           first_type_in(context.name.argument(0)), context.blocks() * elements, bytes, bytes);
  return true;
}

// The router of experts, (..., tokens, experts, ...), and the sum of its auxiliary loss, (..., all tokens, experts,
// rows, columns, ...).
bool router_work(const LaunchContext& context, Work* work) {
  const std::string_view leaf = context.name.leaf;
  if (!contains(context.name.qualified, "fused_router::")) return false;
  const bool loss = leaf.starts_with("fused_moe_aux_loss_forward");
  const double rows = static_cast<double>(context.scalar(loss ? 2 : 0, 0));
  const double columns = static_cast<double>(context.scalar(loss ? 3 : 1, 0));
  if (rows <= 0 || columns <= 0) return false;
  set_operation(work, loss ? Family::kReduction : Family::kSoftmax, loss ? Operator::kSum : Operator::kSoftmax,
                DataType::kFloat32, rows, columns, contains(leaf, "backward"));
  return true;
}

// Scale factors of whole tensors, seeds, offsets, and factors that are laid out anew: as short as kernels are.
bool small_work(const LaunchContext& context, Work* work) {
  constexpr std::string_view kSmall[] = {"zero_amax_kernel",
                                         "compute_scale_from_amax_kernel",
                                         "populate_rng_state_kernel",
                                         "get_runtime_num_segments_kernel",
                                         "extract_seed_and_offset",
                                         "zero_scales_kernel",
                                         "amax_and_scale_update_impl::",
                                         "splits_to_offsets",
                                         "swizzle"};
  for (const std::string_view part : kSmall) {
    if (!contains(context.name.qualified, part)) continue;
    set_streaming(work, Family::kElementwise, DataType::kFloat32, context.threads(), 8, 4);
    set_operator(work, Operator::kScalar);
    return true;
  }
  return false;
}

}  // namespace

bool transformer_engine_work(const LaunchContext& context, Work* work) {
  // Kernels that are compiled at run time are in no name space of the library.
  const bool compiled_late =
      context.name.leaf.ends_with("_kernel_optimized") || context.name.leaf.ends_with("_optimized_kernel");
  if (!compiled_late && !contains(context.name.qualified, "transformer_engine::")) return false;
  return listed_work(context, work) || fused_cast_work(context, work) || block_of_32_work(context, work) ||
         many_casts_work(context, work) || rotary_work(context, work) || router_work(context, work) ||
         small_work(context, work);
}

}  // namespace maya::model
