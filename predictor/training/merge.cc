#include "predictor/training/merge.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace maya::training {
namespace {

constexpr double kAgreement = 1.02;

template <typename T>
void append(std::string* key, const T& value) {
  key->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string key_of(const Measurement& measurement) {
  std::string key = measurement.device + '\n' + measurement.source + '\n' + measurement.kernel + '\n';
  append(&key, measurement.record.family);
  append(&key, measurement.sustained);
  for (int i = 0; i < measurement.record.count; ++i) {
    append(&key, measurement.record.fields[i].key);
    append(&key, measurement.record.fields[i].value);
  }
  if (measurement.kernel.empty()) return key;
  append(&key, measurement.grid);
  append(&key, measurement.block);
  append(&key, measurement.registers);
  append(&key, measurement.shared_bytes);
  for (const LaunchView::Scalar& scalar : measurement.scalars) {
    append(&key, scalar.offset);
    append(&key, scalar.value);
  }
  return key;
}

}  // namespace

double quantile(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) return 0;
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  if (below + 1 >= sorted.size()) return sorted.back();
  return sorted[below] + (position - std::floor(position)) * (sorted[below + 1] - sorted[below]);
}

std::vector<Measurement> merge(std::vector<Measurement> measurements, Report* report) {
  struct Group {
    size_t first;
    std::vector<double> times;
    uint32_t repeats;
  };
  std::unordered_map<std::string, size_t> groups_by_key;
  std::vector<Group> groups;
  for (size_t i = 0; i < measurements.size(); ++i) {
    auto [found, added] = groups_by_key.try_emplace(key_of(measurements[i]), groups.size());
    if (added) groups.push_back({i, {}, 0});
    Group& group = groups[found->second];
    group.times.push_back(measurements[i].time_ns);
    group.repeats += measurements[i].repeats;
    Measurement& first = measurements[group.first];
    first.spread = std::max(first.spread, measurements[i].spread);
  }
  std::vector<Measurement> merged;
  merged.reserve(groups.size());
  for (Group& group : groups) {
    Measurement measurement = std::move(measurements[group.first]);
    if (group.times.size() > 1) {
      std::sort(group.times.begin(), group.times.end());
      measurement.time_ns = quantile(group.times, 0.5);
      measurement.repeats = group.repeats;
      measurement.spread = std::max(measurement.spread, quantile(group.times, 0.9) / quantile(group.times, 0.1));
      const double factor = group.times.back() / group.times.front();
      if (factor > kAgreement) report->disagree(measurement.source, factor);
    }
    merged.push_back(std::move(measurement));
  }
  return merged;
}

}  // namespace maya::training
