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

double misfit(const Rows& rows, double floor_ns, double share) {
  double sum = 0;
  for (const LineSample* row : rows) sum += std::abs(std::log(row->time_ns / (floor_ns + row->ideal_ns / share)));
  return sum;
}

StreamingLine fit(const Key& key, Rows rows, double least_floor_ns) {
  std::sort(rows.begin(), rows.end(), [](const LineSample* a, const LineSample* b) {
    return std::tie(a->bytes, a->time_ns) < std::tie(b->bytes, b->time_ns);
  });
  Rows sample;
  const size_t step = std::max<size_t>(1, rows.size() / kMostRows);
  for (size_t i = 0; i < rows.size(); i += step) sample.push_back(rows[i]);

  // Coarse search over both, then three times finer around the best.
  double best = 1e300, floor_ns = least_floor_ns, share = 0.5;
  double floor_low = least_floor_ns * 0.7, floor_high = std::max(30e3, 2 * least_floor_ns);
  double share_low = 0.005, share_high = 3;
  for (int pass = 0; pass < 4; ++pass) {
    constexpr int kSteps = 24;
    for (int i = 0; i <= kSteps; ++i) {
      const double f = floor_low * std::pow(floor_high / floor_low, static_cast<double>(i) / kSteps);
      for (int j = 0; j <= kSteps; ++j) {
        const double s = share_low * std::pow(share_high / share_low, static_cast<double>(j) / kSteps);
        const double error = misfit(sample, f, s);
        if (error < best) best = error, floor_ns = f, share = s;
      }
    }
    const double floor_step = std::pow(floor_high / floor_low, 2.0 / kSteps);
    const double share_step = std::pow(share_high / share_low, 2.0 / kSteps);
    floor_low = std::max(floor_ns / floor_step, least_floor_ns * 0.7);
    floor_high = std::max(floor_ns * floor_step, floor_low * 1.01);
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
  std::tie(line.op, line.direction, line.strided) = key;
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
    if (sample.op != 0) groups[{sample.op, sample.direction, sample.strided}].push_back(&sample);
    groups[{uint16_t{0}, sample.direction, sample.strided}].push_back(&sample);
  }
  std::vector<StreamingLine> lines;
  for (auto& [key, rows] : groups)
    if (rows.size() >= kLeastLineRows) lines.push_back(fit(key, rows, least_floor_ns));
  return lines;
}

}  // namespace maya::training
