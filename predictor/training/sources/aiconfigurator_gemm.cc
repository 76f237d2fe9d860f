// aiconfigurator's GEMM tables: x[m,k] times W[n,k] transposed, as torch.nn.functional.linear does it; replays of a
// CUDA graph, so without launch costs. gemm_bf16_<device>.csv.gz has one column for each software build, in
// microseconds, and their median; gemm_fp8_* only the median; *_sustained_power the time of one build over a second or
// more at the power limit. The fp8 times are as published: see fp8_conversion_ns().
#include "predictor/training/sources/aiconfigurator_gemm.h"

#include <algorithm>

#include "predictor/training/device_name.h"
#include "predictor/training/merge.h"
#include "predictor/training/sources/source.h"

namespace maya::training {
namespace {

constexpr char kName[] = "aiconfigurator";
constexpr std::string_view kSustained = "_sustained_power";

std::string_view device_part(std::string_view name) {
  name = name.substr(0, name.find('.'));
  name.remove_prefix(std::min(name.find('_', std::string_view("gemm_").size()) + 1, name.size()));
  if (name.ends_with(kSustained)) name.remove_suffix(kSustained.size());
  return name;
}

bool recognises(const InputFile& file) {
  if (file.csv == nullptr || !file.csv->has_columns({"m", "n", "k"})) return false;
  if (!file.name.starts_with("gemm_bf16_") && !file.name.starts_with("gemm_fp8_")) return false;
  return file.csv->has_columns({"median_us"}) || file.csv->has_columns({"time_us", "power"});
}

// Columns between the shape and the median: one a software build.
std::vector<int> build_columns(const CsvReader& csv) {
  std::vector<int> columns;
  for (size_t i = 0; i < csv.header().size(); ++i) {
    const std::string& name = csv.header()[i];
    for (std::string_view framework : {"sglang_", "trtllm_", "vllm_"})
      if (name.starts_with(framework)) columns.push_back(static_cast<int>(i));
  }
  return columns;
}

double spread_over(const CsvReader& csv, const std::vector<int>& columns) {
  std::vector<double> times;
  for (int column : columns)
    if (double time = 0; csv.number(column, &time) && time > 0) times.push_back(time);
  if (times.size() < 2) return 1;
  std::sort(times.begin(), times.end());
  return quantile(times, 0.9) / quantile(times, 0.1);
}

bool read(const InputFile& file, Collector* collector, std::string* error) {
  const std::string_view device = profile_of(device_part(file.name));
  if (device != collector->device) return true;
  CsvReader& csv = *file.csv;
  const DataType type = file.name.starts_with("gemm_fp8_") ? DataType::kFloat8E4m3 : DataType::kBfloat16;
  const bool sustained = csv.has_columns({"power"});
  const int time = csv.column(sustained ? "time_us" : "median_us"), count = csv.column("n_meas");
  const std::vector<int> builds = build_columns(csv);
  const int m_column = csv.column("m"), n_column = csv.column("n"), k_column = csv.column("k");
  uint64_t rows = 0, used = 0;
  while (csv.next(error)) {
    ++rows;
    int64_t m = 0, n = 0, k = 0, repeats = 1;
    double time_us = 0;
    if (!csv.whole(m_column, &m) || !csv.whole(n_column, &n) || !csv.whole(k_column, &k) ||
        !csv.number(time, &time_us)) {
      collector->report->refuse(file.path, "m, n, k or the time is not a number",
                                csv.at("m, n, k or the time is not a number"));
      continue;
    }
    if (m == 0 || n == 0 || k == 0) {
      collector->report->leave_out(kName, "empty products");
      continue;
    }
    csv.whole(count, &repeats);
    Measurement measurement = measurement_of(collector->device, gemm_record(m, n, k, type), kName);
    measurement.spread = spread_over(csv, builds);
    measurement.repeats = static_cast<uint32_t>(std::clamp<int64_t>(repeats, 1, UINT32_MAX));
    measurement.sustained = sustained;
    used += collector->take(file, std::move(measurement), time_us * kNsPerUs) ? 1 : 0;
  }
  collector->report->read(kName, file.path, rows, used);
  return error->empty();
}

struct ConversionCost {
  std::string_view device;
  double ps_per_element;
};
constexpr ConversionCost kConversions[] = {{"h100-sxm", 2.0}, {"h200-sxm", 1.3}, {"b200-sxm", 1.1}, {"l40s", 7.0}};
constexpr double kConversionStart_ns = 3000;

}  // namespace

double fp8_conversion_ns(std::string_view device, int64_t rows, int64_t depth) {
  for (const ConversionCost& cost : kConversions)
    if (cost.device == device)
      return kConversionStart_ns + cost.ps_per_element * 1e-3 * static_cast<double>(rows) * static_cast<double>(depth);
  return 0;
}

const Source kAiconfiguratorGemm = {kName, recognises, read};

}  // namespace maya::training
