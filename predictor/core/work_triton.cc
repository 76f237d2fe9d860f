// Kernels that PyTorch's Inductor generates for Triton. Names: triton_poi_ (pointwise), triton_red_ and triton_per_
// (reduction in a loop, or held in registers), triton_tem_ (template). Parameters: the tensors' pointers first, then
// the element counts, outermost dimension first (xnumel; ynumel, xnumel; xnumel, rnumel). So the offset of the first
// count tells how many tensors there are.
#include <algorithm>

#include "predictor/core/launch_context.h"

namespace maya::model {
namespace {

constexpr double kPointer_bytes = 8;
// Tensors of a fused kernel are a mix of 16 and 32 bits, and some are broadcast along a dimension.
constexpr double kElement_bytes = 2.5;

// Blocks of a pointwise kernel handle 1024 elements with 128 threads: what Inductor's heuristics choose most often.
constexpr double kPointwiseElementsOfThread = 8;
// A reduction in a loop visits its row several times over.
constexpr double kLoopElementsOfThread = 32;
constexpr double kGuessedTensors = 3;

}  // namespace

bool triton_work(const LaunchContext& context, Work* work) {
  const std::string_view leaf = context.name.leaf;
  if (!leaf.starts_with("triton_")) return false;
  const bool reduction =
      leaf.starts_with("triton_red_") || leaf.starts_with("triton_per_") || leaf.starts_with("triton_mix_");
  const bool pointwise = leaf.starts_with("triton_poi_") || leaf.starts_with("triton_for_");
  if (!reduction && !pointwise) return false;

  double elements = 1;
  uint32_t counts = 0;
  double tensors = kGuessedTensors;
  for (uint32_t i = 0; i < context.launch.scalar_count; ++i) {
    const LaunchView::Scalar& scalar = context.launch.scalars[i];
    if (scalar.size < 4 || static_cast<int64_t>(scalar.value) <= 0) continue;
    if (counts == 0) tensors = std::max(scalar.offset / kPointer_bytes, 1.0);
    elements *= static_cast<double>(context.scalar_at(scalar.offset, 1));
    ++counts;
  }
  work->guessed = counts == 0;
  if (counts == 0) {
    elements =
        context.threads() * (leaf.starts_with("triton_red_") ? kLoopElementsOfThread : kPointwiseElementsOfThread);
  } else if (counts > 3) {
    // Not the plain layout (dynamic shapes pass further sizes): the grid says how much there is at least.
    elements = context.threads() * kPointwiseElementsOfThread;
    work->guessed = true;
  }
  // One tensor is taken to be written, and of a reduction's outputs most are short.
  const double reads = std::max(tensors - 1, 0.0), writes = reduction && tensors > 2 ? 0.5 : 1;
  const bool guessed = work->guessed;
  Family family = reduction ? Family::kReduction : Family::kElementwise;
  if (leaf.find("softmax") != std::string_view::npos) family = Family::kSoftmax;
  if (leaf.find("native_layer_norm") != std::string_view::npos || leaf.find("rms_norm") != std::string_view::npos)
    family = Family::kNormalization;
  set_streaming(work, family, DataType::kFloat32, elements, reads * kElement_bytes, writes * kElement_bytes);
  work->guessed = guessed;
  return true;
}

}  // namespace maya::model
