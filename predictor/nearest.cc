#include "predictor/nearest.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "predictor/core/limits.h"
#include "predictor/core/operation_columns.h"
#include "predictor/numbers.h"

namespace maya::predictor {
namespace {

std::vector<NearMeasurement> on_grid(const Estimator& estimator, const TableModel& model, const Work& work,
                                     size_t most) {
  const GridView grid = grid_of(*estimator.table(), model);
  uint32_t shape[3];
  matrix_shape(work, shape);
  struct Cell {
    double distance;
    uint32_t index[3];
    float value;
  };
  std::vector<Cell> cells;
  for (uint32_t i = 0; i < grid.count[0]; ++i)
    for (uint32_t j = 0; j < grid.count[1]; ++j)
      for (uint32_t k = 0; k < grid.count[2]; ++k) {
        const int32_t place[3] = {static_cast<int32_t>(i), static_cast<int32_t>(j), static_cast<int32_t>(k)};
        const float value = grid.at(place);
        if (std::isnan(value)) continue;
        double distance = 0;
        for (int axis = 0; axis < 3; ++axis) {
          const double step = std::log(static_cast<double>(grid.axis[axis][place[axis]]) / shape[axis]);
          distance += step * step;
        }
        cells.push_back({distance, {i, j, k}, value});
      }
  const size_t count = std::min(most, cells.size());
  std::partial_sort(cells.begin(), cells.begin() + static_cast<ptrdiff_t>(count), cells.end(),
                    [](const Cell& a, const Cell& b) { return a.distance < b.distance; });
  std::vector<NearMeasurement> result;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t rows = grid.axis[0][cells[i].index[0]], columns = grid.axis[1][cells[i].index[1]];
    const uint32_t depth = grid.axis[2][cells[i].index[2]];
    const Work there = work_of(gemm_record(rows, columns, depth, work.type));
    const double bound = model::roofline_ns(estimator.profile(), there);
    result.push_back({"m=" + std::to_string(columns) + " n=" + std::to_string(rows) + " k=" + std::to_string(depth),
                      bound * std::exp(static_cast<double>(cells[i].value))});
  }
  return result;
}

}  // namespace

std::vector<NearMeasurement> nearest_measurements(const Estimator& estimator, const TableModel& model, const Work& work,
                                                  size_t most) {
  if (estimator.table() == nullptr) return {};
  if (model.grid.count > 0) return on_grid(estimator, model, work, most);
  std::vector<NearMeasurement> result;
  const auto op = static_cast<uint16_t>(work.shape.get(Key::kOperator));
  const auto direction = static_cast<uint16_t>(work.shape.get(Key::kDirection));
  for (const StreamingLine& line : estimator.table()->section<StreamingLine>(model.lines)) {
    if (line.op != op || line.direction != direction || result.size() >= most) continue;
    const double bytes = model::bytes_of(work);
    const double bandwidth = estimator.profile().memory_bandwidth * static_cast<double>(line.share);
    result.push_back({"line of " + std::to_string(line.rows) + " measurements, " +
                          grouped(static_cast<double>(line.least_bytes)) + "B to " +
                          grouped(static_cast<double>(line.most_bytes)) + "B",
                      static_cast<double>(line.floor_ns) + bytes / bandwidth * 1e9});
  }
  return result;
}

std::string model_name(const TableModel& model) {
  return maya::model_name(static_cast<Family>(model.family), static_cast<TypeClass>(model.type_class), model.direction);
}

std::string describe_model(const TableModel& model) {
  const std::string origin(model.origin, strnlen(model.origin, sizeof model.origin));
  std::string text = model_name(model);
  text += ": " + std::to_string(model.rows) + " measurements";
  text += model.borrowed != 0 ? " of other devices, first of " + origin : " of " + origin;
  if (model.held_out_median > 0)
    text += ", " + fixed(100 * static_cast<double>(model.held_out_median), 1) + " % median error and " +
            fixed(100 * static_cast<double>(model.held_out_p95), 1) + " % at the 95th percentile on shapes kept back";
  return text;
}

}  // namespace maya::predictor
