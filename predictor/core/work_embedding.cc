// Embedding tables: PyTorch's gather (IndexKernelUtils.cu, Indexing.cu) and its backward passes (Embedding.cu,
// EmbeddingBackwardKernel.cu, EmbeddingBag.cu), FBGEMM's table-batched kernels.
#include <algorithm>

#include "predictor/core/work_counted.h"

namespace maya::model {
namespace {

void set_table(Work* work, DataType type, double rows, double columns, bool backward) {
  set_operation(work, Family::kEmbedding, Operator::kNone, type == DataType::kNone ? DataType::kFloat32 : type, rows,
                columns, backward);
}

bool gather_work(const LaunchContext& context, Work* work) {
  const KernelName& name = context.name;
  if (name.leaf == "vectorized_gather_kernel") {
    // (out, input, indices, number of indices, bytes of a slice, ...). The element type is not in the name: counted in
    // words of 32 bits.
    const double indices = static_cast<double>(context.scalar(0, 0)), slice = static_cast<double>(context.scalar(1, 0));
    constexpr double kWord_bytes = 4;
    if (indices > 0 && slice > 0) {
      set_table(work, DataType::kFloat32, indices, slice / kWord_bytes, false);
      return true;
    }
    set_table(work, DataType::kFloat32, context.blocks(),
              context.launch.block[0] * static_cast<double>(number_in(name.argument(0), 16)) / kWord_bytes, false);
    work->guessed = true;
    return true;
  }
  if (name.leaf == "indexSelectLargeIndex" || name.leaf == "indexSelectSmallIndex") {
    // (destination, source, indices, dimension, dimension, total size or size of a slice, ...): after three structures.
    const bool small = name.leaf == "indexSelectSmallIndex";
    const double recorded = static_cast<double>(context.scalar(2, 0));
    const double bytes = bytes_in(name.argument(0), 4);
    // At most 16 indices take the small form.
    constexpr double kSmallIndices = 8, kElementsOfThread = 4;
    const double elements =
        recorded > 0 ? recorded * (small ? kSmallIndices : 1) : context.threads() * kElementsOfThread;
    set_streaming(work, Family::kEmbedding, type_named(name.argument(0)), elements, bytes, bytes);
    work->guessed = recorded <= 0;
    return true;
  }
  return false;
}

bool dense_backward_work(const LaunchContext& context, Work* work) {
  const KernelName& name = context.name;
  if (name.leaf == "embedding_backward_feature_kernel") {
    // (indices, gradient, weight's gradient, n, stride, padding): reads the gradient, reads and writes as much of the
    // weight's.
    const double rows = static_cast<double>(context.scalar(0, 0)), columns = static_cast<double>(context.scalar(1, 0));
    const bool guessed = rows <= 0 || columns <= 0;
    // Without arguments: a warp of a block takes 32 columns, rows stay unknown.
    constexpr double kColumnsOfBlock = 32, kGuessedRows = 4096;
    set_table(work, type_named(name.argument(0)), guessed ? kGuessedRows : rows,
              guessed ? context.blocks() * kColumnsOfBlock : columns, true);
    work->guessed = guessed;
    return true;
  }
  if (name.leaf.starts_with("compute_grad_weight")) {
    // (indices, gradient, ..., n, stride, ...): sums of up to 10 gradients of the same row, in 32 bits. Rows are taken
    // to be hit once each, as most of a large vocabulary are.
    const double rows = static_cast<double>(context.scalar(0, 0)), columns = static_cast<double>(context.scalar(1, 0));
    const bool guessed = rows <= 0 || columns <= 0;
    const DataType type = first_type_in(name.argument(0));
    set_table(work, type, guessed ? 1 : rows, guessed ? context.threads() : columns, true);
    work->read_bytes -= work->flops * bytes_in(name.argument(0), 4);  // the weight's gradient is not read yet
    work->written_bytes = work->flops * 4;
    work->guessed = guessed;
    return true;
  }
  if (name.leaf == "sum_and_scatter") {
    // A thread an element of the weight's gradient, from those sums.
    set_table(work, first_type_in(name.argument(0)), 1, context.threads(), true);
    work->read_bytes = context.threads() * 4;
    return true;
  }
  return false;
}

constexpr CountedKernel kKernels[] = {
    // (sorted indices, indices, gradient, weight's gradient, indices, stride, stride before, outer size)
    {"indexing_backward_kernel",
     Family::kEmbedding,
     true,
     {kScalar0 | kScalar1 | kScalar3, 0, 2},
     {kScalar0 | kScalar1 | kScalar3}},
    // (indices, offsets, weight, output, ..., indices, bags, columns, ...)
    {"EmbeddingBag_updateOutputKernel", Family::kEmbedding, false, {kScalar0 | kScalar2}, {kScalar1 | kScalar2}},
    {"EmbeddingBag_accGradParametersKernel_max", Family::kEmbedding, true, {kAllThreads}, {kAllThreads}},
    // Where the runs of equal indices begin: a number a thread.
    {"krn_partials_per_segment", Family::kEmbedding, true, {kAllThreads}, {kAllThreads}},
    {"krn_partial_to_segment_idx", Family::kEmbedding, true, {kAllThreads}, {kAllThreads}},
    {"krn_partial_segment_offset", Family::kEmbedding, true, {kAllThreads}, {kAllThreads}},
    {"compute_num_of_partial_segments", Family::kEmbedding, true, {kAllThreads}, {kAllThreads}},
};

// Kernels without a rule of their own, FBGEMM's among them: their sizes are guessed from the grid.
constexpr std::string_view kParts[] = {"EmbeddingBag_",           "embedding_",           "pooled_embs",
                                       "permute_indices_weights", "bounds_check_indices", "recat_",
                                       "bucketize_sparse",        "_offsets_range"};

}  // namespace

bool embedding_work(const LaunchContext& context, Work* work) {
  if (gather_work(context, work) || dense_backward_work(context, work) || counted_work(kKernels, context, work))
    return true;
  const std::string_view leaf = context.name.leaf;
  for (std::string_view part : kParts) {
    if (!contains(leaf, part)) continue;
    constexpr double kElementsOfThread = 4;
    const double bytes = bytes_in(context.name.argument(0), 4);
    const DataType type = first_type_in(context.name.argument(0));
    set_streaming(work, Family::kEmbedding, type == DataType::kNone ? DataType::kFloat32 : type,
                  context.threads() * kElementsOfThread, bytes, bytes);
    work->shape.set(Key::kDirection, contains(leaf, "backward") || contains(leaf, "accGrad") ? 1 : 0);
    work->guessed = true;
    return true;
  }
  return false;
}

}  // namespace maya::model
