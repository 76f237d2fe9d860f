#include "predictor/training/line_fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace maya::training {
namespace {

using Key = std::tuple<uint16_t, uint16_t, uint16_t>;
using Rows = std::vector<const LineSample*>;

constexpr size_t kMostRows = 400;  // enough for two numbers

// Rows of each size (a factor of four wide) count together as one, so that many large tensors do not outvote the few
// small ones that tell where the line begins.
std::vector<double> weights_of(const Rows& rows) {
  const auto size_of = [](const LineSample* row) {
    return static_cast<int>(std::floor(std::log2(row->bytes + 1) / 2));
  };
  std::map<int, double> count;
  for (const LineSample* row : rows) ++count[size_of(row)];
  std::vector<double> weights;
  for (const LineSample* row : rows) weights.push_back(1 / std::sqrt(count[size_of(row)]));
  return weights;
}

double misfit(const Rows& rows, const std::vector<double>& weights, double floor_ns, double share) {
  double sum = 0;
  for (size_t i = 0; i < rows.size(); ++i)
    sum += weights[i] * std::abs(std::log(rows[i]->time_ns / (floor_ns + rows[i]->ideal_ns / share)));
  return sum;
}

StreamingLine fit(const Key& key, Rows rows, double least_floor_ns, double most_floor_ns) {
  std::sort(rows.begin(), rows.end(), [](const LineSample* a, const LineSample* b) {
    return std::tie(a->bytes, a->time_ns) < std::tie(b->bytes, b->time_ns);
  });
  Rows sample;
  const size_t step = std::max<size_t>(1, rows.size() / kMostRows);
  for (size_t i = 0; i < rows.size(); i += step) sample.push_back(rows[i]);

  // Coarse search over both, then three times finer around the best.
  double best = 1e300, floor_ns = least_floor_ns, share = 0.5;
  const std::vector<double> weights = weights_of(sample);
  double floor_low = least_floor_ns * 0.7, floor_high = most_floor_ns;
  double share_low = 0.005, share_high = 3;
  for (int pass = 0; pass < 4; ++pass) {
    constexpr int kSteps = 24;
    for (int i = 0; i <= kSteps; ++i) {
      const double f = floor_low * std::pow(floor_high / floor_low, static_cast<double>(i) / kSteps);
      for (int j = 0; j <= kSteps; ++j) {
        const double s = share_low * std::pow(share_high / share_low, static_cast<double>(j) / kSteps);
        const double error = misfit(sample, weights, f, s);
        if (error < best) best = error, floor_ns = f, share = s;
      }
    }
    const double floor_step = std::pow(floor_high / floor_low, 2.0 / kSteps);
    const double share_step = std::pow(share_high / share_low, 2.0 / kSteps);
    floor_low = std::max(floor_ns / floor_step, least_floor_ns * 0.7);
    floor_high = std::min(std::max(floor_ns * floor_step, floor_low * 1.01), most_floor_ns);
    share_low = share / share_step;
    share_high = share * share_step;
  }

  std::vector<double> ratios;
  for (const LineSample* row : rows) ratios.push_back(row->time_ns / (floor_ns + row->ideal_ns / share));
  std::sort(ratios.begin(), ratios.end());
  // Two numbers were fitted to these rows: with few of them the spread looks smaller than it is.
  const double widen = 1 + 2.0 / static_cast<double>(ratios.size());
  const auto quantile = [&](double q) {
    return ratios[static_cast<size_t>(q * static_cast<double>(ratios.size() - 1) + 0.5)];
  };
  StreamingLine line{};
  std::tie(line.op, line.direction, line.pattern) = key;
  line.rows = static_cast<uint16_t>(std::min<size_t>(rows.size(), 65535));
  line.floor_ns = static_cast<float>(floor_ns);
  line.share = static_cast<float>(share);
  line.least_bytes = static_cast<float>(rows.front()->bytes);
  line.most_bytes = static_cast<float>(rows.back()->bytes);
  line.low = static_cast<float>(std::pow(std::min(quantile(0.1), 0.97), widen));
  line.high = static_cast<float>(std::pow(std::max(quantile(0.9), 1.03), widen));
  return line;
}

}  // namespace

std::vector<StreamingLine> fit_lines(std::span<const LineSample> samples, double least_floor_ns) {
  std::map<Key, Rows> groups;
  for (const LineSample& sample : samples) {
    if (sample.op != 0) groups[{sample.op, sample.direction, sample.pattern}].push_back(&sample);
    if (sample.common || sample.op == 0) groups[{uint16_t{0}, sample.direction, sample.pattern}].push_back(&sample);
  }
  // Operators of which only large tensors were measured begin where the common line does.
  constexpr double kMostFloor_ns = 30e3, kShort_ns = 3e3;
  double common_floor_ns = kMostFloor_ns;
  std::vector<StreamingLine> lines;
  for (auto& [key, rows] : groups) {
    if (rows.size() < kLeastLineRows) continue;
    const bool has_short =
        std::any_of(rows.begin(), rows.end(), [](const LineSample* row) { return row->ideal_ns < kShort_ns; });
    const double most =
        std::max(has_short ? kMostFloor_ns : std::min(common_floor_ns, 3 * least_floor_ns), least_floor_ns * 1.05);
    lines.push_back(fit(key, rows, least_floor_ns, most));
    if (std::get<0>(key) == 0) common_floor_ns = static_cast<double>(lines.back().floor_ns);
  }
  return lines;
}

}  // namespace maya::training
