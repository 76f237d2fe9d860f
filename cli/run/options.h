// maya-run's command line. Nothing here starts a program, reads a file or changes the environment.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace maya::cli {

struct RunOptions {
  std::string device, memory, trace_folder, host_memory, cluster, inject;
  std::string ranks = "auto";
  int devices = 0, world_size = 0, gpus_per_node = 0, jobs = 0;
  double cpu_scale = 0;
  bool no_trace = false, list_devices = false, list_clusters = false, print_library_path = false;
  bool world = false;                // --world-size is given
  std::vector<std::string> program;  // with its arguments

  bool only_lists() const { return list_devices || list_clusters || print_library_path; }
};

void add_run_options(CLI::App& app, RunOptions* options);

// After parsing: takes the program, fills in what follows from other options (GPUs a node, jobs), and checks values
// against their ranges and each other. The line of a usage error; empty when all is right, and when only a list is
// asked for.
std::string check_run_options(const CLI::App& app, RunOptions* options);

// "0,3,8-15" as ascending ranks without repetition. False when it is no such list or a rank is not below `size`.
bool parse_ranks(const std::string& text, int size, std::vector<int>* ranks);

}  // namespace maya::cli
