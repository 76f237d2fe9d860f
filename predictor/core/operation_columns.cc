#include "predictor/core/operation_columns.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "predictor/core/limits.h"

namespace maya {
namespace {

using Columns = std::span<const std::string_view>;

constexpr std::string_view kGemmRequired[] = {"m", "n", "k", "dtype"};
constexpr std::string_view kGemmOptional[] = {"transa", "transb", "batch"};
constexpr std::string_view kAttentionRequired[] = {"batch", "seq_q", "seq_kv", "heads", "head_dim", "dtype"};
constexpr std::string_view kAttentionOptional[] = {"kv_heads", "causal", "direction", "prefix", "window"};
constexpr std::string_view kGroupedRequired[] = {"groups", "m", "n", "k", "dtype"};
constexpr std::string_view kGroupedOptional[] = {"operation"};
constexpr std::string_view kConvolutionRequired[] = {"batch",   "channels",      "height",       "width",
                                                     "filters", "filter_height", "filter_width", "dtype"};
constexpr std::string_view kConvolutionOptional[] = {"stride", "pad", "groups", "direction"};
constexpr std::string_view kLaunchRequired[] = {"kernel",  "grid_x",  "grid_y", "grid_z",
                                                "block_x", "block_y", "block_z"};
constexpr std::string_view kLaunchOptional[] = {"registers", "shared_bytes"};
constexpr std::string_view kCollectiveRequired[] = {"operation", "bytes", "ranks"};
constexpr std::string_view kCollectiveOptional[] = {"dtype", "nodes"};
constexpr std::string_view kCopyRequired[] = {"kind", "bytes"};
constexpr std::string_view kRowsRequired[] = {"rows", "columns", "dtype"};
constexpr std::string_view kRowsOptional[] = {"operation", "direction"};

constexpr std::string_view kRowsNote =
    "direction: forward, backward; operation: name of the operation, as PyTorch calls it";

constexpr FamilyColumns kFamilies[] = {
    {"gemm", kGemmRequired, kGemmOptional,
     "x[m,k] times W[n,k] transposed, as torch.nn.functional.linear does it: m rows of x (tokens), n features; transa, "
     "transb: layout letters as cuBLAS names them, T and N by default; N,N is the gradient of the data, N,T that of "
     "the "
     "weights, m and n then the rows and columns of the row-major result; batch: 1"},
    {"grouped_gemm", kGroupedRequired, kGroupedOptional,
     "m: rows of all groups together, n: features, k: depth; operation moe: a whole expert layer, groups experts, m "
     "tokens times experts of a token, n the experts' inner size, k the hidden size"},
    {"attention", kAttentionRequired, kAttentionOptional,
     "causal: 0 or 1; direction: forward, backward; kv_heads: as heads; prefix: keys before the first query, part of "
     "seq_kv; window: keys a query sees at most, 0 all"},
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
    {"convolution", kConvolutionRequired, kConvolutionOptional,
     "height, width: of the input; direction: forward, backward_data, backward_filter; stride, groups: 1; pad: 0"},
    {"collective", kCollectiveRequired, kCollectiveOptional,
     "operation: all_reduce, broadcast, reduce, all_gather, reduce_scatter, all_to_all, gather, scatter, send; bytes: "
     "nccl-tests' size, the larger of a rank's two buffers"},
    {"sort", kRowsRequired, kRowsOptional, kRowsNote},
    {"random", kRowsRequired, kRowsOptional, kRowsNote},
    {"pooling", kRowsRequired, kRowsOptional, kRowsNote},
    {"launch", kLaunchRequired, kLaunchOptional,
     "a kernel by its demangled name and launch configuration; shared_bytes: static and dynamic"},
};

struct NamedFamily {
  std::string_view name;
  Family family;
};
constexpr NamedFamily kRowFamilies[] = {
    {"normalization", Family::kNormalization},
    {"softmax", Family::kSoftmax},
    {"elementwise", Family::kElementwise},
    {"reduction", Family::kReduction},
    {"embedding", Family::kEmbedding},
    {"index", Family::kIndex},
    {"optimizer", Family::kOptimizer},
    {"fill", Family::kFill},
    {"random", Family::kRandom},
    {"sort", Family::kSort},
    {"pooling", Family::kPooling},
};

// Reads the cells of one row; the first failure sticks.
class RowReader {
 public:
  RowReader(const ColumnSource& row, std::string* error) : row_(row), error_(error) {}

  bool ok() const { return ok_; }

