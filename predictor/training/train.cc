#include "predictor/training/train.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "predictor/core/estimator.h"
#include "predictor/core/operation_columns.h"
#include "predictor/training/parameters.h"

namespace maya::training {
namespace {

using Group = std::vector<const Row*>;

constexpr double kCalibrationShare = 0.12;
constexpr size_t kLeastCalibrationRows = 20;
constexpr size_t kCrossValidatedRows = 3000;

// What stays together in a split by shape.
uint64_t shape_group(const Row& row, Split split, size_t index) {
  if (split == Split::kRandom) return index;
  const OperationRecord& shape = row.work.shape;
  const auto join = [](int64_t a, int64_t b, int64_t c = 0) {
    return (static_cast<uint64_t>(a) * 0x9e3779b97f4a7c15ull + static_cast<uint64_t>(b)) * 0xff51afd7ed558ccdull +
           static_cast<uint64_t>(c);
  };
  switch (kind_of(row.work.family)) {
    case ModelKind::kMatrix:
      return join(shape.get(Key::kM), shape.get(Key::kK));
    case ModelKind::kAttention:
      return join(shape.get(Key::kHeads), shape.get(Key::kKvHeads), shape.get(Key::kHeadDim));
    case ModelKind::kConvolution:
      return join(shape.get(Key::kChannels), shape.get(Key::kFilters), shape.get(Key::kFilterHeight));
    case ModelKind::kExperts:
      return join(shape.get(Key::kM), shape.get(Key::kK), shape.get(Key::kGroups));
    case ModelKind::kStreaming:
      return join(shape.get(Key::kColumns), shape.get(Key::kOperator));
  }
  return index;
}

// Parts of a group: rows to fit, to calibrate intervals with, and to score on.
struct Parts {
  Group fit, calibration, held_out;
};

Parts split_rows(const Group& rows, double holdout, Split split, uint64_t seed) {
  Parts parts;
  for (size_t i = 0; i < rows.size(); ++i) {
    // The same shape lands in the same part whatever else is in the data.
    std::mt19937_64 random(shape_group(*rows[i], split, i) ^ seed * 0x2545f4914f6cdd1dull);
    random.discard(2);
    const double place = static_cast<double>(random() >> 11) * 0x1.0p-53;
    if (place < holdout)
      parts.held_out.push_back(rows[i]);
    else if (place < holdout + kCalibrationShare)
      parts.calibration.push_back(rows[i]);
    else
      parts.fit.push_back(rows[i]);
  }
  return parts;
}

// A table of one model, opened from its bytes: what predictions will read.
class OpenedModel {
 public:
  explicit OpenedModel(const device::DeviceProfile& profile, const FittedModel& model) {
    FittedTable fitted;
    fitted.device = profile.name;
    fitted.models.push_back(model);
    const std::string bytes = table_bytes(fitted);
    words_.resize((bytes.size() + 7) / 8);
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(words_.data()));
    std::string error;
    open_table(words_.data(), bytes.size(), &table_, &error);
  }
  const Table& table() const { return table_; }

 private:
  std::vector<uint64_t> words_;
  Table table_;
};

Estimate estimate_of(const Estimator& estimator, const Row& row) {
  RowOperation operation;
  operation.record = row.measurement->record;
  const bool copy = row.work.family == Family::kCopy && row.measurement->kernel.empty();
  return copy ? estimate_operation(estimator, operation) : estimator.estimate(row.work);
}

std::vector<Scored> scored(const Estimator& estimator, const Group& rows) {
  std::vector<Scored> result;
  for (const Row* row : rows) {
    const Estimate estimate = estimate_of(estimator, *row);
    result.push_back({row->measurement->time_ns, estimate.median_ns, estimate.low_ns, estimate.high_ns});
  }
  return result;
}

struct Residual {
  double bound_ns;
  double ratio;  // measured / estimated
};

std::vector<Residual> residuals_of(const Estimator& estimator, const Group& rows) {
  std::vector<Residual> residuals;
  for (const Row* row : rows)
    residuals.push_back({row->bound_ns, row->measurement->time_ns / estimate_of(estimator, *row).median_ns});
  return residuals;
}

// 10th and 90th percentiles of measured / estimated, by the size of the work. Classes hold equally many rows.
std::vector<TableInterval> intervals_of(std::vector<Residual> rows) {
  std::vector<TableInterval> intervals;
  if (rows.size() < kLeastCalibrationRows) return intervals;
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Residual& a, const Residual& b) { return a.bound_ns < b.bound_ns; });
  constexpr size_t kRowsPerClass = 150, kMostClasses = 8;
  const size_t classes = std::clamp<size_t>(rows.size() / kRowsPerClass, 1, kMostClasses);
  for (size_t i = 0; i < classes; ++i) {
    const size_t begin = rows.size() * i / classes, end = rows.size() * (i + 1) / classes;
    std::vector<double> ratios;
    for (size_t k = begin; k < end; ++k) ratios.push_back(rows[k].ratio);
    TableInterval interval{};
    interval.most_ns = i + 1 == classes ? 3e38f : static_cast<float>(rows[end - 1].bound_ns);
    interval.low = static_cast<float>(std::min(quantile(ratios, 0.1), 0.995));
    interval.high = static_cast<float>(std::max(quantile(ratios, 0.9), 1.005));
    interval.rows = static_cast<float>(end - begin);
    intervals.push_back(interval);
  }
  return intervals;
}

