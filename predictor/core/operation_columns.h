// Operations as rows of a table: the columns of maya-estimate (and of training data), family by family.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "predictor/core/estimate.h"

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

// Estimates one row. `value_of(column)` gives a column's text, empty when the table lacks the column or the cell is
// empty. On failure returns false and `error` is one line: "column: `value`: what was expected".
class ColumnSource {
 public:
  virtual ~ColumnSource() = default;
  virtual std::string_view value_of(std::string_view column) const = 0;
};
bool estimate_row(const device::DeviceProfile& profile, const FamilyColumns& family, const ColumnSource& row,
                  Estimate* estimate, std::string* error);

// kNone for names that data_type_name() does not give; also accepts "fp16", "bf16", "fp32", "half", "float",
// "float8_e4m3fn".
DataType data_type_from_name(std::string_view name);

}  // namespace maya
