#include "driver_shim/cuda/configuration.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "virtual_device/device_names.h"
#include "virtual_device/identity.h"
#include "virtual_device/size.h"

namespace maya::cuda {
namespace {

constexpr std::string_view kDefaultDevice = "h100-sxm";
constexpr int kMostDevices = 64;
constexpr size_t kMostProfile_bytes = 1 << 20;

std::string_view variable(const char* name) {
  const char* value = secure_getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

void refuse(Configuration& configuration, std::string_view name, std::string_view value, std::string_view allowed) {
  configuration.valid = false;
  print_line(std::string(name) + ": '" + std::string(value) + "' is not usable; allowed: " + std::string(allowed));
}

bool parse_integer(std::string_view text, int least, int most, int* value) {
  int parsed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error != std::errc() || end != text.data() + text.size() || parsed < least || parsed > most) return false;
  *value = parsed;
  return true;
}

bool parse_scale(std::string_view text, double* value) {
  double parsed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error != std::errc() || end != text.data() + text.size() || !(parsed >= 0.01 && parsed <= 100)) return false;
  *value = parsed;
  return true;
}

bool parse_positive_size(std::string_view text, uint64_t* bytes) {
  return device::parse_size(text, bytes) && *bytes != 0;
}

// False with one line in `error` when the file cannot be read.
bool read_file(const std::string& path, std::string* text, std::string* error) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status {};
  if (file < 0 || fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    *error = file < 0 ? strerror(errno) : "not a regular file";
    if (file >= 0) close(file);
    return false;
  }
  char buffer[16384];
  ssize_t got = 0;
  while ((got = read(file, buffer, sizeof buffer)) > 0 && text->size() <= kMostProfile_bytes)
    text->append(buffer, static_cast<size_t>(got));
  close(file);
  if (got < 0) *error = strerror(errno);
  if (text->size() > kMostProfile_bytes) *error = "larger than 1 MiB";
  return error->empty();
}

void choose_device(Configuration& configuration) {
  std::string_view name = variable("MAYA_DEVICE");
  if (name.empty()) name = kDefaultDevice;
  for (const device::BuiltinProfile& builtin : device::builtin_profiles())
    if (builtin.name == name) configuration.profile_text = builtin.text;
  configuration.profile = device::find_builtin_profile(name);
  if (configuration.profile != nullptr) return;
  if (name.find('/') == std::string_view::npos) {
    refuse(configuration, "MAYA_DEVICE", name, device::known_device_names() + ", or the path of a profile file");
  } else {
    std::string text, error;
    static device::DeviceProfile own;
    if (!read_file(std::string(name), &text, &error) || !device::parse_profile(text, &own, &error)) {
      print_line("MAYA_DEVICE: " + std::string(name) + ": " + error);
      configuration.valid = false;
    } else {
      configuration.profile = &own;
      configuration.profile_text = text;
      return;
    }
  }
  static const device::DeviceProfile none;
  configuration.profile = device::find_builtin_profile(kDefaultDevice);
  if (configuration.profile == nullptr) configuration.profile = &none;
}

// The devices that a value of CUDA_VISIBLE_DEVICES names, in its order (CUDA C++ programming guide, "CUDA environment
// variables"): numbers, or identifiers that may be cut short as long as one device alone begins with them. What follows
// the first entry that names no device is not visible, and nothing is where a device is named twice.
std::vector<int> named_devices(std::string_view text, int machine_devices) {
  std::vector<int> named;
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(entry.size() + 1, text.size()));
    const size_t first = entry.find_first_not_of(" \t");
    if (first == std::string_view::npos) break;
    const std::string_view name = entry.substr(first);
    int device = -1;
    if (name.starts_with("GPU-")) {
      int matches = 0;
      for (int i = 0; i < machine_devices; ++i)
        if (device::device_uuid_text(i).starts_with(name)) device = i, ++matches;
      if (matches != 1) break;
    } else if (std::from_chars(name.data(), name.data() + name.size(), device).ec != std::errc()) {
      break;
    }
    if (device < 0 || device >= machine_devices) break;
    if (std::find(named.begin(), named.end(), device) != named.end()) return {};
    named.push_back(device);
  }
  return named;
}