// With too few rows to calibrate on: the spread inside the fit, widened.
constexpr TableInterval kUncalibrated = {3e38f, 0.8f, 1.25f, 0};

ModelScore baselines(const ModelName& name, const Parts& parts) {
  ModelScore score{name, {}, {}, {}};
  std::vector<double> logs;
  for (const Row* row : parts.fit) logs.push_back(std::log(row->measurement->time_ns / row->bound_ns));
  const double factor = std::exp(quantile(logs, 0.5));
  std::vector<Scored> bound, constant;
  for (const Row* row : parts.held_out) {
    bound.push_back({row->measurement->time_ns, row->bound_ns, row->bound_ns, row->bound_ns});
    constant.push_back({row->measurement->time_ns, row->bound_ns * factor, 0, 0});
  }
  score.roofline = score_of(bound);
  score.constant_efficiency = score_of(constant);
  return score;
}

class Trainer {
 public:
  Trainer(const device::DeviceProfile& profile, const TrainOptions& options, Trained* trained)
      : profile_(profile), options_(options), trained_(trained) {}

  // `rows` of the device itself, `lent` of its siblings.
  bool add(const ModelName& name, const Group& rows, const Group& lent, std::string* error) {
    if (options_.progress)
      options_.progress(text_of(name) + ": " + std::to_string(rows.size()) + " rows" +
                        (lent.empty() ? "" : " and " + std::to_string(lent.size()) + " of other devices"));
    Parts parts = split_rows(rows, options_.holdout, options_.split, options_.seed);
    if (rows.size() < kLeastRows) {
      const Parts others = split_rows(lent, 0, options_.split, options_.seed);
      parts = {others.fit, others.calibration, {}};
    } else {
      parts.fit.insert(parts.fit.end(), lent.begin(), lent.end());
    }
    std::vector<TableInterval> intervals = {kUncalibrated};
    ModelScore score = baselines(name, parts);
    if (parts.fit.size() >= kLeastRows) {
      FittedModel model;
      if (!fit_model(profile_, name, parts.fit, options_.seed, &model, error)) return false;
      model.intervals = intervals;
      const OpenedModel uncalibrated(profile_, model);
      std::vector<Residual> residuals = residuals_of(Estimator(profile_, &uncalibrated.table()), parts.calibration);
      if (rows.size() < kCrossValidatedRows && !cross_validate(name, parts, &residuals, error)) return false;
      const auto found = intervals_of(std::move(residuals));
      if (!found.empty()) model.intervals = intervals = found;
      const OpenedModel opened(profile_, model);
      score.learned = score_of(scored(Estimator(profile_, &opened.table()), parts.held_out));
    }
    if (!parts.held_out.empty()) trained_->scores.push_back(score);
    if (!options_.final_fit) return true;
    FittedModel model;
    Group all = rows;
    all.insert(all.end(), lent.begin(), lent.end());
    if (!fit_model(profile_, name, all, options_.seed, &model, error)) return false;
    model.intervals = intervals;
    if (rows.size() < kLeastRows) {
      model.head.borrowed = 1;
      const std::string& origin = lent.front()->profile->name;
      std::fill(std::begin(model.head.origin), std::end(model.head.origin), '\0');
      std::copy_n(origin.data(), std::min(origin.size(), sizeof model.head.origin - 1), model.head.origin);
    }
    model.head.held_out_median = static_cast<float>(score.learned.median);
    model.head.held_out_p95 = static_cast<float>(score.learned.p95);
    model.head.held_out_coverage = static_cast<float>(score.learned.coverage);
    trained_->table.models.push_back(std::move(model));
    return true;
  }

 private:
  // Small groups need all of their rows for the intervals: each quarter of the rows that were fitted is estimated by a
  // fit to the others.
  bool cross_validate(const ModelName& name, const Parts& parts, std::vector<Residual>* residuals,
                      std::string* error) const {
    constexpr size_t kFolds = 4;
    for (size_t fold = 0; fold < kFolds; ++fold) {
      Group others = parts.calibration, kept;
      for (size_t i = 0; i < parts.fit.size(); ++i) {
        const bool own = parts.fit[i]->profile == &profile_;
        (own && i % kFolds == fold ? kept : others).push_back(parts.fit[i]);
      }
      if (others.size() < kLeastRows) continue;
      FittedModel model;
      if (!fit_model(profile_, name, others, options_.seed, &model, error)) return false;
      model.intervals = {kUncalibrated};
      const OpenedModel opened(profile_, model);
      for (const Residual& residual : residuals_of(Estimator(profile_, &opened.table()), kept))
        residuals->push_back(residual);
    }
    return true;
  }

