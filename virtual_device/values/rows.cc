// Where kernels end that write rows: their results are unknown, but what lies behind them stays. Signatures and what is
// written are those of the public sources of PyTorch 2.15 (ATen/native/cuda: PersistentSoftmax.cuh, SoftMax.cu,
// SortStable.cu, layer_norm_kernel.cu, group_norm_kernel.cu, Loss.cu, WeightNorm.cu), of vLLM 0.33
// (csrc/libtorch_stable: layernorm_kernels, pos_encoding_kernels, activation_kernels), of its FlashAttention 3
// (hopper/flash_prepare_scheduler.cu) and of Transformer Engine 2.14 (common/fused_attn/utils.cu). A kernel of another
// signature is like any other that is not known.
#include <optional>

#include "virtual_device/values/effect.h"
#include "virtual_device/values/number.h"
#include "virtual_device/values/product.h"

namespace maya::device {

namespace {

constexpr int8_t kOne = -1;   // instead of a parameter that holds a count
constexpr int8_t kGrid = -2;  // blocks along x
constexpr int8_t kGridY = -3;
constexpr uint32_t kLargest_bytes = 8;  // of an element whose type another parameter tells

// count times, step elements apart.
struct Dimension {
  int8_t count = kOne;
  int8_t step = kOne;
};

// What is written behind a pointer: rows of heads of `length` elements. Numbers are ordinals of parameters.
struct Output {
  int8_t pointer = kOne;
  Dimension rows = {}, heads = {};
  int8_t length = kOne;
  uint8_t more = 0;  // elements behind them
};

struct RowKernel {
  std::string_view function;
  // A letter a parameter: r pointer to what is read, w to what may be written, i int, l long, f float, b bool, s other.
  std::string_view signature;
  Output outputs[5];
};

constexpr RowKernel kKernels[] = {
    // (result, input, rows, their stride, columns, mask and what it covers)
    {"(anonymous namespace)::softmax_warp_forward", "wriiirib", {{0, {2, 3}, {}, 4}}},
    // (gradient, gradient of the result, result, rows, their stride, columns, mask)
    {"(anonymous namespace)::softmax_warp_backward", "wrriiir", {{0, {3, 4}, {}, 5}}},
    // (columns, epsilon, input, weight, bias, means, deviations, result), a block a row
    {"at::native::(anonymous namespace)::vectorized_layer_norm_kernel",
     "ifrrrwww",
     {{5, {kGrid, kOne}}, {6, {kGrid, kOne}}, {7, {kGrid, 0}, {}, 0}}},
    // (places, how many, divisor), of a stable sort (SortStable.cu)
    // (gradient of the result, input, means, deviations, weight, gradient, columns), a block a row
    {"at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized", "rrrrrwi", {{5, {kGrid, 6}, {}, 6}}},
    // (rows, columns, epsilon, input, means, deviations), and without rows, a block a row, in earlier releases
    {"at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel", "llfrww", {{4, {}, {}, 0}, {5, {}, {}, 0}}},
    {"at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel", "lfrww", {{3, {kGrid, kOne}}, {4, {kGrid, kOne}}}},
    // (rows, columns, input, means, deviations, weight, bias, result), and without rows
    {"at::native::(anonymous namespace)::LayerNormForwardCUDAKernel", "llrrrrrw", {{7, {0, 1}, {}, 1}}},
    {"at::native::(anonymous namespace)::LayerNormForwardCUDAKernel", "lrrrrrw", {{6, {kGrid, 0}, {}, 0}}},
    {"at::native::(anonymous namespace)::layer_norm_grad_input_kernel", "rrrrrwi", {{5, {kGrid, 6}, {}, 6}}},
    // (batch, channels, groups, means, deviations, weight, bias, both factors)
    {"at::native::(anonymous namespace)::ComputeFusedParamsCUDAKernel",
     "lllrrrrww",
     {{7, {0, 1}, {}, 1}, {8, {0, 1}, {}, 1}}},
    // (batch, channels, groups, ..., gradients of weight and bias)
    {"at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernel1", "lllrrrrww", {{7, {}, {}, 1}, {8, {}, {}, 1}}},
    // (result, input, columns), a block a row; backward also the gradient
    {"at::native::(anonymous namespace)::cunn_SoftMaxForward", "wri", {{0, {kGrid, 2}, {}, 2}}},
    {"at::native::(anonymous namespace)::cunn_SoftMaxForward", "wrl", {{0, {kGrid, 2}, {}, 2}}},
    {"at::native::(anonymous namespace)::cunn_SoftMaxForwardReg", "wrl", {{0, {kGrid, 2}, {}, 2}}},
    {"at::native::(anonymous namespace)::cunn_SoftMaxForwardSmem", "wrl", {{0, {kGrid, 2}, {}, 2}}},
    {"at::native::(anonymous namespace)::cunn_SoftMaxBackward", "wrrl", {{0, {kGrid, 3}, {}, 3}}},
    {"at::native::(anonymous namespace)::cunn_SoftMaxBackwardSmem", "wrrl", {{0, {kGrid, 3}, {}, 3}}},
    // (loss, sum of weights, input, target, weights, ...)
    {"at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_1d", "wwrrrbll", {{0}, {1}}},
    {"at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d", "wwrrrbllll", {{0}, {1}}},
    // (gradient, ..., rows, columns, ...)
    {"at::native::(anonymous namespace)::nll_loss_backward_reduce_cuda_kernel_2d", "wrrrrbiill", {{0, {6, 7}, {}, 7}}},
    // (result, norms, direction, lengths, elements of a row), a block a row; backward gets what both were as well
    {"at::native::(anonymous namespace)::weight_norm_fwd_first_dim_kernel",
     "wwrri",
     {{0, {kGrid, 4}, {}, 4}, {1, {kGrid, kOne}}}},
    {"at::native::(anonymous namespace)::weight_norm_bwd_first_dim_kernel",
     "wwrrrri",
     {{0, {kGrid, 6}, {}, 6}, {1, {kGrid, kOne}}}},
    // (rows, columns, gradient, input, means, deviations, gradients of weight and bias), a row of sums for each block
    // along y
    {"at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate",
     "llrrrrww",
     {{6, {kGridY, 1}, {}, 1}, {7, {kGridY, 1}, {}, 1}}},
    // (result, input, strides and sizes of the input, weight, its stride, epsilon, tokens, row)
    {"vllm::rms_norm_kernel", "wrlllllrlfii", {{0, {kGrid, 11}, {}, 11}}},
    // (input, which is overwritten, its stride, residual, weight, epsilon, tokens, row, stride of the weight)
    {"vllm::fused_add_rms_norm_kernel", "wlwrfiil", {{0, {kGrid, 1}, {}, 6}, {2, {kGrid, 6}, {}, 6}}},
    {"vllm::fused_add_rms_norm_kernel", "wlwrfii", {{0, {kGrid, 1}, {}, 6}, {2, {kGrid, 6}, {}, 6}}},
    // (positions, queries, keys or null, table, rotated elements of a head, strides of query, key and head, query
    // heads,
    // key heads, size of a head, where the rotated elements begin in it, direction)
    {"vllm::rotary_embedding_kernel", "rwwrillliiilb", {{1, {kGrid, 5}, {8, 7}, 10}, {2, {kGrid, 6}, {9, 7}, 10}}},
    // (result, both inputs, row, limit, factors)
    {"vllm::act_and_mul_kernel", "wrifff", {{0, {kGrid, 2}, {}, 2}}},
    // (sizes, lengths, sequences, heads and more, divisors, a counter, four lists with a number a sequence, flags)
    {"flash::prepare_varlen_num_blocks_kernel",
     "iiirrrrrriiiiisswwwwwbbbi",
     {{16}, {17, {}, {}, 9}, {18, {}, {}, 9}, {19, {}, {}, 9}, {20, {}, {}, 9}}},
    // (sequences, the most of them, where queries and keys begin, lengths of both)
    {"transformer_engine::fused_attn::cu_seqlens_to_actual_seqlens", "llrrww", {{4, {}, {}, 1}, {5, {}, {}, 1}}},
    // (layout, sequences, the most of them, heads, groups, sizes of a head, where queries and keys begin, type of what
    // follows, offsets of queries, keys, values, results, statistics: one more than sequences, of 32 or 64 bits)
    {"transformer_engine::fused_attn::cu_seqlens_padded_to_offsets",
     "sllllllrrswwwww",
     {{10, {}, {}, 2, 1}, {11, {}, {}, 2, 1}, {12, {}, {}, 2, 1}, {13, {}, {}, 2, 1}, {14, {}, {}, 2, 1}}},
};

struct Letter {
  char letter;
  uint32_t bytes;  // 0: any
};

Letter letter_of(std::string_view type) {
  if (!pointed_type(type).empty()) return {is_pointer_to_const(type) ? 'r' : 'w', sizeof(Address)};
  if (type == "int") return {'i', sizeof(int32_t)};
  if (type == "long") return {'l', sizeof(int64_t)};
  if (type == "float") return {'f', sizeof(float)};
  if (type == "bool") return {'b', sizeof(bool)};
  return {'s', 0};
}

bool matches(const RowKernel& row_kernel, const KernelInfo& kernel, const KernelName& name) {
  if (name.function != row_kernel.function || name.parameters.size() != row_kernel.signature.size() ||
      kernel.parameters.size() != name.parameters.size())
    return false;
  for (size_t i = 0; i < name.parameters.size(); ++i) {
    const Letter letter = letter_of(name.parameters[i]);
    if (letter.letter != row_kernel.signature[i] || (letter.bytes != 0 && letter.bytes != kernel.parameters[i].size))
      return false;
  }
  return true;
}

class RowEffect : public ComputedEffect {
 public:
  RowEffect(const RowKernel& kernel, std::vector<uint32_t> elements, std::unique_ptr<Effect> otherwise)
      : ComputedEffect(std::move(otherwise)), kernel_(kernel), elements_(std::move(elements)) {}

