#include "predictor/core/operation_columns.h"

#include <charconv>
#include <cmath>

#include "predictor/core/limits.h"

namespace maya {
namespace {

using Columns = std::span<const std::string_view>;

constexpr std::string_view kGemmRequired[] = {"m", "n", "k", "dtype"};
constexpr std::string_view kGemmOptional[] = {"transa", "transb", "batch"};
constexpr std::string_view kAttentionRequired[] = {"batch", "seq_q", "seq_kv", "heads", "head_dim", "dtype"};
constexpr std::string_view kAttentionOptional[] = {"kv_heads", "causal", "direction"};
constexpr std::string_view kCollectiveRequired[] = {"operation", "bytes", "ranks"};
constexpr std::string_view kCollectiveOptional[] = {"dtype", "nodes"};
constexpr std::string_view kCopyRequired[] = {"kind", "bytes"};
constexpr std::string_view kRowsRequired[] = {"rows", "columns", "dtype"};
constexpr std::string_view kRowsOptional[] = {"operation", "direction"};

constexpr std::string_view kRowsNote =
    "direction: forward, backward; operation: name of the operation, as PyTorch calls it";

constexpr FamilyColumns kFamilies[] = {
    {"gemm", kGemmRequired, kGemmOptional, "C[m,n] = op(A)[m,k] op(B)[k,n]; transa, transb: N or T; batch: 1"},
    {"attention", kAttentionRequired, kAttentionOptional,
     "causal: 0 or 1; direction: forward, backward; kv_heads: as heads"},
    {"normalization", kRowsRequired, kRowsOptional, kRowsNote},
    {"softmax", kRowsRequired, kRowsOptional, kRowsNote},
    {"elementwise", kRowsRequired, kRowsOptional, kRowsNote},
    {"reduction", kRowsRequired, kRowsOptional, kRowsNote},
    {"embedding", kRowsRequired, kRowsOptional, kRowsNote},
    {"index", kRowsRequired, kRowsOptional, kRowsNote},
    {"optimizer", kRowsRequired, kRowsOptional, kRowsNote},
    {"copy",
     kCopyRequired,
     {},
     "kind: host_to_device, device_to_host (with _pageable: not pinned), device_to_device, peer, host_to_host"},
    {"fill", kRowsRequired, kRowsOptional, kRowsNote},
    {"collective", kCollectiveRequired, kCollectiveOptional,
     "operation: all_reduce, broadcast, reduce, all_gather, reduce_scatter, all_to_all, send; bytes: nccl-tests' size, "
     "for all_gather and "
     "reduce_scatter the larger buffer"},
    {"random", kRowsRequired, kRowsOptional, kRowsNote},
};

struct NamedFamily {
  std::string_view name;
  Family family;
};
constexpr NamedFamily kRowFamilies[] = {
    {"normalization", Family::kNormalization}, {"softmax", Family::kSoftmax},     {"elementwise", Family::kElementwise},
    {"reduction", Family::kReduction},         {"embedding", Family::kEmbedding}, {"index", Family::kIndex},
    {"optimizer", Family::kOptimizer},         {"fill", Family::kFill},           {"random", Family::kRandom},
};

// Reads the cells of one row; the first failure sticks.
class RowReader {
 public:
  RowReader(const ColumnSource& row, std::string* error) : row_(row), error_(error) {}

  bool ok() const { return ok_; }

  // Whole number of at least `least`. Empty cells give `otherwise`; without one they are an error.
  int64_t integer(std::string_view column, int64_t least, int64_t otherwise = -1) {
    std::string_view text = row_.value_of(column);
    if (text.empty() && otherwise >= 0) return otherwise;
    double real = 0;  // tables written by data-frame tools carry whole numbers as "128.0"
    auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), real);
    const bool whole = status == std::errc() && end == text.data() + text.size() && std::floor(real) == real;
    if (!whole || real < static_cast<double>(least) || real > 4e18) {
      fail(column, text, "expected a whole number from " + std::to_string(least));
      return 0;
    }
    return static_cast<int64_t>(real);
  }

  DataType data_type(std::string_view column, DataType otherwise = DataType::kNone) {
    std::string_view text = row_.value_of(column);
    if (text.empty() && otherwise != DataType::kNone) return otherwise;
    DataType type = data_type_from_name(text);
    if (type == DataType::kNone) fail(column, text, "expected a type as PyTorch names it, such as bfloat16");
    return type;
  }

