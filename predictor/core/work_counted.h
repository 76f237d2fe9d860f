// Kernels whose recorded arguments give the elements that they read and write as products: most of PyTorch's
// hand-written kernels take batch, channels, height and width, or rows and columns. Internal to the estimate core.
#pragma once

#include <span>

#include "predictor/core/launch_context.h"

namespace maya::model {

// Factors, one bit each: the i-th recorded scalar, a dimension of the grid, the threads of the whole grid.
enum Factor : uint16_t {
  kScalar0 = 1,
  kScalar1 = 2,
  kScalar2 = 4,
  kScalar3 = 8,
  kScalar4 = 16,
  kScalar5 = 32,
  kScalar6 = 64,
  kScalar7 = 128,
  kGridX = 256,
  kAllThreads = 512,
};

// A count of elements: the product of `times` over the product of `over`, `scale` times.
struct Count {
  uint16_t times = 0;
  uint16_t over = 0;
  double scale = 1;
};

struct CountedKernel {
  std::string_view name;  // how the kernel's name begins
  Family family;
  bool backward;
  Count read, written;
  // Bytes beside the element itself, such as an index.
  double read_more_bytes = 0, written_more_bytes = 0;
};

// The first of `kernels` that fits. Launches without the arguments get sizes from their threads, marked as guessed.
bool counted_work(std::span<const CountedKernel> kernels, const LaunchContext& context, Work* work);

}  // namespace maya::model
