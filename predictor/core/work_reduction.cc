// Reductions: PyTorch's Reduce.cuh, the finish of its multi-tensor norms, CUB's, and cuBLAS's partial sums.
#include <algorithm>

#include "predictor/core/launch_context.h"

namespace maya::model {
namespace {

// `rows` results of `columns` elements each.
void set_reduction(Work* work, Operator op, DataType type, double out_bytes, double rows, double columns,
                   bool guessed) {
  if (type == DataType::kNone) type = DataType::kFloat32;
  set_operation(work, Family::kReduction, op, type, rows, columns, false);
  if (out_bytes > 0) work->written_bytes = rows * out_bytes;
  work->guessed = guessed;
}

struct NamedOperator {
  std::string_view part;
  Operator op;
};
// Classes and functions that ReduceOp's second argument names (SharedReduceOps.h, Reduce*Kernel.cu).
constexpr NamedOperator kOperators[] = {
    {"MeanOps", Operator::kMean},     {"mean_kernel", Operator::kMean}, {"Norm", Operator::kNorm},
    {"norm_kernel", Operator::kNorm}, {"ArgMax", Operator::kMax},       {"ArgMin", Operator::kMax},
    {"Max", Operator::kMax},          {"Min", Operator::kMax},          {"max_", Operator::kMax},
    {"min_", Operator::kMax},         {"AbsMax", Operator::kMax},       {"AbsMin", Operator::kMax},
};

Operator reduction_operator(std::string_view text) {
  for (const NamedOperator& named : kOperators)
    if (contains(text, named.part)) return named.op;
  return Operator::kSum;  // sums, products, variances, any and all
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

bool reduce_kernel_work(const LaunchContext& context, Work* work) {
  // <threads, outputs of a thread, ReduceOp<input, operation, index, output, ...>>
  std::string_view operation = context.name.argument(2);
  const KernelName parsed = parse_kernel_name(operation);
  const DataType type = first_type_in(parsed.argument(0));
  const double out_bytes = bytes_in(parsed.argument(3), 0);
  const Operator op = reduction_operator(parsed.argument(1));
  double inputs = 0, outputs = 0;
  if (recorded_reduction(context, &inputs, &outputs)) {
    set_reduction(work, op, type, out_bytes, outputs, inputs, false);
    return true;
  }
  // setReduceConfig() gives a thread at least 16 elements before it spreads an output over more threads; large ones
  // have more.
  constexpr double kElementsOfThread = 32;
  set_reduction(work, op, type, out_bytes, context.blocks(), context.threads_per_block() * kElementsOfThread, true);
  return true;
}

}  // namespace

bool reduction_work(const LaunchContext& context, Work* work) {
  const std::string_view leaf = context.name.leaf;
  if (leaf == "reduce_kernel") return reduce_kernel_work(context, work);
  if (leaf == "lpnorm_cleanup" || leaf == "lpmax_cleanup") {
    // A block a tensor sums one value for each of its chunks of 65,536 elements: less than the block has threads, but
    // for tensors of over 30 million elements.
    set_reduction(work, Operator::kNorm, first_type_in(context.name.argument(0)), 0, context.blocks(),
                  context.threads_per_block(), false);
    return true;
  }
  if (leaf == "splitKreduce_kernel" || leaf == "reduce_1Block_kernel" || leaf == "dot_kernel" ||
      leaf == "asum_kernel" || leaf == "nrm2_kernel") {
    // cuBLAS: partial products of a split depth, partial dot products.
    constexpr double kElementsOfThread = 8;
    const DataType type = first_type_in(context.text);
    set_reduction(work, Operator::kSum, type == DataType::kInt32 ? DataType::kFloat32 : type, 0, context.threads(),
                  kElementsOfThread, leaf != "reduce_1Block_kernel");
    return true;
  }
  if (leaf == "reduction_prod_kernel" || leaf.starts_with("reduction_")) {  // PyTorch's kernels compiled at run time
    constexpr double kElementsOfThread = 32;
    set_reduction(work, Operator::kSum, DataType::kFloat32, 0, context.blocks(),
                  context.threads_per_block() * kElementsOfThread, true);
    return true;
  }
  return false;
}

}  // namespace maya::model
