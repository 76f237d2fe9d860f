#include "predictor/training/fit.h"

#include <algorithm>
#include <cmath>

#include "predictor/core/features.h"
#include "predictor/core/limits.h"
#include "predictor/core/lines.h"
#include "predictor/core/operation_columns.h"
#include "predictor/training/line_fit.h"

namespace maya::training {
namespace {

constexpr size_t kLeastForestRows = 60;
constexpr size_t kMostPoints = 40000;
constexpr float kSiblingWeight = 0.3f;  // of a row that was measured on another device

BoostingOptions options_for(ModelKind kind, size_t rows, uint64_t seed) {
  constexpr size_t kMany = 8000, kSome = 800;
  if (rows > kMany && kind == ModelKind::kMatrix) return {290, 184, 12, 0.09, 0.85, 0.5, 2, seed};
  if (rows > kMany) return {260, 112, 10, 0.1, 0.85, 0.6, 2, seed};
  if (rows > kSome) return {400, 32, 7, 0.07, 0.8, 0.5, 3, seed};
  return {120, 12, 4, 0.07, 0.8, 0.6, 6, seed};
}

float log_ratio(const Row& row) { return static_cast<float>(std::log(row.measurement->time_ns / row.bound_ns)); }

// A grid over the axes of all plain products, when at least a quarter of its cells were measured.
void make_grid(const device::DeviceProfile& profile, const std::vector<const Row*>& rows, FittedModel* model) {
  std::vector<const Row*> plain;
  for (const Row* row : rows)
    if (row->profile == &profile && is_plain_product(row->work)) plain.push_back(row);
  if (plain.size() < 1000) return;
  for (const Row* row : plain) {
    uint32_t shape[3];
    matrix_shape(row->work, shape);
    for (int i = 0; i < 3; ++i) model->axis[i].push_back(shape[i]);
  }
  size_t cells = 1;
  for (auto& axis : model->axis) {
    std::sort(axis.begin(), axis.end());
    axis.erase(std::unique(axis.begin(), axis.end()), axis.end());
    cells *= axis.size();
  }
  constexpr size_t kLongestAxis = 1024;
  const bool dense = cells <= 4 * plain.size() && model->axis[0].size() <= kLongestAxis &&
                     model->axis[1].size() <= kLongestAxis && model->axis[2].size() <= kLongestAxis;
  if (!dense) {
    for (auto& axis : model->axis) axis.clear();
    return;
  }
  model->grid.assign(cells, std::nanf(""));
  model->grid_spread.assign(cells, 0);
  for (const Row* row : plain) {
    uint32_t shape[3];
    matrix_shape(row->work, shape);
    size_t at = 0;
    for (int i = 0; i < 3; ++i)
      at = at * model->axis[i].size() +
           static_cast<size_t>(std::lower_bound(model->axis[i].begin(), model->axis[i].end(), shape[i]) -
                               model->axis[i].begin());
    model->grid[at] = log_ratio(*row);
    model->grid_spread[at] =
        static_cast<uint8_t>(std::clamp(std::lround((row->measurement->spread - 1) * 100), 0L, 255L));
  }
}

void add_points(const device::DeviceProfile& profile, const std::vector<const Row*>& rows, bool has_grid,
                FittedModel* model) {
  for (const Row* row : rows) {
    if (row->profile != &profile) continue;
    if (has_grid && is_plain_product(row->work)) continue;
    // A launch tells less than its time depends on; only operations with a shape can be met again.
    if (!row->measurement->kernel.empty() || row->work.family == Family::kCopy) continue;
    TablePoint point{};
    point.key = point_key(row->work);
    point.time_ns = static_cast<float>(row->measurement->time_ns);
    point.spread = static_cast<float>(row->measurement->spread);
    model->points.push_back(point);
  }
  const auto less = [](const TablePoint& a, const TablePoint& b) { return a.key < b.key; };
  std::stable_sort(model->points.begin(), model->points.end(), less);
  // Of equal keys the geometric mean; their distance counts as spread.
  std::vector<TablePoint> unique;
  for (const TablePoint& point : model->points) {
    if (unique.empty() || less(unique.back(), point)) {
      unique.push_back(point);
      continue;
    }
    TablePoint& kept = unique.back();
    kept.spread = std::max(
        {kept.spread, point.spread, std::max(kept.time_ns, point.time_ns) / std::min(kept.time_ns, point.time_ns)});
    kept.time_ns = std::sqrt(kept.time_ns * point.time_ns);
  }
  model->points = unique.size() > kMostPoints ? std::vector<TablePoint>() : std::move(unique);
}

// Explicit copies are lines over their path's bandwidth; see copy_line().
LineSample copy_sample(const Row& row) {
  const CopyPath path = copy_path(row.work.shape);
  const bool between_devices = path.trace_kind == static_cast<int>(CopyKind::kDeviceToDevice);
  const double bytes = static_cast<double>(row.work.shape.get(Key::kBytes)) * (between_devices ? 2 : 1);
  const double bandwidth = between_devices ? row.profile->memory_bandwidth : row.profile->pcie_bandwidth;
  return {copy_operator(path.trace_kind, path.pageable),
          0,
          0,
          bytes,
          bytes / bandwidth * 1e9,
          row.measurement->time_ns,
          false};
}

void add_lines(const device::DeviceProfile& profile, const std::vector<const Row*>& rows, FittedModel* model) {
  std::vector<LineSample> samples;
  for (const Row* row : rows) {
    const OperationRecord& shape = row->work.shape;
    const double bytes = maya::model::bytes_of(row->work);
    if (row->work.family == Family::kCopy && row->measurement->kernel.empty()) {
      samples.push_back(copy_sample(*row));
      continue;
    }
    samples.push_back({static_cast<uint16_t>(shape.get(Key::kOperator)),
                       static_cast<uint16_t>(shape.get(Key::kDirection)), static_cast<uint16_t>(access_pattern(shape)),
                       bytes, bytes / row->profile->memory_bandwidth * 1e9, row->measurement->time_ns,
                       is_of_training_program(*row->measurement)});
  }
  model->lines = fit_lines(samples, profile.kernel_floor_ns);
}

// Kernels of inference engines that share a class with kernels of training programs, and differ from them. Additions
// and GELU are PyTorch's own there, but find what the kernel before them wrote in the cache: up to 200 MB they seem to
// reach all of an H100's bandwidth, where those of training programs reach nine tenths.
bool is_of_inference_engine(const Row& row) {
  if (is_of_training_program(*row.measurement)) return false;
  const auto op = static_cast<Operator>(row.work.shape.get(Key::kOperator));
  return row.work.family == Family::kGemm ||
         (row.work.family == Family::kElementwise && op != Operator::kRotary && op != Operator::kGatedActivation);
}

}  // namespace

bool is_of_training_program(const Measurement& measurement) { return measurement.source != "vidur"; }

ModelName model_name_of(const Work& work) { return {work.family, type_class_of(work), model_direction(work)}; }

std::string text_of(const ModelName& name) { return model_name(name.family, name.type, name.direction); }

std::vector<Row> rows_of(const device::DeviceProfile& profile, const std::vector<Measurement>& measurements) {
  std::vector<Row> rows;
  for (const Measurement& measurement : measurements) {
    if (measurement.sustained) continue;
    Row row{&measurement, &profile, work_of(measurement), 0};
    if (row.work.guessed || row.work.family == Family::kUnknown || row.work.family == Family::kCollective ||
        row.work.family == Family::kPointToPoint)
      continue;
    if (is_best_implementation(profile, row.work)) row.work.shape.clear(Key::kImplementation);
    if (is_of_inference_engine(row)) continue;
    if (row.work.shape.get(Key::kWindow) != 0) continue;
    row.bound_ns = maya::model::roofline_ns(profile, row.work);
    if (!(row.bound_ns > 0) || !std::isfinite(row.bound_ns)) continue;
    rows.push_back(std::move(row));
  }
  return rows;
}

bool fit_model(const device::DeviceProfile& profile, const ModelName& name, const std::vector<const Row*>& rows,
               uint64_t seed, FittedModel* model, std::string* error) {
  *model = {};
  const ModelKind kind = kind_of(name.family);
  TableModel& head = model->head;
  head.family = static_cast<uint16_t>(name.family);
  head.type_class = static_cast<uint8_t>(name.type);
  head.direction = static_cast<uint8_t>(name.direction);
  head.kind = static_cast<uint8_t>(kind);
  head.rows = static_cast<uint32_t>(rows.size());
  std::copy_n(profile.name.data(), std::min(profile.name.size(), sizeof head.origin - 1), head.origin);

  if (kind == ModelKind::kMatrix) make_grid(profile, rows, model);
  if (kind == ModelKind::kStreaming) add_lines(profile, rows, model);
  if (kind != ModelKind::kExperts) add_points(profile, rows, !model->grid.empty(), model);
  head.based_on_lines = model->lines.empty() ? 0 : 1;

  const int columns = feature_count(kind);
  std::vector<float> features, targets, weights;
  std::fill_n(head.least, 4, 3e38f);
  std::fill_n(head.most, 4, -3e38f);
  float values[kMostFeatures];
  for (const Row* row : rows) {
    const bool own = row->profile == &profile;
    features_of(*row->profile, row->work, row->bound_ns, values);
    for (int i = 0; i < 4; ++i) {
      head.least[i] = std::min(head.least[i], values[i]);
      head.most[i] = std::max(head.most[i], values[i]);
    }
    double base = row->bound_ns;
    if (head.based_on_lines != 0) base = line_estimate(model->lines, *row->profile, row->work).ns;
    const auto target = static_cast<float>(std::log(row->measurement->time_ns / base));
    features.insert(features.end(), values, values + columns);
    targets.push_back(target);
    weights.push_back(own ? 1.0f : kSiblingWeight);
  }
  // So few rows say where the line lies, not how it bends.
  if (rows.size() < kLeastForestRows || name.family == Family::kCopy) return true;
  return boost(features, static_cast<size_t>(columns), targets, weights, options_for(kind, rows.size(), seed),
               &model->forest, error);
}

}  // namespace maya::training
