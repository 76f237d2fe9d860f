// maya-run: runs a program on the replacement libraries. Sets the environment and becomes the program (execvp), so that
// its exit status, signals and standard streams are its own; with --world-size it stays and runs the ranks
// (run/world.h).
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cinttypes>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "cli/common.h"
#include "cli/exit_status.h"
#include "cli/run/rank_process.h"
#include "cli/run/world.h"
#include "predictor/core/cluster.h"
#include "virtual_device/device_names.h"
#include "virtual_device/profile.h"
#include "virtual_device/size.h"

namespace {

using maya::cli::fail;

constexpr const char* kTool = "maya-run";

std::string library_folder() {
  const std::string folder = maya::cli::folder_with("libcuda.so.1");
  if (folder.empty())
    fail(kTool, maya::cli::kRunFailed,
         "libcuda.so.1 is missing: " + maya::cli::own_folder() + "/../lib; build or install Maya's libraries");
  return folder;
}

void list_devices() {
  printf("%-14s %-26s %9s %9s %9s %9s  %s\n", "name", "answers as", "memory", "bandwidth", "bf16", "fp8", "compute");
  printf("%-14s %-26s %9s %9s %9s %9s\n", "", "", "GiB", "GB/s", "TFLOP/s", "TFLOP/s");
  for (const auto& builtin : maya::device::builtin_profiles()) {
    const maya::device::DeviceProfile& p = *maya::device::find_builtin_profile(builtin.name);
    printf("%-14s %-26s %9.2f %9.0f %9.0f %9.0f  %u.%u\n", p.name.c_str(), p.product_name.c_str(),
           static_cast<double>(p.total_memory_bytes) / (1 << 30), p.memory_bandwidth / 1e9, p.peak_bf16 / 1e12,
           p.peak_fp8 / 1e12, p.compute_major, p.compute_minor);
  }
  printf(
      "Figures and their sources: virtual_device/profiles/NAME.profile. The path of a file of that form works as a "
      "device, too.\n");
}

// A built-in name stays; a file is checked and made absolute, since the program may change its folder.
std::string checked_device(const std::string& name) {
  if (maya::device::find_builtin_profile(name) != nullptr) return name;
  std::ifstream file(name);
  if (name.find('/') == std::string::npos && !file)
    fail(kTool, maya::cli::kUsage,
         "unknown device: " + name + "; known are " + maya::device::known_device_names() +
             ", or the path of a profile file");
  if (!file)
    fail(kTool, maya::cli::kUsage,
         "cannot read the device profile: " + name + "; known devices are " + maya::device::known_device_names());
  std::stringstream text;
  text << file.rdbuf();
  maya::device::DeviceProfile profile;
  std::string error;
  if (!maya::device::parse_profile(text.str(), &profile, &error))
    fail(kTool, maya::cli::kUsage, "device profile " + name + ": " + error);
  char resolved[PATH_MAX];
  return realpath(name.c_str(), resolved) != nullptr ? resolved : name;
}

// A built-in name stays; a file is checked and made absolute, with a '/' that tells it from a name.
std::string checked_cluster(const std::string& name) {
  if (maya::find_builtin_cluster(name) != nullptr) return name;
  std::ifstream file(name);
  if (!file)
    fail(kTool, maya::cli::kUsage,
         "unknown cluster: " + name + "; known are " + maya::known_cluster_names() +
             ", or the path of a cluster description");
  std::stringstream text;
  text << file.rdbuf();
  maya::Cluster cluster;
  std::string error;
  if (!maya::parse_cluster(text.str(), &cluster, &error))
    fail(kTool, maya::cli::kUsage, "cluster description " + name + ": " + error);
  char resolved[PATH_MAX];
  return realpath(name.c_str(), resolved) != nullptr ? resolved : name;
}

// GPUs a node where they are not given: the cluster's, else as many as 8.
int default_gpus_per_node(const std::string& cluster, int world_size) {
  const maya::Cluster* const known = cluster.empty() ? nullptr : maya::find_builtin_cluster(cluster);
  return std::min(known != nullptr ? static_cast<int>(known->gpus_per_node) : 8, world_size);
}

// The trace folder, made when missing, absolute, and writable.
std::string checked_trace_folder(const std::string& folder) {
  const auto refuse = [&](int error) {
    fail(kTool, maya::cli::kOutput,
         "cannot write traces to the folder: " + folder + ": " + strerror(error) +
             "; choose another with --trace-dir, or use --no-trace");
  };
  if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) refuse(errno);
  struct stat status;
  if (stat(folder.c_str(), &status) != 0) refuse(errno);
  if (!S_ISDIR(status.st_mode)) refuse(ENOTDIR);
  if (access(folder.c_str(), W_OK | X_OK) != 0) refuse(errno);
  char resolved[PATH_MAX];
  return realpath(folder.c_str(), resolved) != nullptr ? resolved : folder;
}

