// NCCL's kernels as profiler traces name them: "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL",
// "ncclKernel_AllReduce_RING_LL_Sum_float", "ncclDevKernel_SendRecv(...)". Our own library records the calls with their
// sizes; a name says neither size nor ranks, so both are guessed.
#include "predictor/core/launch_context.h"

namespace maya::model {
namespace {

struct Kind {
  std::string_view part;
  CollectiveKind kind;
};
constexpr Kind kKinds[] = {
    {"AllReduce", CollectiveKind::kAllReduce},
    {"AllGather", CollectiveKind::kAllGather},
    {"ReduceScatter", CollectiveKind::kReduceScatter},
    {"Broadcast", CollectiveKind::kBroadcast},
    {"AlltoAll", CollectiveKind::kAllToAll},
    {"AllToAll", CollectiveKind::kAllToAll},
    {"SendRecv", CollectiveKind::kSend},
    {"Reduce", CollectiveKind::kReduce},
};

DataType type_of(std::string_view leaf) {
  if (contains(leaf, "bf16") || contains(leaf, "bfloat")) return DataType::kBfloat16;
  if (contains(leaf, "f16") || contains(leaf, "half")) return DataType::kFloat16;
  if (contains(leaf, "int8") || contains(leaf, "u8") || contains(leaf, "_i8")) return DataType::kInt8;
  if (contains(leaf, "int64") || contains(leaf, "u64")) return DataType::kInt64;
  return DataType::kFloat32;
}

}  // namespace

bool collective_kernel_work(const LaunchContext& context, Work* work) {
  const std::string_view leaf = context.name.leaf;
  if (!leaf.starts_with("nccl")) return false;
  CollectiveKind kind = CollectiveKind::kAllReduce;
  for (const Kind& named : kKinds) {
    if (!contains(leaf, named.part)) continue;
    kind = named.kind;
    break;
  }
  constexpr int64_t kGuessed_bytes = 16 << 20, kGuessedRanks = 8;
  OperationRecord record(kind == CollectiveKind::kSend ? Family::kPointToPoint : Family::kCollective, "");
  record.set(Key::kCollective, static_cast<int64_t>(kind))
      .set(Key::kBytes, kGuessed_bytes)
      .set(Key::kRanks, kGuessedRanks)
      .set(Key::kDataType, static_cast<int64_t>(type_of(leaf)));
  *work = work_of(record);
  work->guessed = true;
  return true;
}

}  // namespace maya::model
