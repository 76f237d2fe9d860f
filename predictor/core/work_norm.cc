// Normalization kernels: PyTorch's layer and RMS norm (layer_norm_kernel.cu), group norm (group_norm_kernel.cu), batch
// norm (Normalization.cuh), cuDNN's batch norm, and layer norms of apex, FlashAttention and Transformer Engine. Scalars
// are read in order, since their types differ between versions.
#include <algorithm>

#include "predictor/core/launch_context.h"

namespace maya::model {
namespace {

// Row length for launches without recorded arguments: a block of such kernels takes about this many elements a thread.
constexpr double kGuessedElementsOfThread = 8;

DataType type_or_float(DataType type) { return type == DataType::kNone ? DataType::kFloat32 : type; }

double columns_of(const LaunchContext& context, int64_t recorded, bool* guessed) {
  if (recorded > 0) return static_cast<double>(recorded);
  *guessed = true;
  return context.threads_per_block() * kGuessedElementsOfThread;
}

void set_norm(Work* work, Operator op, DataType type, double rows, double columns, bool backward, bool guessed) {
  set_operation(work, Family::kNormalization, op, type_or_float(type), rows, columns, backward);
  work->guessed = guessed;
}

// A pass over `elements` that leaves out one side of the whole operation, such as the statistics alone.
void set_partial(Work* work, Operator op, DataType type, double elements, double reads, double writes, bool backward,
                 bool guessed) {
  const double bytes = data_type_bits(type_or_float(type)) / 8.0;
  set_streaming(work, Family::kNormalization, type_or_float(type), elements, reads * bytes, writes * bytes);
  set_operator(work, op);
  work->shape.set(Key::kDirection, backward ? 1 : 0);
  work->guessed = guessed;
}

// Transformer Engine: a structure that begins with (blocks that share the rows, blocks of a row, rows, columns), and
// traits<weight, input, output, computed type, ...>. Backward, each of those blocks leaves a row of partial sums for
// the weights, which a kernel of its own adds up: <traits> or <weight, computed type, ...>.
bool engine_norm_work(const LaunchContext& context, Work* work) {
  const std::string_view leaf = context.name.leaf;
  const bool rms = leaf.starts_with("rmsnorm_");
  if (!rms && !leaf.starts_with("ln_")) return false;
  const double shares = static_cast<double>(context.scalar_at(0, 0)),
               rows = static_cast<double>(context.scalar_at(8, 0));
  const double columns = static_cast<double>(context.scalar_at(12, 0));
  if (rows <= 0 || columns <= 0) return false;
  const bool backward = contains(leaf, "_bwd_");
  constexpr double kPartial_bytes = 4;
  const double vectors = rms ? 1 : 2;
  if (contains(leaf, "_finalize_")) {
    set_streaming(work, Family::kReduction, DataType::kFloat32, vectors * shares * columns, kPartial_bytes, 0);
    set_operator(work, Operator::kSum);
    return true;
  }
  const KernelName traits = parse_kernel_name(context.name.argument(0));
  const DataType type = first_type_in(traits.argument(1));
  set_norm(work, rms ? Operator::kRmsNorm : Operator::kLayerNorm, type, rows, columns, backward, false);
  if (backward) work->written_bytes += vectors * shares * columns * kPartial_bytes;
  // Forward, the result may be narrower than what is read: quantized on the way.
  const double wide_bytes = data_type_bits(type_or_float(type)) / 8.0;
  if (!backward) work->written_bytes -= rows * columns * (wide_bytes - bytes_in(traits.argument(2), wide_bytes));
  if (contains(leaf, "_bwd_add_")) work->read_bytes += rows * columns * wide_bytes;
  return true;
}

bool layer_norm_work(const LaunchContext& context, Work* work) {
  const KernelName& name = context.name;
  const std::string_view leaf = name.leaf;
  const DataType type = type_named(name.argument(0));
  bool guessed = false;
  if (leaf.starts_with("vectorized_layer_norm_kernel") || leaf.starts_with("vectorized_rms_norm_kernel")) {
    // <type, accumulator, RMS>(columns, epsilon, input, ...): a block a row.
    const bool rms = number_in(name.argument(2), 0) != 0 || leaf.starts_with("vectorized_rms_norm_kernel");
    const double columns = columns_of(context, context.scalar(0, 0), &guessed);
    set_norm(work, rms ? Operator::kRmsNorm : Operator::kLayerNorm, type, context.blocks(), columns, false, guessed);
    return true;
  }
  if (leaf.starts_with("layer_norm_grad_input_kernel")) {
    // The same template arguments; (gradient, input, mean, deviation, weight, result, columns).
    const double columns = columns_of(context, context.scalar(0, 0), &guessed);
    const bool rms = number_in(name.argument(2), 0) != 0;
    set_norm(work, rms ? Operator::kRmsNorm : Operator::kLayerNorm, type, context.blocks(), columns, true, guessed);
    return true;
  }
  if (leaf == "LayerNormForwardCUDAKernel") {  // (columns, input, ...), after the statistics have been made
    const double columns = columns_of(context, context.scalar(0, 0), &guessed);
    set_norm(work, Operator::kLayerNorm, type, context.blocks(), columns, false, guessed);
    return true;
  }
  if (leaf.starts_with("GammaBetaBackward") || leaf.starts_with("cuComputePartGradGammaBeta") ||
      leaf.starts_with("cuComputeGradGammaBeta")) {
    // (rows, columns, gradient, input, ...): gradients of the weights.
    const double rows = static_cast<double>(context.scalar(0, 0));
    const double columns = static_cast<double>(context.scalar(1, 0));
    guessed = rows <= 0 || columns <= 0;
    // Without arguments: a block of GammaBetaBackwardCUDAKernel takes 32 columns, rows stay unknown.
    constexpr double kColumnsOfBlock = 32, kGuessedRows = 4096;
    set_norm(work, Operator::kLayerNormParameters, type, guessed ? kGuessedRows : rows,
             guessed ? context.blocks() * kColumnsOfBlock : columns, true, guessed);
    return true;
  }
  if (contains(name.qualified, "transformer_engine::normalization::")) return engine_norm_work(context, work);
  if (leaf == "ln_fwd_kernel" || leaf == "ln_bwd_kernel" || leaf == "ln_bwd_finalize_kernel" ||
      leaf.starts_with("rmsnorm_") || leaf.starts_with("cuApplyLayerNorm") || leaf.starts_with("cuComputeGradInput")) {
    // Transformer Engine's and apex's traits: <weight, input, output, compute, index, hidden size, ...>. A block loops
    // over rows, so the grid only gives a lower bound.
    const KernelName traits = parse_kernel_name(name.argument(0));
    long columns = 0;
    for (std::string_view argument : traits.template_arguments)
      if ((columns = number_in(argument, 0)) > 0) break;
    const bool backward = contains(leaf, "bwd") || contains(leaf, "Grad");
    set_norm(work, contains(leaf, "rms") ? Operator::kRmsNorm : Operator::kLayerNorm, first_type_in(name.argument(0)),
             context.blocks(),
             columns > 0 ? static_cast<double>(columns) : context.threads_per_block() * kGuessedElementsOfThread,
             backward, true);
    return true;
  }
  return false;
}

bool group_norm_work(const LaunchContext& context, Work* work) {
  const KernelName& name = context.name;
  const std::string_view leaf = name.leaf;
  const DataType type = first_type_in(name.argument(number_in(name.argument(0), -1) >= 0 ? 1 : 0));
  const double first = static_cast<double>(context.scalar(0, 0)), second = static_cast<double>(context.scalar(1, 0));
  const double third = static_cast<double>(context.scalar(2, 0));
  const bool guessed = first <= 0;
  const double guess = context.threads() * kGuessedElementsOfThread;
  if (leaf == "RowwiseMomentsChannelsLastCUDAKernel") {  // (batch, channels, pixels, channels of a group, ...)
    set_partial(work, Operator::kGroupNorm, type, guessed ? guess : first * second * third, 1, 0, false, guessed);
    return true;
  }
  if (leaf.starts_with("RowwiseMoments")) {  // (elements of a group, epsilon, input, ...): a block a group
    set_partial(work, Operator::kGroupNorm, type, guessed ? guess : context.blocks() * first, 1, 0, false, guessed);
    return true;
  }
  if (leaf.starts_with("ComputeInternalGradientsChannelsLastFallback")) {  // (channels, pixels, gradient, input, ...)
    set_partial(work, Operator::kGroupNorm, type, guessed ? guess : context.blocks() * second, 2, 0, true, guessed);
    return true;
  }
  if (leaf.starts_with("ComputeInternalGradientsChannelsLast")) {  // the same, a block for an image's channels
    set_partial(work, Operator::kGroupNorm, type, guessed ? guess : context.launch.grid[0] * first * second, 2, 0, true,
                guessed);
    return true;
  }
  if (leaf.starts_with("ComputeInternalGradients")) {  // (pixels, gradient, input, ...): a block a channel of an image
    set_partial(work, Operator::kGroupNorm, type, guessed ? guess : context.blocks() * first, 2, 0, true, guessed);
    return true;
  }
  if (leaf.starts_with("ComputeFusedParams") || leaf.starts_with("ComputeBackwardFusedParams") ||
      leaf.starts_with("Compute1dBackwardFusedParams")) {
    // Factors of each channel of each image: a few values a thread.
    set_partial(work, Operator::kGroupNorm, type, context.threads(), 4, 2, leaf.find("ackward") != leaf.npos, false);
    return true;
  }
  if (leaf.starts_with("GroupNormBackward")) {  // (elements, ...): gradient and input to the input's gradient
    set_partial(work, Operator::kGroupNorm, first_type_in(name.argument(1)), guessed ? guess : first, 2, 1, true,
                guessed);
    return true;
  }
  if (leaf.starts_with("GroupNorm")) {
    set_partial(work, Operator::kGroupNorm, type, guessed ? guess : first, 1, 1, false, guessed);
    return true;
  }
  return false;
}

bool batch_norm_work(const LaunchContext& context, Work* work) {
  const KernelName& name = context.name;
  const std::string_view leaf = name.leaf;
  const bool cudnn = leaf.starts_with("bn_fw") || leaf.starts_with("bn_bw") || contains(leaf, "batchnorm");
  if (!cudnn && !leaf.starts_with("batch_norm_")) return false;
  const bool backward = contains(leaf, "ackward") || contains(leaf, "bn_bw") || contains(leaf, "bwd");
  const bool statistics = contains(leaf, "collect_statistics"), reduces = contains(leaf, "backward_reduce");
  double elements = 0;
  if (contains(leaf, "channels_last")) {  // (..., pixels of all images, channels)
    elements = static_cast<double>(context.scalar(0, 0)) * static_cast<double>(context.scalar(1, 0));
  } else if (!cudnn) {
    // Tensor accessors first: a pointer, then the sizes batch, channels, pixels, of 32 or 64 bits each.
    const int64_t batch = context.scalar_at(8, 0);
    const bool narrow = context.scalar_at(12, 0) > 0;
    elements = static_cast<double>(batch) * static_cast<double>(context.scalar_at(narrow ? 12 : 16, 0)) *
               static_cast<double>(context.scalar_at(narrow ? 16 : 24, 0));
  }
  const bool guessed = elements <= 0;
  // cuDNN's kernels and those over channels give a block to each channel, which loops over the images: so many elements
  // in the convolutional networks of public traces.
  constexpr double kGuessedElementsOfChannel = 65536;
  if (guessed) elements = context.blocks() * kGuessedElementsOfChannel;
  const bool types_first = first_type_in(name.argument(0)) != DataType::kNone;
  const DataType type = first_type_in(name.argument(types_first ? 0 : 1));
  set_partial(work, Operator::kBatchNorm, type, elements, backward ? 2 : 1, statistics || reduces ? 0 : 1, backward,
              guessed);
  return true;
}

}  // namespace

bool norm_work(const LaunchContext& context, Work* work) {
  return layer_norm_work(context, work) || group_norm_work(context, work) || batch_norm_work(context, work);
}

}  // namespace maya::model