void prepend(const char* variable, const std::string& folder) {
  const char* old = getenv(variable);
  const std::string value = old == nullptr || *old == '\0' ? folder : folder + ":" + old;
  setenv(variable, value.c_str(), 1);
}

// XLA leaves line numbers out of what it compiles, and with them the PTX that says what its kernels do. The flag
// changes no code.
void ask_for_line_numbers() {
  const char* old = getenv("XLA_FLAGS");
  std::string flags = old == nullptr ? "" : old;
  if (flags.find("xla_gpu_generate_line_info") != std::string::npos) return;
  if (!flags.empty()) flags += ' ';
  setenv("XLA_FLAGS", (flags + "--xla_gpu_generate_line_info=true").c_str(), 1);
}

// Told apart when traces of two runs lie in one folder.
std::string new_run_id() {
  std::random_device random;
  char text[17];
  snprintf(text, sizeof text, "%08x%08x", random(), random());
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Runs a GPU program on a machine without a GPU and records what it does.\n\n"
      "  maya-run [options] -- program args...\n\n"
      "  maya-run -- python train.py\n"
      "  maya-run --device a100-sxm-80 --devices 8 --trace-dir out -- python train.py --epochs 1\n"
      "  maya-run --device my-gpu.profile --memory unlimited -- ./program\n"
      "  maya-run --devices 8 -- torchrun --nproc_per_node 8 train.py\n"
      "  maya-run --world-size 1024 --gpus-per-node 8 --cluster dgx-h100 -- python train.py\n"
      "Then: maya-predict out",
      kTool);
  app.prefix_command();
  std::string device, memory, trace_folder, host_memory;
  int devices = 0;
  double cpu_scale = 0;
  bool no_trace = false, show_devices = false, show_clusters = false, show_folder = false;
  int world_size = 0, gpus_per_node = 0, jobs = 0;
  std::string ranks = "auto", cluster, inject;
  app.add_option("--device", device,
                 "Device to emulate: a name from --list-devices or the path of a profile file [h100-sxm]");
  app.add_option("--devices", devices, "Number of devices [1]");
  app.add_option(
      "--memory", memory,
      "Memory of each device, for example 40GiB; unlimited runs on to find the true peak [the device's own]");
  app.add_option("--trace-dir", trace_folder,
                 "Folder for traces, one file per process that used a device [maya-trace]");
  app.add_flag("--no-trace", no_trace, "Emulate only");
  app.add_option("--host-memory", host_memory, "Host memory for the contents of device memory [1GiB]");
  app.add_option("--cpu-scale", cpu_scale,
                 "Recorded in the trace: host time of the target machine relative to this one [1]");
  app.add_option(
      "--world-size", world_size,
      "Run the program as so many ranks: maya-run is the launcher then, and sets RANK, WORLD_SIZE and the others");
  app.add_option("--gpus-per-node", gpus_per_node, "Ranks on a node; divides the world's size [the cluster's, or 8]");
  app.add_option(
      "--ranks", ranks,
      "Ranks to run: auto (those that differ; absent peers are answered as their twins), all, or a list such as "
      "0,3,8-15 [auto]");
  app.add_option("--jobs", jobs, "Ranks to run at a time where they run alone [one a core]");
  app.add_option("--cluster", cluster,
                 "Nodes and network, recorded in the trace: a name from --list-clusters or the path of a description");
  app.add_option(
      "--inject", inject,
      "Results to stand in for those of kernels, which do not run: routing=balanced gives the experts of a mixture of "
      "experts the same number of tokens each, where a router chooses by torch.topk (token t gets the experts "
      "(t * k + j) mod experts, for j below k; results up to 1 MiB). Without it routing is unknown, and a program that "
      "reads it sees zeros");
  app.add_flag("--list-clusters", show_clusters, "Print the known clusters and end");
  app.add_flag("--list-devices", show_devices, "Print the known devices and end");
  app.add_flag("--print-library-path", show_folder, "Print the folder to put into LD_LIBRARY_PATH and end");
  maya::cli::add_version(app);
  if (const int status = maya::cli::parse(app, kTool, argc, argv); status != maya::cli::kParsed) return status;

  if (show_devices) {
    list_devices();
    return maya::cli::kDone;
  }
  if (show_clusters) {
    fputs(maya::cluster_list().c_str(), stdout);
    return maya::cli::kDone;
  }
  if (show_folder) {
    puts(library_folder().c_str());
    return maya::cli::kDone;
  }
  std::vector<std::string> program = app.remaining();
  if (!program.empty() && program[0] == "--")
    program.erase(program.begin());
  else if (!program.empty() && program[0].size() > 1 && program[0][0] == '-')
    fail(kTool, maya::cli::kUsage, "unknown option: " + program[0] + "; see maya-run --help");
  if (program.empty()) fail(kTool, maya::cli::kUsage, "no program given; write maya-run [options] -- program args...");

  const bool world = app.count("--world-size") != 0;
  for (const char* option : {"--gpus-per-node", "--ranks", "--jobs"})
    if (!world && app.count(option) != 0)
      fail(kTool, maya::cli::kUsage, std::string(option) + " needs a world: give --world-size as well");
  if (world) {
    if (world_size < 1 || world_size > 1 << 20)
      fail(kTool, maya::cli::kUsage,
           "--world-size is out of range: " + std::to_string(world_size) + "; give 1 to 1048576");
    if (app.count("--gpus-per-node") == 0) gpus_per_node = default_gpus_per_node(cluster, world_size);
    if (gpus_per_node < 1 || gpus_per_node > 16 || world_size % gpus_per_node != 0)
      fail(kTool, maya::cli::kUsage,
           "--world-size " + std::to_string(world_size) + " is not divisible by --gpus-per-node " +
               std::to_string(gpus_per_node) + "; give 1 to 16 GPUs a node, and whole nodes");
    if (app.count("--jobs") == 0) jobs = std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
    if (jobs < 1 || jobs > 1024)
      fail(kTool, maya::cli::kUsage, "--jobs is out of range: " + std::to_string(jobs) + "; give 1 to 1024");
    if (app.count("--devices") == 0) setenv("MAYA_DEVICES", std::to_string(gpus_per_node).c_str(), 1);
    setenv("MAYA_GPUS_PER_NODE", std::to_string(gpus_per_node).c_str(), 1);
    if (getenv("OMP_NUM_THREADS") == nullptr) setenv("OMP_NUM_THREADS", "1", 1);  // as torchrun does
  }
  if (!cluster.empty()) setenv("MAYA_CLUSTER", checked_cluster(cluster).c_str(), 1);
  if (!device.empty()) setenv("MAYA_DEVICE", checked_device(device).c_str(), 1);
  if (app.count("--devices") != 0) {
    if (devices < 1 || devices > 16)
      fail(kTool, maya::cli::kUsage, "--devices is out of range: " + std::to_string(devices) + "; give 1 to 16");
    setenv("MAYA_DEVICES", std::to_string(devices).c_str(), 1);
  }
  uint64_t bytes = 0;
  if (!memory.empty()) {
    if (memory != "unlimited" && (!maya::device::parse_size(memory, &bytes) || bytes == 0))
      fail(kTool, maya::cli::kUsage, "--memory is not a size: " + memory + "; give for example 40GiB, or unlimited");
    setenv("MAYA_MEMORY", memory.c_str(), 1);
  }
  if (!host_memory.empty()) {
    if (!maya::device::parse_size(host_memory, &bytes))
      fail(kTool, maya::cli::kUsage, "--host-memory is not a size: " + host_memory + "; give for example 1GiB");
    setenv("MAYA_HOST_MEMORY", host_memory.c_str(), 1);
  }
  if (app.count("--cpu-scale") != 0) {
    if (!(cpu_scale >= 0.01 && cpu_scale <= 100))
      fail(kTool, maya::cli::kUsage,
           "--cpu-scale is out of range: " + std::to_string(cpu_scale) + "; give 0.01 to 100");
    setenv("MAYA_CPU_SCALE", std::to_string(cpu_scale).c_str(), 1);
  }
  if (app.count("--inject") != 0) {
    if (inject != "routing=balanced")
      fail(kTool, maya::cli::kUsage, "--inject is unknown: " + inject + "; known is routing=balanced");
    setenv("MAYA_INJECT", inject.c_str(), 1);
  }
  if (no_trace) {
    setenv("MAYA_TRACE", "0", 1);
  } else if (!trace_folder.empty()) {
    setenv("MAYA_TRACE_DIR", checked_trace_folder(trace_folder).c_str(), 1);
  } else if (getenv("MAYA_TRACE_DIR") == nullptr) {
    setenv("MAYA_TRACE_DIR", checked_trace_folder("maya-trace").c_str(), 1);
  }
  if (getenv("MAYA_RUN_ID") == nullptr) setenv("MAYA_RUN_ID", new_run_id().c_str(), 1);

  const std::string libraries = library_folder();
  prepend("LD_LIBRARY_PATH", libraries);
  prepend("LD_AUDIT", libraries + "/libmaya_audit.so");
  prepend("LD_PRELOAD", libraries + "/libmaya_preload.so");
  if (getenv("NVTX_INJECTION64_PATH") == nullptr)
    setenv("NVTX_INJECTION64_PATH", (libraries + "/libmaya_nvtx.so").c_str(), 1);
  prepend("PATH", maya::cli::own_folder());  // nvidia-smi
  ask_for_line_numbers();
  if (!world) {
    const maya::cli::Failure failure = maya::cli::execute(program);
    fail(kTool, failure.status, failure.text);
  }
  const char* const traces = getenv("MAYA_TRACE_DIR");
  return maya::cli::run_world({world_size, gpus_per_node, ranks, jobs, no_trace || traces == nullptr ? "" : traces,
                               libraries + "/python", program});
}
