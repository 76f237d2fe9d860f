// Timings of collectives: collectives.csv (every public source in one shape) and aiconfigurator's nccl-tests runs.
// Microseconds; bytes as nccl-tests counts them. 8-bit rows are left out, since an all-reduce of them is slower at
// equal bytes, and so are systems whose devices are joined in pairs. The fabric is kept as the measurement's source:
// "collectives: NVSwitch".
#include <algorithm>

#include "predictor/training/device_name.h"
#include "predictor/training/sources/source.h"

namespace maya::training {
namespace {

constexpr std::string_view kCollectives = "collectives", kAiconfigurator = "aiconfigurator";

struct Alias {
  std::string_view name, device;
};
constexpr Alias kDevices[] = {
    {"H100 SXM 80GB", "h100-sxm"},
    {"H100 SXM 80GB (DGX)", "h100-sxm"},
    {"H100 80GB", "h100-sxm"},
    {"H100 SXM (per script comment)", "h100-sxm"},
    {"H100 SXM (A3 Mega)", "h100-sxm"},
    {"H100 SXM (A3 High)", "h100-sxm"},
    {"H200 SXM", "h200-sxm"},
    {"H200 SXM (A3 Ultra)", "h200-sxm"},
    {"A100-SXM4-40GB", "a100-sxm-40"},
    {"A100 SXM 80GB", "a100-sxm-80"},
    {"A100 SXM 80GB?", "a100-sxm-80"},
    {"A100 80GB", "a100-sxm-80"},
    {"A100 SXM (vTrain node)", "a100-sxm-80"},
    {"B200 SXM", "b200-sxm"},
    {"L40S (PCIe)", "l40s"},
};

struct NamedKind {
  std::string_view name;
  CollectiveKind kind;
};
constexpr NamedKind kKinds[] = {
    {"all_reduce", CollectiveKind::kAllReduce},
    {"all_gather", CollectiveKind::kAllGather},
    {"reduce_scatter", CollectiveKind::kReduceScatter},
    {"alltoall", CollectiveKind::kAllToAll},
    {"broadcast", CollectiveKind::kBroadcast},
    {"reduce", CollectiveKind::kReduce},
    {"sendrecv", CollectiveKind::kSend},
    {"send_recv", CollectiveKind::kSend},
};

std::string_view device_named(std::string_view name) {
  for (const Alias& alias : kDevices)
    if (alias.name == name) return alias.device;
  return profile_of(name);
}

DataType type_named(std::string_view name) {
  if (name == "half") return DataType::kFloat16;
  if (name == "bfloat16" || name == "BFloat16") return DataType::kBfloat16;
  if (name == "float" || name == "Float") return DataType::kFloat32;
  return DataType::kNone;
}

// Names of the columns of one of the two tables.
struct Table {
  std::string_view device, operation, type, ranks, nodes, fabric;
};
constexpr Table kAllSources = {"gpu", "op", "dtype", "gpus", "nodes", "fabric"};
constexpr Table kOneNode = {"system", "op_name", "nccl_dtype", "num_gpus", "", ""};

bool is_all_sources(const InputFile& file) {
  return file.csv != nullptr &&
         file.csv->has_columns({"source", "gpu", "fabric", "nodes", "gpus", "op", "dtype", "bytes", "time_us"});
}
bool is_one_node(const InputFile& file) {
  return file.csv != nullptr &&
         file.csv->has_columns({"system", "op_name", "nccl_dtype", "num_gpus", "bytes", "time_us"});
}

bool read(const Table& table, std::string_view name, const InputFile& file, Collector* collector, std::string* error) {
  CsvReader& csv = *file.csv;
  const std::string source(name);
  uint64_t rows = 0, used = 0;
  while (csv.next(error)) {
    if (device_named(csv.value_of(table.device)) != collector->device) continue;
    ++rows;
    const std::string_view fabric = csv.value_of(table.fabric);
    const DataType type = type_named(csv.value_of(table.type));
    if (fabric.starts_with("NVLink pair")) {
      collector->report->leave_out(source, "systems with pairs of joined devices");
      continue;
    }
    if (type == DataType::kNone) {
      collector->report->leave_out(source, "collectives of 8-bit elements");
      continue;
    }
    if (csv.value_of("source").starts_with("ai-dynamo/aiconfigurator")) {
      collector->report->leave_out(source, "rows that aiconfigurator's own table holds too");
      continue;
    }
    const std::string_view operation = csv.value_of(table.operation);
    const NamedKind* kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                         [&](const NamedKind& named) { return named.name == operation; });
    int64_t bytes = 0, ranks = 0, nodes = 1;
    double time_us = 0;
    if (kind == std::end(kKinds) || !csv.whole(csv.column("bytes"), &bytes) ||
        !csv.whole(csv.column(table.ranks), &ranks) || ranks < 2 ||
        (!table.nodes.empty() && !csv.whole(csv.column(table.nodes), &nodes)) ||
        !csv.number(csv.column("time_us"), &time_us)) {
      collector->report->refuse(file.path, "not a collective with a time", csv.at("not a collective with a time"));
      continue;
    }
    Measurement measurement =
        measurement_of(collector->device,
                       collective_record(kind->kind, bytes, ranks, std::max<int64_t>(nodes, 1), type), source.c_str());
    if (!fabric.empty()) measurement.source += ": " + std::string(fabric);
    used += collector->take(file, std::move(measurement), time_us * kNsPerUs) ? 1 : 0;
  }
  collector->report->read(source, file.path, rows, used);
  return error->empty();
}

bool read_all_sources(const InputFile& file, Collector* collector, std::string* error) {
  return read(kAllSources, kCollectives, file, collector, error);
}
bool read_one_node(const InputFile& file, Collector* collector, std::string* error) {
  return read(kOneNode, kAiconfigurator, file, collector, error);
}

}  // namespace

const Source kCollectiveTable = {kCollectives.data(), is_all_sources, read_all_sources};
const Source kAiconfiguratorCollectives = {kAiconfigurator.data(), is_one_node, read_one_node};

}  // namespace maya::training
