// Kernels and copies collected from profiler traces of real training programs, microseconds. Kernels of NCCL are left
// out: they wait for their peers. Copies of the same kind and size become one median; some of them overlap kernels.
#include <algorithm>
#include <string_view>

#include "predictor/training/device_name.h"
#include "predictor/training/sources/source.h"

namespace maya::training {
namespace {

constexpr char kName[] = "traces";

bool is_kernel_table(const InputFile& file) {
  return file.csv != nullptr && file.csv->has_columns({"gpu", "kernel", "gx", "gy", "gz", "bx", "by", "bz", "regs",
                                                       "smem", "n", "min_us", "median_us"});
}

bool is_copy_table(const InputFile& file) {
  return file.csv != nullptr && file.csv->has_columns({"trace", "gpu", "kind", "bytes", "us"});
}

bool whole(const CsvReader& csv, std::string_view column, uint32_t* value) {
  int64_t wide = 0;
  if (!csv.whole(csv.column(column), &wide) || wide > UINT32_MAX) return false;
  *value = static_cast<uint32_t>(wide);
  return true;
}

bool read_kernels(const InputFile& file, Collector* collector, std::string* error) {
  CsvReader& csv = *file.csv;
  uint64_t rows = 0, used = 0;
  while (csv.next(error)) {
    if (profile_of(csv.value_of("gpu")) != collector->device) continue;
    ++rows;
    const std::string_view kernel = csv.value_of("kernel");
    if (kernel.starts_with("nccl")) {
      collector->report->leave_out(kName, "NCCL kernels, which wait for their peers");
      continue;
    }
    Measurement measurement;
    measurement.device = collector->device;
    measurement.source = kName;
    measurement.kernel = kernel;
    double median_us = 0;
    if (kernel.empty() || !whole(csv, "gx", &measurement.grid[0]) || !whole(csv, "gy", &measurement.grid[1]) ||
        !whole(csv, "gz", &measurement.grid[2]) || !whole(csv, "bx", &measurement.block[0]) ||
        !whole(csv, "by", &measurement.block[1]) || !whole(csv, "bz", &measurement.block[2]) ||
        !whole(csv, "regs", &measurement.registers) || !whole(csv, "smem", &measurement.shared_bytes) ||
        !whole(csv, "n", &measurement.repeats) || !csv.number(csv.column("median_us"), &median_us)) {
      collector->report->refuse(file.path, "not a launch with a time", csv.at("not a launch with a time"));
      continue;
    }
    measurement.repeats = std::max(measurement.repeats, 1u);
    used += collector->take(file, std::move(measurement), median_us * kNsPerUs) ? 1 : 0;
  }
  collector->report->read(kName, file.path, rows, used);
  return error->empty();
}

struct NamedKind {
  std::string_view name;
  CopyKind kind;
};
// As the profiler names them.
constexpr NamedKind kKinds[] = {
    {"Memcpy DtoD (Device -> Device)", CopyKind::kDeviceToDevice},
    {"Memcpy HtoD (Pinned -> Device)", CopyKind::kHostToDevice},
    {"Memcpy HtoD (Pageable -> Device)", CopyKind::kHostToDevicePageable},
    {"Memcpy DtoH (Device -> Pinned)", CopyKind::kDeviceToHost},
    {"Memcpy DtoH (Device -> Pageable)", CopyKind::kDeviceToHostPageable},
};

bool read_copies(const InputFile& file, Collector* collector, std::string* error) {
  CsvReader& csv = *file.csv;
  uint64_t rows = 0, used = 0;
  while (csv.next(error)) {
    if (profile_of(csv.value_of("gpu")) != collector->device) continue;
    ++rows;
    const NamedKind* kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                         [&](const NamedKind& named) { return named.name == csv.value_of("kind"); });
    int64_t bytes = 0;
    double time_us = 0;
    if (kind == std::end(kKinds)) {
      collector->report->leave_out(kName, "copies of other kinds");
      continue;
    }
    if (!csv.whole(csv.column("bytes"), &bytes) || !csv.number(csv.column("us"), &time_us)) {
      collector->report->refuse(file.path, "not a copy with a time", csv.at("not a copy with a time"));
      continue;
    }
    OperationRecord record(Family::kCopy, "");
    record.set(Key::kDirection, static_cast<int64_t>(kind->kind)).set(Key::kBytes, bytes);
    used += collector->take(file, measurement_of(collector->device, record, kName), time_us * kNsPerUs) ? 1 : 0;
  }
  collector->report->read(kName, file.path, rows, used);
  return error->empty();
}

}  // namespace

const Source kTraceKernels = {kName, is_kernel_table, read_kernels};
const Source kTraceCopies = {kName, is_copy_table, read_copies};

}  // namespace maya::training