  // Index of the cell's text in `names`; empty cells give 0 if `may_be_empty`.
  size_t choice(std::string_view column, Columns names, bool may_be_empty) {
    std::string_view text = row_.value_of(column);
    if (text.empty() && may_be_empty) return 0;
    for (size_t i = 0; i < names.size(); ++i)
      if (names[i] == text) return i;
    std::string expected = "expected";
    for (std::string_view name : names) expected += (name == names.front() ? " " : ", ") + std::string(name);
    fail(column, text, expected);
    return 0;
  }

  std::string_view text(std::string_view column) const { return row_.value_of(column); }

 private:
  void fail(std::string_view column, std::string_view value, const std::string& expected) {
    if (!ok_) return;
    ok_ = false;
    *error_ = std::string(column) + ": `" + std::string(value) + "`: " + expected;
  }

  const ColumnSource& row_;
  std::string* error_;
  bool ok_ = true;
};

constexpr std::string_view kDirections[] = {"forward", "backward"};
constexpr std::string_view kFlags[] = {"0", "1", "false", "true", "False", "True"};
constexpr std::string_view kTransposes[] = {"N", "T", "C", "n", "t", "c", "0", "1", "2"};
constexpr std::string_view kCollectives[] = {"all_reduce",     "broadcast", "reduce", "all_gather",
                                             "reduce_scatter", "send",      "recv",   "all_to_all"};
constexpr std::string_view kCopyKinds[] = {"host_to_host",           "host_to_device", "device_to_host",
                                           "device_to_device",       "peer",           "host_to_device_pageable",
                                           "device_to_host_pageable"};
// Of the copy kinds above, those of the trace's numbering come first.
constexpr size_t kFirstPageable = 5;

OperationRecord gemm_record(RowReader* row) {
  OperationRecord record(Family::kGemm, "");
  record.set(Key::kM, row->integer("m", 0)).set(Key::kN, row->integer("n", 0)).set(Key::kK, row->integer("k", 0));
  const DataType type = row->data_type("dtype");
  const bool tf32 = type == DataType::kTf32;
  record.set(Key::kTypeA, static_cast<int64_t>(tf32 ? DataType::kFloat32 : type));
  if (tf32) record.set(Key::kComputeType, static_cast<int64_t>(DataType::kTf32));
  // 8-bit products are written as 16-bit floats.
  if (data_type_bits(type) <= 8) record.set(Key::kTypeC, static_cast<int64_t>(DataType::kBfloat16));
  record.set(Key::kTransA, static_cast<int64_t>(row->choice("transa", kTransposes, true) % 3));
  record.set(Key::kTransB, static_cast<int64_t>(row->choice("transb", kTransposes, true) % 3));
  record.set(Key::kBatch, row->integer("batch", 1, 1));
  return record;
}

OperationRecord attention_record(RowReader* row) {
  OperationRecord record(Family::kAttention, "");
  const int64_t heads = row->integer("heads", 1);
  record.set(Key::kBatch, row->integer("batch", 1))
      .set(Key::kSeqQ, row->integer("seq_q", 1))
      .set(Key::kSeqKv, row->integer("seq_kv", 1))
      .set(Key::kHeads, heads)
      .set(Key::kKvHeads, row->integer("kv_heads", 1, heads))
      .set(Key::kHeadDim, row->integer("head_dim", 1))
      .set(Key::kDataType, static_cast<int64_t>(row->data_type("dtype")))
      .set(Key::kCausal, static_cast<int64_t>(row->choice("causal", kFlags, true) % 2))
      .set(Key::kDirection, static_cast<int64_t>(row->choice("direction", kDirections, true)));
  return record;
}

OperationRecord collective_record(RowReader* row) {
  OperationRecord record(Family::kCollective, "");
  const auto kind = static_cast<CollectiveKind>(row->choice("operation", kCollectives, false));
  const int64_t ranks = row->integer("ranks", 1);
  int64_t bytes = row->integer("bytes", 0);
  // NCCL counts the smaller buffer of the two.
  if (kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter)
    bytes /= std::max<int64_t>(ranks, 1);
  if (kind == CollectiveKind::kSend || kind == CollectiveKind::kRecv) record.family = Family::kPointToPoint;
  record.set(Key::kCollective, static_cast<int64_t>(kind))
      .set(Key::kBytes, bytes)
      .set(Key::kRanks, ranks)
      .set(Key::kNodes, row->integer("nodes", 1, 1))
      .set(Key::kDataType, static_cast<int64_t>(row->data_type("dtype", DataType::kBfloat16)));
  return record;
}

