// Operations as rows of a table: the columns of maya-estimate (and of training data), family by family.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "predictor/core/estimator.h"

namespace maya {

struct FamilyColumns {
  std::string_view name;                       // "gemm"
  std::span<const std::string_view> required;  // columns that must be there
  std::span<const std::string_view> optional;  // columns with a default
  std::string_view note;                       // what the values mean, one line
};

// Every family that can be estimated from columns, in the order of Family.
std::span<const FamilyColumns> estimable_families();
// nullptr when unknown. "norm" is accepted for "normalization".
const FamilyColumns* find_family_columns(std::string_view name);

// `value_of(column)` gives a column's text, empty when the table lacks the column or the cell is empty.
class ColumnSource {
 public:
  virtual ~ColumnSource() = default;
  virtual std::string_view value_of(std::string_view column) const = 0;
};

// What one row describes: a library operation, or the launch of a kernel.
struct RowOperation {
  // Family::kUnknown for a launch. Copies are Family::kCopy with Key::kBytes and a CopyKind under Key::kDirection.
  OperationRecord record;
  std::string_view kernel;  // demangled name, part of the row; empty but for a launch
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t registers = 0, shared_bytes = 0;
};

// Kinds of copies in tables; the first five are maya.proto.Copy.Kind.
enum class CopyKind : uint8_t {
  kHostToHost = 0,
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kDeviceToDevice = 3,
  kPeer = 4,
  kHostToDevicePageable = 5,
  kDeviceToHostPageable = 6,
};

// What the trace and estimators call the copy of a record of Family::kCopy.
struct CopyPath {
  int trace_kind;  // maya.proto.Copy.Kind
  bool pageable;
};
CopyPath copy_path(const OperationRecord& record);

// The operation of one row. On failure returns false and `error` is one line: "column: `value`: what was expected".
bool operation_of_row(const FamilyColumns& family, const ColumnSource& row, RowOperation* operation,
                      std::string* error);
Estimate estimate_operation(const Estimator& estimator, const RowOperation& operation);
// The work of a row that is no explicit copy.
Work work_of(const RowOperation& operation);
// Estimates one row; fails as operation_of_row() does.
bool estimate_row(const Estimator& estimator, const FamilyColumns& family, const ColumnSource& row, Estimate* estimate,
                  std::string* error);

// A matrix product as programs see it, row major: result[rows, columns] over `depth`, with cuBLAS' layout letters. BLAS
// is column major, so the record's m is `columns` and its n is `rows`. 8-bit floats give bfloat16 results;
// DataType::kTf32 is float32 data with TF32 products.
OperationRecord gemm_record(int64_t rows, int64_t columns, int64_t depth, DataType type, bool transpose_a = true,
                            bool transpose_b = false, int64_t batch = 1);

// `rows` of all groups together times a weight of [columns, depth] each, as gemm_record() means them; the record's n is
// the rows of one group when they are dealt out evenly, its Key::kRows all of them. Operator::kMixtureOfExperts is a
// whole layer of gated experts (three products and the activation): `columns` is then the experts' inner size.
OperationRecord grouped_gemm_record(int64_t groups, int64_t rows, int64_t columns, int64_t depth, DataType type,
                                    Operator op = Operator::kNone);

// `bytes` is nccl-tests' size: for all-gather and reduce-scatter the larger buffer.
OperationRecord collective_record(CollectiveKind kind, int64_t bytes, int64_t ranks, int64_t nodes, DataType type);

// Operations of the families with rows and columns. `operation` as PyTorch calls it; names that operator_from_name()
// does not know give Operator::kNone. Operations whose passes over memory differ from their family's carry their bytes.
OperationRecord row_record(Family family, std::string_view operation, int64_t rows, int64_t columns, DataType type,
                           bool backward = false);

// kNone for names that data_type_name() does not give; also accepts "fp16", "bf16", "fp32", "half", "float",
// "float8_e4m3fn".
DataType data_type_from_name(std::string_view name);

}  // namespace maya
