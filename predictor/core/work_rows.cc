// PyTorch kernels that treat rows one by one: softmax (PersistentSoftmax.cuh, SoftMax.cu), layer and RMS norm
// (layer_norm_kernel.cu), losses (Loss.cu, NLLLoss.cu), and reductions (Reduce.cuh). A block or a warp takes a row; the
// row length is among the integer arguments.
#include <algorithm>
#include <cmath>

#include "predictor/core/launch_context.h"

namespace maya::model {
namespace {

double bytes_of_type(std::string_view argument, double otherwise) {
  const uint32_t bytes = element_bytes_in(argument);
  return bytes == 0 ? otherwise : bytes;
}

void set_rows(Work* work, Family family, DataType type, double rows, double columns, double read_each,
              double written_each, bool backward) {
  set_streaming(work, family, type == DataType::kNone ? DataType::kFloat32 : type, rows * columns, read_each,
                written_each);
  work->shape.set(Key::kRows, whole(rows)).set(Key::kColumns, whole(columns));
  work->shape.set(Key::kDirection, backward ? 1 : 0);
}

// Row length for launches without recorded arguments: a block of such kernels takes about this many elements a thread.
constexpr double kGuessedElementsOfThread = 8;

double columns_of(const LaunchContext& context, int64_t recorded, Work* work) {
  if (recorded > 0) return static_cast<double>(recorded);
  work->guessed = true;
  return context.threads_per_block() * kGuessedElementsOfThread;
}

bool softmax_work(const LaunchContext& context, Work* work) {
  const KernelName& name = context.name;
  const bool backward = name.leaf.find("ackward") != std::string_view::npos;
  if (name.leaf.starts_with("softmax_warp_")) {
    // <input, output, accumulator, log2 of the row length, ...>(..., batch_size, stride, element_count): after two
    // pointers forward, three backward.
    const uint32_t first = backward ? 24 : 16;
    const double most_columns = std::pow(2.0, static_cast<double>(number_in(name.argument(3), 10)));
    // softmax_warp_*: a warp takes one row, or two of at most 128 elements.
    const double warps = context.blocks() * context.launch.block[1];
    const double rows = static_cast<double>(context.scalar_at(first, whole(warps * (most_columns <= 128 ? 2 : 1))));
    const double columns = static_cast<double>(context.scalar_at(first + 8, whole(most_columns)));
    const double in = bytes_of_type(name.argument(0), 4), out = bytes_of_type(name.argument(1), 4);
    set_rows(work, Family::kSoftmax, type_named(name.argument(0)), rows, columns, backward ? 2 * out : in,
             backward ? in : out, backward);
    return true;
  }
  if (name.leaf.starts_with("cunn_SoftMax")) {
    // A block a row; the row length is the only integer. <ILP, input, accumulator, output> or, without ILP, the same.
    const size_t first = number_in(name.argument(0), -1) >= 0 ? 1 : 0;
    const double in = bytes_of_type(name.argument(first), 4), out = bytes_of_type(name.argument(first + 2), 4);
    const double columns = columns_of(context, context.scalar(0, 0), work);
    set_rows(work, Family::kSoftmax, type_named(name.argument(first)), context.blocks(), columns,
             backward ? 2 * out : in, backward ? in : out, backward);
    // The form that keeps no row in shared memory or registers reads its input once more for each of maximum, sum and
    // result.
    if (name.leaf == "cunn_SoftMaxForward") work->read_bytes *= 1.5;
    return true;
  }
  return false;
}

bool norm_work(const LaunchContext& context, Work* work) {
  const KernelName& name = context.name;
  const std::string_view leaf = name.leaf;
  const DataType type = type_named(name.argument(0));
  const double bytes = bytes_of_type(name.argument(0), 4);
  if (leaf == "vectorized_layer_norm_kernel") {
    set_rows(work, Family::kNormalization, type, context.blocks(), columns_of(context, context.scalar_at(0, 0), work),
             bytes, bytes, false);
    return true;
  }
  if (leaf == "layer_norm_grad_input_kernel" || leaf == "layer_norm_grad_input_kernel_vectorized") {
    // Reads the gradient and the input, writes the input's gradient.
    set_rows(work, Family::kNormalization, type, context.blocks(), columns_of(context, context.scalar_at(48, 0), work),
             2 * bytes, bytes, true);
    return true;
  }
  if (leaf.starts_with("GammaBetaBackward") || leaf.starts_with("cuComputePartGradGammaBeta") ||
      leaf.starts_with("cuComputeGradGammaBeta")) {
    // (M, N, ...): reads the gradient and the input, writes one value a column.
    const double rows = static_cast<double>(context.scalar(0, 0));
    const double columns = columns_of(context, context.scalar(1, 0), work);
    if (rows <= 0) {
      work->guessed = true;
      set_rows(work, Family::kNormalization, type, context.threads(), 64, 2 * bytes, 0, true);
    } else {
      set_rows(work, Family::kNormalization, type, rows, columns, 2 * bytes, 0, true);
    }
    return true;
  }
  if (leaf == "RowwiseMomentsCUDAKernel") {
    set_rows(work, Family::kNormalization, type, context.blocks(), columns_of(context, context.scalar_at(0, 0), work),
             bytes, 0, false);
    return true;
  }
  if (leaf == "LayerNormForwardCUDAKernel") {
    set_rows(work, Family::kNormalization, type, context.blocks(), columns_of(context, context.scalar_at(8, 0), work),
             bytes, bytes, false);
    return true;
  }
  if (leaf.find("batch_norm") != std::string_view::npos || leaf.starts_with("GroupNorm") ||
      leaf.starts_with("ComputeInternalGradients") || leaf.starts_with("bn_")) {
    const bool backward =
        leaf.find("ackward") != std::string_view::npos || leaf.find("bn_bw") != std::string_view::npos;
    set_rows(work, Family::kNormalization, type, context.blocks(),
             context.threads_per_block() * kGuessedElementsOfThread, backward ? 2 * bytes : bytes, bytes, backward);
    work->guessed = true;
    return true;
  }
  if (leaf == "ln_fwd_kernel" || leaf == "ln_bwd_kernel" || leaf.starts_with("rmsnorm_")) {
    // Transformer Engine's and apex's traits: <weight, input, output, compute, index, hidden size, ...>.
    const KernelName traits = parse_kernel_name(name.argument(0));
    long columns = 0;
    for (std::string_view argument : traits.template_arguments)
      if ((columns = number_in(argument, 0)) > 0) break;
    const bool backward = leaf == "ln_bwd_kernel" || leaf.find("bwd") != std::string_view::npos;
    const double each = bytes_of_type(traits.argument(1), 2);
    set_rows(work, Family::kNormalization, first_type_in(name.argument(0)), context.blocks(),
             columns > 0 ? static_cast<double>(columns) : context.threads_per_block() * kGuessedElementsOfThread,
             backward ? 2 * each : each, each, backward);
    work->guessed = true;  // a block loops over rows
    return true;
  }
  return false;
}

// nll_loss kernels read one value of each row, at the target's place.
bool loss_work(const LaunchContext& context, Work* work) {
  const std::string_view leaf = context.name.leaf;
  if (!leaf.starts_with("nll_loss")) return false;
  // Pointers, then size_average or ignore_index; the row count is the first 8-byte integer over one (Loss.cu: n_frames,
  // n_classes).
  double rows = 0;
  for (uint32_t i = 0; i < context.launch.scalar_count && rows <= 1; ++i)
    rows = static_cast<double>(context.scalar(i, 0));
  if (rows <= 1) rows = std::max(rows, context.threads());
  const double bytes = bytes_of_type(context.name.argument(0), 4);
  const bool backward = leaf.find("backward") != std::string_view::npos;
  // A lone value costs a whole sector of 32 bytes.
  constexpr double kSector_bytes = 32;
  set_rows(work, Family::kReduction, type_named(context.name.argument(0)), rows, 1,
           8 + (backward ? bytes : kSector_bytes), backward ? kSector_bytes : 0, backward);
  return true;
}

// Two fields of ReduceOp's configuration that stand side by side, where they were recorded: elements reduced to one
// output, and outputs (num_inputs and num_outputs of ReduceConfig in Reduce.cuh).
bool recorded_reduction(const LaunchContext& context, double* inputs, double* outputs) {
  const LaunchView& launch = context.launch;
  if (launch.scalar_count != 2 || launch.scalars[1].offset != launch.scalars[0].offset + 4) return false;
  *inputs = static_cast<double>(context.scalar(0, 0));
  *outputs = static_cast<double>(context.scalar(1, 0));
  return *inputs > 0 && *outputs > 0;
}

bool reduction_work(const LaunchContext& context, Work* work) {
  const KernelName& name = context.name;
  if (name.leaf == "reduce_kernel" || name.leaf == "reduce_1Block_kernel" || name.leaf == "lpnorm_cleanup" ||
      name.leaf == "splitKreduce_kernel") {
    std::string_view operation = name.leaf == "reduce_kernel" ? name.argument(2) : name.argument(0);
    const DataType type = first_type_in(operation);
    const double bytes = bytes_of_type(operation, 4);
    double inputs = 0, outputs = 0;
    if (name.leaf == "reduce_kernel" && recorded_reduction(context, &inputs, &outputs)) {
      set_rows(work, Family::kReduction, type, outputs, inputs, bytes, 0, false);
      work->written_bytes = outputs * bytes;
      return true;
    }
    // setReduceConfig() gives a thread at least 16 elements before it spreads an output over more threads; large ones
    // have more.
    constexpr double kElementsOfThread = 32;
    set_rows(work, Family::kReduction, type, context.blocks(), context.threads_per_block() * kElementsOfThread, bytes,
             0, false);
    work->guessed = true;
    return true;
  }
  if (name.leaf == "DeviceReduceKernel" || name.leaf == "DeviceReduceSingleTileKernel" ||
      name.leaf == "DeviceSegmentedReduceKernel") {
    set_rows(work, Family::kReduction, DataType::kFloat32, context.blocks(), context.threads_per_block() * 16, 4, 0,
             false);
    work->guessed = true;
    return true;
  }
  return false;
}

}  // namespace

bool row_work(const LaunchContext& context, Work* work) {
  return softmax_work(context, work) || norm_work(context, work) || loss_work(context, work) ||
         reduction_work(context, work);
}

}  // namespace maya::model
