#include "predictor/target.h"

#include <fstream>
#include <iterator>

#include "virtual_device/device_names.h"

namespace maya::predictor {
namespace {

// A profile file is a page of text; nothing longer is read.
constexpr std::streamsize kLongestProfile_bytes = 1 << 20;

bool read_text(const std::string& path, std::string* text) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return false;
  text->resize(static_cast<size_t>(kLongestProfile_bytes));
  file.read(text->data(), kLongestProfile_bytes);
  text->resize(static_cast<size_t>(file.gcount()));
  return !file.bad();
}

Failure from_trace(const trace::LoadedTrace& trace, device::DeviceProfile* profile) {
  std::string error;
  if (!trace.process.device_profile().empty()) {
    if (device::parse_profile(trace.process.device_profile(), profile, &error)) return {};
  } else if (const device::DeviceProfile* builtin = device::find_builtin_profile(trace.process.device_name())) {
    *profile = *builtin;
    return {};
  }
  const std::string why = !error.empty()                        ? "its device profile: " + error
                          : trace.process.device_name().empty() ? "it does not name its device"
                                                                : "unknown device: " + trace.process.device_name();
  return {FailureKind::kInput, trace.path + ": " + why + "; choose one with --device: " + device::known_device_names()};
}

}  // namespace

Failure named_profile(const std::string& device, device::DeviceProfile* profile) {
  if (const device::DeviceProfile* builtin = device::find_builtin_profile(device)) {
    *profile = *builtin;
    return {};
  }
  std::string text, error;
  const bool looks_like_path = device.find('/') != std::string::npos || device.find('.') != std::string::npos;
  if (!looks_like_path || !read_text(device, &text))
    return {FailureKind::kUsage, "unknown device: " + device + "; known are " + device::known_device_names() +
                                     ", or the path of a profile file"};
  if (!device::parse_profile(text, profile, &error))
    return {FailureKind::kUsage, "profile file: " + device + ": " + error};
  return {};
}

Failure named_cluster(const std::string& name, Cluster* cluster) {
  if (const Cluster* builtin = find_builtin_cluster(name)) {
    *cluster = *builtin;
    return {};
  }
  std::string text, error;
  const bool looks_like_path = name.find('/') != std::string::npos || name.find('.') != std::string::npos;
  if (!looks_like_path || !read_text(name, &text))
    return {FailureKind::kUsage, "unknown cluster: " + name + "; known are " + known_cluster_names() +
                                     ", or the path of a cluster description"};
  if (!parse_cluster(text, cluster, &error))
    return {FailureKind::kUsage, "cluster description: " + name + ": " + error};
  return {};
}

Failure profile_text(const std::string& path, std::string* text) {
  if (read_text(path, text)) return {};
  return {FailureKind::kUsage, "profile file cannot be read: " + path + "; check its name and permissions"};
}

Failure resolve_target(const std::string& device, const trace::LoadedTrace& trace, const std::string& table,
                       Target* target) {
  if (device.empty()) {
    target->is_traced_device = true;
    if (Failure failure = from_trace(trace, &target->profile)) return failure;
  } else {
    if (Failure failure = named_profile(device, &target->profile)) return failure;
    target->is_traced_device = target->profile.name == trace.process.device_name();
  }
  if (!table.empty()) {
    target->table = std::make_shared<TableFile>();
    return target->table->open(table);
  }
  std::unique_ptr<TableFile> shipped;
  if (Failure failure = shipped_table(target->profile.name, &shipped)) return failure;
  target->table = std::move(shipped);
  return {};
}

}  // namespace maya::predictor
