#include "predictor/training/parameters.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "predictor/core/features.h"
#include "predictor/core/limits.h"
#include "predictor/training/score.h"

namespace maya::training {
namespace {

TableParameter parameter(std::string_view name, double value, double error) {
  TableParameter result{};
  std::copy_n(name.data(), std::min(name.size(), sizeof result.name - 1), result.name);
  result.value = value;
  result.error = error;
  return result;
}

void add_sustained(const device::DeviceProfile& profile, const std::vector<Measurement>& measurements,
                   std::vector<TableParameter>* parameters) {
  std::map<uint64_t, const Measurement*> burst;
  for (const Measurement& measurement : measurements)
    if (!measurement.sustained && measurement.record.family == Family::kGemm)
      burst[point_key(work_of(measurement))] = &measurement;
  struct Pair {
    double share, factor;
  };
  std::vector<Pair> pairs;
  for (const Measurement& measurement : measurements) {
    if (!measurement.sustained || measurement.record.family != Family::kGemm) continue;
    const Work work = work_of(measurement);
    const auto found = burst.find(point_key(work));
    if (found == burst.end()) continue;
    constexpr double kLeastBurst_ns = 20000;  // shorter ones are decided by other things than the clock
    const double burst_ns = found->second->time_ns;
    if (burst_ns < kLeastBurst_ns) continue;
    pairs.push_back(
        {work.flops / maya::model::peak_of(profile, work.type, true) * 1e9 / burst_ns, measurement.time_ns / burst_ns});
  }
  constexpr size_t kLeastPairs = 100;
  if (pairs.size() < kLeastPairs) return;
  // For each threshold the best slope in the least squares sense; the best threshold of a fine grid.
  double best = 1e300, best_threshold = 1, best_slope = 0, best_error = 0;
  for (double threshold = 0; threshold < 0.8; threshold += 0.01) {
    double xx = 0, xy = 0;
    for (const Pair& pair : pairs) {
      const double x = std::max(0.0, pair.share - threshold), y = std::clamp(pair.factor, 0.8, 1.6) - 1;
      xx += x * x;
      xy += x * y;
    }
    if (xx <= 0) continue;
    const double slope = xy / xx;
    double squares = 0;
    for (const Pair& pair : pairs) {
      const double x = std::max(0.0, pair.share - threshold), y = std::clamp(pair.factor, 0.8, 1.6) - 1;
      squares += (y - slope * x) * (y - slope * x);
    }
    if (squares >= best) continue;
    best = squares;
    best_threshold = threshold;
    best_slope = slope;
    best_error = std::sqrt(squares / static_cast<double>(pairs.size()) / xx);
  }
  parameters->push_back(parameter("sustained.slope", std::max(best_slope, 0.0), best_error));
  parameters->push_back(parameter("sustained.threshold", best_threshold, 0.01));
}

void add_layouts(const std::vector<Measurement>& measurements, std::vector<TableParameter>* parameters) {
  struct Times {
    double by_layout[4] = {0, 0, 0, 0};
  };
  std::map<std::pair<std::string, std::array<int64_t, 5>>, Times> shapes;
  for (const Measurement& measurement : measurements) {
    const OperationRecord& record = measurement.record;
    if (record.family != Family::kGemm || !measurement.kernel.empty() || measurement.sustained) continue;
    const int layout = matrix_layout(record);
    // Long products only: short ones are decided by other things, such as how many there are side by side.
    constexpr double kLeast_ns = 50000;
    if (record.get(Key::kBatch) > 1 || measurement.time_ns < kLeast_ns) continue;
    if (data_type_bits(work_of(measurement).type) != 16) continue;
    shapes[{measurement.source,
            {record.get(Key::kM), record.get(Key::kN), record.get(Key::kK), record.get(Key::kBatch),
             record.get(Key::kTypeA)}}]
        .by_layout[layout] = measurement.time_ns;
  }
  constexpr std::string_view kNames[4] = {"", "gemm.layout_nn", "gemm.layout_tt", "gemm.layout_nt"};
  for (int layout = 1; layout < 4; ++layout) {
    std::vector<double> logs;
    for (const auto& [shape, times] : shapes)
      if (times.by_layout[0] > 0 && times.by_layout[layout] > 0)
        logs.push_back(std::log(times.by_layout[layout] / times.by_layout[0]));
    constexpr size_t kLeastPairs = 5;
    if (logs.size() < kLeastPairs) continue;
    double mean = 0, squares = 0;
    for (double value : logs) mean += value / static_cast<double>(logs.size());
    for (double value : logs) squares += (value - mean) * (value - mean);
    // A factor of a few percent that is not known to a few percent is no knowledge.
    constexpr double kMostError = 0.03;
    const double error = std::sqrt(squares) / static_cast<double>(logs.size());
    if (error <= kMostError) parameters->push_back(parameter(kNames[layout], std::exp(mean), error));
  }
}

}  // namespace

std::vector<TableParameter> named_parameters(const device::DeviceProfile& profile,
                                             const std::vector<Measurement>& measurements) {
  std::vector<TableParameter> parameters;
  add_sustained(profile, measurements, &parameters);
  add_layouts(measurements, &parameters);
  return parameters;
}

bool read_parameters(const std::string& path, const std::string& device, std::vector<TableParameter>* parameters,
                     std::string* error) {
  std::ifstream file(path);
  if (!file) {
    *error = "parameters cannot be read: " + path + "; check its name and permissions";
    return false;
  }
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    std::istringstream words(line);
    std::string of_device, name, rest;
    double value = 0, error_of_value = 0;
    const bool has_value = static_cast<bool>(words >> of_device >> name >> value);
    if (has_value && !(words >> error_of_value)) {
      words.clear(words.rdstate() & ~std::ios::failbit);
      error_of_value = 0;
    }
    if (!has_value || words >> rest || !(error_of_value >= 0) || !std::isfinite(error_of_value) ||
        !std::isfinite(value) || name.size() >= sizeof TableParameter::name) {
      *error = path + ": line " + std::to_string(number) + ": expected `device name value [standard error]`";
      return false;
    }
    if (of_device != device) continue;
    std::erase_if(*parameters, [&](const TableParameter& one) { return std::string_view(one.name) == name; });
    parameters->push_back(parameter(name, value, error_of_value));
  }
  return true;
}

}  // namespace maya::training
