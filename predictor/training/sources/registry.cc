#include "predictor/training/sources/registry.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "predictor/training/merge.h"
#include "predictor/training/sources/source.h"
#include "virtual_device/profile.h"

namespace maya::training {
namespace {

namespace fs = std::filesystem;

// In the order they are asked. Tables of our own schema come last: they are recognised by the start of their name.
const Source* const kSources[] = {
    &kAiconfiguratorGemm,
    &kAiconfiguratorAttention,
    &kAiconfiguratorExperts,
    &kAiconfiguratorLatent,
    &kAiconfiguratorCollectives,
    &kCollectiveTable,
    &kNeusight,
    &kVidur,
    &kSimumax,
    &kFlashAttention,
    &kLigerBenchmarks,
    &kTraceKernels,
    &kTraceCopies,
    &kSetAside,
    &kCanonicalTable,
};

bool is_table(const std::string& name) { return name.ends_with(".csv") || name.ends_with(".csv.gz"); }

// `known` says whether some source took the file.
bool read_file(const std::string& path, Collector* collector, bool* known, std::string* error) {
  *known = false;
  InputFile file{path, fs::path(path).filename().string()};
  CsvReader csv;
  if (is_table(file.name)) {
    if (!csv.open(path, error)) return false;
    file.csv = &csv;
  }
  for (const Source* source : kSources) {
    if (!source->recognises(file)) continue;
    *known = true;
    return source->read(file, collector, error);
  }
  return true;
}

}  // namespace

bool Collector::take(const InputFile& file, Measurement measurement, double time_ns) {
  if (!std::isfinite(time_ns) || time_ns <= 0) {
    const std::string reason = std::isfinite(time_ns) ? "time is not positive" : "time is not a number";
    report->refuse(file.path, reason, file.csv != nullptr ? file.csv->at(reason) : file.path + ": " + reason);
    return false;
  }
  measurement.time_ns = time_ns;
  measurements->push_back(std::move(measurement));
  return true;
}

Measurement measurement_of(const std::string& device, const OperationRecord& record, const char* source) {
  Measurement measurement;
  measurement.device = device;
  measurement.record = record;
  measurement.source = source;
  return measurement;
}

bool read_measurements(const std::string& file_or_folder, const std::string& device,
                       std::vector<Measurement>* measurements, Report* report, std::string* error) {
  if (device::find_builtin_profile(device) == nullptr) {
    *error = "unknown device: " + device;
    return false;
  }
  std::error_code status;
  const bool folder = fs::is_directory(file_or_folder, status);
  if (!folder && !fs::is_regular_file(file_or_folder, status)) {
    *error = file_or_folder + ": is neither a file nor a folder";
    return false;
  }
  std::vector<std::string> files;
  if (folder) {
    for (fs::recursive_directory_iterator entry(file_or_folder, status), end; entry != end; entry.increment(status)) {
      if (status) break;
      if (entry->is_regular_file(status)) files.push_back(entry->path().string());
    }
    if (status) {
      *error = file_or_folder + ": cannot be listed: " + status.message();
      return false;
    }
    std::sort(files.begin(), files.end());
  } else {
    files.push_back(file_or_folder);
  }
  std::vector<Measurement> all;
  Collector collector{device, &all, report};
  for (const std::string& path : files) {
    bool known = false;
    if (!read_file(path, &collector, &known, error)) return false;
    if (known) continue;
    if (!folder) {
      *error = path + ": not a kind of measurement that is known; see predictor/training/SCHEMA.md";
      return false;
    }
    report->skip(path, "not a kind of measurement that is known");
  }
  for (Measurement& measurement : merge(std::move(all), report)) measurements->push_back(std::move(measurement));
  return true;
}

}  // namespace maya::training
