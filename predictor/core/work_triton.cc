// Kernels that PyTorch's Inductor generates for Triton. Names: triton_poi_ (pointwise), triton_red_ and triton_per_
// (reduction in a loop, or held in registers), triton_tem_ (template), then the operations fused into the kernel.
// Parameters: the tensors' pointers first, then the element counts, outermost dimension first (xnumel; ynumel, xnumel;
// xnumel, rnumel). So the offset of the first count tells how many tensors there are. Which of them are whole and which
// are rows, weights or statistics is not in the launch: the rules below are medians over the kernels of GPT training.
#include <algorithm>

#include "predictor/core/launch_context.h"

namespace maya::model {
namespace {

constexpr double kPointer_bytes = 8;
// Neither are the types: 16 or 32 bits, so between the two. A cast has one of each.
constexpr double kElement_bytes = 2.83;
constexpr double kMixedElement_bytes = 3;

// Blocks of a pointwise kernel handle 1024 elements with 128 threads: what Inductor's heuristics choose most often.
constexpr double kPointwiseElementsOfThread = 8;
// A reduction in a loop visits its row several times over.
constexpr double kLoopElementsOfThread = 32;
constexpr double kGuessedTensors = 3;

struct NamedOperator {
  std::string_view part;
  Family family;
  Operator op;
};
// Reductions; the first that matches counts.
constexpr NamedOperator kReductions[] = {
    {"log_softmax", Family::kSoftmax, Operator::kLogSoftmax},
    {"nll_loss", Family::kSoftmax, Operator::kCrossEntropy},
    {"softmax", Family::kSoftmax, Operator::kSoftmax},
    {"layer_norm", Family::kNormalization, Operator::kLayerNorm},
    {"rms_norm", Family::kNormalization, Operator::kRmsNorm},
    {"batch_norm", Family::kNormalization, Operator::kBatchNorm},
    {"group_norm", Family::kNormalization, Operator::kGroupNorm},
    {"vector_norm", Family::kReduction, Operator::kNorm},
    {"mean", Family::kReduction, Operator::kMean},
    {"max", Family::kReduction, Operator::kMax},
    {"", Family::kReduction, Operator::kSum},
};
constexpr NamedOperator kPointwise[] = {
    {"gelu", Family::kElementwise, Operator::kGelu},    {"silu", Family::kElementwise, Operator::kSilu},
    {"relu", Family::kElementwise, Operator::kRelu},    {"tanh", Family::kElementwise, Operator::kTanh},
    {"sigmoid", Family::kElementwise, Operator::kTanh}, {"dropout", Family::kElementwise, Operator::kDropout},
    {"where", Family::kElementwise, Operator::kWhere},  {"_cat", Family::kElementwise, Operator::kConcatenate},
    {"pow", Family::kElementwise, Operator::kPow},      {"div", Family::kElementwise, Operator::kDiv},
    {"mul", Family::kElementwise, Operator::kMul},      {"add", Family::kElementwise, Operator::kAdd},
    {"embedding", Family::kEmbedding, Operator::kNone}, {"copy", Family::kElementwise, Operator::kCopy},
    {"clone", Family::kElementwise, Operator::kCopy},   {"", Family::kElementwise, Operator::kNone},
};

template <size_t kCount>
const NamedOperator& find(const NamedOperator (&named)[kCount], std::string_view name) {
  for (const NamedOperator& entry : named)
    if (contains(name, entry.part)) return entry;
  return named[kCount - 1];
}

// Kernels that recompute a forward pass name its backward pass as well, since they keep what that needs.
bool is_backward(std::string_view name) {
  return contains(name, "_backward") && !contains(name, "native_layer_norm_native_layer_norm_backward");
}

struct Sizes {
  double counts[3] = {1, 1, 1};
  uint32_t dimensions = 0;
  double tensors = kGuessedTensors;
  bool guessed = false;
  double elements() const { return counts[0] * counts[1] * counts[2]; }
};

Sizes sizes_of(const LaunchContext& context, double elements_of_thread) {
  Sizes sizes;
  uint32_t counts = 0;
  for (uint32_t i = 0; i < context.launch.scalar_count; ++i) {
    const LaunchView::Scalar& scalar = context.launch.scalars[i];
    if (scalar.size < 4 || static_cast<int64_t>(scalar.value) <= 0) continue;
    if (counts == 0) sizes.tensors = std::max(scalar.offset / kPointer_bytes, 1.0);
    if (counts < 3) sizes.counts[counts] = static_cast<double>(context.scalar_at(scalar.offset, 1));
    ++counts;
  }
  sizes.dimensions = std::min(counts, 3u);
  // No arguments, or not the plain layout (dynamic shapes pass further sizes): the grid says how much there is at
  // least.
  sizes.guessed = counts == 0 || counts > 3;
  if (sizes.guessed) {
    sizes.counts[0] = context.threads() * elements_of_thread;
    sizes.counts[1] = sizes.counts[2] = 1;
    sizes.dimensions = 1;
  }
  return sizes;
}

struct Passes {
  double reads, writes;  // whole tensors
};

Passes reduction_passes(const NamedOperator& named, double tensors, bool backward) {
  double whole_tensors = tensors - 1;  // the result is short
  double writes = 0;
  if (named.op == Operator::kLogSoftmax || named.op == Operator::kCrossEntropy) {
    // The logits; backward their gradient. Targets and statistics are short.
    whole_tensors = backward ? 2 : 1;
    writes = backward ? 1 : 0;
  } else if (named.family == Family::kNormalization || named.family == Family::kSoftmax) {
    const double short_tensors = named.op == Operator::kLayerNorm && !backward ? 3 : 2;  // weights, statistics
    whole_tensors = std::max(tensors - short_tensors, 1.0);
    writes = whole_tensors > 1 ? std::max(1.0, whole_tensors * 0.4) : 0;
  }
  whole_tensors = std::max(whole_tensors, 1.0);
  return {whole_tensors - writes, writes};
}

Passes pointwise_passes(std::string_view name, double tensors) {
  // An activation's gradient needs two inputs: with two tensors the result replaces one of them.
  const bool in_place = tensors == 2 && (contains(name, "gelu_backward") || contains(name, "silu_backward") ||
                                         contains(name, "threshold_backward") || contains(name, "tanh_backward") ||
                                         contains(name, "sigmoid_backward"));
  return {std::max(in_place ? tensors : tensors - 1, 0.0), 1};
}

}  // namespace

bool triton_work(const LaunchContext& context, Work* work) {
  const std::string_view leaf = context.name.leaf;
  if (!leaf.starts_with("triton_")) return false;
  const bool loop = leaf.starts_with("triton_red_");
  const bool reduction = loop || leaf.starts_with("triton_per_") || leaf.starts_with("triton_mix_");
  const bool pointwise = leaf.starts_with("triton_poi_") || leaf.starts_with("triton_for_") ||
                         leaf.starts_with("triton__");  // early Inductor named no kind
  if (!reduction && !pointwise) return false;

  const Sizes sizes = sizes_of(context, loop ? kLoopElementsOfThread : kPointwiseElementsOfThread);
  const bool backward = is_backward(leaf), cast = contains(leaf, "_to_copy");
  const double each = cast ? kMixedElement_bytes : kElement_bytes;
  const NamedOperator& named = reduction ? find(kReductions, leaf) : find(kPointwise, leaf);
  const Passes passes =
      reduction ? reduction_passes(named, sizes.tensors, backward) : pointwise_passes(leaf, sizes.tensors);
  set_streaming(work, named.family, DataType::kFloat32, sizes.elements(), passes.reads * each, passes.writes * each);
  set_operator(work, named.op);
  work->shape.set(Key::kDirection, backward ? 1 : 0);
  if (reduction && sizes.dimensions >= 2) {
    const double columns = sizes.counts[sizes.dimensions - 1], rows = sizes.elements() / columns;
    work->shape.set(Key::kRows, whole(rows)).set(Key::kColumns, whole(columns));
    if (passes.writes == 0) work->written_bytes = rows * each;
  }
  work->guessed = sizes.guessed;
  // The image's PTX says what is moved, whatever the tensors' types and shapes.
  if (const device::KernelWork* counted = context.launch.counted; counted != nullptr && counted->uncertainty < 1) {
    work->read_bytes = counted->read_bytes;
    work->written_bytes = counted->written_bytes;
    work->guessed = false;
  }
  return true;
}

}  // namespace maya::model
