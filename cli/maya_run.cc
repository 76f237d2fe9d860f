// maya-run: runs a program on the replacement libraries. Sets the environment and becomes the program (execvp), so that
// its exit status, signals and standard streams are its own.
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cinttypes>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "cli/common.h"
#include "cli/exit_status.h"
#include "virtual_device/device_names.h"
#include "virtual_device/profile.h"
#include "virtual_device/size.h"

namespace {

using maya::cli::fail;

constexpr const char* kTool = "maya-run";

std::string own_folder() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0) return "";
  const std::string whole(path, static_cast<size_t>(length));
  return whole.substr(0, whole.rfind('/'));
}

// Beside the command in a build tree (bin, lib); in lib/maya after installation.
std::string library_folder() {
  const std::string root = own_folder() + "/..";
  for (const std::string& folder : {root + "/lib/maya", root + "/lib"}) {
    char resolved[PATH_MAX];
    if (access((folder + "/libcuda.so.1").c_str(), R_OK) == 0 && realpath(folder.c_str(), resolved) != nullptr)
      return resolved;
  }
  fail(kTool, maya::cli::kRunFailed, "libcuda.so.1 is missing: " + root + "/lib; build or install Maya's libraries");
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

// Told apart when traces of two runs lie in one folder.
std::string new_run_id() {
  std::random_device random;
  char text[17];
  snprintf(text, sizeof text, "%08x%08x", random(), random());
  return text;
}

[[noreturn]] void become(const std::vector<std::string>& program) {
  std::vector<char*> arguments;
  for (const std::string& argument : program) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  if (error == ENOENT)
    fail(kTool, maya::cli::kNotFound, "program not found: " + program[0] + "; give its path, or check PATH");
  fail(kTool, maya::cli::kNotExecutable,
       "cannot execute the program: " + program[0] + ": " + strerror(error) + "; check its permissions and format");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Runs a GPU program on a machine without a GPU and records what it does.\n\n"
      "  maya-run [options] -- program args...\n\n"
      "  maya-run -- python train.py\n"
      "  maya-run --device a100-sxm-80 --devices 8 --trace-dir out -- python train.py --epochs 1\n"
      "  maya-run --device my-gpu.profile --memory unlimited -- ./program\n"
      "Then: maya-predict out",
      kTool);
  app.prefix_command();
  std::string device, memory, trace_folder, host_memory;
  int devices = 0;
  double cpu_scale = 0;
  bool no_trace = false, show_devices = false, show_folder = false;
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
  app.add_flag("--list-devices", show_devices, "Print the known devices and end");
  app.add_flag("--print-library-path", show_folder, "Print the folder to put into LD_LIBRARY_PATH and end");
  maya::cli::add_version(app);
  if (const int status = maya::cli::parse(app, kTool, argc, argv); status != maya::cli::kParsed) return status;

  if (show_devices) {
    list_devices();
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
  if (getenv("NVTX_INJECTION64_PATH") == nullptr)
    setenv("NVTX_INJECTION64_PATH", (libraries + "/libmaya_nvtx.so").c_str(), 1);
  prepend("PATH", own_folder());  // nvidia-smi
  become(program);
}
