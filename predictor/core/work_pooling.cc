// PyTorch's kernels over images: pooling (DilatedMaxPool2d.cu, AveragePool2d.cu, AdaptiveAveragePooling.cu),
// up-sampling (UpSample*.cu), im2col (im2col.cuh). Arguments in the order of those files; batch and channels are one
// factor in the planar forms.
#include "predictor/core/work_counted.h"

namespace maya::model {
namespace {

constexpr double kIndex_bytes = 8;  // max pooling keeps the place of each maximum as a 64-bit number
constexpr uint16_t kFour = kScalar0 | kScalar1 | kScalar2 | kScalar3;
constexpr uint16_t kOuter = kScalar0 | kScalar1 | kScalar4 | kScalar5;

constexpr CountedKernel kKernels[] = {
    // (outputs, input, channels, height, width, pooled height, pooled width, ...)
    {"max_pool_forward_nchw",
     Family::kPooling,
     false,
     {kScalar0 | kScalar2 | kScalar3, kScalar4 | kScalar5},
     {kScalar0},
     0,
     kIndex_bytes},
    // (input, batch, channels, height, width, pooled height, pooled width, ...)
    {"max_pool_forward_nhwc", Family::kPooling, false, {kFour}, {kOuter}, 0, kIndex_bytes},
    {"max_pool_backward_nchw", Family::kPooling, true, {kOuter}, {kFour}, kIndex_bytes, 0},
    {"max_pool_backward_nhwc", Family::kPooling, true, {kOuter}, {kFour}, kIndex_bytes, 0},
    // (outputs, input, channels, height, width, pooled height, pooled width, ...); backward counts the input
    {"avg_pool2d_backward", Family::kPooling, true, {kScalar0 | kScalar4 | kScalar5, kScalar2 | kScalar3}, {kScalar0}},
    {"avg_pool2d_out_cuda", Family::kPooling, false, {kScalar0 | kScalar2 | kScalar3, kScalar4 | kScalar5}, {kScalar0}},
    // (input, output, [batch, channels,] height, width, pooled height, pooled width); planes along the grid
    {"adaptive_average_pool_nhwc", Family::kPooling, false, {kFour}, {kOuter}},
    {"adaptive_average_pool", Family::kPooling, false, {kGridX | kScalar0 | kScalar1}, {kGridX | kScalar2 | kScalar3}},
    {"adaptivemaxpool",
     Family::kPooling,
     false,
     {kGridX | kScalar0 | kScalar1},
     {kGridX | kScalar2 | kScalar3},
     0,
     kIndex_bytes},
    {"adaptive_average_gradinput_nhwc", Family::kPooling, true, {kOuter}, {kFour}},
    {"adaptive_average_gradinput",
     Family::kPooling,
     true,
     {kGridX | kScalar2 | kScalar3},
     {kGridX | kScalar0 | kScalar1}},
    {"atomic_adaptive_average_gradinput",
     Family::kPooling,
     true,
     {kGridX | kScalar2 | kScalar3},
     {kGridX | kScalar0 | kScalar1}},
    {"atomicadaptivemaxgradinput",
     Family::kPooling,
     true,
     {kGridX | kScalar2 | kScalar3},
     {kGridX | kScalar0 | kScalar1},
     kIndex_bytes,
     0},
    {"adaptivemaxgradinput",
     Family::kPooling,
     true,
     {kGridX | kScalar2 | kScalar3},
     {kGridX | kScalar0 | kScalar1},
     kIndex_bytes,
     0},
    // (input, output, planes, height, width, new height, new width); channels last: channels, and the outputs last
    {"upsample_nearest2d_out_frame",
     Family::kPooling,
     false,
     {kScalar0 | kScalar1 | kScalar2},
     {kScalar0 | kScalar3 | kScalar4}},
    {"upsample_nearest2d_nhwc_out_frame",
     Family::kPooling,
     false,
     {kScalar5 | kScalar1 | kScalar2, kScalar3 | kScalar4},
     {kScalar5}},
    {"upsample_bilinear2d_nhwc_out_frame",
     Family::kPooling,
     false,
     {kScalar5 | kScalar1 | kScalar2, kScalar3 | kScalar4},
     {kScalar5}},
    // (gradient, batch, channels, new height, new width, height, width, result)
    {"upsample_nearest2d_backward_out_frame", Family::kPooling, true, {kFour}, {kOuter}},
    // (planes, height, width, new height, new width, ...)
    {"upsample_bilinear2d_backward_out_frame",
     Family::kPooling,
     true,
     {kScalar0 | kScalar3 | kScalar4},
     {kScalar0 | kScalar1 | kScalar2}},
    // (pixels of a result's plane, ...), then the sizes of the first tensor: batch, channels, height, width. Backward
    // the
    // first tensor is the result.
    {"upsample_bicubic2d_backward_out_frame",
     Family::kPooling,
     true,
     {kScalar0 | kScalar1 | kScalar2},
     {kScalar1 | kScalar2 | kScalar3 | kScalar4}},
    {"upsample_bicubic2d_out_frame",
     Family::kPooling,
     false,
     {kScalar1 | kScalar2 | kScalar3 | kScalar4},
     {kScalar0 | kScalar1 | kScalar2}},
    {"upsample_bilinear2d_out_frame",
     Family::kPooling,
     false,
     {kScalar1 | kScalar2 | kScalar3 | kScalar4},
     {kScalar0 | kScalar1 | kScalar2}},
    // (input, batch, channels, width, new width, ...)
    {"upsample_nearest1d_",
     Family::kPooling,
     false,
     {kScalar0 | kScalar1 | kScalar2},
     {kScalar0 | kScalar1 | kScalar3}},
    // (input, batch, channels, depth, height, width, new depth, height, width); backward those of the gradient first
    {"upsample_nearest3d_",
     Family::kPooling,
     false,
     {kFour | kScalar4},
     {kScalar0 | kScalar1 | kScalar5 | kScalar6 | kScalar7}},
    // A thread an element of the result, or of its gradient; batch, channels and width of the other.
    {"upsample_linear1d_out_frame_backward_unrolled",
     Family::kPooling,
     true,
     {kAllThreads},
     {kScalar0 | kScalar1 | kScalar2}},
    {"upsample_linear1d_out_frame_unrolled", Family::kPooling, false, {kScalar0 | kScalar1 | kScalar2}, {kAllThreads}},
    // (pixels of a result's volume, ...), then batch, channels, depth, height, width as above
    {"upsample_trilinear3d_backward_out_frame",
     Family::kPooling,
     true,
     {kScalar0 | kScalar1 | kScalar2},
     {kScalar1 | kScalar2 | kScalar3 | kScalar4 | kScalar5}},
    {"upsample_trilinear3d_out_frame",
     Family::kPooling,
     false,
     {kScalar1 | kScalar2 | kScalar3 | kScalar4 | kScalar5},
     {kScalar0 | kScalar1 | kScalar2}},
    // (samples of all images, ...), then the input's batch, channels, height, width
    {"grid_sampler_2d_kernel",
     Family::kPooling,
     false,
     {kScalar1 | kScalar2 | kScalar3 | kScalar4},
     {kScalar0 | kScalar2}},
    // (samples, ..., elements of the input's gradient, ...), then the result's batch, channels, height, width
    {"grid_sampler_2d_backward_kernel",
     Family::kPooling,
     true,
     {kScalar2 | kScalar3 | kScalar4 | kScalar5},
     {kScalar1, 0, 2}},
    // (columns, image, height, width, filter height, filter width, ...)
    {"im2col_kernel", Family::kPooling, false, {kScalar0}, {kScalar0 | kScalar3 | kScalar4}},
    // (elements of the image, columns, height, width, filter height, filter width, ...)
    {"col2im_kernel", Family::kPooling, true, {kScalar0 | kScalar3 | kScalar4}, {kScalar0}},
    // (pixels of an image, columns, columns of an image, images, ...)
    {"col2im_batched_kernel", Family::kPooling, false, {kScalar1 | kScalar2}, {kScalar0 | kScalar2}},
};

// Kernels without a rule of their own: their sizes are guessed from the grid.
constexpr std::string_view kParts[] = {"pool", "upsample_", "grid_sampler", "im2col", "col2im", "vol2col"};

// Pooling over volumes (AveragePool3d.cu, DilatedMaxPool3d.cu): sizes are inside tensor accessors, but each thread
// makes one element of the result.
bool volume_pooling_work(const LaunchContext& context, Work* work) {
  if (!contains(context.name.leaf, "_pool3d_")) return false;
  DataType type = DataType::kNone;
  for (const std::string_view argument : context.name.template_arguments)
    if (type == DataType::kNone && number_in(argument, -1) < 0) type = first_type_in(argument);
  if (type == DataType::kNone) type = DataType::kFloat32;
  const double bytes = data_type_bits(type) / 8.0;
  set_streaming(work, Family::kPooling, type, context.threads(), bytes, bytes);
  work->shape.set(Key::kDirection, contains(context.name.leaf, "ackward") ? 1 : 0);
  return true;
}

}  // namespace

bool pooling_work(const LaunchContext& context, Work* work) {
  if (counted_work(kKernels, context, work) || volume_pooling_work(context, work)) return true;
  for (std::string_view part : kParts) {
    if (!contains(context.name.leaf, part) || contains(context.name.leaf, "pooled_emb")) continue;
    constexpr double kElementsOfThread = 2;
    const double bytes = bytes_in(context.name.argument(0), 4);
    set_streaming(work, Family::kPooling, first_type_in(context.name.argument(0)),
                  context.threads() * kElementsOfThread, bytes, bytes);
    work->shape.set(Key::kDirection, contains(context.name.leaf, "ackward") ? 1 : 0);
    work->guessed = true;
    return true;
  }
  return false;
}

}  // namespace maya::model