  // Whole number of at least `least`. Empty cells give `otherwise`; without one they are an error.
  int64_t integer(std::string_view column, int64_t least, int64_t otherwise = -1, int64_t most = kMostInteger) {
    std::string_view text = row_.value_of(column);
    if (text.empty() && otherwise >= 0) return otherwise;
    double real = 0;  // tables written by data-frame tools carry whole numbers as "128.0"
    auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), real);
    const bool whole = status == std::errc() && end == text.data() + text.size() && std::floor(real) == real;
    if (!whole || real < static_cast<double>(least) || real > static_cast<double>(most)) {
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

  void fail(std::string_view column, std::string_view value, const std::string& expected) {
    if (!ok_) return;
    ok_ = false;
    *error_ = std::string(column) + ": `" + std::string(value) + "`: " + expected;
  }

 private:
  static constexpr int64_t kMostInteger = 4'000'000'000'000'000'000;

  const ColumnSource& row_;
  std::string* error_;
  bool ok_ = true;
};

constexpr std::string_view kDirections[] = {"forward", "backward"};
constexpr std::string_view kFlags[] = {"0", "1", "false", "true", "False", "True"};
constexpr std::string_view kTransposes[] = {"N", "T", "C", "n", "t", "c", "0", "1", "2"};
constexpr std::string_view kCollectives[] = {"all_reduce", "broadcast", "reduce",     "all_gather", "reduce_scatter",
                                             "send",       "recv",      "all_to_all", "gather",     "scatter"};
constexpr std::string_view kCopyKinds[] = {"host_to_host",           "host_to_device", "device_to_host",
                                           "device_to_device",       "peer",           "host_to_device_pageable",
                                           "device_to_host_pageable"};
// Of the copy kinds above, those of the trace's numbering come first.
constexpr size_t kFirstPageable = 5;

constexpr std::string_view kConvolutionDirections[] = {"forward", "backward_data", "backward_filter"};

int64_t number_of(DataType type) { return static_cast<int64_t>(type); }

bool transposed(RowReader* row, std::string_view column, bool otherwise) {
  if (row->text(column).empty()) return otherwise;
  return row->choice(column, kTransposes, false) % 3 != 0;
}

OperationRecord gemm_row(RowReader* row) {
  const int64_t m = row->integer("m", 0), n = row->integer("n", 0), k = row->integer("k", 0);
  const DataType type = row->data_type("dtype");
  const bool transpose_a = transposed(row, "transa", true), transpose_b = transposed(row, "transb", false);
  return gemm_record(m, n, k, type, transpose_a, transpose_b, row->integer("batch", 1, 1));
}

OperationRecord grouped_gemm_row(RowReader* row) {
  const int64_t groups = row->integer("groups", 1), m = row->integer("m", 0);
  const int64_t n = row->integer("n", 0), k = row->integer("k", 0);
  return grouped_gemm_record(groups, m, n, k, row->data_type("dtype"), operator_from_name(row->text("operation")));
}

OperationRecord convolution_row(RowReader* row) {
  OperationRecord record(Family::kConvolution, "");
  record.set(Key::kBatch, row->integer("batch", 1))
      .set(Key::kChannels, row->integer("channels", 1))
      .set(Key::kHeight, row->integer("height", 1))
      .set(Key::kWidth, row->integer("width", 1))
      .set(Key::kFilters, row->integer("filters", 1))
      .set(Key::kFilterHeight, row->integer("filter_height", 1))
      .set(Key::kFilterWidth, row->integer("filter_width", 1))
      .set(Key::kStride, row->integer("stride", 1, 1))
      .set(Key::kPad, row->integer("pad", 0, 0))
      .set(Key::kConvGroups, row->integer("groups", 1, 1))
      .set(Key::kConvDirection, static_cast<int64_t>(row->choice("direction", kConvolutionDirections, true)));
  const DataType type = row->data_type("dtype");
  record.set(Key::kDataType, number_of(type == DataType::kTf32 ? DataType::kFloat32 : type))
      .set(Key::kComputeType, number_of(type == DataType::kTf32 ? DataType::kTf32 : DataType::kFloat32));
  return record;
}

OperationRecord attention_row(RowReader* row) {
  OperationRecord record(Family::kAttention, "");
  const int64_t heads = row->integer("heads", 1);
  record.set(Key::kBatch, row->integer("batch", 1))
      .set(Key::kSeqQ, row->integer("seq_q", 1))
      .set(Key::kSeqKv, row->integer("seq_kv", 1))
      .set(Key::kHeads, heads)
      .set(Key::kKvHeads, row->integer("kv_heads", 1, heads))
      .set(Key::kHeadDim, row->integer("head_dim", 1))
      .set(Key::kDataType, number_of(row->data_type("dtype")))
      .set(Key::kCausal, static_cast<int64_t>(row->choice("causal", kFlags, true) % 2))
      .set(Key::kDirection, static_cast<int64_t>(row->choice("direction", kDirections, true)))
      .set(Key::kPrefix, row->integer("prefix", 0, 0))
      .set(Key::kWindow, row->integer("window", 0, 0));
  return record;
}

OperationRecord collective_row(RowReader* row) {
  const auto kind = static_cast<CollectiveKind>(row->choice("operation", kCollectives, false));
  const int64_t bytes = row->integer("bytes", 0), ranks = row->integer("ranks", 1);
  const int64_t nodes = row->integer("nodes", 1, 1);
  return collective_record(kind, bytes, ranks, nodes, row->data_type("dtype", DataType::kBfloat16));
}

OperationRecord streaming_row(Family family, RowReader* row) {
  const int64_t rows = row->integer("rows", 0), columns = row->integer("columns", 0);
  const DataType type = row->data_type("dtype");
  const bool backward = row->choice("direction", kDirections, true) == 1;
  return row_record(family, row->text("operation"), rows, columns, type, backward);
}

OperationRecord copy_row(RowReader* row) {
  OperationRecord record(Family::kCopy, "");
  record.set(Key::kDirection, static_cast<int64_t>(row->choice("kind", kCopyKinds, false)))
      .set(Key::kBytes, row->integer("bytes", 0));
  return record;
}

void launch_row(RowReader* row, RowOperation* operation) {
  constexpr int64_t kMost = 0xffffffff;
  operation->kernel = row->text("kernel");
  operation->grid[0] = static_cast<uint32_t>(row->integer("grid_x", 1, -1, kMost));
  operation->grid[1] = static_cast<uint32_t>(row->integer("grid_y", 1, -1, kMost));
  operation->grid[2] = static_cast<uint32_t>(row->integer("grid_z", 1, -1, kMost));
  operation->block[0] = static_cast<uint32_t>(row->integer("block_x", 1, -1, kMost));
  operation->block[1] = static_cast<uint32_t>(row->integer("block_y", 1, -1, kMost));
  operation->block[2] = static_cast<uint32_t>(row->integer("block_z", 1, -1, kMost));
  operation->registers = static_cast<uint32_t>(row->integer("registers", 0, 0, kMost));
  operation->shared_bytes = static_cast<uint32_t>(row->integer("shared_bytes", 0, 0, kMost));
  if (operation->kernel.empty()) row->fail("kernel", "", "expected a kernel's demangled name");
}

Work work_of_launch(const RowOperation& operation) {
  LaunchView launch;
  launch.mangled_name = operation.kernel;
  std::copy_n(operation.grid, 3, launch.grid);
  std::copy_n(operation.block, 3, launch.block);
  launch.registers = operation.registers;
  launch.dynamic_shared_bytes = operation.shared_bytes;
  return work_of(launch, operation.kernel);
}

Estimate estimate_copy_record(const Estimator& estimator, const OperationRecord& record) {
  const CopyPath path = copy_path(record);
  return estimator.estimate_copy(path.trace_kind, static_cast<uint64_t>(record.get(Key::kBytes)), path.pageable);
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

OperationRecord gemm_record(int64_t rows, int64_t columns, int64_t depth, DataType type, bool transpose_a,
                            bool transpose_b, int64_t batch) {
  OperationRecord record(Family::kGemm, "");
  const bool tf32 = type == DataType::kTf32;
  record.set(Key::kM, columns).set(Key::kN, rows).set(Key::kK, depth).set(Key::kBatch, batch);
  record.set(Key::kTypeA, number_of(tf32 ? DataType::kFloat32 : type));
  if (type == DataType::kFloat8E4m3 || type == DataType::kFloat8E5m2)
    record.set(Key::kTypeC, number_of(DataType::kBfloat16));
  const bool own_type = tf32 || type == DataType::kFloat64;
  record.set(Key::kComputeType, number_of(own_type ? type : DataType::kFloat32));
  return record.set(Key::kTransA, transpose_a ? 1 : 0).set(Key::kTransB, transpose_b ? 1 : 0);
}

OperationRecord grouped_gemm_record(int64_t groups, int64_t rows, int64_t columns, int64_t depth, DataType type,
                                    Operator op) {
  OperationRecord record(Family::kGroupedGemm, "");
  const double used = static_cast<double>(std::min(groups, rows));  // groups without rows are not read
  const double m = static_cast<double>(rows), n = static_cast<double>(columns), k = static_cast<double>(depth);
  const double element = data_type_bits(type) / 8.0;
  // An expert layer: two products into the inner size (gate and up), and one back.
  const bool layer = op == Operator::kMixtureOfExperts;
  const double products = layer ? 3 : 1;
  record.set(Key::kGroups, groups).set(Key::kBatch, groups).set(Key::kRows, rows);
  record.set(Key::kM, columns).set(Key::kN, (rows + groups - 1) / std::max<int64_t>(groups, 1)).set(Key::kK, depth);
  record.set(Key::kTypeA, number_of(type)).set(Key::kComputeType, number_of(DataType::kFloat32));
  record.set(Key::kTransA, 1).set(Key::kOperator, static_cast<int64_t>(op));
  record.set(Key::kFlops, model::whole(2 * m * n * k * products))
      .set(Key::kReadBytes, model::whole((m * k + used * n * k * products + (layer ? m * n * 3 : 0)) * element))
      .set(Key::kWrittenBytes, model::whole((layer ? m * n * 3 + m * k : m * n) * element));
  return record;
}

OperationRecord collective_record(CollectiveKind kind, int64_t bytes, int64_t ranks, int64_t nodes, DataType type) {
  OperationRecord record(Family::kCollective, "");
  // NCCL counts the share of one rank where the buffers differ, and what goes to each peer.
  switch (kind) {
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
      bytes /= std::max<int64_t>(ranks, 1);
      break;
    default:
      break;
  }
  if (kind == CollectiveKind::kSend || kind == CollectiveKind::kRecv) record.family = Family::kPointToPoint;
  return record.set(Key::kCollective, static_cast<int64_t>(kind))
      .set(Key::kBytes, bytes)
      .set(Key::kRanks, ranks)
      .set(Key::kNodes, nodes)
      .set(Key::kDataType, number_of(type));
}

OperationRecord row_record(Family family, std::string_view operation, int64_t rows, int64_t columns, DataType type,
                           bool backward) {
  OperationRecord record(family, "");
  record.set(Key::kRows, rows)
      .set(Key::kColumns, columns)
      .set(Key::kDataType, number_of(type))
      .set(Key::kDirection, backward ? 1 : 0)
      .set(Key::kOperator, static_cast<int64_t>(operator_from_name(operation)));
  return record;
}

bool operation_of_row(const FamilyColumns& family, const ColumnSource& row, RowOperation* operation,
                      std::string* error) {
  RowReader reader(row, error);
  *operation = {};
  if (family.name == "gemm") {
    operation->record = gemm_row(&reader);
  } else if (family.name == "grouped_gemm") {
    operation->record = grouped_gemm_row(&reader);
  } else if (family.name == "attention") {
    operation->record = attention_row(&reader);
  } else if (family.name == "convolution") {
    operation->record = convolution_row(&reader);
  } else if (family.name == "collective") {
    operation->record = collective_row(&reader);
  } else if (family.name == "copy") {
    operation->record = copy_row(&reader);
  } else if (family.name == "launch") {
    launch_row(&reader, operation);
  } else {
    for (const NamedFamily& named : kRowFamilies)
      if (named.name == family.name) operation->record = streaming_row(named.family, &reader);
  }
  return reader.ok();
}

CopyPath copy_path(const OperationRecord& record) {
  const auto kind = static_cast<size_t>(record.get(Key::kDirection));
  const bool pageable = kind >= kFirstPageable;
  return {static_cast<int>(pageable ? kind - kFirstPageable + 1 : kind), pageable};
}

Work work_of(const RowOperation& operation) {
  return operation.kernel.empty() ? work_of(operation.record) : work_of_launch(operation);
}

Estimate estimate_operation(const Estimator& estimator, const RowOperation& operation) {
  if (operation.kernel.empty() && operation.record.family == Family::kCopy)
    return estimate_copy_record(estimator, operation.record);
  return estimator.estimate(work_of(operation));
}

bool estimate_row(const Estimator& estimator, const FamilyColumns& family, const ColumnSource& row, Estimate* result,
                  std::string* error) {
  RowOperation operation;
  if (!operation_of_row(family, row, &operation, error)) return false;
  *result = estimate_operation(estimator, operation);
  return true;
}

}  // namespace maya
