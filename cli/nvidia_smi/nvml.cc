#include "cli/nvidia_smi/nvml.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include <sstream>

#include "cli/common.h"

namespace maya::smi {
namespace {

void* open_library() {
  const std::string folder = cli::folder_with("libnvidia-ml.so.1");
  void* const library = folder.empty() ? nullptr : dlopen((folder + "/libnvidia-ml.so.1").c_str(), RTLD_NOW);
  if (library != nullptr) return library;
  fail(kLibraryNotFound, "libnvidia-ml.so.1 of Maya is missing beside this command; build or install it");
}

Nvml load() {
  void* const library = open_library();
  Nvml loaded;
#define F(name)                                                             \
  loaded.name = reinterpret_cast<decltype(&::name)>(dlsym(library, #name)); \
  if (loaded.name == nullptr) fail(kLibraryNotFound, std::string("libnvidia-ml.so.1 has no ") + #name);
#include "cli/nvidia_smi/functions.inc"
#undef F
  if (const nvmlReturn_t status = loaded.nvmlInit_v2(); status != NVML_SUCCESS)
    fail(status == NVML_ERROR_DRIVER_NOT_LOADED ? kDriverNotLoaded : kOther,
         std::string("NVML does not start: ") + loaded.nvmlErrorString(status));
  return loaded;
}

Gpu find(const std::string& id) {
  nvmlDevice_t handle = nullptr;
  char* end = nullptr;
  const unsigned long index = strtoul(id.c_str(), &end, 10);
  nvmlReturn_t status = NVML_ERROR_NOT_FOUND;
  if (!id.empty() && *end == '\0')
    status = nvml().nvmlDeviceGetHandleByIndex_v2(static_cast<unsigned int>(index), &handle);
  if (status != NVML_SUCCESS) status = nvml().nvmlDeviceGetHandleByUUID(id.c_str(), &handle);
  if (status != NVML_SUCCESS) status = nvml().nvmlDeviceGetHandleByPciBusId_v2(id.c_str(), &handle);
  if (status != NVML_SUCCESS) fail(kNotFound, "no such device: " + id + "; nvidia-smi -L lists them");
  return {ask(nvml().nvmlDeviceGetIndex, handle).value_or(0), handle};
}

}  // namespace

void fail(Status status, const std::string& message) {
  fprintf(stderr, "nvidia-smi: %s\n", message.c_str());
  exit(status);
}

const Nvml& nvml() {
  static const Nvml loaded = load();
  return loaded;
}

std::vector<Gpu> gpus(const std::string& ids) {
  std::vector<Gpu> list;
  if (ids.empty()) {
    unsigned int count = 0;
    nvml().nvmlDeviceGetCount_v2(&count);
    for (unsigned int i = 0; i < count; ++i) list.push_back(find(std::to_string(i)));
    if (list.empty()) fail(kNotFound, "no devices were found; MAYA_DEVICES says how many there are");
    return list;
  }
  std::stringstream parts(ids);
  for (std::string id; std::getline(parts, id, ',');) list.push_back(find(id));
  return list;
}

std::optional<std::string> ask_text(nvmlReturn_t (*function)(nvmlDevice_t, char*, unsigned int), nvmlDevice_t device) {
  char text[256];
  if (function(device, text, sizeof text) != NVML_SUCCESS) return std::nullopt;
  return text;
}

std::optional<int> temperature_celsius(nvmlDevice_t device) {
  nvmlTemperature_t reading{};
  reading.version = nvmlTemperature_v1;
  reading.sensorType = NVML_TEMPERATURE_GPU;
  if (nvml().nvmlDeviceGetTemperatureV(device, &reading) != NVML_SUCCESS) return std::nullopt;
  return reading.temperature;
}

std::optional<std::string> watts(std::optional<unsigned int> milliwatts) {
  if (!milliwatts) return std::nullopt;
  char text[32];
  snprintf(text, sizeof text, "%.2f", *milliwatts / 1000.0);
  return text;
}

std::optional<std::string> enabled(std::optional<nvmlEnableState_t> state) {
  if (!state) return std::nullopt;
  return *state == NVML_FEATURE_ENABLED ? "Enabled" : "Disabled";
}

std::string mebibytes(unsigned long long bytes) { return std::to_string(bytes >> 20); }

std::vector<App> apps_on(nvmlDevice_t device) {
  std::vector<nvmlProcessInfo_t> infos(64);
  auto count = static_cast<unsigned int>(infos.size());
  while (nvml().nvmlDeviceGetComputeRunningProcesses_v3(device, &count, infos.data()) == NVML_ERROR_INSUFFICIENT_SIZE) {
    infos.resize(count + 16);
    count = static_cast<unsigned int>(infos.size());
  }
  std::vector<App> apps;
  for (unsigned int i = 0; i < count; ++i) {
    char name[PATH_MAX];
    if (nvml().nvmlSystemGetProcessName(infos[i].pid, name, sizeof name) != NVML_SUCCESS) continue;  // it has ended
    apps.push_back({infos[i].pid, name, infos[i].usedGpuMemory});
  }
  return apps;
}

std::string driver_version() {
  char text[NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE] = "";
  nvml().nvmlSystemGetDriverVersion(text, sizeof text);
  return text;
}

std::string cuda_version() {
  int version = 0;
  nvml().nvmlSystemGetCudaDriverVersion_v2(&version);
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace maya::smi