void choose_visible(Configuration& configuration) {
  const char* text = secure_getenv("CUDA_VISIBLE_DEVICES");
  if (text != nullptr)
    configuration.visible = named_devices(text, configuration.machine_devices);
  else
    for (int i = 0; i < configuration.machine_devices; ++i) configuration.visible.push_back(i);
  configuration.devices = static_cast<int>(configuration.visible.size());
}

Configuration read_configuration() {
  Configuration result;
  choose_device(result);
  if (const auto text = variable("MAYA_DEVICES");
      !text.empty() && !parse_integer(text, 0, kMostDevices, &result.machine_devices))
    refuse(result, "MAYA_DEVICES", text, "0 to 64");
  choose_visible(result);
  if (const auto text = variable("MAYA_MEMORY"); text == "unlimited")
    result.memory_limit_bytes = UINT64_MAX;
  else if (!text.empty() && !parse_positive_size(text, &result.memory_limit_bytes))
    refuse(result, "MAYA_MEMORY", text, "a size such as 40GiB or 512M, or unlimited");
  if (const auto text = variable("MAYA_HOST_MEMORY");
      !text.empty() && !parse_positive_size(text, &result.host_budget_bytes))
    refuse(result, "MAYA_HOST_MEMORY", text, "a size such as 1GiB or 512M");
  if (const auto text = variable("MAYA_TRACE"); text == "0")
    result.trace = false;
  else if (!text.empty() && text != "1")
    refuse(result, "MAYA_TRACE", text, "0 or 1");
  const std::string_view directory = variable("MAYA_TRACE_DIR");
  result.trace_directory = directory.empty() ? "maya-trace" : std::string(directory);
  result.run_id = variable("MAYA_RUN_ID");
  result.cluster = variable("MAYA_CLUSTER");
  if (std::string error;
      result.cluster.find('/') != std::string::npos && !read_file(result.cluster, &result.cluster_text, &error))
    refuse(result, "MAYA_CLUSTER", result.cluster, "the path of a readable cluster description (" + error + ")");
  if (const auto text = variable("MAYA_TWINS"); text == "1")
    result.twins = true;
  else if (!text.empty() && text != "0")
    refuse(result, "MAYA_TWINS", text, "0 or 1");
  if (const auto text = variable("MAYA_CPU_SCALE"); !text.empty() && !parse_scale(text, &result.cpu_scale))
    refuse(result, "MAYA_CPU_SCALE", text, "0.01 to 100");
  if (const auto text = variable("MAYA_GRAPH_ITERATIONS"); !text.empty()) {
    int iterations = 1;
    if (!parse_integer(text, 0, 1 << 20, &iterations)) refuse(result, "MAYA_GRAPH_ITERATIONS", text, "0 to 1048576");
    result.graph_iterations = static_cast<uint32_t>(iterations);
  }
  for (std::string_view rest = variable("MAYA_INJECT"); !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    if (part == "routing=balanced")
      result.balanced_routing = true;
    else if (part == "checks=pass")
      result.passing_checks = true;
    else
      refuse(result, "MAYA_INJECT", part, "routing=balanced, checks=pass, or both joined by a comma");
  }
  // These belong to the launcher, so nonsense in them is not ours to refuse.
  parse_integer(variable("RANK"), 0, 1 << 30, &result.rank);
  parse_integer(variable("WORLD_SIZE"), 1, 1 << 30, &result.world_size);
  parse_integer(variable("LOCAL_RANK"), 0, 1 << 30, &result.local_rank);
  if (!parse_integer(variable("MAYA_GPUS_PER_NODE"), 1, 1 << 20, &result.gpus_per_node))
    parse_integer(variable("LOCAL_WORLD_SIZE"), 1, 1 << 20, &result.gpus_per_node);
  return result;
}

}  // namespace

const Configuration& configuration() {
  static const Configuration& read = *new Configuration(read_configuration());
  return read;
}

void print_line(std::string_view text) noexcept {
  char line[1024] = "maya: ";
  constexpr size_t kPrefix = 6;
  const size_t length = text.size() < sizeof line - kPrefix - 1 ? text.size() : sizeof line - kPrefix - 1;
  // Names come from images and files that may hold anything.
  std::transform(text.begin(), text.begin() + length, line + kPrefix,
                 [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? '?' : c; });
  line[kPrefix + length] = '\n';
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, kPrefix + length + 1);
}

}  // namespace maya::cuda
