#include "cli/nvidia_smi/query.h"

#include <stdio.h>
#include <sys/time.h>
#include <time.h>

#include <map>
#include <sstream>

namespace maya::smi {
namespace {

using Text = std::optional<std::string>;

std::string timestamp() {
  timeval now;
  gettimeofday(&now, nullptr);
  tm parts;
  localtime_r(&now.tv_sec, &parts);
  char text[64], whole[80];
  strftime(text, sizeof text, "%Y/%m/%d %H:%M:%S", &parts);
  snprintf(whole, sizeof whole, "%s.%03d", text, static_cast<int>(now.tv_usec / 1000));
  return whole;
}

template <typename Number>
Text number(std::optional<Number> value) {
  return value ? Text(std::to_string(*value)) : std::nullopt;
}

Text hexadecimal(const char* format, unsigned long long value) {
  char text[32];
  snprintf(text, sizeof text, format, value);
  return text;
}

template <typename Pick>
Text memory(nvmlDevice_t device, Pick&& pick) {
  nvmlMemory_v2_t memory{};
  memory.version = nvmlMemory_v2;
  if (nvml().nvmlDeviceGetMemoryInfo_v2(device, &memory) != NVML_SUCCESS) return std::nullopt;
  return mebibytes(pick(memory));
}

template <typename Pick>
Text pci(nvmlDevice_t device, Pick&& pick) {
  const auto info = ask(nvml().nvmlDeviceGetPciInfo_v3, device);
  return info ? pick(*info) : std::nullopt;
}

Text compute_mode(nvmlDevice_t device) {
  const auto mode = ask(nvml().nvmlDeviceGetComputeMode, device);
  if (!mode) return std::nullopt;
  switch (*mode) {
    case NVML_COMPUTEMODE_DEFAULT:
      return "Default";
    case NVML_COMPUTEMODE_PROHIBITED:
      return "Prohibited";
    case NVML_COMPUTEMODE_EXCLUSIVE_PROCESS:
      return "Exclusive_Process";
    default:
      return std::nullopt;
  }
}

Text mig_mode(nvmlDevice_t device, bool pending) {
  unsigned int now = 0, later = 0;
  if (nvml().nvmlDeviceGetMigMode(device, &now, &later) != NVML_SUCCESS) return std::nullopt;
  return (pending ? later : now) == NVML_DEVICE_MIG_ENABLE ? "Enabled" : "Disabled";
}

Text ecc_mode(nvmlDevice_t device, bool pending) {
  nvmlEnableState_t now, later;
  if (nvml().nvmlDeviceGetEccMode(device, &now, &later) != NVML_SUCCESS) return std::nullopt;
  return enabled(pending ? later : now);
}

Text ecc_errors(nvmlDevice_t device, nvmlMemoryErrorType_t type, nvmlEccCounterType_t counter) {
  return number(ask(nvml().nvmlDeviceGetTotalEccErrors, device, type, counter));
}

Text limit(nvmlDevice_t device, bool high) {
  unsigned int least = 0, most = 0;
  if (nvml().nvmlDeviceGetPowerManagementLimitConstraints(device, &least, &most) != NVML_SUCCESS) return std::nullopt;
  return watts(high ? most : least);
}

Text clock(nvmlDevice_t device, nvmlClockType_t type) {
  return number(ask(nvml().nvmlDeviceGetClockInfo, device, type));
}
Text most_clock(nvmlDevice_t device, nvmlClockType_t type) {
  return number(ask(nvml().nvmlDeviceGetMaxClockInfo, device, type));
}
Text application_clock(nvmlDevice_t device, nvmlClockType_t type) {
  return number(ask(nvml().nvmlDeviceGetClock, device, type, NVML_CLOCK_ID_APP_CLOCK_TARGET));
}

struct GpuField {
  const char* name;   // as the header prints it
  const char* alias;  // another name that asks for the same; empty: none
  const char* unit;   // empty: none
  Text (*value)(const Gpu&);
};

const GpuField kGpuFields[] = {
    {"timestamp", "", "", [](const Gpu&) { return Text(timestamp()); }},
    {"driver_version", "", "", [](const Gpu&) { return Text(driver_version()); }},
    {"count", "", "", [](const Gpu&) { return Text(std::to_string(gpus("").size())); }},
    {"name", "gpu_name", "", [](const Gpu& g) { return ask_text(nvml().nvmlDeviceGetName, g.handle); }},
    {"serial", "gpu_serial", "", [](const Gpu& g) { return ask_text(nvml().nvmlDeviceGetSerial, g.handle); }},
    {"uuid", "gpu_uuid", "", [](const Gpu& g) { return ask_text(nvml().nvmlDeviceGetUUID, g.handle); }},
    {"index", "", "", [](const Gpu& g) { return Text(std::to_string(g.index)); }},
    {"minor_number", "", "", [](const Gpu& g) { return number(ask(nvml().nvmlDeviceGetMinorNumber, g.handle)); }},
    {"vbios_version", "", "", [](const Gpu& g) { return ask_text(nvml().nvmlDeviceGetVbiosVersion, g.handle); }},
    {"pci.bus_id", "gpu_bus_id", "",
     [](const Gpu& g) { return pci(g.handle, [](const nvmlPciInfo_t& p) { return Text(p.busId); }); }},
    {"pci.domain", "", "",
     [](const Gpu& g) {
       return pci(g.handle, [](const nvmlPciInfo_t& p) { return hexadecimal("0x%04llX", p.domain); });
     }},
    {"pci.bus", "", "",
     [](const Gpu& g) { return pci(g.handle, [](const nvmlPciInfo_t& p) { return hexadecimal("0x%02llX", p.bus); }); }},
    {"pci.device", "", "",
     [](const Gpu& g) {
       return pci(g.handle, [](const nvmlPciInfo_t& p) { return hexadecimal("0x%02llX", p.device); });
     }},
    {"pci.device_id", "", "",
     [](const Gpu& g) {
       return pci(g.handle, [](const nvmlPciInfo_t& p) { return hexadecimal("0x%08llX", p.pciDeviceId); });
     }},
    {"pci.sub_device_id", "", "",
     [](const Gpu& g) {
       return pci(g.handle, [](const nvmlPciInfo_t& p) { return hexadecimal("0x%08llX", p.pciSubSystemId); });
     }},
    {"pcie.link.gen.current", "pcie.link.gen.gpucurrent", "",
     [](const Gpu& g) { return number(ask(nvml().nvmlDeviceGetCurrPcieLinkGeneration, g.handle)); }},
    {"pcie.link.gen.max", "pcie.link.gen.gpumax", "",
     [](const Gpu& g) { return number(ask(nvml().nvmlDeviceGetMaxPcieLinkGeneration, g.handle)); }},
    {"pcie.link.width.current", "", "",
     [](const Gpu& g) { return number(ask(nvml().nvmlDeviceGetCurrPcieLinkWidth, g.handle)); }},
    {"pcie.link.width.max", "", "",
     [](const Gpu& g) { return number(ask(nvml().nvmlDeviceGetMaxPcieLinkWidth, g.handle)); }},
    {"display_attached", "display_mode", "",
     [](const Gpu& g) {
       const auto mode = ask(nvml().nvmlDeviceGetDisplayMode, g.handle);
       return mode ? Text(*mode == NVML_FEATURE_ENABLED ? "Yes" : "No") : std::nullopt;
     }},
    {"display_active", "", "", [](const Gpu& g) { return enabled(ask(nvml().nvmlDeviceGetDisplayActive, g.handle)); }},
    {"persistence_mode", "", "",
     [](const Gpu& g) { return enabled(ask(nvml().nvmlDeviceGetPersistenceMode, g.handle)); }},
    {"fan.speed", "", "%", [](const Gpu&) { return Text(); }},
    {"pstate", "", "",
     [](const Gpu& g) {
       const auto state = ask(nvml().nvmlDeviceGetPerformanceState, g.handle);
       return state ? Text("P" + std::to_string(*state)) : std::nullopt;
     }},
    {"clocks_event_reasons.active", "clocks_throttle_reasons.active", "",
     [](const Gpu& g) {
       const auto reasons = ask(nvml().nvmlDeviceGetCurrentClocksEventReasons, g.handle);
       return reasons ? hexadecimal("0x%016llX", *reasons) : std::nullopt;
     }},
    {"memory.total", "", "MiB",
     [](const Gpu& g) { return memory(g.handle, [](const nvmlMemory_v2_t& m) { return m.total; }); }},
    {"memory.reserved", "", "MiB",
     [](const Gpu& g) { return memory(g.handle, [](const nvmlMemory_v2_t& m) { return m.reserved; }); }},
    {"memory.used", "", "MiB",
     [](const Gpu& g) { return memory(g.handle, [](const nvmlMemory_v2_t& m) { return m.used; }); }},
    {"memory.free", "", "MiB",
     [](const Gpu& g) { return memory(g.handle, [](const nvmlMemory_v2_t& m) { return m.free; }); }},
    {"compute_mode", "", "", [](const Gpu& g) { return compute_mode(g.handle); }},
    {"compute_cap", "", "",
     [](const Gpu& g) {
       int major = 0, minor = 0;
       if (nvml().nvmlDeviceGetCudaComputeCapability(g.handle, &major, &minor) != NVML_SUCCESS) return Text();
       return Text(std::to_string(major) + "." + std::to_string(minor));
     }},
    {"utilization.gpu", "", "%",
     [](const Gpu& g) {
       const auto rates = ask(nvml().nvmlDeviceGetUtilizationRates, g.handle);
       return rates ? Text(std::to_string(rates->gpu)) : std::nullopt;
     }},
    {"utilization.memory", "", "%",
     [](const Gpu& g) {
       const auto rates = ask(nvml().nvmlDeviceGetUtilizationRates, g.handle);
       return rates ? Text(std::to_string(rates->memory)) : std::nullopt;
     }},
    {"utilization.encoder", "", "%",
     [](const Gpu& g) {
       unsigned int percent = 0, period_us = 0;
       return nvml().nvmlDeviceGetEncoderUtilization(g.handle, &percent, &period_us) == NVML_SUCCESS
                  ? Text(std::to_string(percent))
                  : std::nullopt;
     }},
    {"utilization.decoder", "", "%",
     [](const Gpu& g) {
       unsigned int percent = 0, period_us = 0;
       return nvml().nvmlDeviceGetDecoderUtilization(g.handle, &percent, &period_us) == NVML_SUCCESS
                  ? Text(std::to_string(percent))
                  : std::nullopt;
     }},
    {"ecc.mode.current", "", "", [](const Gpu& g) { return ecc_mode(g.handle, false); }},
    {"ecc.mode.pending", "", "", [](const Gpu& g) { return ecc_mode(g.handle, true); }},
    {"ecc.errors.corrected.volatile.total", "", "",
     [](const Gpu& g) { return ecc_errors(g.handle, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC); }},
    {"ecc.errors.corrected.aggregate.total", "", "",
     [](const Gpu& g) { return ecc_errors(g.handle, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_AGGREGATE_ECC); }},
    {"ecc.errors.uncorrected.volatile.total", "", "",
     [](const Gpu& g) { return ecc_errors(g.handle, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC); }},
    {"ecc.errors.uncorrected.aggregate.total", "", "",
     [](const Gpu& g) { return ecc_errors(g.handle, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_AGGREGATE_ECC); }},
    {"temperature.gpu", "", "", [](const Gpu& g) { return number(temperature_celsius(g.handle)); }},
    {"temperature.memory", "", "", [](const Gpu&) { return Text(); }},
    {"power.management", "", "", [](const Gpu&) { return Text("Enabled"); }},
    {"power.draw", "", "W", [](const Gpu& g) { return watts(ask(nvml().nvmlDeviceGetPowerUsage, g.handle)); }},
    {"power.draw.average", "", "W", [](const Gpu& g) { return watts(ask(nvml().nvmlDeviceGetPowerUsage, g.handle)); }},
    {"power.draw.instant", "", "W", [](const Gpu& g) { return watts(ask(nvml().nvmlDeviceGetPowerUsage, g.handle)); }},
    {"power.limit", "", "W",
     [](const Gpu& g) { return watts(ask(nvml().nvmlDeviceGetPowerManagementLimit, g.handle)); }},
    {"enforced.power.limit", "", "W",
     [](const Gpu& g) { return watts(ask(nvml().nvmlDeviceGetEnforcedPowerLimit, g.handle)); }},
    {"power.default_limit", "", "W",
     [](const Gpu& g) { return watts(ask(nvml().nvmlDeviceGetPowerManagementDefaultLimit, g.handle)); }},
    {"power.min_limit", "", "W", [](const Gpu& g) { return limit(g.handle, false); }},
    {"power.max_limit", "", "W", [](const Gpu& g) { return limit(g.handle, true); }},
    {"clocks.current.graphics", "clocks.gr", "MHz", [](const Gpu& g) { return clock(g.handle, NVML_CLOCK_GRAPHICS); }},
    {"clocks.current.sm", "clocks.sm", "MHz", [](const Gpu& g) { return clock(g.handle, NVML_CLOCK_SM); }},
    {"clocks.current.memory", "clocks.mem", "MHz", [](const Gpu& g) { return clock(g.handle, NVML_CLOCK_MEM); }},
    {"clocks.current.video", "clocks.video", "MHz", [](const Gpu& g) { return clock(g.handle, NVML_CLOCK_VIDEO); }},
    {"clocks.applications.graphics", "clocks.applications.gr", "MHz",
     [](const Gpu& g) { return application_clock(g.handle, NVML_CLOCK_GRAPHICS); }},
    {"clocks.applications.memory", "clocks.applications.mem", "MHz",
     [](const Gpu& g) { return application_clock(g.handle, NVML_CLOCK_MEM); }},
    {"clocks.max.graphics", "clocks.max.gr", "MHz",
     [](const Gpu& g) { return most_clock(g.handle, NVML_CLOCK_GRAPHICS); }},
    {"clocks.max.sm", "", "MHz", [](const Gpu& g) { return most_clock(g.handle, NVML_CLOCK_SM); }},
    {"clocks.max.memory", "clocks.max.mem", "MHz", [](const Gpu& g) { return most_clock(g.handle, NVML_CLOCK_MEM); }},
    {"mig.mode.current", "", "", [](const Gpu& g) { return mig_mode(g.handle, false); }},
    {"mig.mode.pending", "", "", [](const Gpu& g) { return mig_mode(g.handle, true); }},
};

struct AppField {
  const char* name;
  const char* alias;
  const char* unit;
  Text (*value)(const Gpu&, const App&);
};

const AppField kAppFields[] = {
    {"timestamp", "", "", [](const Gpu&, const App&) { return Text(timestamp()); }},
    {"gpu_name", "", "", [](const Gpu& g, const App&) { return ask_text(nvml().nvmlDeviceGetName, g.handle); }},
    {"gpu_bus_id", "", "",
     [](const Gpu& g, const App&) { return pci(g.handle, [](const nvmlPciInfo_t& p) { return Text(p.busId); }); }},
    {"gpu_serial", "", "", [](const Gpu& g, const App&) { return ask_text(nvml().nvmlDeviceGetSerial, g.handle); }},
    {"gpu_uuid", "", "", [](const Gpu& g, const App&) { return ask_text(nvml().nvmlDeviceGetUUID, g.handle); }},
    {"pid", "", "", [](const Gpu&, const App& a) { return Text(std::to_string(a.process)); }},
    {"process_name", "", "", [](const Gpu&, const App& a) { return Text(a.name); }},
    {"used_gpu_memory", "used_memory", "MiB",
     [](const Gpu&, const App& a) { return a.used_bytes ? Text(mebibytes(*a.used_bytes)) : std::nullopt; }},
};

template <typename Field, size_t kCount>
std::vector<const Field*> choose(const Field (&fields)[kCount], const std::string& names, const char* option) {
  std::vector<const Field*> chosen;
  std::stringstream parts(names);
  for (std::string name; std::getline(parts, name, ',');) {
    const size_t begin = name.find_first_not_of(' '), end = name.find_last_not_of(' ');
    name = begin == std::string::npos ? "" : name.substr(begin, end - begin + 1);
    const Field* found = nullptr;
    for (const Field& field : fields)
      if (name == field.name || (*field.alias != '\0' && name == field.alias)) found = &field;
    if (found == nullptr)
      fail(kInvalidArgument, std::string("Field \"") + name + "\" is not a valid field to query.; nvidia-smi --help-" +
                                 option + " lists them");
    chosen.push_back(found);
  }
  if (chosen.empty()) fail(kInvalidArgument, std::string("--") + option + " names no field");
  return chosen;
}

template <typename Field>
std::string header(const std::vector<const Field*>& fields) {
  std::string line;
  for (const Field* field : fields) {
    if (!line.empty()) line += ", ";
    line += field->name;
    if (*field->unit != '\0') line += std::string(" [") + field->unit + "]";
  }
  return line + "\n";
}

std::string cell(const Text& value, const char* unit, bool units) {
  if (!value) return "[N/A]";
  return units && *unit != '\0' ? *value + " " + unit : *value;
}

template <typename Field, size_t kCount>
std::string help(const Field (&fields)[kCount]) {
  std::string text;
  for (const Field& field : fields)
    text += std::string(field.name) + (*field.alias != '\0' ? std::string(" or ") + field.alias : "") +
            (*field.unit != '\0' ? std::string(" (") + field.unit + ")" : "") + "\n";
  return text;
}

}  // namespace

CsvFormat parse_csv_format(const std::string& text) {
  CsvFormat format;
  bool csv = false;
  std::stringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    if (part == "csv")
      csv = true;
    else if (part == "noheader")
      format.header = false;
    else if (part == "nounits")
      format.units = false;
    else
      fail(kInvalidArgument, "--format: unknown: " + part + "; give csv[,noheader][,nounits]");
  }
  if (!csv) fail(kInvalidArgument, "--format: give csv[,noheader][,nounits]");
  return format;
}

std::string query_gpus(const std::vector<Gpu>& gpus, const std::string& names, const CsvFormat& format) {
  const std::vector<const GpuField*> fields = choose(kGpuFields, names, "query-gpu");
  std::string text = format.header ? header(fields) : "";
  for (const Gpu& gpu : gpus) {
    std::string line;
    for (const GpuField* field : fields)
      line += (line.empty() ? "" : ", ") + cell(field->value(gpu), field->unit, format.units);
    text += line + "\n";
  }
  return text;
}

std::string query_apps(const std::vector<Gpu>& gpus, const std::string& names, const CsvFormat& format) {
  const std::vector<const AppField*> fields = choose(kAppFields, names, "query-compute-apps");
  std::string text = format.header ? header(fields) : "";
  for (const Gpu& gpu : gpus)
    for (const App& app : apps_on(gpu.handle)) {
      std::string line;
      for (const AppField* field : fields)
        line += (line.empty() ? "" : ", ") + cell(field->value(gpu, app), field->unit, format.units);
      text += line + "\n";
    }
  return text;
}

std::string gpu_field_help() { return help(kGpuFields); }
std::string app_field_help() { return help(kAppFields); }

}  // namespace maya::smi