// Tensors read and written by operations that differ from their family's plain pass.
struct Passes {
  std::string_view operation;
  int64_t reads, writes;
};
constexpr Passes kPasses[] = {
    {"add", 2, 1},   {"sub", 2, 1},    {"mul", 2, 1},           {"div", 2, 1},      {"pow", 2, 1},
    {"where", 3, 1}, {"swiglu", 2, 1}, {"geglu", 2, 1},         {"silu_mul", 2, 1}, {"sgd", 2, 1},
    {"adam", 4, 3},  {"adamw", 4, 3},  {"cross_entropy", 1, 0}, {"nll_loss", 1, 0},
};

OperationRecord row_record(Family family, RowReader* row) {
  OperationRecord record(family, "");
  const int64_t rows = row->integer("rows", 0), columns = row->integer("columns", 0);
  const DataType type = row->data_type("dtype");
  const bool backward = row->choice("direction", kDirections, true) == 1;
  record.set(Key::kRows, rows)
      .set(Key::kColumns, columns)
      .set(Key::kDataType, static_cast<int64_t>(type))
      .set(Key::kDirection, backward ? 1 : 0);
  const std::string_view operation = row->text("operation");
  for (const Passes& passes : kPasses) {
    if (passes.operation != operation) continue;
    const double bytes = static_cast<double>(rows) * static_cast<double>(columns) * data_type_bits(type) / 8;
    // Backward passes read the incoming gradient beside what forward read, and write a gradient for each input.
    const int64_t reads = backward ? passes.reads + 1 : passes.reads, writes = backward ? passes.reads : passes.writes;
    record.set(Key::kReadBytes, model::whole(bytes * static_cast<double>(reads)))
        .set(Key::kWrittenBytes, model::whole(bytes * static_cast<double>(writes)));
  }
  return record;
}

}  // namespace

std::span<const FamilyColumns> estimable_families() { return kFamilies; }

const FamilyColumns* find_family_columns(std::string_view name) {
  if (name == "norm") name = "normalization";
  for (const FamilyColumns& family : kFamilies)
    if (family.name == name) return &family;
  return nullptr;
}

DataType data_type_from_name(std::string_view name) {
  struct Alias {
    std::string_view name;
    DataType type;
  };
  constexpr Alias kAliases[] = {{"bf16", DataType::kBfloat16},  {"fp16", DataType::kFloat16},
                                {"half", DataType::kFloat16},   {"fp32", DataType::kFloat32},
                                {"float", DataType::kFloat32},  {"float8_e4m3fn", DataType::kFloat8E4m3},
                                {"fp8", DataType::kFloat8E4m3}, {"double", DataType::kFloat64}};
  if (name.starts_with("torch.")) name.remove_prefix(6);
  for (const Alias& alias : kAliases)
    if (alias.name == name) return alias.type;
  for (int number = 1; number <= static_cast<int>(DataType::kFloat4E2m1); ++number)
    if (data_type_name(static_cast<DataType>(number)) == name) return static_cast<DataType>(number);
  return DataType::kNone;
}

bool estimate_row(const device::DeviceProfile& profile, const FamilyColumns& family, const ColumnSource& row,
                  Estimate* result, std::string* error) {
  RowReader reader(row, error);
  if (family.name == "copy") {
    const size_t kind = reader.choice("kind", kCopyKinds, false);
    const int64_t bytes = reader.integer("bytes", 0);
    if (!reader.ok()) return false;
    const bool pageable = kind >= kFirstPageable;
    const int trace_kind = static_cast<int>(pageable ? kind - kFirstPageable + 1 : kind);
    *result = estimate_copy(profile, trace_kind, static_cast<uint64_t>(bytes), pageable);
    return true;
  }
  OperationRecord record;
  if (family.name == "gemm") {
    record = gemm_record(&reader);
  } else if (family.name == "attention") {
    record = attention_record(&reader);
  } else if (family.name == "collective") {
    record = collective_record(&reader);
  } else {
    for (const NamedFamily& named : kRowFamilies)
      if (named.name == family.name) record = row_record(named.family, &reader);
  }
  if (!reader.ok()) return false;
  *result = estimate(profile, work_of(record));
  return true;
}

}  // namespace maya
