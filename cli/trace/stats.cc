#include <algorithm>
#include <cstdio>
#include <map>

#include "cli/common.h"
#include "cli/trace/commands.h"
#include "cli/trace/definitions.h"
#include "cli/trace/packet_text.h"
#include "predictor/json_writer.h"

namespace maya::cli::trace {
namespace {

using maya::trace::PacketView;
using maya::trace::Reader;
using maya::trace::ReadStatus;
using predictor::JsonWriter;

struct Options {
  std::string path;
  bool json = false;
  uint64_t top = 10;
};

struct KindCount {
  uint64_t packets = 0;
  uint64_t bytes = 0;
};

struct ProcessCounts {
  std::unordered_map<uint32_t, uint64_t> launches;    // by configuration
  std::unordered_map<uint32_t, uint64_t> operations;  // by descriptor
  std::unordered_set<uint32_t> threads;
  uint64_t last_time_ns = 0;
};

struct NamedCount {
  std::string name;
  uint64_t count;
};

// Descending by count, then by name.
std::vector<NamedCount> ranked(const std::map<std::string, uint64_t>& counts, uint64_t top) {
  std::vector<NamedCount> all;
  for (const auto& [name, count] : counts) all.push_back({name, count});
  std::stable_sort(all.begin(), all.end(), [](const NamedCount& a, const NamedCount& b) { return a.count > b.count; });
  if (all.size() > top) all.resize(top);
  return all;
}

struct Statistics {
  Definitions definitions;
  std::vector<ProcessCounts> processes;
  std::map<std::string, KindCount> kinds;
  std::map<std::string, uint64_t> kernels;
  std::map<std::string, uint64_t> operations;
  uint64_t launches = 0;
  uint64_t library_operations = 0;

