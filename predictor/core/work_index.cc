// PyTorch kernels that move elements by index or into another layout: gather and scatter (IndexKernel.cu,
// ScatterGatherKernel.cu), concatenation (Shape.cu), padding and rolling.
#include <algorithm>

#include "predictor/core/work_counted.h"

namespace maya::model {
namespace {

bool gather_work(const LaunchContext& context, Work* work) {
  const KernelName& name = context.name;
  if (name.leaf == "index_elementwise_kernel" || name.leaf == "_scatter_gather_elementwise_kernel") {
    // (element count, functor): an element and its index read, an element written.
    const double bytes = bytes_in(name.argument(2), 4);
    const double of_thread = static_cast<double>(number_in(name.argument(1), 4));
    const double elements = static_cast<double>(context.scalar_at(0, whole(context.threads() * of_thread)));
    const DataType type = first_type_in(name.argument(2));
    set_streaming(work, Family::kIndex, type == DataType::kNone ? DataType::kFloat32 : type, elements, bytes + 8,
                  bytes);
    if (contains(name.argument(2), "add") || contains(name.argument(2), "Add")) work->shape.set(Key::kDirection, 1);
    return true;
  }
  return false;
}

constexpr CountedKernel kKernels[] = {
    // (result, source, indices, indices, row length, ...): adds rows in place
    {"tma_scatter_kernel", Family::kIndex, true, {kScalar0 | kScalar1, 0, 2}, {kScalar0 | kScalar1}},
    // (result, source, indices, dimensions of both, elements of the source, ...): adds to, or multiplies, the result
    {"indexFuncLargeIndex", Family::kIndex, true, {kScalar2, 0, 2}, {kScalar2}},
    // (three structures of sizes and strides, bins, ..., elements)
    {"kernelHistogram1D", Family::kIndex, false, {kScalar1}, {kScalar0}},
    {"roll_cuda_kernel", Family::kIndex, false, {kScalar0}, {kScalar0}},
    // (keys, permutation, mask, count, ...): looks at every key, moves few
    {"randperm_handle_duplicate_keys_kernel", Family::kRandom, false, {kScalar1}, {}},
    // A thread an element that is not zero: its number becomes a place in each dimension.
    {"write_indices", Family::kIndex, false, {kAllThreads}, {kAllThreads}},
    // One thread looks at one sum.
    {"masked_scatter_size_check", Family::kIndex, false, {kAllThreads}, {}},
    // A thread an element of the padded image.
    {"reflection_pad", Family::kIndex, false, {kAllThreads}, {kAllThreads}},
    {"replication_pad", Family::kIndex, false, {kAllThreads}, {kAllThreads}},
};

// Shape.cu: CatArrayBatchedCopy*<type, index, dimensions, n, strides, ...>(result, {const T* input[n]; index offset[n],
// dimension[n], elements[n]; bool contiguous[n]; {index size[4], stride[4]} of each of `strides` inputs}, {index
// size[4], stride[4]} of the result, ...). Where the result's sizes were recorded they count, unless a launch is full:
// then further inputs follow in others, and all are taken to be as long as the first. 0 when nothing was recorded.
double recorded_concatenation(const LaunchContext& context) {
  const KernelName& name = context.name;
  const auto argument = [&](size_t i) {
    return static_cast<uint32_t>(std::clamp(number_in(name.argument(i), 0), 0L, 1024L));
  };
  const uint32_t dimensions = argument(2), tensors = argument(3), strides = argument(4);
  const uint32_t index_bytes = contains(name.argument(1), "long") ? 8 : 4;
  constexpr uint32_t kResult_bytes = 8, kPointer_bytes = 8, kMostDimensions = 4;
  const uint32_t lengths = kResult_bytes + tensors * (kPointer_bytes + 2 * index_bytes);
  const uint32_t metadata_end = lengths + tensors * (index_bytes + 1) + strides * 2 * kMostDimensions * index_bytes;
  const uint32_t sizes = (metadata_end + 7) / 8 * 8;
  const uint32_t inputs = context.launch.grid[1];  // a row of blocks an input
  double elements = dimensions > 0 ? 1 : 0;
  for (uint32_t i = 0; i < dimensions; ++i)
    elements *= static_cast<double>(context.scalar_at(sizes + i * index_bytes, 0));
  // The vectorised form counts the last dimension in vectors: <..., strides, alignment, elements of a vector>.
  const double vector = contains(name.leaf, "_vectorized") ? static_cast<double>(number_in(name.argument(6), 1)) : 1;
  if (elements > 0 && inputs < tensors) return elements * vector;
  return static_cast<double>(context.scalar_at(lengths, 0)) * inputs;
}

bool concatenation_work(const LaunchContext& context, Work* work) {
  const std::string_view leaf = context.name.leaf;
  if (!leaf.starts_with("CatArrayBatchedCopy")) return false;
  const double each = bytes_in(context.name.argument(0), 4);
  // Of the forms for contiguous inputs a thread copies 16 bytes of the longest input; getCatGridContig() caps the grid
  // at 32 blocks a multiprocessor. The general form has two blocks a multiprocessor whatever the sizes.
  const bool contiguous = contains(leaf, "_contig") || contains(leaf, "_aligned") || contains(leaf, "_vectorized");
  constexpr uint32_t kUncapped_blocks = 32 * 80;
  constexpr double kThread_bytes = 16, kGuessedThread_bytes = 32;
  double elements = recorded_concatenation(context);
  const bool guessed = elements <= 0 && !(contiguous && context.launch.grid[0] < kUncapped_blocks);
  if (elements <= 0) elements = context.threads() * (guessed ? kGuessedThread_bytes : kThread_bytes) / each;
  set_streaming(work, Family::kCopy, copied_type(context.name.argument(0)), elements, each, each);
  set_operator(work, Operator::kConcatenate);
  work->guessed = guessed;
  return true;
}

// TensorShape.cu, the copies around a sharded model's collectives. chunk_cat_cuda_kernel<result, source>(8 pointers,
// bytes of a slice, bytes of a chunk, result bytes a source byte) has a plane of blocks a slice and a row a chunk.
// split_with_sizes_copy_out_contiguous_no_cast_kernel(5 pointers, bytes of a row of the source, rows) copies all of it.
bool chunked_copy_work(const LaunchContext& context, Work* work) {
  const KernelName& name = context.name;
  const auto& grid = context.launch.grid;
  if (name.leaf == "chunk_cat_cuda_kernel") {
    const double read = bytes_in(name.argument(1), 4), written = bytes_in(name.argument(0), 4);
    const double bytes = static_cast<double>(context.scalar(1, 0)) * grid[1] * grid[2];
    if (bytes <= 0) return false;
    set_streaming(work, Family::kCopy, copied_type(name.argument(0)), bytes / written, read, written);
    set_operator(work, Operator::kConcatenate);
    return true;
  }
  if (name.leaf == "split_with_sizes_copy_out_contiguous_no_cast_kernel") {
    const double bytes = static_cast<double>(context.scalar(0, 0)) * static_cast<double>(context.scalar(1, 0));
    if (bytes <= 0) return false;
    set_streaming(work, Family::kCopy, DataType::kFloat32, bytes / 4, 4, 4);  // 16 bytes a thread, whatever the type
    set_operator(work, Operator::kConcatenate);
    return true;
  }
  return false;
}

// Kernels without a rule of their own: their sizes are guessed from the grid.
constexpr std::string_view kParts[] = {
    "scatter_kernel", "indexFunc",    "cuda_take_put_kernel", "masked_scatter", "kernelHistogram1D",
    "flag_kernel",    "searchsorted", "linearize_index",      "bucketize",      "to_dense_representation",
    "index_put",      "index_add",    "index_copy",           "index_fill"};

}  // namespace

bool index_work(const LaunchContext& context, Work* work) {
  if (gather_work(context, work) || concatenation_work(context, work) || chunked_copy_work(context, work) ||
      counted_work(kKernels, context, work))
    return true;
  for (std::string_view part : kParts) {
    if (!contains(context.name.leaf, part)) continue;
    constexpr double kElementsOfThread = 4;
    const double bytes = bytes_in(context.name.argument(0), 4);
    const DataType type = first_type_in(context.name.argument(0));
    set_streaming(work, Family::kIndex, type == DataType::kNone ? DataType::kFloat32 : type,
                  context.threads() * kElementsOfThread, bytes, bytes);
    work->guessed = true;
    return true;
  }
  return false;
}

}  // namespace maya::model
