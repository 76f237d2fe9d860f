// The default table, laid out as scripts expect it: the columns of drivers of the 550 series and later.
#include <stdio.h>
#include <time.h>

#include "cli/nvidia_smi/report.h"

namespace maya::smi {
namespace {

template <typename... Values>
std::string line(const char* format, Values... values) {
  char text[256];
  snprintf(text, sizeof text, format, values...);
  return std::string(text) + "\n";
}

constexpr const char* kEdge =
    "+-----------------------------------------------------------------------------------------+\n";
constexpr const char* kColumns =
    "+-----------------------------------------+------------------------+----------------------+\n";

std::string date_line() {
  const time_t now = time(nullptr);
  tm parts;
  localtime_r(&now, &parts);
  char text[64];
  strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", &parts);
  return line("%-31s", text);
}

std::string gpu_rows(const Gpu& gpu) {
  const Nvml& n = nvml();
  const auto bus = ask(n.nvmlDeviceGetPciInfo_v3, gpu.handle);
  const std::string name = ask_text(n.nvmlDeviceGetName, gpu.handle).value_or("N/A");
  const auto on = [](std::optional<nvmlEnableState_t> state) {
    return !state ? "N/A" : *state == NVML_FEATURE_ENABLED ? "On" : "Off";
  };
  const auto errors =
      ask(n.nvmlDeviceGetTotalEccErrors, gpu.handle, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC);
  std::string text =
      line("| %3u  %-26.26s %7s | %18s %3s | %20s |", gpu.index, name.c_str(),
           on(ask(n.nvmlDeviceGetPersistenceMode, gpu.handle)), bus ? bus->busId : "N/A",
           on(ask(n.nvmlDeviceGetDisplayActive, gpu.handle)), errors ? std::to_string(*errors).c_str() : "N/A");
  nvmlMemory_v2_t memory{};
  memory.version = nvmlMemory_v2;
  n.nvmlDeviceGetMemoryInfo_v2(gpu.handle, &memory);
  const auto rates = ask(n.nvmlDeviceGetUtilizationRates, gpu.handle);
  const std::string temperature = std::to_string(temperature_celsius(gpu.handle).value_or(0)) + "C";
  const std::string power = std::to_string((ask(n.nvmlDeviceGetPowerUsage, gpu.handle).value_or(0) + 500) / 1000) + "W";
  const std::string limit = std::to_string(ask(n.nvmlDeviceGetEnforcedPowerLimit, gpu.handle).value_or(0) / 1000) + "W";
  const std::string state =
      "P" + std::to_string(ask(n.nvmlDeviceGetPerformanceState, gpu.handle).value_or(NVML_PSTATE_0));
  text +=
      line("| N/A %5s    %-4s %13s / %5s | %7lluMiB / %6lluMiB | %6u%%      Default |", temperature.c_str(),
           state.c_str(), power.c_str(), limit.c_str(), memory.used >> 20, memory.total >> 20, rates ? rates->gpu : 0);
  unsigned int mig = 0, pending = 0;
  const bool has_mig = n.nvmlDeviceGetMigMode(gpu.handle, &mig, &pending) == NVML_SUCCESS;
  text += line("| %39s | %22s | %20s |", "", "", !has_mig ? "N/A" : mig != 0 ? "Enabled" : "Disabled");
  return text + kColumns;
}

// The end of a long path, as nvidia-smi shortens it.
std::string shortened(const std::string& name) {
  constexpr size_t kWidth = 34;
  return name.size() <= kWidth ? name : "..." + name.substr(name.size() - (kWidth - 3));
}

}  // namespace

std::string table(const std::vector<Gpu>& gpus) {
  std::string text = date_line() + kEdge;
  text += line("| NVIDIA-SMI %-22.22s Driver Version: %-14s CUDA Version: %-9s|",
               (driver_version() + " (Maya)").c_str(), driver_version().c_str(), cuda_version().c_str());
  text += "|-----------------------------------------+------------------------+----------------------+\n";
  text += "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n";
  text += "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |\n";
  text += "|                                         |                        |               MIG M. |\n";
  text += "|=========================================+========================+======================|\n";
  for (const Gpu& gpu : gpus) text += gpu_rows(gpu);
  text += line("%89s", "") + kEdge;
  text += "| Processes:                                                                              |\n";
  text += "|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |\n";
  text += "|        ID   ID                                                               Usage      |\n";
  text += "|=========================================================================================|\n";
  bool any = false;
  for (const Gpu& gpu : gpus)
    for (const App& app : apps_on(gpu.handle)) {
      any = true;
      const std::string used = app.used_bytes ? std::to_string(*app.used_bytes >> 20) + "MiB" : "N/A";
      text += line("| %4u   N/A  N/A %16u      C   %-34.34s %10s |", gpu.index, app.process,
                   shortened(app.name).c_str(), used.c_str());
    }
  if (!any) text += "|  No running processes found                                                             |\n";
  return text + kEdge;
}

std::string device_list(const std::vector<Gpu>& gpus) {
  std::string text;
  for (const Gpu& gpu : gpus)
    text +=
        line("GPU %u: %s (UUID: %s)", gpu.index, ask_text(nvml().nvmlDeviceGetName, gpu.handle).value_or("").c_str(),
             ask_text(nvml().nvmlDeviceGetUUID, gpu.handle).value_or("").c_str());
  return text;
}

}  // namespace maya::smi
