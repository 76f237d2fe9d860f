// Attention kernels that frameworks bring: FlashAttention-2 (traits <head dimension, query tile, key tile, ...> in the
// name; grid = tiles, batch, heads), FlashAttention-3, and CUTLASS fused attention ("fmha_cutlassF_bf16_aligned_64x128_
// rf_sm80": query and key tile; grid = tiles, heads, batch).
//
// Sizes sit in one by-value structure. Where its fields were recorded they are used: their offsets are those of
// PyTorch 2.x's public headers flash.h, kernel_forward.h and kernel_backward.h, seen in launches with known sizes.
// Otherwise the query length follows from the grid, keys are taken as many as queries, and as many key heads as query
// heads.
#include <algorithm>

#include "predictor/core/launch_context.h"

namespace maya::model {
namespace {

struct AttentionShape {
  double batch = 1, heads = 1, kv_heads = 0, queries = 0, keys = 0, head_dim = 0;
  bool causal = false;
};

void set_attention(Work* work, const AttentionShape& shape, DataType type, bool backward,
                   Implementation implementation) {
  OperationRecord record(Family::kAttention, "");
  record.set(Key::kBatch, whole(shape.batch))
      .set(Key::kHeads, whole(shape.heads))
      .set(Key::kKvHeads, shape.kv_heads == shape.heads ? 0 : whole(shape.kv_heads))
      .set(Key::kSeqQ, whole(shape.queries))
      .set(Key::kSeqKv, whole(shape.keys > 0 ? shape.keys : shape.queries))
      .set(Key::kHeadDim, whole(shape.head_dim))
      .set(Key::kDataType, static_cast<int64_t>(type == DataType::kNone ? DataType::kBfloat16 : type))
      .set(Key::kCausal, shape.causal)
      .set(Key::kDirection, backward)
      .set(Key::kImplementation, static_cast<int64_t>(implementation));
  *work = work_of(record);
}

// Byte offsets of the fields of a parameter structure.
struct Fields {
  uint32_t batch, heads, kv_heads, queries, keys, head_dim;
};
constexpr Fields kFlashFields = {176, 96, 100, 180, 184, 192};           // Flash_fwd_params, start of Flash_bwd_params
constexpr Fields kFusedForwardFields = {192, 204, 204, 104, 108, 96};    // AttentionKernel::Params
constexpr Fields kFusedBackwardFields = {384, 160, 160, 152, 156, 144};  // AttentionBackwardKernel::Params
constexpr uint32_t kFusedForwardMask = 116, kFusedBackwardMask = 168;    // custom_mask_type: 0 none, else causal

// False when they were not recorded.
bool read_fields(const LaunchContext& context, const Fields& fields, AttentionShape* shape) {
  const auto at = [&](uint32_t offset) { return static_cast<double>(context.scalar_at(offset, 0)); };
  if (at(fields.queries) <= 0 || at(fields.keys) <= 0 || at(fields.head_dim) <= 0 || at(fields.heads) <= 0)
    return false;
  shape->batch = std::max(at(fields.batch), 1.0);
  shape->heads = at(fields.heads);
  shape->kv_heads = std::max(at(fields.kv_heads), 1.0);
  shape->queries = at(fields.queries);
  shape->keys = at(fields.keys);
  shape->head_dim = at(fields.head_dim);
  return true;
}

bool flash_work(const LaunchContext& context, Work* work) {
  const KernelName& name = context.name;
  if (!name.leaf.starts_with("flash_fwd_") && !name.leaf.starts_with("flash_bwd_")) return false;
  // The traits are the first template argument that has arguments of its own.
  size_t traits_index = 0;
  while (traits_index < name.template_arguments.size() && !contains(name.argument(traits_index), "<")) ++traits_index;
  const KernelName traits = parse_kernel_name(name.argument(traits_index));
  const double query_tile = static_cast<double>(number_in(traits.argument(1), 128));
  const double key_tile = static_cast<double>(number_in(traits.argument(2), 128));
  const DataType type = first_type_in(name.argument(traits_index));
  const bool backward = name.leaf.starts_with("flash_bwd_");
  const bool split = name.leaf == "flash_fwd_splitkv_kernel";

  AttentionShape shape;
  const double tiles = context.launch.grid[0];
  shape.head_dim = static_cast<double>(number_in(traits.argument(0), 128));
  shape.batch = context.launch.grid[1];
  shape.heads = context.launch.grid[2];
  const bool per_query = name.leaf == "flash_bwd_dot_do_o_kernel" || name.leaf == "flash_bwd_convert_dq_kernel";
  shape.queries = tiles * (backward && !per_query ? key_tile : query_tile);
  const bool recorded = read_fields(context, kFlashFields, &shape);

  const double elements = shape.batch * shape.heads * shape.queries * shape.head_dim;
  const double bytes = data_type_bits(type) / 8.0;
  if (per_query) {
    // Row sums of do * o; and the conversion of dq from its 32-bit accumulator.
    const bool convert = name.leaf == "flash_bwd_convert_dq_kernel";
    set_streaming(work, Family::kElementwise, type, elements, convert ? 4 : 2 * bytes, convert ? bytes : 4);
    set_operator(work, convert ? Operator::kCopy : Operator::kMul);
    return true;
  }
  if (name.leaf == "flash_fwd_splitkv_combine_kernel") {
    // A result from 32-bit partial ones; how many there are at most is a power of two in the name:
    // <traits, rows of a block, log2 of the parts, ...>. Without sizes, a block has that many rows.
    const double parts = static_cast<double>(1 << std::clamp(number_in(name.argument(traits_index + 2), 1), 0L, 10L));
    const double rows = context.blocks() * static_cast<double>(number_in(name.argument(traits_index + 1), 4));
    set_streaming(work, Family::kElementwise, type, recorded ? elements : rows * shape.head_dim, parts * 4, bytes);
    set_operator(work, Operator::kAdd);
    return true;
  }
  // Flags after the traits: forward <dropout, causal, local, ...>; backward <dropout, causal, ...>; split keys <causal,
  // ...>.
  shape.causal = number_in(name.argument(traits_index + (split ? 1 : 2)), 0) != 0;
  set_attention(work, shape, type, backward, Implementation::kFlashAttention2);
  work->guessed = split && !recorded;
  return true;
}

// Sizes of FlashAttention-3's parameters, recorded where they have them (virtual_device/values/structure_sizes.cc): the
// keys' begin at one of three places. False when they were not recorded.
//
// Of sequences of different lengths only the sums are known, or how many pages a sequence may have: they are taken to
// be alike, and of pages in front of the queries half are taken to be used. *doubtful: that decides the time, which is
// not so as long as even all of the pages are read and multiplied in about the time that the shortest kernel takes.
bool read_flash3_sizes(const LaunchContext& context, AttentionShape* shape, bool* varied, bool* doubtful) {
  // The structure need not be at the beginning of the arguments: its first recorded size is at 8.
  if (context.launch.scalar_count == 0 || context.launch.scalars[0].offset < 8) return false;
  const uint32_t base = context.launch.scalars[0].offset - 8u;
  const auto at = [&](uint32_t offset) { return static_cast<double>(context.scalar_at(base + offset, 0)); };
  struct Layout {
    uint32_t keys, pages;
  };
  constexpr Layout kLayouts[] = {{88, 376}, {96, 400}, {104, 408}};
  for (const Layout& layout : kLayouts) {
    const double queries = at(8), head_dim = at(12), heads = at(16), keys = at(layout.keys + 8),
                 kv_heads = at(layout.keys + 16), sequences = at(layout.pages + 8), pages = at(layout.pages + 12);
    if (queries <= 0 || head_dim <= 0 || head_dim > shape->head_dim || heads <= 0 || keys <= 0 || kv_heads <= 0)
      continue;
    shape->head_dim = head_dim;
    shape->heads = heads;
    shape->kv_heads = kv_heads;
    shape->batch = std::max(at(20), 1.0);
    shape->queries = queries;
    shape->keys = keys;
    *varied = shape->batch == 1 && sequences > 1;
    if (*varied) {
      shape->batch = sequences;
      shape->queries = std::max(queries / sequences, 1.0);
      shape->keys = std::max(keys / sequences, 1.0);
    }
    if (pages > 0) {
      const double most = pages * keys;
      shape->keys = shape->queries > 1 ? std::min(shape->queries, most) : std::max(most / 2, 1.0);
      constexpr double kHidden_bytes = 8e6, kHidden_flops = 2e9;  // 2 to 4 microseconds of an H100
      *varied = true;
      *doubtful = shape->batch * most * kv_heads * head_dim * 4 > kHidden_bytes ||
                  4 * shape->batch * shape->queries * most * heads * head_dim > kHidden_flops;
    }
    return true;
  }
  return false;
}

// FlashAttention-3: "cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<...CollectiveMainloopFwdSm90<...
// cute::tuple<cute::C<128>, cute::C<128>, cute::C<128> >, ...": tile of queries, of keys, head dimension. Forward grids
// are as large as the device, backward ones are key tiles, heads, batch.
bool flash3_work(const LaunchContext& context, Work* work) {
  const std::string_view text = context.text;
  const bool kernel = contains(text, "flash::FlashAttn"), early = context.name.leaf == "compute_attn_ws";
  if (!kernel && !early) return false;
  const bool backward = contains(text, "FlashAttnBwd");
  AttentionShape shape;
  double query_tile = 128, key_tile = 128;
  shape.head_dim = 128;
  if (early) {  // Flash_fwd_kernel_traits<head dimension, query tile, key tile, ...>
    const KernelName traits = parse_kernel_name(context.name.argument(0));
    shape.head_dim = static_cast<double>(number_in(traits.argument(0), 128));
    query_tile = static_cast<double>(number_in(traits.argument(1), 128));
  } else {
    const size_t loop = text.find("CollectiveMainloop");
    size_t at = loop == std::string_view::npos ? loop : text.find("cute::tuple<", text.find("cute::tuple<", loop) + 1);
    double tile[3] = {query_tile, key_tile, shape.head_dim};
    for (double& size : tile) {
      if (at != std::string_view::npos) at = text.find("cute::C<", at + 1);
      if (at == std::string_view::npos) break;
      const std::string_view digits = text.substr(at + 8);
      size = static_cast<double>(number_in(digits.substr(0, digits.find('>')), 128));
    }
    query_tile = tile[0];
    key_tile = tile[1];
    shape.head_dim = tile[2];
  }
  const DataType type = first_type_in(text.substr(std::min(text.find("cutlass::"), text.size())));
  bool varied = false, doubtful = false;
  if (!early && !backward && read_flash3_sizes(context, &shape, &varied, &doubtful)) {
    // <stages, cluster, tile, head size of values, type, accumulator, architecture, causal, ...>
    constexpr size_t kCausal = 7;
    const size_t begin = std::min(text.find("CollectiveMainloopFwdSm90<"), text.size());
    const size_t open = text.find('<', begin);
    const KernelName loop = open == std::string_view::npos
                                ? KernelName()
                                : parse_kernel_name(text.substr(begin, open - begin + inside(text, open).size() + 2));
    shape.causal = loop.argument(kCausal) == "true";
    set_attention(work, shape, type, false, Implementation::kBest);
    work->rough = varied;
    work->guessed = doubtful;
    return true;
  }
  const double tiles = context.launch.grid[0];
  const bool known = early || backward;
  constexpr double kGuessedTilesOfBlock = 8;
  shape.heads = context.launch.grid[1];
  shape.batch = context.launch.grid[2];
  shape.queries = backward ? tiles * key_tile : tiles * query_tile * (known ? 1 : kGuessedTilesOfBlock);
  shape.causal = true;
  if (!known) {  // a block walks over tiles of every head
    shape.batch = shape.queries / 2048;
    shape.queries = 2048;
  }
  set_attention(work, shape, type, backward, Implementation::kBest);
  work->guessed = true;  // masks and lengths of packed sequences are arguments
  return true;
}

// Inductor's flex attention: sizes are compiled in; the grid is query tiles, batch times heads. 128 x 64 tiles are what
// it chooses most often.
bool flex_attention_work(const LaunchContext& context, Work* work) {
  if (!contains(context.name.leaf, "flex_attention")) return false;
  const bool backward = contains(context.name.leaf, "backward");
  AttentionShape shape;
  constexpr double kQueryTile = 128, kHeadDim = 64;
  shape.batch = std::max(context.launch.grid[1], context.launch.grid[2]);
  shape.queries = context.launch.grid[0] * kQueryTile;
  shape.head_dim = kHeadDim;
  shape.causal = true;
  set_attention(work, shape, DataType::kBfloat16, backward, Implementation::kBest);
  work->guessed = true;
  return true;
}

bool cutlass_attention_work(const LaunchContext& context, Work* work) {
  const std::string_view leaf = context.name.leaf;
  if (!leaf.starts_with("fmha_cutlass")) return false;
  int64_t query_tile = 64, key_tile = 64;
  if (!tile_in(leaf, 1, 1024, &query_tile, &key_tile)) query_tile = key_tile = 64;
  const bool backward = leaf.starts_with("fmha_cutlassB");
  const DataType type = contains(leaf, "_bf16_")  ? DataType::kBfloat16
                        : contains(leaf, "_f16_") ? DataType::kFloat16
                                                  : DataType::kFloat32;
  AttentionShape shape;
  const bool recorded = read_fields(context, backward ? kFusedBackwardFields : kFusedForwardFields, &shape);
  if (recorded) {
    shape.causal = context.scalar_at(backward ? kFusedBackwardMask : kFusedForwardMask, 0) != 0;
  } else {
    // Forward: the second tile bounds the head dimension. Backward: "_k64_" does; above 128 both are open.
    shape.head_dim = static_cast<double>(std::min<int64_t>(key_tile, 128));
    if (backward) {
      shape.head_dim = 128;
      for (const auto& [part, size] : {std::pair{"_k32", 32.0}, {"_k64", 64.0}, {"_k96", 96.0}, {"_k128", 128.0}})
        if (contains(leaf, part) && !contains(leaf, "_k65536")) shape.head_dim = size;
    }
    shape.heads = context.launch.grid[1];
    shape.batch = context.launch.grid[2];
    shape.queries = context.launch.grid[0] * static_cast<double>(backward ? key_tile : query_tile);
  }
  set_attention(work, shape, type, backward, Implementation::kMemoryEfficient);
  // Whether a mask is causal is an argument: it halves the work.
  work->guessed = !recorded;
  return true;
}

}  // namespace

bool attention_kernel_work(const LaunchContext& context, Work* work) {
  return flash_work(context, work) || flash3_work(context, work) || flex_attention_work(context, work) ||
         cutlass_attention_work(context, work);
}

}  // namespace maya::model
