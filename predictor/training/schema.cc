#include "predictor/training/schema.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "predictor/core/limits.h"
#include "predictor/training/device_name.h"
#include "predictor/training/merge.h"

namespace maya::training {
namespace {

constexpr std::string_view kCommonColumns[] = {"time_us", "device", "source", "spread", "sustained", "repeats"};

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string missing_columns(const CsvReader& csv, const FamilyColumns& family) {
  std::string missing;
  for (std::string_view column : family.required)
    if (csv.column(column) == CsvReader::kMissing) missing += (missing.empty() ? "" : ", ") + std::string(column);
  if (csv.column("time_us") == CsvReader::kMissing) missing += missing.empty() ? "time_us" : ", time_us";
  return missing;
}

void note_unknown_columns(const InputFile& file, const FamilyColumns& family, Report* report) {
  for (const std::string& name : file.csv->header()) {
    if (contains(family.required, name) || contains(family.optional, name) || contains(kCommonColumns, name)) continue;
    report->note(file.path, "column not used: " + name);
  }
}

// The least time the device allows; 0 when that is not known.
double least_ns(const device::DeviceProfile& profile, const Measurement& measurement) {
  if (!measurement.kernel.empty()) {
    const Work work = work_of(measurement);
    return work.guessed || work.family == Family::kUnknown ? 0 : model::roofline_ns(profile, work);
  }
  const OperationRecord& record = measurement.record;
  // Copies and collectives have no roofline: the estimate stands for it.
  if (record.family == Family::kCopy || record.family == Family::kCollective ||
      record.family == Family::kPointToPoint) {
    RowOperation operation;
    operation.record = record;
    return estimate_operation(Estimator(profile), operation).median_ns;
  }
  return model::roofline_ns(profile, maya::work_of(record));
}

// The columns that say how a row was measured. On failure `error` is "column: `value`: what was expected".
bool read_circumstances(const CsvReader& csv, Measurement* measurement, std::string* error) {
  const int spread = csv.column("spread"), sustained = csv.column("sustained"), repeats = csv.column("repeats");
  if (!csv.cell(spread).empty() && (!csv.number(spread, &measurement->spread) || !(measurement->spread >= 1) ||
                                    !std::isfinite(measurement->spread))) {
    *error = "spread: `" + std::string(csv.cell(spread)) + "`: expected a factor of at least 1";
    return false;
  }
  const std::string_view flag = csv.cell(sustained);
  if (!flag.empty() && flag != "0" && flag != "1") {
    *error = "sustained: `" + std::string(flag) + "`: expected 0 or 1";
    return false;
  }
  measurement->sustained = flag == "1";
  int64_t count = 1;
  if (!csv.cell(repeats).empty() && (!csv.whole(repeats, &count) || count < 1 || count > UINT32_MAX)) {
    *error = "repeats: `" + std::string(csv.cell(repeats)) + "`: expected a whole number from 1";
    return false;
  }
  measurement->repeats = static_cast<uint32_t>(count);
  return true;
}

Measurement measurement_of(const RowOperation& operation, const std::string& device, const std::string& source) {
  Measurement measurement;
  measurement.device = device;
  measurement.record = operation.record;
  measurement.kernel = operation.kernel;
  std::copy_n(operation.grid, 3, measurement.grid);
  std::copy_n(operation.block, 3, measurement.block);
  measurement.registers = operation.registers;
  measurement.shared_bytes = operation.shared_bytes;
  measurement.source = source;
  return measurement;
}

bool recognises(const InputFile& file) { return file.csv != nullptr && family_of_table(file.name) != nullptr; }

bool read(const InputFile& file, Collector* collector, std::string* error) {
  return read_table(file, *family_of_table(file.name), collector, error);
}

}  // namespace

const FamilyColumns* family_of_table(std::string_view file_name) {
  size_t letters = 0;
  const FamilyColumns* best = nullptr;
  const auto consider = [&](std::string_view name, const FamilyColumns* family) {
    if (name.size() <= letters || !file_name.starts_with(name)) return;
    if (file_name.size() > name.size() && std::isalpha(static_cast<unsigned char>(file_name[name.size()]))) return;
    letters = name.size();
    best = family;
  };
  for (const FamilyColumns& family : estimable_families()) consider(family.name, &family);
  consider("norm", find_family_columns("norm"));
  return best;
}

std::string unit_problem(std::vector<double> measured_over_least) {
  constexpr double kTooFast = 0.01, kTooSlow = 500;
  if (measured_over_least.empty()) return {};
  std::sort(measured_over_least.begin(), measured_over_least.end());
  const double median = quantile(measured_over_least, 0.5);
  if (median < kTooFast) return "time_us: far below what the device can do: the times look like milliseconds";
  if (median > kTooSlow) return "time_us: far above what the device can do: the times look like nanoseconds";
  return {};
}

bool read_table(const InputFile& file, const FamilyColumns& family, Collector* collector, std::string* error) {
  CsvReader& csv = *file.csv;
  if (const std::string missing = missing_columns(csv, family); !missing.empty()) {
    *error = file.path + ": line 1: missing columns: " + missing + "; a table of " + std::string(family.name) +
             " needs them";
    return false;
  }
  note_unknown_columns(file, family, collector->report);
  const device::DeviceProfile& profile = *device::find_builtin_profile(collector->device);
  const int time_column = csv.column("time_us"), device_column = csv.column("device");
  const int source_column = csv.column("source");
  std::vector<double> ratios;
  uint64_t rows = 0, used = 0;
  while (csv.next(error)) {
    ++rows;
    const std::string_view device = csv.cell(device_column);
    if (!device.empty() && profile_of(device) != collector->device) {
      collector->report->leave_out(file.name, "other devices");
      continue;
    }
    RowOperation operation;
    std::string problem;
    const bool understood = operation_of_row(family, csv, &operation, &problem);
    const std::string_view source = csv.cell(source_column);
    Measurement measurement =
        measurement_of(operation, collector->device, source.empty() ? file.name : std::string(source));
    if (!understood || !read_circumstances(csv, &measurement, &problem)) {
      *error = csv.at(problem);
      return false;
    }
    double time_us = 0;
    if (!csv.number(time_column, &time_us)) time_us = std::nan("");
    const double least = least_ns(profile, measurement);
    if (!collector->take(file, std::move(measurement), time_us * kNsPerUs)) continue;
    ++used;
    if (least > 0) ratios.push_back(time_us * kNsPerUs / least);
  }
  if (!error->empty()) return false;
  collector->report->read(file.name, file.path, rows, used);
  if (const std::string problem = unit_problem(std::move(ratios)); !problem.empty()) {
    *error = file.path + ": " + problem;
    return false;
  }
  return true;
}

const Source kCanonicalTable = {"table", recognises, read};

}  // namespace maya::training
