// Sort, scan, top-k and selection: CUB's device-wide kernels and PyTorch's (Sort.cu, SortStable.cu, ScanUtils.cuh,
// TensorTopK.cu, Sorting.cu). Radix sorts make several launches; each is counted for itself.
#include <algorithm>

#include "predictor/core/work_counted.h"

namespace maya::model {
namespace {

constexpr double kIndex_bytes = 8;

constexpr CountedKernel kKernels[] = {
    // (output, input, rows, row length, ...)
    {"tensor_kernel_scan_innermost_dim", Family::kSort, false, {kScalar0 | kScalar1}, {kScalar0 | kScalar1}},
    // (output, input, outer rows, inner rows, row length, ...)
    {"tensor_kernel_scan_outer_dim",
     Family::kSort,
     false,
     {kScalar0 | kScalar1 | kScalar2},
     {kScalar0 | kScalar1 | kScalar2}},
    // (input, row length, k, [largest,] rows, ...): the input is read again for each digit, from the cache
    {"gatherTopK", Family::kSort, false, {kScalar0 | kScalar2}, {kScalar1 | kScalar2}, 0, kIndex_bytes},
    {"gatherKthValue", Family::kSort, false, {kScalar0 | kScalar2}, {kScalar2}, 0, kIndex_bytes},
    {"gatherMedian", Family::kSort, false, {kScalar0 | kScalar1}, {kScalar1}, 0, kIndex_bytes},
    {"computeBlockDigitCounts", Family::kSort, false, {kScalar0 | kScalar1}, {kGridX, 0, 128}},
    // One number for each of 256 digits and each block of the counting kernel.
    {"computeDigitCumSum", Family::kSort, false, {kGridX, 0, 256}, {kGridX, 0, 256}},
    {"computeBlockwiseWithinKCounts", Family::kSort, false, {kGridX, 0, 256}, {kGridX}},
    {"computeBlockwiseKthCounts", Family::kSort, false, {kAllThreads}, {kAllThreads}},
    // (keys, rows, row length, ...), values of 64 bits
    {"bitonicSortKVInPlace",
     Family::kSort,
     false,
     {kScalar0 | kScalar1},
     {kScalar0 | kScalar1},
     kIndex_bytes,
     kIndex_bytes},
    {"warpMergeSortKVInPlace",
     Family::kSort,
     false,
     {kScalar0 | kScalar1},
     {kScalar0 | kScalar1},
     kIndex_bytes,
     kIndex_bytes},
    {"radixSortKVInPlace",
     Family::kSort,
     false,
     {kScalar0 | kScalar1},
     {kScalar0 | kScalar1},
     kIndex_bytes,
     kIndex_bytes},
    // (input, output, indices, pairs of index and segment, segments, segment length)
    {"sort_postprocess_kernel",
     Family::kSort,
     false,
     {kScalar0 | kScalar1},
     {kScalar0 | kScalar1},
     kIndex_bytes,
     kIndex_bytes},
    {"fill_index_and_segment_kernel", Family::kSort, false, {}, {kScalar0}, 0, 4},
    {"fill_reverse_indices_kernel", Family::kSort, false, {}, {kScalar0}},
};

// Beginnings of a device-wide CUB kernel's name; keys and values of `reads` read and `writes` written, an item.
struct CubKernel {
  std::string_view name;
  Family family;
  double reads, writes;
  bool keys_only;  // counts digits: values are not touched
};
constexpr CubKernel kCubKernels[] = {
    {"DeviceRadixSortHistogramKernel", Family::kSort, 1, 0, true},
    {"DeviceRadixSortUpsweepKernel", Family::kSort, 1, 0, true},
    {"DeviceRadixSortOnesweepKernel", Family::kSort, 1, 1, false},
    {"DeviceRadixSortDownsweepKernel", Family::kSort, 1, 1, false},
    {"DeviceRadixSortSingleTileKernel", Family::kSort, 1, 1, false},
    {"DeviceSegmentedRadixSort", Family::kSort, 2, 1, false},
    {"DeviceSegmentedSort", Family::kSort, 1, 1, false},
    {"DeviceMergeSort", Family::kSort, 1, 1, false},
    {"DeviceScanByKey", Family::kSort, 2, 1, false},
    {"DeviceScanKernel", Family::kSort, 1, 1, false},
    {"DeviceSelectSweepKernel", Family::kSort, 1, 1, false},
    {"DeviceUniqueByKeySweepKernel", Family::kSort, 1, 1, false},
    {"DeviceReduceByKeyKernel", Family::kSort, 1, 1, false},
    {"DeviceRunLengthEncode", Family::kSort, 1, 1, false},
    {"DeviceReduceSingleTileKernel", Family::kReduction, 1, 0, false},
    {"DeviceReduceKernel", Family::kReduction, 1, 0, false},
    {"DeviceSegmentedReduceKernel", Family::kReduction, 1, 0, false},
    {"DeviceHistogram", Family::kSort, 1, 0, false},
    {"DevicePartition", Family::kSort, 1, 1, false},
};

// CUB takes the number of items among tile states, temporary storage and bit ranges: the largest scalar that is too
// small for an address. Device memory lies above 2^35 in our address space and above 2^40 on hardware.
int64_t item_count(const LaunchView& launch) {
  constexpr uint64_t kMostItems = uint64_t{1} << 34;
  uint64_t most = 0;
  for (uint32_t i = 0; i < launch.scalar_count; ++i)
    if (launch.scalars[i].size >= 4 && launch.scalars[i].value < kMostItems)
      most = std::max(most, launch.scalars[i].value);
  return static_cast<int64_t>(most);
}

bool cub_work(const LaunchContext& context, Work* work) {
  const std::string_view leaf = context.name.leaf;
  for (const CubKernel& kernel : kCubKernels) {
    if (!leaf.starts_with(kernel.name)) continue;
    if (leaf.ends_with("InitKernel")) break;
    // The policy's arguments are key and value types: "policy_hub<long, at::cuda::cub::detail::OpaqueType<8>, ...>",
    // "DeviceRadixSortPolicy<long, ...>"; cub::NullType for no values.
    const KernelName policy =
        parse_kernel_name(context.name.argument(0).substr(0, context.name.argument(0).rfind("::")));
    const double key_bytes = bytes_in(policy.argument(0), 8);
    const double value_bytes =
        kernel.keys_only || contains(policy.argument(1), "NullType") ? 0 : bytes_in(policy.argument(1), 0);
    const double each = kernel.family == Family::kSort && contains(leaf, "Sort") ? key_bytes + value_bytes : key_bytes;
    const int64_t recorded = item_count(context.launch);
    // CUB's tuning gives a thread of 64-bit keys about this many items.
    constexpr double kItemsOfThread = 15;
    const double items = recorded > 0 ? static_cast<double>(recorded) : context.threads() * kItemsOfThread;
    const DataType type = first_type_in(policy.argument(0));
    set_streaming(work, kernel.family, type == DataType::kNone ? DataType::kInt64 : type, items, kernel.reads * each,
                  kernel.writes * each);
    if (kernel.family == Family::kReduction) set_operator(work, Operator::kSum);
    work->guessed = recorded <= 0;
    return true;
  }
  if (leaf.ends_with("InitKernel") || leaf == "DeviceRadixSortExclusiveSumKernel" ||
      leaf == "RadixSortScanBinsKernel") {
    // Tile states or one number for each digit: a few bytes a thread, and no loop.
    constexpr double kThread_bytes = 16;
    set_streaming(work, Family::kSort, DataType::kInt64, context.threads(), kThread_bytes, kThread_bytes);
    return true;
  }
  return false;
}

// Kernels without a rule of their own: their sizes are guessed from the grid.
constexpr std::string_view kParts[] = {"RadixSort",        "radixSort",    "bitonicSort",        "MergeSort",
                                       "mergeSort",        "DeviceScan",   "tensor_kernel_scan", "topk",
                                       "gatherTopK",       "DeviceSelect", "DeviceCompact",      "DeviceReduceByKey",
                                       "UniqueByKey",      "ScanByKey",    "sort_postprocess",   "fill_reverse_indices",
                                       "gatherKthValue",   "gatherMedian", "multinomial",        "calc_block_sums",
                                       "final_scan_kernel"};

}  // namespace

bool sort_work(const LaunchContext& context, Work* work) {
  const std::string_view qualified = context.name.qualified;
  if (contains(qualified, "cub::") && cub_work(context, work)) return true;
  if (contains(qualified, "mbtopk::fill")) {  // (result, value, count)
    set_streaming(work, Family::kFill, DataType::kInt32,
                  static_cast<double>(context.scalar(1, whole(context.threads()))), 0, 4);
    return true;
  }
  if (counted_work(kKernels, context, work)) return true;
  for (std::string_view part : kParts) {
    if (!contains(qualified, part)) continue;
    constexpr double kElementsOfThread = 8;
    set_streaming(work, Family::kSort, first_type_in(context.name.argument(0)), context.threads() * kElementsOfThread,
                  kIndex_bytes, kIndex_bytes);
    work->guessed = true;
    return true;
  }
  return false;
}

}  // namespace maya::model
