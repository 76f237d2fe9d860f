// Kernels of vLLM (public source csrc/libtorch_stable: layernorm_kernels, pos_encoding_kernels, activation_kernels,
// cache_kernels). A block takes a token; row lengths and heads are among the integers, whose order is given with each.
// And its own all-reduce inside a node (custom_all_reduce): a thread takes 16 bytes at a time.
#include <algorithm>
#include <charconv>

#include "predictor/core/launch_context.h"

namespace maya::model {
namespace {

struct InferenceKernel {
  std::string_view leaf;
  Family family;
  Operator op;
  uint16_t rows;     // integers whose sum is the number of rows that a token has, a bit each; none: one
  uint16_t columns;  // integers whose product is the length of a row
};
constexpr uint16_t integer(int i) { return static_cast<uint16_t>(1 << i); }
constexpr InferenceKernel kKernels[] = {
    // strides and sizes of the input (5), stride of the weight, tokens, row
    {"rms_norm_kernel", Family::kNormalization, Operator::kRmsNorm, 0, integer(7)},
    // stride of the input, tokens, row
    {"fused_add_rms_norm_kernel", Family::kNormalization, Operator::kFusedAddRmsNorm, 0, integer(2)},
    // rotated elements of a head, strides (3), query heads, key heads
    {"rotary_embedding_kernel", Family::kElementwise, Operator::kRotary, integer(4) | integer(5), integer(0)},
    // row of the result
    {"act_and_mul_kernel", Family::kElementwise, Operator::kGatedActivation, 0, integer(0)},
    // strides (5), heads, size of a head: keys and values are copied
    {"reshape_and_cache_flash_kernel", Family::kElementwise, Operator::kCopy, 0, integer(5) | integer(6)},
    // strides of key and value, heads, size of a head
    {"reshape_and_cache_kernel", Family::kElementwise, Operator::kCopy, 0, integer(2) | integer(3)},
};

// cross_device_reduce_1stage and _2stage<T, ranks>: as many blocks as the message fills, at most 36, so that it is
// known to within a block where they are fewer.
bool all_reduce_work(const LaunchContext& context, Work* work) {
  constexpr std::string_view kLeaf = "cross_device_reduce_";
  constexpr double kMostBlocks = 36, kBytesOfThread = 16;
  constexpr int64_t kGuessedRanks = 8;
  if (!context.name.leaf.starts_with(kLeaf)) return false;
  const std::string_view argument = context.name.argument(1);
  int64_t ranks = kGuessedRanks;
  std::from_chars(argument.data(), argument.data() + argument.size(), ranks);
  OperationRecord record(Family::kCollective, "");
  const DataType type = first_type_in(context.name.argument(0));
  record.set(Key::kCollective, static_cast<int64_t>(CollectiveKind::kAllReduce))
      .set(Key::kBytes, static_cast<int64_t>(context.threads() * kBytesOfThread))
      .set(Key::kRanks, std::max<int64_t>(ranks, 2))
      .set(Key::kDataType, static_cast<int64_t>(type == DataType::kNone ? DataType::kBfloat16 : type));
  *work = work_of(record);
  work->guessed = context.launch.grid[0] >= kMostBlocks;
  work->rough = !work->guessed;
  return true;
}

}  // namespace

bool inference_work(const LaunchContext& context, Work* work) {
  if (!context.name.qualified.starts_with("vllm::")) return false;
  if (all_reduce_work(context, work)) return true;
  for (const InferenceKernel& kernel : kKernels) {
    if (context.name.leaf != kernel.leaf) continue;
    double rows = kernel.rows == 0 ? 1 : 0, columns = 1;
    for (uint32_t i = 0; i < 16; ++i) {
      if ((kernel.rows >> i & 1) != 0) rows += static_cast<double>(context.scalar(i, 0));
      if ((kernel.columns >> i & 1) != 0) columns *= static_cast<double>(context.scalar(i, 0));
    }
    const DataType type = first_type_in(context.name.argument(0));
    constexpr double kKeysAndValues = 2, kGuessedElementsOfThread = 8;
    if (kernel.op == Operator::kCopy) rows *= kKeysAndValues;
    const bool guessed = rows <= 0 || columns <= 0 || type == DataType::kNone;
    if (guessed) {
      rows = 1;
      columns = context.threads_per_block() * kGuessedElementsOfThread;
    }
    set_operation(work, kernel.family, kernel.op, type == DataType::kNone ? DataType::kBfloat16 : type,
                  rows * context.launch.grid[0], columns, false);
    work->guessed = guessed;
    return true;
  }
  return false;
}

}  // namespace maya::model
