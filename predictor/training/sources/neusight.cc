// NeuSight's operator benchmarks: float32 without TF32, PyTorch 2.1, CUDA 12.1, milliseconds between two events around
// one call. The shape becomes a record; the kernel names and grids beside it are not needed.
//
// Column names are not what they seem: in `linear` and `bmm` the inner size is N and the result is [M, K]. The grids
// say so: M = 2048, N = 65536, K = 50272 runs 3,200 blocks of 256 x 128, which is 197 x 16 tiles of a [2048, 50272]
// result.
#include "predictor/training/sources/neusight.h"

#include <algorithm>

#include "predictor/training/device_name.h"
#include "predictor/training/sources/source.h"

namespace maya::training {
namespace {

constexpr char kName[] = "neusight";

struct HostTime {
  std::string_view operation;
  double offset_us, plateau_us;
};
constexpr HostTime kA100[] = {
    {"add", 13.4, 26.7},  {"mul", 13.4, 26.1},  {"div", 13.9, 27},    {"pow", 16.2, 29},
    {"addu", 16.5, 29.5}, {"mulu", 16.5, 29.5}, {"divu", 16.5, 29.5}, {"powu", 17.5, 30.5},
    {"relu", 16.5, 29.5}, {"gelu", 17.5, 30.5}, {"tanh", 12.7, 26},   {"softmax", 19.5, 33.4},
    {"ln", 33.5, 46.5},   {"linear", 41, 54.5}, {"bmm", 19, 32},      {"conv", 47, 60},
};
constexpr HostTime kH100[] = {{"linear", 31, 41}, {"bmm", 17, 24.5}};

const HostTime* host_time(std::string_view device, std::string_view operation) {
  if (device == "h100-sxm") {
    for (const HostTime& time : kH100)
      if (time.operation == operation) return &time;
    return nullptr;
  }
  for (const HostTime& time : kA100)
    if (time.operation == operation) return &time;
  return nullptr;
}

bool recognises(const InputFile& file) {
  return file.csv != nullptr && file.csv->has_columns({"OPName", "Latency", "Device", "Kernel Name", "Grid x"});
}

bool whole(const CsvReader& csv, std::string_view column, int64_t* value) {
  return csv.whole(csv.column(column), value);
}

bool read_product(const CsvReader& csv, bool linear, OperationRecord* record) {
  int64_t batch = 0, m = 0, n = 0, k = 0;
  if (!whole(csv, "B", &batch) || !whole(csv, "M", &m) || !whole(csv, "N", &n) || !whole(csv, "K", &k)) return false;
  if (linear) m *= batch, batch = 1;
  *record = gemm_record(m, k, n, DataType::kFloat32, linear, false, batch);
  return true;
}

bool read_convolution(const CsvReader& csv, OperationRecord* record) {
  int64_t batch = 0, channels = 0, filters = 0, filter = 0, size = 0, stride = 0, pad = 0;
  if (!whole(csv, "B", &batch) || !whole(csv, "Input_Channel", &channels) || !whole(csv, "Output_Channel", &filters) ||
      !whole(csv, "Kernel_Szie", &filter) || !whole(csv, "Input_Size", &size) || !whole(csv, "Stride", &stride) ||
      !whole(csv, "Padding", &pad))
    return false;
  *record = OperationRecord(Family::kConvolution, "");
  record->set(Key::kBatch, batch)
      .set(Key::kChannels, channels)
      .set(Key::kHeight, size)
      .set(Key::kWidth, size)
      .set(Key::kFilters, filters)
      .set(Key::kFilterHeight, filter)
      .set(Key::kFilterWidth, filter)
      .set(Key::kStride, stride)
      .set(Key::kPad, pad)
      .set(Key::kConvGroups, 1)
      .set(Key::kDataType, static_cast<int64_t>(DataType::kFloat32))
      .set(Key::kComputeType, static_cast<int64_t>(DataType::kFloat32));
  return true;
}

bool read_rows(const CsvReader& csv, std::string_view operation, OperationRecord* record) {
  int64_t rows = 0, columns = 0;
  if (!whole(csv, "B", &rows) || !whole(csv, "H", &columns)) return false;
  const Family family = operation == "ln"        ? Family::kNormalization
                        : operation == "softmax" ? Family::kSoftmax
                                                 : Family::kElementwise;
  // The names ending in u take a number as their second operand.
  std::string_view name = operation;
  if (operation == "divu" || operation == "addu" || operation == "mulu") name = "scalar";
  *record = row_record(family, name, rows, columns, DataType::kFloat32);
  if (operation == "powu") record->set(Key::kOperator, static_cast<int64_t>(Operator::kPow));
  return true;
}

bool read(const InputFile& file, Collector* collector, std::string* error) {
  CsvReader& csv = *file.csv;
  const int device = csv.column("Device"), name = csv.column("OPName"), latency = csv.column("Latency");
  uint64_t rows = 0, used = 0;
  while (csv.next(error)) {
    if (profile_of(csv.cell(device)) != collector->device) continue;
    ++rows;
    const std::string operation(csv.cell(name));
    const HostTime* host = host_time(collector->device, operation);
    if (host == nullptr) {
      collector->report->leave_out(kName, "operations whose host time is not known");
      continue;
    }
    OperationRecord record;
    double latency_ms = 0;
    const bool understood = operation == "linear" || operation == "bmm"
                                ? read_product(csv, operation == "linear", &record)
                            : operation == "conv" ? read_convolution(csv, &record)
                                                  : read_rows(csv, operation, &record);
    if (!understood || !csv.number(latency, &latency_ms)) {
      collector->report->refuse(file.path, "a size or the latency is not a number",
                                csv.at("a size or the latency is not a number"));
      continue;
    }
    const double latency_ns = latency_ms * kNsPerMs;
    if (latency_ns > 0 && latency_ns <= neusight_least_latency_ns(collector->device, operation)) {
      collector->report->leave_out(kName, "latencies that are all host time");
      continue;
    }
    used += collector->take(file, measurement_of(collector->device, record, kName),
                            latency_ns - neusight_offset_ns(collector->device, operation))
                ? 1
                : 0;
  }
  collector->report->read(kName, file.path, rows, used);
  return error->empty();
}

}  // namespace

double neusight_offset_ns(std::string_view device, std::string_view operation) {
  const HostTime* host = host_time(device, operation);
  return host == nullptr ? 0 : host->offset_us * kNsPerUs;
}

double neusight_least_latency_ns(std::string_view device, std::string_view operation) {
  constexpr double kAbovePlateau = 1.15;
  const HostTime* host = host_time(device, operation);
  return host == nullptr ? 0 : host->plateau_us * kAbovePlateau * kNsPerUs;
}

const Source kNeusight = {kName, recognises, read};

}  // namespace maya::training
