// Kernels of widely used training libraries. Triton kernels of Liger Kernel, Unsloth and IBM's fused-ops-and-kernels
// plug-in: no types in their names, so 16 bits an element are taken; strides and row lengths are their integers.
// bitsandbytes (kernels.cu) and AutoGPTQ: weights of 4 and 8 bits.
#include <algorithm>

#include "predictor/core/launch_context.h"

namespace maya::model {
namespace {

constexpr DataType kTrainingType = DataType::kBfloat16;

enum class Layout : uint8_t {
  kRowOfBlock,      // rows along the grid, the row length is the last of the integers
  kLongestOfBlock,  // rows along the grid, the row length is the largest of the integers, which are strides as well
  kFirstOfBlock,    // rows along the grid, the row length is the first of the integers
  kCount,           // the first integer counts elements
};

struct TritonKernel {
  std::string_view name;  // how it begins
  Family family;
  Operator op;
  bool backward;
  Layout layout;
};
constexpr TritonKernel kTritonKernels[] = {
    {"_rms_layernorm_forward", Family::kNormalization, Operator::kRmsNorm, false, Layout::kRowOfBlock},
    {"_rms_layernorm_backward", Family::kNormalization, Operator::kRmsNorm, true, Layout::kRowOfBlock},
    {"_rms_norm_forward_kernel", Family::kNormalization, Operator::kRmsNorm, false, Layout::kLongestOfBlock},
    {"_layer_norm_forward_kernel", Family::kNormalization, Operator::kLayerNorm, false, Layout::kLongestOfBlock},
    {"_cross_entropy_forward", Family::kSoftmax, Operator::kCrossEntropy, false, Layout::kLongestOfBlock},
    {"_chunked_cross_entropy_forward", Family::kSoftmax, Operator::kCrossEntropy, false, Layout::kLongestOfBlock},
    {"_cross_entropy_backward", Family::kSoftmax, Operator::kCrossEntropy, true, Layout::kLongestOfBlock},
    // Makes the gradient in place while it computes the loss.
    {"liger_cross_entropy_kernel", Family::kSoftmax, Operator::kCrossEntropy, true, Layout::kLongestOfBlock},
    {"_softmax_single_block_forward_kernel", Family::kSoftmax, Operator::kSoftmax, false, Layout::kLongestOfBlock},
    {"_softmax_single_block_backward_kernel", Family::kSoftmax, Operator::kSoftmax, true, Layout::kLongestOfBlock},
    {"_swiglu_forward_kernel", Family::kElementwise, Operator::kGatedActivation, false, Layout::kLongestOfBlock},
    {"_swiglu_backward_kernel", Family::kElementwise, Operator::kGatedActivation, true, Layout::kLongestOfBlock},
    {"_geglu_tanh_forward_kernel", Family::kElementwise, Operator::kGatedActivation, false, Layout::kLongestOfBlock},
    {"_geglu_tanh_backward_kernel", Family::kElementwise, Operator::kGatedActivation, true, Layout::kLongestOfBlock},
    {"_fg_kernel", Family::kElementwise, Operator::kGatedActivation, false, Layout::kCount},
    {"_DWf_DW_dfg_kernel", Family::kElementwise, Operator::kGatedActivation, true, Layout::kCount},
    {"_rope_embedding", Family::kElementwise, Operator::kRotary, false, Layout::kFirstOfBlock},
    {"_bmm_outer_product_kernel", Family::kElementwise, Operator::kMul, false, Layout::kLongestOfBlock},
};

bool triton_library_work(const LaunchContext& context, Work* work) {
  for (const TritonKernel& kernel : kTritonKernels) {
    if (!context.name.leaf.starts_with(kernel.name)) continue;
    // What a 32-bit float such as epsilon reads as is larger than any row.
    constexpr int64_t kLongestRow = 1 << 24;
    int64_t first = 0, last = 0, longest = 0;
    for (uint32_t i = 0; i < context.launch.scalar_count; ++i) {
      const int64_t value = context.scalar(i, 0);
      if (value <= 0 || (value >= kLongestRow && kernel.layout != Layout::kCount)) continue;
      if (first == 0) first = value;
      last = value;
      longest = std::max(longest, value);
    }
    const bool count = kernel.layout == Layout::kCount;
    const int64_t columns = kernel.layout == Layout::kRowOfBlock       ? last
                            : kernel.layout == Layout::kLongestOfBlock ? longest
                                                                       : first;
    constexpr double kGuessedElementsOfThread = 16;
    set_operation(work, kernel.family, kernel.op, kTrainingType, count ? 1 : context.launch.grid[0],
                  columns > 0 ? static_cast<double>(columns) : context.threads_per_block() * kGuessedElementsOfThread,
                  kernel.backward);
    work->guessed = columns <= 0;
    return true;
  }
  return false;
}

// Blockwise quantisation: 8 bits an element, or 4 (types FP4 and NF4), and a 32-bit factor for each block of elements.
bool quantization_work(const LaunchContext& context, Work* work) {
  const KernelName& name = context.name;
  const bool gptq = name.leaf == "dequant_kernel_248";
  const bool quantize = name.leaf.starts_with("kQuantizeBlockwise");
  if (!gptq && !quantize && name.leaf != "kDequantizeBlockwise") return false;
  // bitsandbytes: <type, ..., quantised type: 0 general 8 bits, 1 FP4, 2 NF4>(..., block size or 0, elements).
  const long kind = name.template_arguments.empty() ? 2 : number_in(name.template_arguments.back(), 0);
  const double narrow_bytes = kind == 0 ? 1 : 0.5;
  const double factor_bytes = 4.0 / 64;
  const double recorded = static_cast<double>(context.scalar(gptq ? 0 : 1, 0));
  constexpr double kElementsOfThread = 16;
  const double elements = recorded > 0 ? recorded : context.threads() * kElementsOfThread;
  const DataType type = gptq ? DataType::kFloat16 : first_type_in(name.argument(0));
  const double wide_bytes = data_type_bits(type) / 8.0, packed_bytes = narrow_bytes + factor_bytes;
  set_streaming(work, Family::kElementwise, type, elements, quantize ? wide_bytes : packed_bytes,
                quantize ? packed_bytes : wide_bytes);
  set_operator(work, Operator::kCopy);
  work->guessed = recorded <= 0;
  return true;
}

// bitsandbytes' product with 4-bit weights: (..., m, n, k, block size, ...).
bool narrow_product_work(const LaunchContext& context, Work* work) {
  if (!contains(context.name.leaf, "gemm_4bit")) return false;
  const int64_t m = context.scalar(0, 0), n = context.scalar(1, 0), k = context.scalar(2, 0);
  if (m <= 0 || n <= 0 || k <= 0) return false;
  const DataType type = first_type_in(context.name.argument(0));
  OperationRecord record(Family::kGemm, "");
  record.set(Key::kM, n).set(Key::kN, m).set(Key::kK, k).set(Key::kTypeA, static_cast<int64_t>(type));
  *work = work_of(record);
  constexpr double kWeight_bytes = 0.5 + 4.0 / 64;
  work->read_bytes = static_cast<double>(n) * static_cast<double>(k) * kWeight_bytes +
                     static_cast<double>(m) * static_cast<double>(k) * data_type_bits(type) / 8.0;
  return true;
}

// bitsandbytes' other kernels (public source csrc/kernels.cu): kOptimizerStatic8bit2StateBlockwise<type, optimizer,
// elements of a block, ...> updates parameters by gradients and two states of a byte each;
// kOptimizer32bit2State<type, optimizer> has 4,096 elements a block and states of 32 bits;
// kInt8VectorQuant<type, ...>(..., rows, columns) makes rows of 8 bits; kdequant_mm_int32_fp16<...>(..., rows, columns,
// elements) makes half precision of 32-bit sums.
bool byte_width_work(const LaunchContext& context, Work* work) {
  const KernelName& name = context.name;
  const DataType type = first_type_in(name.argument(0));
  const double wide_bytes = bytes_in(name.argument(0), 4), blocks = context.launch.grid[0];
  const auto optimizer = [&](double elements, double states_bytes) {
    set_streaming(work, Family::kOptimizer, type, elements, 2 * wide_bytes + states_bytes, wide_bytes + states_bytes);
    return true;
  };
  if (name.leaf == "kOptimizerStatic8bit2StateBlockwise")
    return optimizer(blocks * static_cast<double>(number_in(name.argument(2), 256)), 2);
  constexpr double kElementsOfBlock = 4096;
  if (name.leaf == "kOptimizer32bit2State") return optimizer(blocks * kElementsOfBlock, 8);
  if (name.leaf == "kInt8VectorQuant") {
    const double elements = static_cast<double>(context.scalar(0, 0)) * static_cast<double>(context.scalar(1, 0));
    if (elements <= 0) return false;
    set_streaming(work, Family::kElementwise, type, elements, wide_bytes, 1);
    return true;
  }
  if (name.leaf == "kdequant_mm_int32_fp16") {
    const double elements = static_cast<double>(context.scalar(2, 0));
    if (elements <= 0) return false;
    set_streaming(work, Family::kElementwise, DataType::kFloat16, elements, 4, 2);
    return true;
  }
  return false;
}

}  // namespace

bool training_library_work(const LaunchContext& context, Work* work) {
  return triton_library_work(context, work) || quantization_work(context, work) || narrow_product_work(context, work) ||
         byte_width_work(context, work);
}

}  // namespace maya::model
