#include "predictor/training/score.h"

#include <algorithm>
#include <cmath>

namespace maya::training {

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (at - static_cast<double>(below));
}

Score score_of(std::span<const Scored> rows) {
  Score score;
  score.rows = rows.size();
  if (rows.empty()) return score;
  std::vector<double> errors, signed_errors;
  size_t inside = 0;
  for (const Scored& row : rows) {
    const double error = row.estimated_ns / row.measured_ns - 1;
    signed_errors.push_back(error);
    errors.push_back(std::abs(error));
    score.mean += std::abs(error);
    if (row.measured_ns >= row.low_ns && row.measured_ns <= row.high_ns) ++inside;
  }
  score.mean /= static_cast<double>(rows.size());
  score.coverage = static_cast<double>(inside) / static_cast<double>(rows.size());
  score.median = quantile(errors, 0.5);
  score.p95 = quantile(errors, 0.95);
  score.bias = quantile(signed_errors, 0.5);
  return score;
}

}  // namespace maya::training
