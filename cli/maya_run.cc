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
#include "cli/run/options.h"
#include "cli/run/rank_process.h"
#include "cli/run/world.h"
#include "predictor/core/cluster.h"
#include "virtual_device/device_names.h"
#include "virtual_device/profile.h"

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

// The variables by which the libraries learn what was asked for (interface.md).
void set_variables(const CLI::App& app, const maya::cli::RunOptions& options) {
  if (options.world) {
    if (app.count("--devices") == 0) setenv("MAYA_DEVICES", std::to_string(options.gpus_per_node).c_str(), 1);
    setenv("MAYA_GPUS_PER_NODE", std::to_string(options.gpus_per_node).c_str(), 1);
    if (getenv("OMP_NUM_THREADS") == nullptr) setenv("OMP_NUM_THREADS", "1", 1);  // as torchrun does
  }
  if (!options.cluster.empty()) setenv("MAYA_CLUSTER", checked_cluster(options.cluster).c_str(), 1);
  if (!options.device.empty()) setenv("MAYA_DEVICE", checked_device(options.device).c_str(), 1);
  if (app.count("--devices") != 0) setenv("MAYA_DEVICES", std::to_string(options.devices).c_str(), 1);
  if (!options.memory.empty()) setenv("MAYA_MEMORY", options.memory.c_str(), 1);
  if (!options.host_memory.empty()) setenv("MAYA_HOST_MEMORY", options.host_memory.c_str(), 1);
  if (app.count("--cpu-scale") != 0) setenv("MAYA_CPU_SCALE", std::to_string(options.cpu_scale).c_str(), 1);
  if (!options.inject.empty()) setenv("MAYA_INJECT", options.inject.c_str(), 1);
  if (options.no_trace) {
    setenv("MAYA_TRACE", "0", 1);
  } else if (!options.trace_folder.empty()) {
    setenv("MAYA_TRACE_DIR", checked_trace_folder(options.trace_folder).c_str(), 1);
  } else if (getenv("MAYA_TRACE_DIR") == nullptr) {
    setenv("MAYA_TRACE_DIR", checked_trace_folder("maya-trace").c_str(), 1);
  }
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
  maya::cli::RunOptions options;
  maya::cli::add_run_options(app, &options);
  maya::cli::add_version(app);
  if (const int status = maya::cli::parse(app, kTool, argc, argv); status != maya::cli::kParsed) return status;

  if (options.list_devices) {
    list_devices();
    return maya::cli::kDone;
  }
  if (options.list_clusters) {
    fputs(maya::cluster_list().c_str(), stdout);
    return maya::cli::kDone;
  }
  if (options.print_library_path) {
    puts(library_folder().c_str());
    return maya::cli::kDone;
  }
  if (const std::string wrong = maya::cli::check_run_options(app, &options); !wrong.empty())
    fail(kTool, maya::cli::kUsage, wrong);
  set_variables(app, options);
  if (getenv("MAYA_RUN_ID") == nullptr) setenv("MAYA_RUN_ID", new_run_id().c_str(), 1);

  const std::string libraries = library_folder();
  prepend("LD_LIBRARY_PATH", libraries);
  prepend("LD_AUDIT", libraries + "/libmaya_audit.so");
  prepend("LD_PRELOAD", libraries + "/libmaya_preload.so");
  if (getenv("NVTX_INJECTION64_PATH") == nullptr)
    setenv("NVTX_INJECTION64_PATH", (libraries + "/libmaya_nvtx.so").c_str(), 1);
  prepend("PATH", maya::cli::own_folder());  // nvidia-smi
  ask_for_line_numbers();
  if (!options.world) {
    const maya::cli::Failure failure = maya::cli::execute(options.program);
    fail(kTool, failure.status, failure.text);
  }
  const char* const traces = getenv("MAYA_TRACE_DIR");
  return maya::cli::run_world({options.world_size, options.gpus_per_node, options.ranks, options.jobs,
                               options.no_trace || traces == nullptr ? "" : traces, libraries + "/python",
                               options.program});
}