  const device::DeviceProfile& profile_;
  const TrainOptions& options_;
  Trained* trained_;
};

// Rows that tell of training programs: those of inference engines stand for their own operators only.
size_t training_rows(const Group& rows) {
  return static_cast<size_t>(std::count_if(rows.begin(), rows.end(),
                                           [](const Row* row) { return is_of_training_program(*row->measurement); }));
}

}  // namespace

std::vector<std::string> siblings_of(const std::string& device) {
  struct Entry {
    std::string_view device;
    std::vector<std::string> siblings;
  };
  static const Entry kEntries[] = {
      {"a100-sxm-80", {"a100-pcie-80", "a100-pcie-40", "a100-sxm-40", "h100-sxm"}},
      {"a100-sxm-40", {"a100-sxm-80", "a100-pcie-40", "a100-pcie-80", "h100-sxm"}},
      {"a100-pcie-80", {"a100-pcie-40", "a100-sxm-80", "a100-sxm-40", "h100-sxm"}},
      {"a100-pcie-40", {"a100-pcie-80", "a100-sxm-80", "a100-sxm-40", "h100-sxm"}},
      {"h100-sxm", {"h200-sxm", "h100-pcie", "a100-sxm-80", "a100-pcie-40", "a100-pcie-80", "a100-sxm-40"}},
      {"h100-pcie", {"h100-sxm", "h200-sxm", "a100-sxm-80", "a100-pcie-40", "a100-pcie-80", "a100-sxm-40"}},
      {"h100-sxm-96", {"h100-sxm", "h200-sxm", "a100-sxm-80", "a100-pcie-40", "a100-pcie-80", "a100-sxm-40"}},
      {"h200-sxm", {"h100-sxm", "h100-pcie", "a100-sxm-80", "a100-pcie-40", "a100-pcie-80", "a100-sxm-40"}},
      {"b200-sxm", {"h200-sxm", "h100-sxm", "a100-sxm-80", "a100-pcie-40", "a100-pcie-80", "a100-sxm-40"}},
      {"l40s", {"a100-pcie-40", "a100-pcie-80", "a100-sxm-80", "h100-sxm", "a100-sxm-40"}},
  };
  for (const Entry& entry : kEntries)
    if (entry.device == device) return entry.siblings;
  return {};
}

bool train(const device::DeviceProfile& profile, const std::vector<Measurement>& measurements,
           const std::vector<Sibling>& siblings, const TrainOptions& options, Trained* trained, std::string* error) {
  *trained = {};
  trained->table.device = profile.name;
  struct Lent {
    std::vector<Row> rows;
    std::map<ModelName, Group> groups;
  };
  std::vector<Lent> all(1 + siblings.size());
  all[0].rows = rows_of(profile, measurements);
  for (size_t i = 0; i < siblings.size(); ++i)
    all[i + 1].rows = rows_of(*siblings[i].profile, siblings[i].measurements);
  std::map<ModelName, Group> own, lent;
  for (Lent& one : all)
    for (const Row& row : one.rows) one.groups[model_name_of(row.work)].push_back(&row);
  for (const Lent& one : all) {
    for (const auto& [name, rows] : one.groups) {
      if (&one == &all[0]) {
        own[name] = rows;
        lent[name];
      } else if (training_rows(own[name]) + lent[name].size() < kOwnRows) {
        lent[name].insert(lent[name].end(), rows.begin(), rows.end());
      }
    }
  }
  if (all[0].rows.empty() && lent.empty()) {
    *error = "no measurements of " + profile.name + " that a model can learn from";
    return false;
  }
  Trainer trainer(profile, options, trained);
  for (const auto& [name, rows] : own) {
    if (!options.only.empty() && text_of(name).find(options.only) == std::string::npos) continue;
    const Group& more = lent[name];
    if (rows.size() + more.size() < kLeastRows) {
      trained->left_out.push_back(text_of(name) + ": " + std::to_string(rows.size() + more.size()) +
                                  " rows, at least " + std::to_string(kLeastRows) + " are needed");
      continue;
    }
    if (!trainer.add(name, rows, more, error)) return false;
  }
  if (options.final_fit) {
    trained->table.parameters = named_parameters(profile, measurements);
    for (const Sibling& sibling : siblings)
      for (const TableParameter& parameter : named_parameters(*sibling.profile, sibling.measurements))
        if (std::none_of(trained->table.parameters.begin(), trained->table.parameters.end(),
                         [&](const TableParameter& ours) { return std::string_view(ours.name) == parameter.name; }))
          trained->table.parameters.push_back(parameter);
  }
  return true;
}

}  // namespace maya::training
