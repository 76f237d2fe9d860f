// PyTorch kernels that move elements by index: gather and scatter (IndexKernelUtils.cu, ScatterGatherKernel.cu,
// Indexing.cu), embedding (Embedding.cu, EmbeddingBackwardKernel.cu), concatenation (Shape.cu), pooling and
// up-sampling, sort and scan (CUB and Sort.cu).
#include <algorithm>

#include "predictor/core/launch_context.h"

namespace maya::model {
namespace {

constexpr size_t kNotFound = std::string_view::npos;

double element_bytes(std::string_view argument, double otherwise) {
  const uint32_t bytes = element_bytes_in(argument);
  return bytes == 0 ? otherwise : bytes;
}

void set_guess(const LaunchContext& context, Work* work, Family family, double elements_of_thread, double bytes,
               bool backward) {
  set_streaming(work, family, first_type_in(context.name.argument(0)), context.threads() * elements_of_thread, bytes,
                bytes);
  work->shape.set(Key::kDirection, backward ? 1 : 0);
  work->guessed = true;
}

bool embedding_work(const LaunchContext& context, Work* work) {
  const KernelName& name = context.name;
  if (name.leaf == "vectorized_gather_kernel") {
    // (out, input, indices, number of indices, bytes of a slice, ...)
    const int64_t indices = context.scalar_at(24, 0), slice = context.scalar_at(32, 0);
    if (indices > 0 && slice > 0) {
      set_streaming(work, Family::kEmbedding, DataType::kUint8,
                    static_cast<double>(indices) * static_cast<double>(slice), 1, 1);
      return true;
    }
    set_guess(context, work, Family::kEmbedding, 1, static_cast<double>(number_in(name.argument(0), 16)), false);
    return true;
  }
  if (name.leaf == "indexSelectLargeIndex" || name.leaf == "indexSelectSmallIndex") {
    // (destination, source, indices, dimension, dimension, total size, ...): after three structures.
    const int64_t elements = context.scalar(2, 0);
    const double bytes = element_bytes(name.argument(0), 4);
    if (elements > 0 && name.leaf == "indexSelectLargeIndex") {
      set_streaming(work, Family::kEmbedding, type_named(name.argument(0)), static_cast<double>(elements), bytes,
                    bytes);
      return true;
    }
    set_guess(context, work, Family::kEmbedding, 4, bytes, false);
    return true;
  }
  if (name.leaf == "embedding_backward_feature_kernel") {
    // (indices, gradient, weight's gradient, n, stride, padding): reads the gradient, reads and writes as much of the
    // weight's.
    const double bytes = element_bytes(name.argument(0), 4);
    const int64_t rows = context.scalar_at(24, 0), columns = context.scalar_at(32, 0);
    if (rows > 0 && columns > 0) {
      set_streaming(work, Family::kEmbedding, type_named(name.argument(0)),
                    static_cast<double>(rows) * static_cast<double>(columns), 2 * bytes, bytes);
      work->shape.set(Key::kDirection, 1).set(Key::kRows, rows).set(Key::kColumns, columns);
      return true;
    }
    set_guess(context, work, Family::kEmbedding, 32, bytes, true);
    return true;
  }
  constexpr std::string_view kParts[] = {"compute_grad_weight",
                                         "sum_and_scatter",
                                         "EmbeddingBag_",
                                         "indexing_backward_kernel",
                                         "embedding_",
                                         "krn_partial",
                                         "compute_num_of_partial_segments"};
  for (std::string_view part : kParts)
    if (name.leaf.find(part) != kNotFound) {
      set_guess(context, work, Family::kEmbedding, 4, element_bytes(name.argument(0), 4), true);
      return true;
    }
  return false;
}

bool gather_work(const LaunchContext& context, Work* work) {
  const KernelName& name = context.name;
  if (name.leaf == "index_elementwise_kernel" || name.leaf == "_scatter_gather_elementwise_kernel") {
    // (element count, functor): an element and its index read, an element written.
    const double bytes = element_bytes(name.argument(2), 4);
    const double of_thread = static_cast<double>(number_in(name.argument(1), 4));
    const double elements = static_cast<double>(context.scalar_at(0, whole(context.threads() * of_thread)));
    set_streaming(work, Family::kIndex, first_type_in(name.argument(2)), elements, bytes + 8, bytes);
    return true;
  }
  constexpr std::string_view kParts[] = {"scatter_kernel",  "indexFunc",         "cuda_take_put_kernel",
                                         "masked_scatter",  "roll_cuda_kernel",  "reflection_pad",
                                         "replication_pad", "kernelHistogram1D", "write_indices",
                                         "flag_kernel",     "searchsorted",      "linearize_index",
                                         "bucketize"};
  for (std::string_view part : kParts)
    if (name.leaf.find(part) != kNotFound) {
      set_guess(context, work, Family::kIndex, 4, element_bytes(name.argument(0), 4), false);
      return true;
    }
  return false;
}

// A block of CatArrayBatchedCopy walks over its input in grid strides; grids hold about two passes of 16 bytes a
// thread.
bool concatenation_work(const LaunchContext& context, Work* work) {
  if (!context.name.leaf.starts_with("CatArrayBatchedCopy")) return false;
  constexpr double kThread_bytes = 32;
  set_streaming(work, Family::kCopy, first_type_in(context.name.argument(0)), context.threads(), kThread_bytes,
                kThread_bytes);
  work->guessed = true;
  return true;
}

bool sort_work(const LaunchContext& context, Work* work) {
  constexpr std::string_view kParts[] = {"RadixSort",
                                         "radixSort",
                                         "bitonicSort",
                                         "MergeSort",
                                         "mergeSort",
                                         "DeviceScan",
                                         "tensor_kernel_scan",
                                         "topk",
                                         "gatherTopK",
                                         "computeBlockDigitCounts",
                                         "DeviceSelect",
                                         "DeviceCompact",
                                         "DeviceReduceByKey",
                                         "UniqueByKey",
                                         "ScanByKey",
                                         "sort_postprocess",
                                         "fill_reverse_indices",
                                         "gatherKthValue",
                                         "gatherMedian",
                                         "multinomial",
                                         "calc_block_sums",
                                         "final_scan_kernel"};
  for (std::string_view part : kParts)
    if (context.name.qualified.find(part) != kNotFound) {
      set_guess(context, work, Family::kSort, 8, 8, false);
      return true;
    }
  return false;
}

bool pooling_work(const LaunchContext& context, Work* work) {
  constexpr std::string_view kParts[] = {"pool", "upsample_", "grid_sampler", "im2col", "col2im", "vol2col"};
  for (std::string_view part : kParts)
    if (context.name.leaf.find(part) != kNotFound) {
      const bool backward = context.name.leaf.find("ackward") != kNotFound;
      set_guess(context, work, Family::kPooling, 2, element_bytes(context.name.argument(0), 4), backward);
      return true;
    }
  return false;
}

}  // namespace

bool index_work(const LaunchContext& context, Work* work) {
  return embedding_work(context, work) || gather_work(context, work) || concatenation_work(context, work) ||
         sort_work(context, work) || pooling_work(context, work);
}

}  // namespace maya::model
