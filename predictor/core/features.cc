#include "predictor/core/features.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

#include "predictor/core/limits.h"

namespace maya {
namespace {

float value(const OperationRecord& shape, Key key) { return static_cast<float>(shape.get(key)); }
float at_least_one(const OperationRecord& shape, Key key) { return std::max(value(shape, key), 1.0f); }
float ratio(float a, float b) { return a / std::max(b, 1e-9f); }
float rounded_up(float a, float b) { return std::ceil(a / b); }

// Largest power of two up to 256 that divides a size.
float alignment(uint32_t size) { return static_cast<float>(size == 0 ? 256 : std::min(size & -size, 256u)); }

struct TileShape {
  float rows, columns;
};
// Tiles of the result that public GEMM kernels name in their symbols.
constexpr TileShape kTiles[] = {{128, 128}, {256, 128}, {128, 256}, {64, 128}, {128, 64}, {64, 64},
                                {64, 256},  {256, 64},  {192, 128}, {32, 128}, {192, 192}};

constexpr std::string_view kMatrixNames[] = {"rows",
                                             "columns",
                                             "depth",
                                             "batch",
                                             "flops",
                                             "bytes",
                                             "bound_ns",
                                             "compute_share",
                                             "results",
                                             "aspect",
                                             "left_elements",
                                             "right_elements",
                                             "waste_0",
                                             "wave_part_0",
                                             "waste_1",
                                             "wave_part_1",
                                             "waste_2",
                                             "wave_part_2",
                                             "waste_3",
                                             "wave_part_3",
                                             "waste_4",
                                             "wave_part_4",
                                             "waste_5",
                                             "wave_part_5",
                                             "waste_6",
                                             "wave_part_6",
                                             "waste_7",
                                             "wave_part_7",
                                             "waste_8",
                                             "wave_part_8",
                                             "waste_9",
                                             "wave_part_9",
                                             "waste_10",
                                             "wave_part_10",
                                             "padding_16",
                                             "padding_64",
                                             "padding_128",
                                             "row_alignment",
                                             "column_alignment",
                                             "depth_alignment",
                                             "layout",
                                             "epilogue"};
constexpr std::string_view kAttentionNames[] = {
    "batch",     "queries", "keys",          "heads",         "head_dim",  "group",          "causal",
    "prefix",    "window",  "flops",         "bytes",         "bound_ns",  "blocks",         "waves",
    "wave_part", "walk",    "compute_share", "query_padding", "blocks_64", "implementation", "type_bits"};
constexpr std::string_view kStreamingNames[] = {
    "bytes",      "columns",       "rows",     "elements", "operator",  "direction",        "type_bits", "pattern",
    "read_bytes", "written_bytes", "bound_ns", "cached",   "row_waves", "column_alignment", "family",    "flops"};
constexpr std::string_view kConvolutionNames[] = {"batch",
                                                  "channels",
                                                  "pixels",
                                                  "filters",
                                                  "filter_height",
                                                  "filter_width",
                                                  "stride",
                                                  "pad",
                                                  "groups",
                                                  "height",
                                                  "width",
                                                  "flops",
                                                  "bytes",
                                                  "bound_ns",
                                                  "depth",
                                                  "results",
                                                  "compute_share",
                                                  "waves_128",
                                                  "wave_part_128",
                                                  "waves_64",
                                                  "channel_alignment",
                                                  "filter_alignment",
                                                  "direction",
                                                  "type_bits",
                                                  "reuse"};
constexpr std::string_view kExpertNames[] = {
    "rows",     "hidden",        "inner",           "experts",  "rows_an_expert", "flops",        "bytes",
    "bound_ns", "compute_share", "tiles_an_expert", "operator", "row_waves",      "weight_bytes", "type_bits"};

static_assert(std::size(kMatrixNames) <= kMostFeatures);

void matrix_features(const device::DeviceProfile& profile, const Work& work, double bound_ns, float* out) {
  uint32_t shape[3];
  matrix_shape(work, shape);
  const auto rows = static_cast<float>(shape[0]), columns = static_cast<float>(shape[1]);
  const auto depth = static_cast<float>(shape[2]);
  const float batch = std::max({value(work.shape, Key::kBatch), value(work.shape, Key::kGroups), 1.0f});
  const auto multiprocessors = static_cast<float>(profile.multiprocessors);
  const float compute = static_cast<float>(work.flops / model::peak_of(profile, work.type, work.tensor_cores) * 1e9);
  const float memory = static_cast<float>(model::bytes_of(work) / profile.memory_bandwidth * 1e9);
  float* at = out;
  *at++ = rows;
  *at++ = columns;
  *at++ = depth;
  *at++ = batch;
  *at++ = static_cast<float>(work.flops);
  *at++ = static_cast<float>(model::bytes_of(work));
  *at++ = static_cast<float>(bound_ns);
  *at++ = ratio(compute, memory);
  *at++ = rows * columns * batch;
  *at++ = ratio(rows, columns);
  *at++ = rows * depth;
  *at++ = columns * depth;
  for (const TileShape& tile : kTiles) {
    const float waves = rounded_up(rows, tile.rows) * rounded_up(columns, tile.columns) * batch / multiprocessors;
    const float whole_waves = std::ceil(waves);
    *at++ = ratio(whole_waves * tile.rows * tile.columns * multiprocessors, rows * columns * batch);
    *at++ = waves - whole_waves;
  }
  for (float tile : {16.0f, 64.0f, 128.0f}) *at++ = ratio(rounded_up(rows, tile) * tile, rows);
  for (uint32_t size : shape) *at++ = alignment(size);
  *at++ = static_cast<float>(matrix_layout(work.shape));
  *at++ = work.shape.get(Key::kEpilogue) > 1 ? 1 : 0;
}

void attention_features(const device::DeviceProfile& profile, const Work& work, double bound_ns, float* out) {
  const OperationRecord& shape = work.shape;
  const float batch = at_least_one(shape, Key::kBatch), heads = at_least_one(shape, Key::kHeads);
  const float queries = at_least_one(shape, Key::kSeqQ), keys = at_least_one(shape, Key::kSeqKv);
  const float kv_heads = shape.get(Key::kKvHeads) > 0 ? value(shape, Key::kKvHeads) : heads;
  const bool causal = shape.get(Key::kCausal) != 0;
  constexpr float kQueryTile = 128;
  const float blocks = batch * heads * rounded_up(queries, kQueryTile);
  const float waves = blocks / static_cast<float>(profile.multiprocessors);
  const float compute = static_cast<float>(work.flops / model::peak_of(profile, work.type, work.tensor_cores) * 1e9);
  const float memory = static_cast<float>(model::bytes_of(work) / profile.memory_bandwidth * 1e9);
  float* at = out;
  *at++ = batch;
  *at++ = queries;
  *at++ = keys;
  *at++ = heads;
  *at++ = value(shape, Key::kHeadDim);
  *at++ = ratio(heads, kv_heads);
  *at++ = causal ? 1 : 0;
  *at++ = std::max(keys - queries, 0.0f);
  *at++ = value(shape, Key::kWindow);
  *at++ = static_cast<float>(work.flops);
  *at++ = static_cast<float>(model::bytes_of(work));
  *at++ = static_cast<float>(bound_ns);
  *at++ = blocks;
  *at++ = waves;
  *at++ = waves - std::ceil(waves);
  *at++ = causal ? std::max(keys - queries, 0.0f) + std::min(keys, queries) / 2 : keys;
  *at++ = ratio(compute, memory);
  *at++ = ratio(rounded_up(queries, kQueryTile) * kQueryTile, queries);
  *at++ = batch * heads * rounded_up(queries, kQueryTile / 2);
  *at++ = value(shape, Key::kImplementation);
  *at++ = static_cast<float>(data_type_bits(work.type));
}

void streaming_features(const device::DeviceProfile& profile, const Work& work, double bound_ns, float* out) {
  const OperationRecord& shape = work.shape;
  const auto bytes = static_cast<float>(model::bytes_of(work));
  const float rows = at_least_one(shape, Key::kRows);
  const float columns = value(shape, Key::kColumns);
  float elements = value(shape, Key::kElements);
  if (elements == 0) elements = rows * columns;
  const auto multiprocessors = static_cast<float>(profile.multiprocessors);
  float* at = out;
  *at++ = bytes;
  *at++ = columns;
  *at++ = columns > 0 ? rows : 0;
  *at++ = elements;
  *at++ = value(shape, Key::kOperator);
  *at++ = value(shape, Key::kDirection);
  *at++ = static_cast<float>(data_type_bits(work.type));
  *at++ = static_cast<float>(access_pattern(shape));
  *at++ = static_cast<float>(work.read_bytes);
  *at++ = static_cast<float>(work.written_bytes);
  *at++ = static_cast<float>(bound_ns);
  *at++ = ratio(bytes, static_cast<float>(profile.l2_bytes));
  *at++ = rows / multiprocessors;
  *at++ = alignment(static_cast<uint32_t>(std::min(columns, 4e9f)));
  *at++ = static_cast<float>(work.family);
  *at++ = static_cast<float>(work.flops);
}

void convolution_features(const device::DeviceProfile& profile, const Work& work, double bound_ns, float* out) {
  const OperationRecord& shape = work.shape;
  // The implicit product that work_of() left in the shape: pixels x filters, summed over depth.
  const float pixels = at_least_one(shape, Key::kM), results = at_least_one(shape, Key::kN);
  const float depth = at_least_one(shape, Key::kK), groups = at_least_one(shape, Key::kGroups);
  const float channels = at_least_one(shape, Key::kChannels), filters = at_least_one(shape, Key::kFilters);
  const auto multiprocessors = static_cast<float>(profile.multiprocessors);
  const float compute = static_cast<float>(work.flops / model::peak_of(profile, work.type, work.tensor_cores) * 1e9);
  const float memory = static_cast<float>(model::bytes_of(work) / profile.memory_bandwidth * 1e9);
  const float waves_128 = rounded_up(pixels, 128) * rounded_up(results, 128) * groups / multiprocessors;
  float* at = out;
  *at++ = at_least_one(shape, Key::kBatch);
  *at++ = channels;
  *at++ = pixels;
  *at++ = filters;
  *at++ = at_least_one(shape, Key::kFilterHeight);
  *at++ = at_least_one(shape, Key::kFilterWidth);
  *at++ = at_least_one(shape, Key::kStride);
  *at++ = value(shape, Key::kPad);
  *at++ = groups;
  *at++ = at_least_one(shape, Key::kHeight);
  *at++ = at_least_one(shape, Key::kWidth);
  *at++ = static_cast<float>(work.flops);
  *at++ = static_cast<float>(model::bytes_of(work));
  *at++ = static_cast<float>(bound_ns);
  *at++ = depth;
  *at++ = pixels * results;
  *at++ = ratio(compute, memory);
  *at++ = waves_128;
  *at++ = waves_128 - std::ceil(waves_128);
  *at++ = rounded_up(pixels, 64) * rounded_up(results, 64) * groups / multiprocessors;
  *at++ = alignment(static_cast<uint32_t>(channels));
  *at++ = alignment(static_cast<uint32_t>(filters));
  *at++ = value(shape, Key::kConvDirection);
  *at++ = static_cast<float>(data_type_bits(work.type));
  *at++ = ratio(static_cast<float>(work.flops), static_cast<float>(model::bytes_of(work)));
}

void expert_features(const device::DeviceProfile& profile, const Work& work, double bound_ns, float* out) {
  uint32_t shape[3];
  matrix_shape(work, shape);
  const auto rows = static_cast<float>(shape[0]), inner = static_cast<float>(shape[1]);
  const auto hidden = static_cast<float>(shape[2]);
  const float experts = std::max({value(work.shape, Key::kGroups), value(work.shape, Key::kBatch), 1.0f});
  const float compute = static_cast<float>(work.flops / model::peak_of(profile, work.type, work.tensor_cores) * 1e9);
  const float memory = static_cast<float>(model::bytes_of(work) / profile.memory_bandwidth * 1e9);
  float* at = out;
  *at++ = rows;
  *at++ = hidden;
  *at++ = inner;
  *at++ = experts;
  *at++ = rows / experts;
  *at++ = static_cast<float>(work.flops);
  *at++ = static_cast<float>(model::bytes_of(work));
  *at++ = static_cast<float>(bound_ns);
  *at++ = ratio(compute, memory);
  *at++ = rounded_up(rows / experts, 64) * rounded_up(inner, 128);
  *at++ = value(work.shape, Key::kOperator);
  *at++ =
      experts * rounded_up(rows / experts, 64) * rounded_up(inner, 128) / static_cast<float>(profile.multiprocessors);
  *at++ = experts * hidden * inner;
  *at++ = static_cast<float>(data_type_bits(work.type));
}

struct Names {
  const std::string_view* names;
  size_t count;
};
Names names_of(ModelKind kind) {
  switch (kind) {
    case ModelKind::kMatrix:
      return {kMatrixNames, std::size(kMatrixNames)};
    case ModelKind::kAttention:
      return {kAttentionNames, std::size(kAttentionNames)};
    case ModelKind::kStreaming:
      return {kStreamingNames, std::size(kStreamingNames)};
    case ModelKind::kConvolution:
      return {kConvolutionNames, std::size(kConvolutionNames)};
    case ModelKind::kExperts:
      return {kExpertNames, std::size(kExpertNames)};
  }
  return {nullptr, 0};
}

}  // namespace

ModelKind kind_of(Family family) {
  switch (family) {
    case Family::kGemm:
      return ModelKind::kMatrix;
    case Family::kGroupedGemm:
      return ModelKind::kExperts;
    case Family::kAttention:
      return ModelKind::kAttention;
    case Family::kConvolution:
      return ModelKind::kConvolution;
    default:
      return ModelKind::kStreaming;
  }
}

TypeClass type_class_of(const Work& work) {
  if (kind_of(work.family) == ModelKind::kStreaming) return TypeClass::kAny;
  switch (work.type) {
    case DataType::kFloat16:
    case DataType::kBfloat16:
      return TypeClass::kHalf;
    case DataType::kTf32:
      return TypeClass::kTf32;
    case DataType::kFloat32:
      return TypeClass::kSingle;
    default:
      return data_type_bits(work.type) == 8 ? TypeClass::kByte : TypeClass::kAny;
  }
}

int model_direction(const Work& work) {
  return work.family == Family::kAttention && work.shape.get(Key::kDirection) == 1 ? 1 : 0;
}

int matrix_layout(const OperationRecord& shape) {
  return (shape.get(Key::kTransA) != 0 ? 0 : 1) + (shape.get(Key::kTransB) != 0 ? 2 : 0);
}

bool is_plain_product(const Work& work) {
  return work.family == Family::kGemm && work.shape.get(Key::kBatch) <= 1 && matrix_layout(work.shape) == 0 &&
         work.shape.get(Key::kEpilogue) <= 1;
}

int feature_count(ModelKind kind) { return static_cast<int>(names_of(kind).count); }

std::string_view feature_name(ModelKind kind, int feature) {
  const Names names = names_of(kind);
  return static_cast<size_t>(feature) < names.count ? names.names[feature] : std::string_view();
}

int32_t GridView::find(int axis_number, uint32_t value) const {
  const uint32_t* begin = axis[axis_number];
  const uint32_t* end = begin + count[axis_number];
  const uint32_t* found = std::lower_bound(begin, end, value);
  return found != end && *found == value ? static_cast<int32_t>(found - begin) : -1;
}

GridView grid_of(const Table& table, const TableModel& model) {
  GridView view;
  if (model.grid.count == 0) return view;
  for (int i = 0; i < 3; ++i) {
    const auto axis = table.section<uint32_t>(model.axis[i]);
    view.axis[i] = axis.data();
    view.count[i] = static_cast<uint32_t>(axis.size());
  }
  view.values = table.section<float>(model.grid).data();
  return view;
}

void matrix_shape(const Work& work, uint32_t shape[3]) {
  const auto clamp = [](int64_t size) { return static_cast<uint32_t>(std::clamp<int64_t>(size, 1, UINT32_MAX)); };
  shape[0] = clamp(work.shape.get(Key::kN));
  shape[1] = clamp(work.shape.get(Key::kM));
  shape[2] = clamp(work.shape.get(Key::kK));
}

void features_of(const device::DeviceProfile& profile, const Work& work, double bound_ns, float* features) {
  switch (kind_of(work.family)) {
    case ModelKind::kMatrix:
      return matrix_features(profile, work, bound_ns, features);
    case ModelKind::kAttention:
      return attention_features(profile, work, bound_ns, features);
    case ModelKind::kStreaming:
      return streaming_features(profile, work, bound_ns, features);
    case ModelKind::kConvolution:
      return convolution_features(profile, work, bound_ns, features);
    case ModelKind::kExperts:
      return expert_features(profile, work, bound_ns, features);
  }
}

bool is_best_implementation(const device::DeviceProfile& profile, const Work& work) {
  return work.family == Family::kAttention &&
         work.shape.get(Key::kImplementation) == static_cast<int64_t>(Implementation::kFlashAttention2) &&
         model::generation_of(profile) <= model::Generation::kAda;
}

uint64_t point_key(const Work& work) {
  constexpr int kParts = 10;
  uint32_t key[kParts] = {};
  const auto set = [&](int i, double size) {
    key[i] = size <= 0 ? 0 : size >= 4e9 ? UINT32_MAX : static_cast<uint32_t>(size);
  };
  const OperationRecord& shape = work.shape;
  const auto get = [&](Key k) { return static_cast<double>(shape.get(k)); };
  // Operator, direction and implementation share a word with the type.
  key[0] = static_cast<uint32_t>(work.type) | static_cast<uint32_t>(shape.get(Key::kOperator) & 255) << 8 |
           static_cast<uint32_t>(shape.get(Key::kImplementation) & 15) << 16 |
           static_cast<uint32_t>((shape.get(Key::kDirection) | shape.get(Key::kConvDirection)) & 3) << 20 |
           (shape.get(Key::kTransA) != 0 ? 1u << 22 : 0) | (shape.get(Key::kTransB) != 0 ? 1u << 23 : 0) |
           (shape.get(Key::kCausal) != 0 ? 1u << 24 : 0) | (shape.get(Key::kEpilogue) > 1 ? 1u << 25 : 0);
  switch (kind_of(work.family)) {
    case ModelKind::kMatrix:
    case ModelKind::kExperts:
      set(1, get(Key::kN));
      set(2, get(Key::kM));
      set(3, get(Key::kK));
      set(4, std::max({get(Key::kBatch), get(Key::kGroups), 1.0}));
      break;
    case ModelKind::kAttention:
      set(1, get(Key::kBatch));
      set(2, get(Key::kSeqQ));
      set(3, get(Key::kSeqKv));
      set(4, get(Key::kHeads));
      set(5, shape.get(Key::kKvHeads) > 0 ? get(Key::kKvHeads) : get(Key::kHeads));
      set(6, get(Key::kHeadDim));
      set(7, get(Key::kWindow));
      break;
    case ModelKind::kConvolution:
      set(1, get(Key::kBatch));
      set(2, get(Key::kChannels));
      set(3, get(Key::kHeight));
      set(4, get(Key::kWidth));
      set(5, get(Key::kFilters));
      set(6, get(Key::kFilterHeight));
      set(7, get(Key::kFilterWidth));
      set(8, get(Key::kStride) * 65536 + get(Key::kPad) * 256 + get(Key::kDilation));
      set(9, get(Key::kConvGroups));
      break;
    case ModelKind::kStreaming:
      set(1, get(Key::kRows));
      set(2, get(Key::kColumns));
      set(3, get(Key::kElements));
      set(4, work.read_bytes / 64);
      set(5, work.written_bytes / 64);
      break;
  }
  // FNV-1a with a final mix (the finaliser of MurmurHash3): the upper bits place a key among sorted ones.
  uint64_t hash = 14695981039346656037ull;
  for (const uint32_t part : key) hash = (hash ^ part) * 1099511628211ull;
  hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdull;
  hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53ull;
  return hash ^ hash >> 33;
}

}  // namespace maya
