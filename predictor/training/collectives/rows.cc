#include "predictor/training/collectives/rows.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "predictor/training/collectives/fabrics.h"
#include "predictor/training/csv.h"

namespace maya::training {
namespace {

namespace fs = std::filesystem;

struct NamedKind {
  std::string_view name;
  CollectiveKind kind;
};
constexpr NamedKind kKinds[] = {
    {"all_reduce", CollectiveKind::kAllReduce},
    {"all_gather", CollectiveKind::kAllGather},
    {"reduce_scatter", CollectiveKind::kReduceScatter},
    {"alltoall", CollectiveKind::kAllToAll},
    {"all_to_all", CollectiveKind::kAllToAll},
    {"broadcast", CollectiveKind::kBroadcast},
    {"reduce", CollectiveKind::kReduce},
    {"gather", CollectiveKind::kGather},
    {"scatter", CollectiveKind::kScatter},
    {"sendrecv", CollectiveKind::kSend},
    {"send_recv", CollectiveKind::kSend},
    {"send", CollectiveKind::kSend},
    {"recv", CollectiveKind::kSend},
};

// Names of the columns of the tables that are read.
struct Columns {
  std::string_view device, operation, type, ranks, nodes, fabric;
};
constexpr Columns kAllSources = {"gpu", "op", "dtype", "gpus", "nodes", "fabric"};
constexpr Columns kOneNode = {"system", "op_name", "nccl_dtype", "num_gpus", "", ""};
constexpr Columns kOwn = {"device", "operation", "dtype", "ranks", "nodes", ""};

const Columns* columns_of(const CsvReader& csv) {
  if (csv.has_columns({"source", "gpu", "fabric", "nodes", "gpus", "op", "dtype", "bytes", "time_us"}))
    return &kAllSources;
  if (csv.has_columns({"system", "op_name", "nccl_dtype", "num_gpus", "bytes", "time_us"})) return &kOneNode;
  if (csv.has_columns({"device", "operation", "bytes", "ranks", "time_us"})) return &kOwn;
  return nullptr;
}

constexpr double kNsPerUs = 1e3;

// Why a row of collectives.csv says nothing about its links; empty: it does. Sets the row's quality.
std::string unusable(const CsvReader& csv, CollectiveRow* row) {
  const std::string_view source = csv.value_of("source"), notes = csv.value_of("notes");
  if (source.starts_with("ai-dynamo/aiconfigurator")) return "rows that aiconfigurator's own table holds too";
  const bool kernel_times = notes.starts_with("CUDA kernel time") || notes.starts_with("min over");
  constexpr double kLeastOfWaiting_bytes = 1 << 20;
  if (kernel_times && row->call.kind != CollectiveKind::kSend && row->call.bytes < kLeastOfWaiting_bytes)
    return "kernel times below 1 MiB: mostly the wait for other ranks";
  // Every operation of this log takes 34 to 89 us, however small: its host launches no faster.
  constexpr double kLeastOfSlowHost_bytes = 8 << 20;
  const bool slow_host = source.starts_with("microsoft/superbenchmark");
  if (slow_host && row->call.bytes < kLeastOfSlowHost_bytes) return "small collectives of a host that launches slowly";
  // 1,439 GB/s: a device's own memory.
  if (source.starts_with("MooreThreads/SimuMax") && row->call.kind == CollectiveKind::kSend)
    return "sends that cross no link";
  // Two digits after the point of a bandwidth in GB/s.
  double bandwidth = 0;
  constexpr double kLeastDigits = 1;
  if (notes == "derived from busbw" && csv.number(csv.column("busbw_GBps"), &bandwidth) && bandwidth < kLeastDigits)
    return "bandwidths printed with too few digits";
  row->quality = (kernel_times && row->call.kind != CollectiveKind::kSend) || slow_host ? 1 : 0;
  return {};
}

bool read_table(const Columns& columns, CsvReader* csv, std::vector<MeasuredFabric>* fabrics, Report* report,
                std::string* error) {
  const std::string source = fs::path(csv->path()).filename().string();
  uint64_t rows = 0, used = 0;
  while (csv->next(error)) {
    ++rows;
    const std::string_view type = csv->value_of(columns.type);
    if (type == "int8" || type == "uint8") {
      report->leave_out(source, "collectives of 8-bit elements");
      continue;
    }
    const std::string_view operation = csv->value_of(columns.operation);
    const NamedKind* kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                         [&](const NamedKind& named) { return named.name == operation; });
    int64_t bytes = 0, ranks = 0, nodes = 1;
    double time_us = 0;
    if (kind == std::end(kKinds) || !csv->whole(csv->column("bytes"), &bytes) || bytes <= 0 ||
        !csv->whole(csv->column(columns.ranks), &ranks) || ranks < 2 ||
        (!csv->value_of(columns.nodes).empty() && !csv->whole(csv->column(columns.nodes), &nodes)) || nodes > ranks ||
        !csv->number(csv->column("time_us"), &time_us) || !std::isfinite(time_us) || time_us <= 0) {
      report->refuse(csv->path(), "not a collective with a time", csv->at("not a collective with a time"));
      continue;
    }
    CollectiveRow row;
    row.call = {kind->kind, static_cast<double>(bytes), static_cast<uint32_t>(ranks),
                static_cast<uint32_t>(std::max<int64_t>(nodes, 1))};
    row.ns = time_us * kNsPerUs;
    row.source = csv->value_of("source").empty() ? source : std::string(csv->value_of("source"));
    Cluster cluster;
    std::string reason;
    if (!fabric_of(csv->value_of(columns.device), csv->value_of(columns.fabric), row.call.nodes > 1, &cluster,
                   &reason)) {
      report->leave_out(source, reason);
      continue;
    }
    if (&columns == &kAllSources) reason = unusable(*csv, &row);
    // Two of a pair are joined by NVLink; four meet the bridge.
    if (cluster.nvlink_generation == 0 && csv->value_of(columns.fabric).starts_with("NVLink pair") && ranks != 4)
      reason = "systems with pairs of joined devices";
    if (!reason.empty()) {
      report->leave_out(source, reason);
      continue;
    }
    auto fabric = std::find_if(fabrics->begin(), fabrics->end(),
                               [&](const MeasuredFabric& one) { return one.cluster.name == cluster.name; });
    if (fabric == fabrics->end()) fabric = fabrics->insert(fabrics->end(), {cluster, {}});
    fabric->rows.push_back(std::move(row));
    ++used;
  }
  report->read("collectives", csv->path(), rows, used);
  return error->empty();
}

}  // namespace

bool read_collectives(const std::string& file_or_folder, std::vector<MeasuredFabric>* fabrics, Report* report,
                      std::string* error) {
  std::error_code status;
  std::vector<std::string> files;
  const bool folder = fs::is_directory(file_or_folder, status);
  if (folder) {
    for (fs::recursive_directory_iterator entry(file_or_folder, status), end; entry != end; entry.increment(status)) {
      if (status) break;
      const std::string path = entry->path().string();
      if (entry->is_regular_file(status) && (path.ends_with(".csv") || path.ends_with(".csv.gz")))
        files.push_back(path);
    }
    if (status) {
      *error = file_or_folder + ": cannot be listed: " + status.message();
      return false;
    }
    std::sort(files.begin(), files.end());
  } else {
    files.push_back(file_or_folder);
  }
  for (const std::string& path : files) {
    CsvReader csv;
    if (!csv.open(path, error)) return false;
    const Columns* columns = columns_of(csv);
    if (columns == nullptr && !folder) {
      *error = path + ": not a table of collectives; see predictor/training/SCHEMA.md";
      return false;
    }
    if (columns != nullptr && !read_table(*columns, &csv, fabrics, report, error)) return false;
  }
  return true;
}

}  // namespace maya::training
