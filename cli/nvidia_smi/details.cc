// nvidia-smi -q: the sections that people read and scripts grep.
#include <stdio.h>
#include <time.h>

#include "cli/nvidia_smi/report.h"

namespace maya::smi {
namespace {

class Lines {
 public:
  void section(int depth, const std::string& name) {
    text_ += std::string(static_cast<size_t>(depth) * 4, ' ') + name + "\n";
  }
  // The value begins in the same column at every depth.
  void value(int depth, const std::string& name, const std::optional<std::string>& value) {
    std::string line = std::string(static_cast<size_t>(depth) * 4, ' ') + name;
    if (line.size() < 50) line.resize(50, ' ');
    text_ += line + ": " + value.value_or("N/A") + "\n";
  }
  void empty() { text_ += "\n"; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

template <typename Number>
std::optional<std::string> with_unit(std::optional<Number> value, const char* unit) {
  return value ? std::optional<std::string>(std::to_string(*value) + " " + unit) : std::nullopt;
}

std::optional<std::string> with_unit(std::optional<std::string> value, const char* unit) {
  return value ? std::optional<std::string>(*value + " " + unit) : std::nullopt;
}

void identity(const Gpu& gpu, const nvmlPciInfo_t& pci, Lines* lines) {
  const Nvml& n = nvml();
  lines->section(0, std::string("GPU ") + pci.busId);
  lines->value(1, "Product Name", ask_text(n.nvmlDeviceGetName, gpu.handle));
  lines->value(1, "Display Mode", enabled(ask(n.nvmlDeviceGetDisplayMode, gpu.handle)));
  lines->value(1, "Display Active", enabled(ask(n.nvmlDeviceGetDisplayActive, gpu.handle)));
  lines->value(1, "Persistence Mode", enabled(ask(n.nvmlDeviceGetPersistenceMode, gpu.handle)));
  lines->value(1, "Serial Number", ask_text(n.nvmlDeviceGetSerial, gpu.handle));
  lines->value(1, "GPU UUID", ask_text(n.nvmlDeviceGetUUID, gpu.handle));
  lines->value(1, "Minor Number", std::to_string(ask(n.nvmlDeviceGetMinorNumber, gpu.handle).value_or(0)));
  lines->value(1, "VBIOS Version", ask_text(n.nvmlDeviceGetVbiosVersion, gpu.handle));
}

void bus(const Gpu& gpu, const nvmlPciInfo_t& pci, Lines* lines) {
  const Nvml& n = nvml();
  char text[32];
  lines->section(1, "PCI");
  snprintf(text, sizeof text, "0x%02X", pci.bus);
  lines->value(2, "Bus", text);
  snprintf(text, sizeof text, "0x%08X", pci.pciDeviceId);
  lines->value(2, "Device Id", text);
  lines->value(2, "Bus Id", pci.busId);
  lines->section(2, "GPU Link Info");
  lines->section(3, "PCIe Generation");
  lines->value(4, "Max", std::to_string(ask(n.nvmlDeviceGetMaxPcieLinkGeneration, gpu.handle).value_or(0)));
  lines->value(4, "Current", std::to_string(ask(n.nvmlDeviceGetCurrPcieLinkGeneration, gpu.handle).value_or(0)));
  lines->section(3, "Link Width");
  lines->value(4, "Max", std::to_string(ask(n.nvmlDeviceGetMaxPcieLinkWidth, gpu.handle).value_or(0)) + "x");
  lines->value(4, "Current", std::to_string(ask(n.nvmlDeviceGetCurrPcieLinkWidth, gpu.handle).value_or(0)) + "x");
  lines->value(2, "Tx Throughput",
               with_unit(ask(n.nvmlDeviceGetPcieThroughput, gpu.handle, NVML_PCIE_UTIL_TX_BYTES), "KB/s"));
  lines->value(2, "Rx Throughput",
               with_unit(ask(n.nvmlDeviceGetPcieThroughput, gpu.handle, NVML_PCIE_UTIL_RX_BYTES), "KB/s"));
}

void memory(const Gpu& gpu, Lines* lines) {
  nvmlMemory_v2_t use{};
  use.version = nvmlMemory_v2;
  nvml().nvmlDeviceGetMemoryInfo_v2(gpu.handle, &use);
  lines->section(1, "FB Memory Usage");
  lines->value(2, "Total", mebibytes(use.total) + " MiB");
  lines->value(2, "Reserved", mebibytes(use.reserved) + " MiB");
  lines->value(2, "Used", mebibytes(use.used) + " MiB");
  lines->value(2, "Free", mebibytes(use.free) + " MiB");
  if (const auto bar = ask(nvml().nvmlDeviceGetBAR1MemoryInfo, gpu.handle)) {
    lines->section(1, "BAR1 Memory Usage");
    lines->value(2, "Total", mebibytes(bar->bar1Total) + " MiB");
    lines->value(2, "Used", mebibytes(bar->bar1Used) + " MiB");
    lines->value(2, "Free", mebibytes(bar->bar1Free) + " MiB");
  }
}

void state(const Gpu& gpu, Lines* lines) {
  const Nvml& n = nvml();
  lines->value(1, "Compute Mode", "Default");
  if (const auto rates = ask(n.nvmlDeviceGetUtilizationRates, gpu.handle)) {
    lines->section(1, "Utilization");
    lines->value(2, "GPU", std::to_string(rates->gpu) + " %");
    lines->value(2, "Memory", std::to_string(rates->memory) + " %");
  }
  lines->section(1, "Temperature");
  lines->value(2, "GPU Current Temp", with_unit(temperature_celsius(gpu.handle), "C"));
  lines->section(1, "GPU Power Readings");
  lines->value(2, "Average Power Draw", with_unit(watts(ask(n.nvmlDeviceGetPowerUsage, gpu.handle)), "W"));
  lines->value(2, "Current Power Limit", with_unit(watts(ask(n.nvmlDeviceGetPowerManagementLimit, gpu.handle)), "W"));
  lines->value(2, "Default Power Limit",
               with_unit(watts(ask(n.nvmlDeviceGetPowerManagementDefaultLimit, gpu.handle)), "W"));
  for (const bool most : {false, true}) {
    lines->section(1, most ? "Max Clocks" : "Clocks");
    const auto function = most ? n.nvmlDeviceGetMaxClockInfo : n.nvmlDeviceGetClockInfo;
    lines->value(2, "Graphics", with_unit(ask(function, gpu.handle, NVML_CLOCK_GRAPHICS), "MHz"));
    lines->value(2, "SM", with_unit(ask(function, gpu.handle, NVML_CLOCK_SM), "MHz"));
    lines->value(2, "Memory", with_unit(ask(function, gpu.handle, NVML_CLOCK_MEM), "MHz"));
  }
}

void processes(const Gpu& gpu, Lines* lines) {
  const std::vector<App> apps = apps_on(gpu.handle);
  if (apps.empty()) {
    lines->value(1, "Processes", "None");
    return;
  }
  lines->section(1, "Processes");
  for (const App& app : apps) {
    lines->value(2, "Process ID", std::to_string(app.process));
    lines->value(3, "Type", "C");
    lines->value(3, "Name", app.name);
    lines->value(3, "Used GPU Memory",
                 app.used_bytes ? std::optional<std::string>(mebibytes(*app.used_bytes) + " MiB") : std::nullopt);
  }
}

}  // namespace

std::string details(const std::vector<Gpu>& gpus) {
  Lines lines;
  lines.empty();
  lines.section(0, "==============NVSMI LOG==============");
  lines.empty();
  const time_t now = time(nullptr);
  tm parts;
  localtime_r(&now, &parts);
  char text[64];
  strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", &parts);
  lines.value(0, "Timestamp", text);
  lines.value(0, "Driver Version", driver_version());
  lines.value(0, "CUDA Version", cuda_version());
  lines.empty();
  lines.value(0, "Attached GPUs", std::to_string(maya::smi::gpus("").size()));
  for (const Gpu& gpu : gpus) {
    const nvmlPciInfo_t pci = ask(nvml().nvmlDeviceGetPciInfo_v3, gpu.handle).value_or(nvmlPciInfo_t{});
    identity(gpu, pci, &lines);
    bus(gpu, pci, &lines);
    memory(gpu, &lines);
    state(gpu, &lines);
    processes(gpu, &lines);
    lines.empty();
  }
  return lines.text();
}

}  // namespace maya::smi