 protected:
  bool carry_out(const Launch& launch, Memory& memory) const override {
    uint64_t bytes[std::size(kKernels[0].outputs)];
    for (size_t i = 0; i < elements_.size(); ++i) {
      const auto written = elements_written(launch, kernel_.outputs[i]);
      if (!written) return false;
      bytes[i] = *written * elements_[i];
    }
    for (size_t i = 0; i < elements_.size(); ++i)
      forget(memory, argument<Address>(launch, static_cast<uint32_t>(kernel_.outputs[i].pointer)), bytes[i]);
    return true;
  }

 private:
  int64_t number(const Launch& launch, int8_t parameter) const {
    if (parameter == kOne) return 1;
    if (parameter == kGrid) return launch.grid[0];
    if (parameter == kGridY) return launch.grid[1];
    const auto i = static_cast<uint32_t>(parameter);
    return kernel_.signature[i] == 'l' ? argument<int64_t>(launch, i) : argument<int32_t>(launch, i);
  }

  // Nothing when a number is no size.
  std::optional<uint64_t> elements_written(const Launch& launch, const Output& output) const {
    uint64_t last = 0;
    for (const Dimension& dimension : {output.rows, output.heads}) {
      const int64_t count = number(launch, dimension.count), step = number(launch, dimension.step);
      if (count < 0 || step < 0) return std::nullopt;
      if (count > 1) last += Product().times(count - 1).times(step).value();
    }
    const int64_t length = number(launch, output.length);
    if (length < 0) return std::nullopt;
    return last + Product().times(length).value() + output.more;
  }

  const RowKernel& kernel_;
  const std::vector<uint32_t> elements_;  // bytes of an element, by output
};

}  // namespace

std::unique_ptr<Effect> make_row_effect(const KernelInfo& kernel, const KernelName& name,
                                        std::vector<ScalarSlot>* scalars) {
  for (const RowKernel& row_kernel : kKernels) {
    if (!matches(row_kernel, kernel, name)) continue;
    std::vector<uint32_t> elements;
    for (const Output& output : row_kernel.outputs) {
      if (output.pointer < 0) break;
      const std::string_view type = pointed_type(name.parameters[static_cast<size_t>(output.pointer)]);
      const uint32_t bytes = type == "void" ? kLargest_bytes : element_bytes(element_type(type));
      if (bytes == 0) return nullptr;
      elements.push_back(bytes);
    }
    return std::make_unique<RowEffect>(row_kernel, std::move(elements), make_pointer_effect(kernel, name, scalars));
  }
  return nullptr;
}

}  // namespace maya::device
