// What the learned models see of an operation. One extractor, used by maya-train and by every prediction: a model and
// its predictions cannot drift apart. The meaning of a feature is part of the table format (kTableVersion).
#pragma once

#include <cstdint>
#include <string_view>

#include "predictor/core/estimate.h"
#include "predictor/core/table.h"

namespace maya {

inline constexpr int kMostFeatures = 64;
ModelKind kind_of(Family family);
TypeClass type_class_of(const Work& work);
// Which of a family's models a work belongs to: 1 for attention backward. Convolutions share one for their directions.
int model_direction(const Work& work);
// Operand layout of a matrix product: 0 TN (as torch.nn.functional.linear calls it), 1 NN, 2 TT, 3 NT.
int matrix_layout(const OperationRecord& shape);
// One product of layout TN without an epilogue: what grids hold.
bool is_plain_product(const Work& work);
int feature_count(ModelKind kind);
std::string_view feature_name(ModelKind kind, int feature);

// Measured shapes of matrix products on a model's grid, as logarithms of time / roofline.
struct GridView {
  const uint32_t* axis[3] = {nullptr, nullptr, nullptr};  // rows, columns and depth that were measured, ascending
  uint32_t count[3] = {0, 0, 0};
  const float* values = nullptr;  // NaN: not measured

  bool empty() const { return values == nullptr; }
  size_t cell(const int32_t* index) const {
    return (static_cast<size_t>(index[0]) * count[1] + static_cast<size_t>(index[1])) * count[2] +
           static_cast<size_t>(index[2]);
  }
  float at(const int32_t* index) const { return values[cell(index)]; }
  // Index of `value` on an axis; -1 when it is not there.
  int32_t find(int axis_number, uint32_t value) const;
};
GridView grid_of(const Table& table, const TableModel& model);

// Rows, columns and depth of a matrix product as the grid has them: rows are what a framework calls tokens (n of the
// BLAS call), columns the features of the result (m).
void matrix_shape(const Work& work, uint32_t shape[3]);

// Fills feature_count(kind) values. `bound_ns` is roofline_ns() of the work.
void features_of(const device::DeviceProfile& profile, const Work& work, double bound_ns, float* features);

// FlashAttention-2 is the best there is before Hopper: there it is no implementation of its own.
bool is_best_implementation(const device::DeviceProfile& profile, const Work& work);

// Identifies a measured shape: equal for operations that take equal time, a hash of the integers that decide it.
uint64_t point_key(const Work& work);

}  // namespace maya
