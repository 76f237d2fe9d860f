// Softmax and losses: PyTorch's PersistentSoftmax.cuh and SoftMax.cu, apex's and Megatron's scaled softmax, NLLLoss.cu.
// A block or a warp takes a row; the row length is among the integer arguments.
#include <algorithm>
#include <cmath>

#include "predictor/core/launch_context.h"

namespace maya::model {
namespace {

DataType type_or_float(DataType type) { return type == DataType::kNone ? DataType::kFloat32 : type; }

// `in` and `out`: the types of the input and the result, which mixed precision makes different.
void set_softmax(Work* work, bool logarithm, std::string_view in, std::string_view out, double rows, double columns,
                 bool backward) {
  set_operation(work, Family::kSoftmax, logarithm ? Operator::kLogSoftmax : Operator::kSoftmax,
                type_or_float(type_named(in)), rows, columns, backward);
  const double in_bytes = bytes_in(in, 4), out_bytes = bytes_in(out, in_bytes);
  const double elements = rows * columns;
  // Backward reads the gradient of the result and the result.
  work->read_bytes = elements * (backward ? 2 * out_bytes : in_bytes);
  work->written_bytes = elements * (backward ? in_bytes : out_bytes);
}

// <input, output, accumulator, log2 of the row length, logarithm, ...>(..., rows, stride, row length) after two
// pointers, three backward. The scaled forms of apex take (output, input, [mask,] scale, rows, row length, ...).
void warp_softmax(const LaunchContext& context, Work* work) {
  const KernelName& name = context.name;
  const bool backward = contains(name.leaf, "ackward"), scaled = name.leaf.starts_with("scaled_");
  size_t power_argument = 0;
  while (power_argument < name.template_arguments.size() && number_in(name.argument(power_argument), -1) < 0)
    ++power_argument;
  const double most_columns = std::pow(2.0, static_cast<double>(number_in(name.argument(power_argument), 10)));
  // A warp takes one row, or two of at most 128 elements.
  const double warps = context.blocks() * context.launch.block[1];
  const int64_t most_rows = whole(warps * (most_columns <= 128 ? 2 : 1));
  const double rows = static_cast<double>(context.scalar(0, most_rows));
  const double columns = static_cast<double>(context.scalar(scaled ? 1 : 2, whole(most_columns)));
  const bool logarithm = !scaled && number_in(name.argument(power_argument + 1), 0) != 0;
  set_softmax(work, logarithm, name.argument(0), name.argument(1), rows, columns, backward);
}

bool softmax_kernel_work(const LaunchContext& context, Work* work) {
  const KernelName& name = context.name;
  const bool backward = contains(name.leaf, "ackward");
  if (contains(name.leaf, "softmax_warp_")) {
    warp_softmax(context, work);
    return true;
  }
  const bool logarithm = contains(context.text, "LogSoftMax");
  // <ILP, input, accumulator, output, ...> or, without ILP, the same.
  const size_t first = number_in(name.argument(0), -1) >= 0 ? 1 : 0;
  if (name.leaf.starts_with("cunn_SpatialSoftMax")) {  // (..., outer size, row length, inner size)
    const double outer = static_cast<double>(context.scalar(0, 0)), columns = static_cast<double>(context.scalar(1, 0));
    const double inner = static_cast<double>(context.scalar(2, 0));
    const bool guessed = outer <= 0 || columns <= 0 || inner <= 0;
    constexpr double kGuessedColumns = 64;
    set_softmax(work, logarithm, name.argument(first), name.argument(first + 2),
                guessed ? context.threads() : outer * inner, guessed ? kGuessedColumns : columns, backward);
    work->guessed = guessed;
    return true;
  }
  if (name.leaf.starts_with("cunn_SoftMax")) {
    // A block a row; the row length is the only integer.
    const int64_t recorded = context.scalar(0, 0);
    // A block of these kernels takes about this many elements a thread.
    constexpr double kGuessedElementsOfThread = 8;
    const double columns =
        recorded > 0 ? static_cast<double>(recorded) : context.threads_per_block() * kGuessedElementsOfThread;
    set_softmax(work, logarithm, name.argument(first), name.argument(first + 2), context.blocks(), columns, backward);
    work->guessed = recorded <= 0;
    return true;
  }
  return false;
}

// nll_loss kernels read one value of each row, at the target's place.
bool loss_work(const LaunchContext& context, Work* work) {
  const std::string_view leaf = context.name.leaf;
  const bool weighted_cross_entropy = contains(leaf, "cross_entropy") || contains(leaf, "crossentropy");
  if (weighted_cross_entropy) {  // fused losses of apex, FlashAttention, Liger: a block a row
    constexpr double kGuessedColumns = 32768;
    const double columns = static_cast<double>(context.scalar(0, 0));
    set_operation(work, Family::kSoftmax, Operator::kCrossEntropy,
                  type_or_float(first_type_in(context.name.argument(0))), context.blocks(),
                  columns > 0 ? columns : kGuessedColumns, contains(leaf, "ackward"));
    work->guessed = columns <= 0;
    return true;
  }
  if (!leaf.starts_with("nll_loss")) return false;
  // Pointers, then size_average or ignore_index; the row count is the first integer over one (NLLLoss.cu: n_frames,
  // n_classes). The spatial forms (nll_loss2d) have a thread a pixel.
  double rows = 0;
  for (uint32_t i = 0; !leaf.starts_with("nll_loss2d") && i < context.launch.scalar_count && rows <= 1; ++i)
    rows = static_cast<double>(context.scalar(i, 0));
  if (rows <= 1) rows = std::max(rows, context.threads());
  set_operation(work, Family::kSoftmax, Operator::kNllLoss, type_or_float(first_type_in(context.name.argument(0))),
                rows, 1, contains(leaf, "backward"));
  return true;
}

}  // namespace

bool softmax_work(const LaunchContext& context, Work* work) {
  return softmax_kernel_work(context, work) || loss_work(context, work);
}

}  // namespace maya::model
