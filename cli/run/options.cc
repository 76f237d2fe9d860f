#include "cli/run/options.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>
#include <sstream>

#include "predictor/core/cluster.h"
#include "virtual_device/size.h"

namespace maya::cli {
namespace {

constexpr int kMostRanks = 1 << 20, kMostGpusPerNode = 16, kMostJobs = 1024, kMostDevices = 16;

// GPUs a node where they are not given: the cluster's, else as many as 8.
int default_gpus_per_node(const std::string& cluster, int world_size) {
  const Cluster* const known = cluster.empty() ? nullptr : find_builtin_cluster(cluster);
  return std::min(known != nullptr ? static_cast<int>(known->gpus_per_node) : 8, world_size);
}

std::string out_of_range(const std::string& option, const std::string& value, const std::string& range) {
  return option + " is out of range: " + value + "; give " + range;
}

std::string take_program(std::vector<std::string> words, std::vector<std::string>* program) {
  *program = std::move(words);
  if (!program->empty() && program->front() == "--")
    program->erase(program->begin());
  else if (!program->empty() && program->front().size() > 1 && program->front()[0] == '-')
    return "unknown option: " + program->front() + "; see maya-run --help";
  return program->empty() ? "no program given; write maya-run [options] -- program args..." : "";
}

std::string check_world(const CLI::App& app, RunOptions* options) {
  for (const char* option : {"--gpus-per-node", "--ranks", "--jobs"})
    if (!options->world && app.count(option) != 0)
      return std::string(option) + " needs a world: give --world-size as well";
  if (!options->world) return "";
  if (options->world_size < 1 || options->world_size > kMostRanks)
    return out_of_range("--world-size", std::to_string(options->world_size), "1 to " + std::to_string(kMostRanks));
  if (app.count("--gpus-per-node") == 0)
    options->gpus_per_node = default_gpus_per_node(options->cluster, options->world_size);
  if (options->gpus_per_node < 1 || options->gpus_per_node > kMostGpusPerNode ||
      options->world_size % options->gpus_per_node != 0)
    return "--world-size " + std::to_string(options->world_size) + " is not divisible by --gpus-per-node " +
           std::to_string(options->gpus_per_node) + "; give 1 to 16 GPUs a node, and whole nodes";
  std::vector<int> ranks;
  if (options->ranks != "auto" && options->ranks != "all" && !parse_ranks(options->ranks, options->world_size, &ranks))
    return "--ranks is no list of ranks below " + std::to_string(options->world_size) + ": " + options->ranks +
           "; give auto, all, or for example 0,3,8-15";
  if (app.count("--jobs") == 0) options->jobs = std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  if (options->jobs < 1 || options->jobs > kMostJobs)
    return out_of_range("--jobs", std::to_string(options->jobs), "1 to " + std::to_string(kMostJobs));
  return "";
}

std::string check_values(const CLI::App& app, const RunOptions& options) {
  uint64_t bytes = 0;
  if (app.count("--devices") != 0 && (options.devices < 1 || options.devices > kMostDevices))
    return out_of_range("--devices", std::to_string(options.devices), "1 to " + std::to_string(kMostDevices));
  if (!options.memory.empty() && options.memory != "unlimited" &&
      (!device::parse_size(options.memory, &bytes) || bytes == 0))
    return "--memory is not a size: " + options.memory + "; give for example 40GiB, or unlimited";
  if (!options.host_memory.empty() && !device::parse_size(options.host_memory, &bytes))
    return "--host-memory is not a size: " + options.host_memory + "; give for example 1GiB";
  if (app.count("--cpu-scale") != 0 && !(options.cpu_scale >= 0.01 && options.cpu_scale <= 100))
    return out_of_range("--cpu-scale", std::to_string(options.cpu_scale), "0.01 to 100");
  if (app.count("--inject") != 0) {
    std::istringstream parts(options.inject + ",");
    for (std::string part; std::getline(parts, part, ',');)
      if (part != "routing=balanced" && part != "checks=pass")
        return "--inject is unknown: " + part + "; known are routing=balanced and checks=pass, joined by a comma";
  }
  return "";
}

}  // namespace

void add_run_options(CLI::App& app, RunOptions* options) {
  app.prefix_command();
  app.add_option("--device", options->device,
                 "Device to emulate: a name from --list-devices or the path of a profile file [h100-sxm]");
  app.add_option("--devices", options->devices, "Number of devices [1]");
  app.add_option(
      "--memory", options->memory,
      "Memory of each device, for example 40GiB; unlimited runs on to find the true peak [the device's own]");
  app.add_option("--trace-dir", options->trace_folder,
                 "Folder for traces, one file per process that used a device [maya-trace]");
  app.add_flag("--no-trace", options->no_trace, "Emulate only");
  app.add_option("--host-memory", options->host_memory, "Host memory for the contents of device memory [1GiB]");
  app.add_option("--cpu-scale", options->cpu_scale,
                 "Recorded in the trace: host time of the target machine relative to this one [1]");
  app.add_option(
      "--world-size", options->world_size,
      "Run the program as so many ranks: maya-run is the launcher then, and sets RANK, WORLD_SIZE and the others");
  app.add_option("--gpus-per-node", options->gpus_per_node,
                 "Ranks on a node; divides the world's size [the cluster's, or 8]");
  app.add_option(
      "--ranks", options->ranks,
      "Ranks to run: auto (those that differ; absent peers are answered as their twins), all, or a list such as "
      "0,3,8-15 [auto]");
  app.add_option("--jobs", options->jobs, "Ranks to run at a time where they run alone [one a core]");
  app.add_option("--cluster", options->cluster,
                 "Nodes and network, recorded in the trace: a name from --list-clusters or the path of a description");
  app.add_option(
      "--inject", options->inject,
      "Results to stand in for those of kernels, which do not run: routing=balanced gives the experts of a mixture of "
      "experts the same number of tokens each, where a router chooses by torch.topk (token t gets the experts "
      "(t * k + j) mod experts, for j below k; results up to 320 MiB). Without it routing is unknown, and a program "
      "that reads it sees zeros. checks=pass lets torch.all() of unknown values be true (reads as false without), so "
      "that "
      "checks of values pass: of torch.distributions, of boxes. Both: routing=balanced,checks=pass");
  app.add_flag("--list-clusters", options->list_clusters, "Print the known clusters and end");
  app.add_flag("--list-devices", options->list_devices, "Print the known devices and end");
  app.add_flag("--print-library-path", options->print_library_path,
               "Print the folder to put into LD_LIBRARY_PATH and end");
}

std::string check_run_options(const CLI::App& app, RunOptions* options) {
  if (options->only_lists()) return "";
  options->world = app.count("--world-size") != 0;
  for (const std::string& wrong :
       {take_program(app.remaining(), &options->program), check_world(app, options), check_values(app, *options)})
    if (!wrong.empty()) return wrong;
  return "";
}

bool parse_ranks(const std::string& text, int size, std::vector<int>* ranks) {
  std::set<int> set;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    int first = 0, last = 0;
    auto read = std::from_chars(at, end, first);
    if (read.ec != std::errc()) return false;
    last = first;
    at = read.ptr;
    if (at < end && *at == '-') {
      read = std::from_chars(at + 1, end, last);
      if (read.ec != std::errc()) return false;
      at = read.ptr;
    }
    if (first < 0 || last < first || last >= size) return false;
    for (int rank = first; rank <= last; ++rank) set.insert(rank);
    if (at < end && (*at++ != ',' || at == end)) return false;
  }
  ranks->assign(set.begin(), set.end());
  return !ranks->empty();
}

}  // namespace maya::cli
