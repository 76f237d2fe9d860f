#include "predictor/core/estimator.h"

#include <algorithm>
#include <cmath>

#include "predictor/core/families.h"
#include "predictor/core/forest.h"
#include "predictor/core/limits.h"
#include "predictor/core/lines.h"

namespace maya {
namespace {

// Intervals of what lies outside of the measured range, and of what was measured on a sibling, are wider by this power.
constexpr double kExtrapolationPower = 1.6;
// Repeats of a shape differ by at least this much between builds and runs.
constexpr double kLeastSpread = 1.03;

// Families whose kernels stream tensors as the second family's do: models of that one stand in.
Family sibling_of(Family family) {
  switch (family) {
    case Family::kRandom:
    case Family::kFill:
    case Family::kVector:
    case Family::kPooling:
      return Family::kElementwise;
    default:
      return Family::kUnknown;
  }
}

TypeClass stand_in_of(ModelKind kind, TypeClass type) {
  // TF32 products run the 16-bit kernels' structure on operands twice as wide.
  const bool product = kind == ModelKind::kMatrix || kind == ModelKind::kAttention;
  return product && type == TypeClass::kTf32 ? TypeClass::kHalf : TypeClass::kAny;
}

bool inside(const TableModel& model, const float* features) {
  for (int i = 0; i < 4; ++i)
    if (features[i] < model.least[i] || features[i] > model.most[i]) return false;
  return true;
}

}  // namespace

Estimator::Estimator(const device::DeviceProfile& profile, const Table* table, Clock clock)
    : profile_(profile),
      table_(table),
      clock_(clock),
      cluster_(default_cluster_for(profile)),
      collectives_(&builtin_collectives()) {
  if (table_ == nullptr) return;
  sustained_slope_ = table_->parameter("sustained.slope", 0);
  sustained_threshold_ = table_->parameter("sustained.threshold", 1);
  move_power_limit();
  for (const TableModel& model : table_->models()) origins_.push_back(device::find_builtin_profile(model.origin));
  borrowed_streaming_ = table_->parameter("streaming.borrowed", 1);
  tf32_ = table_->parameter("gemm.tf32", 1);
  layout_factor_[1] = table_->parameter("gemm.layout_nn", 1);
  layout_factor_[2] = table_->parameter("gemm.layout_tt", 1);
  layout_factor_[3] = table_->parameter("gemm.layout_nt", 1);
}

// The power drawn grows with the rate of the tensor cores, and the slow-down with how far that goes beyond the limit. A
// device that borrows what another one was measured at has its own limit to hold, and its own peak.
void Estimator::move_power_limit() {
  const TableModel* products = table_->find(Family::kGemm, TypeClass::kHalf, 0);
  const device::DeviceProfile* origin = products == nullptr ? nullptr : device::find_builtin_profile(products->origin);
  if (origin == nullptr || origin->power_limit_watts == 0 || profile_.power_limit_watts == 0) return;
  // Watts that a device draws whatever its tensor cores do, as a share of its limit.
  constexpr double kBase_share = 0.2;
  const double base = kBase_share * origin->power_limit_watts;
  const double left = std::max(profile_.power_limit_watts - base, base) / (origin->power_limit_watts - base);
  const double peaks =
      model::peak_of(profile_, DataType::kBfloat16, true) / model::peak_of(*origin, DataType::kBfloat16, true);
  sustained_threshold_ *= left / peaks;
  sustained_slope_ *= peaks / left;
}

double Estimator::sustained_factor(const Work& work, double burst_ns) const {
  if (!work.tensor_cores || burst_ns <= 0) return 1;
  const double share = work.flops / model::peak_of(profile_, work.type, true) * 1e9 / burst_ns;
  return 1 + sustained_slope_ * std::max(0.0, share - sustained_threshold_);
}

const TableModel* Estimator::model_of(const Work& work, bool* stands_in) const {
  // Products with a structured operand run kernels of their own on half the depth.
  *stands_in = work.shape.get(Key::kNonzeros) != 0;
  const TypeClass type = type_class_of(work);
  const int direction = model_direction(work);
  if (const TableModel* model = table_->find(work.family, type, direction)) return model;
  *stands_in = true;
  const ModelKind kind = kind_of(work.family);
  if (kind == ModelKind::kStreaming) {
    const Family sibling = sibling_of(work.family);
    return sibling == Family::kUnknown ? nullptr : table_->find(sibling, type, 0);
  }
  const TypeClass other = stand_in_of(kind, type);
  return other == TypeClass::kAny ? nullptr : table_->find(work.family, other, direction);
}

bool Estimator::measured(const TableModel& model, const Work& work, const GridView& grid, double bound_ns,
                         Learned* result) const {
  double ns = 0, spread = 1;
  if (!grid.empty() && is_plain_product(work)) {
    uint32_t shape[3];
    matrix_shape(work, shape);
    int32_t place[3];
    bool on_grid = true;
    for (int axis = 0; axis < 3; ++axis) on_grid = (place[axis] = grid.find(axis, shape[axis])) >= 0 && on_grid;
    if (on_grid && !std::isnan(grid.at(place))) {
      ns = bound_ns * std::exp(grid.at(place));
      spread = 1 + 0.01 * table_->section<uint8_t>(model.grid_spread)[grid.cell(place)];
    }
  }
  if (ns == 0 && model.points.count > 0 && model.borrowed == 0) {
    if (const TablePoint* point = table_->point(model, point_key(work)); point != nullptr) {
      ns = static_cast<double>(point->time_ns);
      spread = static_cast<double>(point->spread);
    }
  }
  if (ns == 0) return false;
  result->ns = ns;
  // Half of the spread to each side of the median.
  const double side = std::sqrt(std::max(spread, kLeastSpread));
  result->low = 1 / side;
  result->high = side;
  result->provenance = model.borrowed != 0 ? Provenance::kExtrapolated : Provenance::kMeasured;
  return true;
}

// Of memory-bound work that was measured on another device, besides the ratio of the bandwidths, which lines have:
// caches of another size, and what the published steps of a device say. Faster memory makes nothing slower.
double Estimator::borrowed_factor(const TableModel& model, const Work& work) const {
  const device::DeviceProfile* origin = origins_[static_cast<size_t>(&model - table_->models().data())];
  if (origin == nullptr) return borrowed_streaming_;
  const double factor = borrowed_streaming_ * model::cache_relief(profile_, work) / model::cache_relief(*origin, work);
  const double faster = profile_.memory_bandwidth / origin->memory_bandwidth;
  return faster > 1 ? std::min(factor, faster) : factor;
}

bool Estimator::learned(const Work& work, double bound_ns, Learned* result) const {
  bool stands_in = false;
  const TableModel* found = model_of(work, &stands_in);
  if (found == nullptr) return false;
  const TableModel& model = *found;
  result->model = found;
  const GridView grid = grid_of(*table_, model);
  if (!stands_in && measured(model, work, grid, bound_ns, result)) {
    if (model.borrowed != 0) {
      result->low = std::pow(result->low, kExtrapolationPower);
      result->high = std::pow(result->high, kExtrapolationPower);
    }
    return true;
  }

  float features[kMostFeatures];
  features_of(profile_, work, bound_ns, features);
  bool seen = inside(model, features);
  bool known = !stands_in && model.borrowed == 0 && seen;
  double base = bound_ns, low = 1, high = 1;
  if (model.lines.count > 0) {
    const LineEstimate line = line_estimate(table_->section<StreamingLine>(model.lines), profile_, work);
    if (line.ns <= 0) return false;
    seen = seen && line.seen;
    known = known && line.exact;
    low = line.low;
    high = line.high;
    if (model.based_on_lines != 0 || model.trees.count == 0) base = line.ns;
  } else if (model.trees.count == 0) {
    return false;
  }
  double ns = base;
  // Trees bend the lines of operators that they have seen, at sizes that they have seen.
  if (model.trees.count > 0 && (model.based_on_lines == 0 || seen)) {
    const Forest forest{table_->section<Tree>(model.trees), table_->section<TreeNode>(model.nodes)};
    ns = base * std::exp(static_cast<double>(evaluate(forest, features)));
    const auto intervals = table_->section<TableInterval>(model.intervals);
    for (const TableInterval& interval : intervals) {
      low = interval.low;
      high = interval.high;
      if (bound_ns <= interval.most_ns) break;
    }
  }
  if (model.borrowed != 0 && kind_of(work.family) == ModelKind::kStreaming) ns *= borrowed_factor(model, work);
  if (stands_in && work.family == Family::kGemm) ns *= tf32_;
  if (work.family == Family::kGemm && type_class_of(work) != TypeClass::kSingle) {
    const int layout = matrix_layout(work.shape);
    ns *= layout_factor_[layout];
    if (layout != 0) known = false;
  }
  if (!known) {
    low = std::pow(low, kExtrapolationPower);
    high = std::pow(high, kExtrapolationPower);
  }
  result->ns = ns;
  result->low = low;
  result->high = high;
  result->provenance = known ? Provenance::kInterpolated : Provenance::kExtrapolated;
  return true;
}

// A convolution by a method that is not the best one, which is what was measured and fitted. Direct products have the
// analytic estimate of ordinary cores; transforms take longer than the best method by as much as their own roofline is
// above that one's. None is faster than the best method and the tenth that indices cost which are computed on the way.
Estimate Estimator::other_convolution(const Work& work, Derivation* derivation) const {
  constexpr double kLeastFactor = 1.1;
  OperationRecord record = work.shape;
  for (const Key key : {Key::kImplementation, Key::kFlops, Key::kReadBytes, Key::kWrittenBytes}) record.clear(key);
  const Work best = work_of(record);
  Estimate result = estimate(best, derivation);
  const bool direct = work.shape.get(Key::kImplementation) == static_cast<int64_t>(Implementation::kDirectProduct);
  const double ratio = direct ? maya::estimate(profile_, work).median_ns / result.median_ns
                              : model::roofline_ns(profile_, work) / model::roofline_ns(profile_, best);
  const double factor = std::max(kLeastFactor, ratio);
  result.median_ns *= factor;
  result.low_ns *= factor;
  result.high_ns *= factor;
  if (result.provenance != Provenance::kUnknown) result.provenance = Provenance::kAnalytic;
  return result;
}

// No table of measurements has these kernels: FlashAttention-2's time and the charted ratio of the two.
Estimate Estimator::memory_efficient_attention(const Work& work, Derivation* derivation) const {
  Work flash = work;
  flash.shape.clear(Key::kImplementation);
  flash.shape.set(Key::kImplementation, static_cast<int64_t>(Implementation::kFlashAttention2));
  Estimate result = estimate(flash, derivation);
  const double factor = model::memory_efficient_slowdown(static_cast<double>(work.shape.get(Key::kHeadDim)));
  result.median_ns *= factor;
  result.low_ns *= factor;
  result.high_ns *= factor;
  if (result.provenance == Provenance::kMeasured || result.provenance == Provenance::kInterpolated)
    result.provenance = Provenance::kExtrapolated;
  return result;
}

Estimate Estimator::estimate(const Work& work, Derivation* derivation) const {
  if (work.family == Family::kAttention && type_class_of(work) == TypeClass::kHalf &&
      work.shape.get(Key::kImplementation) == static_cast<int64_t>(Implementation::kMemoryEfficient))
    return memory_efficient_attention(work, derivation);
  if (work.family == Family::kConvolution && work.shape.get(Key::kImplementation) != 0)
    return other_convolution(work, derivation);
  if (is_best_implementation(profile_, work)) {
    Work best = work;
    best.shape.clear(Key::kImplementation);
    return estimate(best, derivation);
  }
  if (is_collective(work.family)) {
    const CollectiveEstimate found = collective(work);
    if (derivation != nullptr) {
      *derivation = {nullptr, found.plan.bound_ns, found.estimate.median_ns <= found.plan.bound_ns, 1, found};
    }
    return found.estimate;
  }
  const double bound = model::roofline_ns(profile_, work);
  Estimate result;
  Learned learned_result;
  const bool usable = table_ != nullptr && work.family != Family::kUnknown && !work.rough &&
                      learned(work, bound, &learned_result) && std::isfinite(learned_result.ns);
  double unbounded = 0;
  if (usable) {
    unbounded = learned_result.ns;
    result.median_ns = std::max(unbounded, bound);
    result.low_ns = std::max(result.median_ns * learned_result.low, bound);
    result.high_ns = result.median_ns * learned_result.high;
    result.provenance = work.guessed ? Provenance::kUnknown : learned_result.provenance;
  } else {
    result = maya::estimate(profile_, work);
    unbounded = result.median_ns;
  }
  double factor = 1;
  if (clock_ == Clock::kSustained) {
    factor = sustained_factor(work, result.median_ns);
    result.median_ns *= factor;
    result.low_ns *= factor;
    result.high_ns *= factor;
  }
  if (derivation != nullptr) *derivation = {learned_result.model, bound, unbounded < bound, factor, {}};
  return result;
}

Estimate Estimator::estimate_copy(int kind, uint64_t bytes, bool pageable) const {
  if (table_ != nullptr) {
    const LineEstimate line = copy_line(*table_, profile_, kind, bytes, pageable);
    if (line.ns > 0)
      return {line.ns, line.ns * line.low, line.ns * line.high,
              line.exact ? Provenance::kInterpolated : Provenance::kExtrapolated};
  }
  return maya::estimate_copy(profile_, kind, bytes, pageable);
}

Estimate Estimator::estimate_fill(uint64_t bytes) const {
  if (table_ != nullptr) {
    OperationRecord record(Family::kFill, "");
    record.set(Key::kWrittenBytes, static_cast<int64_t>(std::min<uint64_t>(bytes, INT64_MAX)));
    Work work;
    work.family = Family::kFill;
    work.type = DataType::kUint8;
    work.written_bytes = static_cast<double>(bytes);
    work.shape = record;
    return estimate(work);
  }
  return maya::estimate_fill(profile_, bytes);
}

}  // namespace maya