  void add(const PacketView& packet) {
    definitions.add(packet);
    processes.resize(std::max<size_t>(processes.size(), packet.process + 1));
    ProcessCounts& process = processes[packet.process];
    process.threads.insert(packet.thread);
    process.last_time_ns = std::max(process.last_time_ns, packet.time_ns);
    KindCount& kind = kinds[std::string(kind_name(packet))];
    ++kind.packets;
    kind.bytes += packet.size;
    if (packet.launch != 0) ++process.launches[packet.launch];
    if (packet.operation != 0) ++process.operations[packet.operation];
  }
  void resolve() {
    for (size_t i = 0; i < processes.size(); ++i) {
      for (const auto& [id, count] : processes[i].launches) {
        kernels[definitions.processes()[i].kernel_of(id)] += count;
        launches += count;
      }
      for (const auto& [id, count] : processes[i].operations) {
        operations[definitions.processes()[i].api_of(id)] += count;
        library_operations += count;
      }
    }
  }
};

double bytes_per_launch(const Reader& reader, const Statistics& statistics) {
  const uint64_t calls = statistics.launches + statistics.library_operations;
  return calls == 0 ? 0 : static_cast<double>(reader.file_bytes()) / static_cast<double>(calls);
}

void write_ranked_json(const char* key, const std::vector<NamedCount>& rows, JsonWriter* json) {
  json->key(key).begin_array();
  for (const NamedCount& row : rows) {
    json->begin_object();
    json->key("name").text(row.name);
    json->key("count").integer(row.count);
    json->end_object();
  }
  json->end_array();
}

void print_json(const Options& options, const Reader& reader, const Statistics& statistics) {
  JsonWriter json(2);
  json.begin_object();
  json.key("format").integer(1);
  json.key("path").text(options.path);
  json.key("complete").boolean(reader.complete());
  json.key("packed").boolean(reader.packed());
  json.key("file_bytes").integer(reader.file_bytes());
  json.key("padding_bytes").integer(reader.padding_bytes());
  json.key("chunks").integer(reader.chunks());
  json.key("packets").integer(reader.packets());
  json.key("damage_count").integer(reader.damage_count());
  json.key("launches").integer(statistics.launches);
  json.key("library_operations").integer(statistics.library_operations);
  json.key("file_bytes_per_launch").number(bytes_per_launch(reader, statistics), 2);
  json.key("processes").begin_array();
  for (size_t i = 0; i < statistics.processes.size(); ++i) {
    const ProcessDefinitions& process = statistics.definitions.processes()[i];
    json.begin_object();
    json.key("program").text(process.header.program());
    json.key("pid").integer(process.header.pid());
    json.key("rank").signed_integer(process.header.rank());
    json.key("world_size").signed_integer(process.header.world_size());
    json.key("device").text(process.header.device_name());
    json.key("maya_version").text(process.header.maya_version());
    json.key("threads").integer(statistics.processes[i].threads.size());
    json.key("host_time_ns").integer(statistics.processes[i].last_time_ns - process.first_time_ns);
    json.end_object();
  }
  json.end_array();
  json.key("kinds").begin_array();
  for (const auto& [name, kind] : statistics.kinds) {
    json.begin_object();
    json.key("kind").text(name);
    json.key("packets").integer(kind.packets);
    json.key("bytes").integer(kind.bytes);
    json.end_object();
  }
  json.end_array();
  write_ranked_json("kernels", ranked(statistics.kernels, options.top), &json);
  write_ranked_json("operations", ranked(statistics.operations, options.top), &json);
  json.end_object();
  std::puts(json.str().c_str());
}

using Number = unsigned long long;

void print_ranked(const char* title, const std::vector<NamedCount>& rows) {
  if (rows.empty()) return;
  std::printf("\n%s\n", emphasised(title).c_str());
  for (const NamedCount& row : rows)
    std::printf("%12llu  %s\n", static_cast<Number>(row.count), abbreviated(row.name).c_str());
}

void print_text(const Options& options, const Reader& reader, const Statistics& statistics) {
  std::printf("%s: %s%s\n", options.path.c_str(),
              reader.damage_count() != 0 ? "damaged"
              : reader.complete()        ? "complete"
                                         : "incomplete",
              reader.packed() ? ", packed" : "");
  for (size_t i = 0; i < statistics.processes.size(); ++i) {
    const ProcessDefinitions& process = statistics.definitions.processes()[i];
    const uint64_t host_ns = statistics.processes[i].last_time_ns - process.first_time_ns;
    std::printf("process %zu: %s, pid %llu", i,
                process.header.program().empty() ? "unknown" : process.header.program().c_str(),
                static_cast<Number>(process.header.pid()));
    if (process.header.rank() >= 0 && process.header.world_size() > 0)
      std::printf(", rank %d of %d", process.header.rank(), process.header.world_size());
    std::printf(", device %s, %zu threads, %.3f s\n",
                process.header.device_name().empty() ? "unknown" : process.header.device_name().c_str(),
                statistics.processes[i].threads.size(), static_cast<double>(host_ns) / 1e9);
  }
  std::printf("%llu bytes, %llu packets in %llu chunks, %llu bytes padding\n", static_cast<Number>(reader.file_bytes()),
              static_cast<Number>(reader.packets()), static_cast<Number>(reader.chunks()),
              static_cast<Number>(reader.padding_bytes()));
  std::printf("%llu launches, %llu library operations, %.1f bytes of file each\n",
              static_cast<Number>(statistics.launches), static_cast<Number>(statistics.library_operations),
              bytes_per_launch(reader, statistics));
  std::printf("\n%s\n", emphasised("kind                      packets         bytes").c_str());
  for (const auto& [name, kind] : statistics.kinds)
    std::printf("%-20s %12llu  %12llu\n", name.c_str(), static_cast<Number>(kind.packets),
                static_cast<Number>(kind.bytes));
  print_ranked("    launches  kernel", ranked(statistics.kernels, options.top));
  print_ranked("       calls  library operation", ranked(statistics.operations, options.top));
}

int stats(const Options& options) {
  const auto reader = Reader::open(options.path);
  Statistics statistics;
  PacketView packet;
  while (reader->next(&packet)) statistics.add(packet);
  if (reader->status() != ReadStatus::kOk) return complain_unusable(options.path, reader->status(), reader->error());
  statistics.resolve();
  (options.json ? print_json : print_text)(options, *reader, statistics);
  return kDone;
}

}  // namespace

void add_stats(CLI::App& app, std::function<int()>* run) {
  auto* command =
      app.add_subcommand("stats", "Counts what is in a trace: processes, packets by kind, kernels, library operations");
  const auto options = std::make_shared<Options>();
  command->add_option("TRACE", options->path, "Trace file")->required();
  command->add_flag("--json", options->json, "Report as JSON");
  command->add_option("--top", options->top, "Number of kernels and operations shown")->capture_default_str();
  command->callback([options, run] { *run = [options] { return stats(*options); }; });
}

}  // namespace maya::cli::trace
