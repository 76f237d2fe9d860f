// Attention kernels that frameworks bring: FlashAttention-2 (traits <head dimension, query tile, key tile, ...> in the
// name; grid = tiles, batch, heads), and CUTLASS fused attention ("fmha_cutlassF_bf16_aligned_64x128_rf_sm80": query
// and key tile; grid = tiles, heads, batch). Sequence lengths sit in a by-value structure that is not recorded: the
// query length follows from the grid, the key length is taken equal.
#include <algorithm>

#include "predictor/core/launch_context.h"

namespace maya::model {
namespace {

constexpr size_t kNotFound = std::string_view::npos;

Work sized(const OperationRecord& record) {
  Work work = work_of(record);
  work.family = Family::kAttention;
  return work;
}

OperationRecord record_of(double batch, double heads, double queries, double head_dim, DataType type, bool causal,
                          bool backward, Implementation implementation) {
  OperationRecord record(Family::kAttention, "");
  record.set(Key::kBatch, whole(batch))
      .set(Key::kHeads, whole(heads))
      .set(Key::kSeqQ, whole(queries))
      .set(Key::kSeqKv, whole(queries))
      .set(Key::kHeadDim, whole(head_dim))
      .set(Key::kDataType, static_cast<int64_t>(type == DataType::kNone ? DataType::kBfloat16 : type))
      .set(Key::kCausal, causal)
      .set(Key::kDirection, backward)
      .set(Key::kImplementation, static_cast<int64_t>(implementation));
  return record;
}

bool flash_work(const LaunchContext& context, Work* work) {
  const KernelName& name = context.name;
  if (!name.leaf.starts_with("flash_fwd_") && !name.leaf.starts_with("flash_bwd_")) return false;
  // The traits are the first template argument that has arguments of its own.
  size_t traits_index = 0;
  while (traits_index < name.template_arguments.size() && name.argument(traits_index).find('<') == kNotFound)
    ++traits_index;
  const KernelName traits = parse_kernel_name(name.argument(traits_index));
  const double head_dim = static_cast<double>(number_in(traits.argument(0), 128));
  const double query_tile = static_cast<double>(number_in(traits.argument(1), 128));
  const double key_tile = static_cast<double>(number_in(traits.argument(2), 128));
  const DataType type = first_type_in(name.argument(traits_index));
  const double tiles = context.launch.grid[0], batch = context.launch.grid[1], heads = context.launch.grid[2];
  if (name.leaf == "flash_bwd_dot_do_o_kernel" || name.leaf == "flash_bwd_convert_dq_kernel") {
    // Row sums of do * o; and the conversion of dq from its 32-bit accumulator.
    const double elements = tiles * query_tile * batch * heads * head_dim;
    const double bytes = data_type_bits(type) / 8.0;
    const bool convert = name.leaf == "flash_bwd_convert_dq_kernel";
    set_streaming(work, Family::kElementwise, type, elements, convert ? 4 : 2 * bytes, convert ? bytes : 4);
    return true;
  }
  if (name.leaf == "flash_fwd_splitkv_combine_kernel") return false;
  const bool backward = name.leaf.starts_with("flash_bwd_");
  // Flags after the traits: forward <dropout, causal, local, ...>; backward <dropout, causal, ...>; split keys <causal,
  // ...>.
  const bool split = name.leaf == "flash_fwd_splitkv_kernel";
  const bool causal = number_in(name.argument(traits_index + (split ? 1 : 2)), 0) != 0;
  const double sequence = tiles * (backward ? key_tile : query_tile);
  *work = sized(record_of(batch, heads, sequence, head_dim, type, causal, backward, Implementation::kFlashAttention2));
  work->guessed = split;
  return true;
}

// The numbers of "..._64x128_..." after `prefix`; false when there are none.
bool tile_in(std::string_view leaf, double* first, double* second) {
  for (size_t at = leaf.find('x'); at != kNotFound; at = leaf.find('x', at + 1)) {
    size_t begin = at;
    while (begin > 0 && leaf[begin - 1] >= '0' && leaf[begin - 1] <= '9') --begin;
    size_t end = at + 1;
    while (end < leaf.size() && leaf[end] >= '0' && leaf[end] <= '9') ++end;
    if (begin == at || end == at + 1) continue;
    *first = static_cast<double>(number_in(leaf.substr(begin, at - begin), 0));
    *second = static_cast<double>(number_in(leaf.substr(at + 1, end - at - 1), 0));
    return *first > 0 && *second > 0;
  }
  return false;
}

bool cutlass_attention_work(const LaunchContext& context, Work* work) {
  const std::string_view leaf = context.name.leaf;
  if (!leaf.starts_with("fmha_cutlass")) return false;
  double query_tile = 64, key_tile = 64;
  tile_in(leaf, &query_tile, &key_tile);
  const bool backward = leaf.starts_with("fmha_cutlassB");
  const DataType type = leaf.find("_bf16_") != kNotFound  ? DataType::kBfloat16
                        : leaf.find("_f16_") != kNotFound ? DataType::kFloat16
                                                          : DataType::kFloat32;
  // Forward: the second tile bounds the head dimension. Backward: "_k64_" does; above 128 both are open.
  double head_dim = key_tile;
  if (backward) {
    head_dim = 128;
    for (const auto& [part, dimension] : {std::pair{"_k32", 32.0}, {"_k64", 64.0}, {"_k96", 96.0}, {"_k128", 128.0}})
      if (leaf.find(part) != kNotFound && leaf.find("_k65536") == kNotFound) head_dim = dimension;
  }
  const double heads = context.launch.grid[1], batch = context.launch.grid[2];
  const double sequence = context.launch.grid[0] * (backward ? key_tile : query_tile);
  *work = sized(record_of(batch, heads, sequence, std::min(head_dim, 128.0), type, false, backward,
                          Implementation::kMemoryEfficient));
  // Backward grids say nothing of the sequence unless keys are spread over blocks; masks are arguments.
  work->guessed = true;
  return true;
}

}  // namespace

bool attention_kernel_work(const LaunchContext& context, Work* work) {
  return flash_work(context, work) || cutlass_attention_work(context, work);
}

}  // namespace maya::model
