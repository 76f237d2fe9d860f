// Convolutions launched as kernels: PyTorch's depthwise ones (DepthwiseConv2d.cu), whose arguments tell their shape,
// and cuDNN's as profiler traces name them. Of those the tile and the grid give the product's m and n; its depth stays
// unknown. Our own library records cuDNN's calls with their shapes.
#include <algorithm>
#include <cmath>

#include "predictor/core/launch_context.h"

namespace maya::model {
namespace {

double ratio(int64_t a, double b) { return b > 0 ? static_cast<double>(a) / b : 1; }
double ratio(int64_t a, int64_t b) { return ratio(a, static_cast<double>(b)); }

double product(int64_t a, int64_t b, int64_t c) {
  return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
}

// (..., [elements,] channels or batch, channels of the result, multiplier, width, height, result's width and height,
// [filter's width...]). The direction of each kernel, as Key::kConvDirection: 0 forward, 1 data, 2 filter.
bool depthwise_work(const LaunchContext& context, Work* work) {
  const std::string_view leaf = context.name.leaf;
  if (!leaf.starts_with("conv_depthwise2d_")) return false;
  const bool filter = contains(leaf, "grad_weight"), data = contains(leaf, "backward");
  int64_t batch, channels, filters, width, out_width, height, out_height;
  long size = number_in(context.name.argument(0), 0);
  if (filter) {  // batch, channels, filters, multiplier, width, height, result's width, height
    batch = context.scalar(0, 0);
    channels = context.scalar(1, 0);
    filters = context.scalar(2, 0);
  } else if (data) {  // elements of the input, channels, multiplier, filters, ...
    channels = context.scalar(1, 0);
    filters = context.scalar(3, 0);
    batch = whole(ratio(context.scalar(0, 0), product(channels, context.scalar(4, 1), context.scalar(5, 1))));
  } else {  // elements of the result, filters, multiplier, width, height, result's width, height, filter's width
    filters = context.scalar(1, 0);
    channels = whole(ratio(filters, context.scalar(2, 1)));
    batch = whole(ratio(context.scalar(0, 0), product(filters, context.scalar(5, 1), context.scalar(6, 1))));
    if (size <= 0) size = context.scalar(7, 3);
  }
  const uint32_t first = filter || data ? 4 : 3;
  width = context.scalar(first, 0);
  height = context.scalar(first + 1, 0);
  out_width = context.scalar(first + 2, 0);
  out_height = context.scalar(first + 3, 0);
  // A block an element of the filters' gradient.
  if (filter && size <= 0) size = whole(std::sqrt(ratio(context.launch.grid[0], std::max<int64_t>(filters, 1))) + 0.5);
  const bool guessed = batch <= 0 || channels <= 0 || width <= 0 || height <= 0 || out_width <= 0 || out_height <= 0;
  constexpr int64_t kGuessedSize = 3;
  const int64_t filter_size = size > 0 ? size : kGuessedSize;
  DataType type = DataType::kNone;
  for (std::string_view argument : context.name.template_arguments)
    if (type == DataType::kNone && number_in(argument, -1) < 0) type = first_type_in(argument);
  OperationRecord record(Family::kConvolution, "");
  record.set(Key::kBatch, batch)
      .set(Key::kChannels, channels)
      .set(Key::kHeight, height)
      .set(Key::kWidth, width)
      .set(Key::kFilters, filters)
      .set(Key::kFilterHeight, filter_size)
      .set(Key::kFilterWidth, filter_size)
      .set(Key::kStride, std::max<int64_t>(whole(ratio(height, out_height) + 0.5), 1))
      .set(Key::kPad, filter_size / 2)
      .set(Key::kDilation, 1)
      .set(Key::kConvGroups, channels)
      .set(Key::kConvDirection, filter ? 2
                                : data ? 1
                                       : 0)
      .set(Key::kDataType, static_cast<int64_t>(type == DataType::kNone ? DataType::kFloat32 : type))
      .set(Key::kComputeType, static_cast<int64_t>(DataType::kFloat32));
  *work = work_of(record);
  work->guessed = guessed;
  return true;
}

constexpr std::string_view kConvolutionParts[] = {
    "implicit_gemm", "implicit_convolve", "fprop",        "dgrad",        "wgrad",        "scudnn",
    "winograd",      "convolve_",         "conv2d_",      "cudnn_infer_", "cudnn_train_", "hcudnn",
    "cudnn_ampere_", "cudnn_volta_",      "cutlass_cudnn"};
// Kernels that work out addresses or tables before the product: a few numbers a thread.
constexpr std::string_view kPreparationParts[] = {"OffsetsKernel", "generateWinogradTiles", "init_device_workspace",
                                                  "kern_precompute_indices"};
// Kernels that bring operands into another form, or add up partial results: 16 bytes a thread, one to two passes.
constexpr std::string_view kTransformParts[] = {"winogradForward", "winogradWgrad", "reduce_wgrad", "scalePackedTensor",
                                                "fft2d_",          "pack_",         "unpack_"};

DataType type_in(std::string_view text) {
  if (contains(text, "tf32") || contains(text, "s1688")) return DataType::kTf32;
  if (contains(text, "bf16")) return DataType::kBfloat16;
  if (contains(text, "f16") || contains(text, "hcudnn") || contains(text, "h884") || contains(text, "h16816"))
    return DataType::kFloat16;
  return DataType::kFloat32;
}

void set_transform(const LaunchContext& context, Work* work, double thread_bytes, bool guessed) {
  set_streaming(work, Family::kElementwise, DataType::kFloat32, context.threads() * thread_bytes / 4, 4, 4);
  set_operator(work, Operator::kCopy);
  work->guessed = guessed;
}

}  // namespace

bool convolution_kernel_work(const LaunchContext& context, Work* work) {
  if (depthwise_work(context, work)) return true;
  const std::string_view text = context.text, leaf = context.name.leaf;
  if (leaf == "nchwToNhwcKernel" || leaf == "nhwcToNchwKernel") {
    // A block moves 32 x 32 elements: pixels, channels and images along the grid.
    constexpr double kTile_elements = 32 * 32;
    const double in = bytes_in(context.name.argument(0), 4), out = bytes_in(context.name.argument(1), in);
    set_streaming(work, Family::kElementwise, first_type_in(context.name.argument(0)),
                  context.blocks() * kTile_elements, in, out);
    set_operator(work, Operator::kCopy);
    return true;
  }
  for (std::string_view part : kPreparationParts) {
    constexpr double kThread_bytes = 16;
    if (contains(leaf, part)) {
      set_transform(context, work, kThread_bytes, false);
      return true;
    }
  }
  for (std::string_view part : kTransformParts) {
    constexpr double kThread_bytes = 64;
    if (contains(leaf, part)) {
      set_transform(context, work, kThread_bytes, true);
      return true;
    }
  }
  for (std::string_view part : kConvolutionParts) {
    if (!contains(text, part)) continue;
    int64_t m = 128, n = 64;
    constexpr int64_t kLeastTile = 16, kMostTile = 512, kGuessedDepth = 512;
    if (!tile_in(text, kLeastTile, kMostTile, &m, &n)) m = n = 64;
    const DataType type = type_in(text);
    OperationRecord record(Family::kGemm, "");
    record.set(Key::kM, whole(static_cast<double>(m) * std::max(context.blocks(), 1.0)))
        .set(Key::kN, n)
        .set(Key::kK, kGuessedDepth)
        .set(Key::kTypeA, static_cast<int64_t>(type == DataType::kTf32 ? DataType::kFloat32 : type))
        .set(Key::kComputeType, type == DataType::kTf32 ? static_cast<int64_t>(DataType::kTf32) : 0);
    *work = work_of(record);
    work->family = work->shape.family = Family::kConvolution;
    work->shape.set(Key::kConvDirection, contains(text, "dgrad") ? 1 : contains(text, "wgrad") ? 2 : 0);
    work->guessed = true;
    return true;
  }
  return false;
}

}  // namespace maya::model
