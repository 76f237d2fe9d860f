// Processes, utilisation, power and energy, all from the modelled time of the emulated programs (programs.h).
//
// Power is a straight line between an idle card and the limit, by the share of time in which the device works; nothing
// better is known of it. The memory is taken as read or written whenever a kernel or copy runs.
#include <string.h>
#include <time.h>

#include <algorithm>

#include "driver_shim/nvml/library.h"
#include "driver_shim/nvml/programs.h"
#include "driver_shim/nvml/usage.h"

namespace maya::nvml {

unsigned int power_milliwatts(const Device& device, unsigned int percent) {
  const double limit = device.profile.power_limit_watts * 1000.0;
  return static_cast<unsigned int>(limit * (kIdlePowerShare + (1 - kIdlePowerShare) * percent / 100.0));
}

unsigned long long energy_millijoules(const Device& device) {
  double busy_s = 0, longest_s = 0;
  for (const Program& program : programs_on(device)) {
    busy_s += static_cast<double>(std::min(program.busy_ns, program.elapsed_ns)) * 1e-9;
    longest_s = std::max(longest_s, static_cast<double>(program.elapsed_ns) * 1e-9);
  }
  const double idle_milliwatts = power_milliwatts(device, 0), full_milliwatts = power_milliwatts(device, 100);
  return static_cast<unsigned long long>(idle_milliwatts * longest_s + (full_milliwatts - idle_milliwatts) * busy_s);
}

unsigned long long realtime_us() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<unsigned long long>(now.tv_sec) * 1'000'000 + static_cast<unsigned long long>(now.tv_nsec) / 1000;
}

}  // namespace maya::nvml

using namespace maya::nvml;

namespace {

// NVML's way of lists: *count comes in as the room of `out` and goes out as the number of entries; INSUFFICIENT_SIZE
// when they do not fit.
template <typename Info, typename Fill>
nvmlReturn_t list_programs(nvmlDevice_t handle, unsigned int* count, Info* out, Fill&& fill) {
  bool fits = true;
  const nvmlReturn_t status = with_device(handle, count != nullptr, [&](Device& d) {
    std::vector<Program> programs = programs_on(d);
    std::erase_if(programs, [](const Program& program) { return program.used_bytes == 0; });
    fits = programs.empty() || (out != nullptr && *count >= programs.size());
    if (fits)
      for (size_t i = 0; i < programs.size(); ++i) {
        memset(&out[i], 0, sizeof out[i]);
        fill(programs[i], &out[i]);
      }
    *count = static_cast<unsigned int>(programs.size());
  });
  return status != NVML_SUCCESS ? status : fits ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}

template <typename Info>
void fill_with_instance(const Program& program, Info* info) {
  info->pid = program.process;
  info->usedGpuMemory = program.used_bytes;
  info->gpuInstanceId = info->computeInstanceId = 0xffffffff;  // no MIG
}

nvmlReturn_t no_processes(nvmlDevice_t handle, unsigned int* count) {
  return with_device(handle, count != nullptr, [&](Device&) { *count = 0; });
}

}  // namespace

MAYA_NVML nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t handle, unsigned int* count, nvmlProcessInfo_t* infos) {
  return list_programs(handle, count, infos, fill_with_instance<nvmlProcessInfo_t>);
}
MAYA_NVML nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t handle, unsigned int* count,
                                                  nvmlProcessInfo_v2_t* infos) {
  return list_programs(handle, count, infos, fill_with_instance<nvmlProcessInfo_v2_t>);
}
MAYA_NVML nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t handle, unsigned int* count, nvmlProcessInfo_v1_t* infos) {
  return list_programs(handle, count, infos, [](const Program& program, nvmlProcessInfo_v1_t* info) {
    *info = {program.process, program.used_bytes};
  });
}
MAYA_NVML nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t handle, unsigned int* count, nvmlProcessInfo_v1_t*) {
  return no_processes(handle, count);
}
MAYA_NVML nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t handle, unsigned int* count, nvmlProcessInfo_v2_t*) {
  return no_processes(handle, count);
}
MAYA_NVML nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t handle, unsigned int* count, nvmlProcessInfo_t*) {
  return no_processes(handle, count);
}
MAYA_NVML nvmlDeviceGetMPSComputeRunningProcesses(nvmlDevice_t handle, unsigned int* count, nvmlProcessInfo_v1_t*) {
  return no_processes(handle, count);
}
MAYA_NVML nvmlDeviceGetMPSComputeRunningProcesses_v2(nvmlDevice_t handle, unsigned int* count, nvmlProcessInfo_v2_t*) {
  return no_processes(handle, count);
}
MAYA_NVML nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t handle, unsigned int* count, nvmlProcessInfo_t*) {
  return no_processes(handle, count);
}
MAYA_NVML nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t handle, nvmlProcessDetailList_t* list) {
  if (list != nullptr && list->version != nvmlProcessDetailList_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  if (list == nullptr) return with_device(handle, false, [](Device&) {});
  return list_programs(handle, &list->numProcArrayEntries, list->mode == 0 ? list->procArray : nullptr,
                       fill_with_instance<nvmlProcessDetail_v1_t>);
}

MAYA_NVML nvmlDeviceGetUtilizationRates(nvmlDevice_t handle, nvmlUtilization_t* utilization) {
  return with_device(handle, utilization != nullptr, [&](Device& d) {
    const unsigned int percent = utilization_percent(programs_on(d));
    *utilization = {percent, percent};
  });
}
MAYA_NVML nvmlDeviceGetDynamicPstatesInfo(nvmlDevice_t handle, nvmlGpuDynamicPstatesInfo_t* info) {
  return with_device(handle, info != nullptr, [&](Device& d) {
    memset(info, 0, sizeof *info);
    const unsigned int percent = utilization_percent(programs_on(d));
    info->utilization[NVML_GPU_UTILIZATION_DOMAIN_GPU] = {1, percent, 0, 0};
    info->utilization[NVML_GPU_UTILIZATION_DOMAIN_FB] = {1, percent, 0, 0};
  });
}

MAYA_NVML nvmlDeviceGetProcessUtilization(nvmlDevice_t handle, nvmlProcessUtilizationSample_t* samples,
                                          unsigned int* count, unsigned long long) {
  nvmlReturn_t result = NVML_SUCCESS;
  const nvmlReturn_t status = with_device(handle, count != nullptr, [&](Device& d) {
    const std::vector<Program> programs = programs_on(d);
    if (samples == nullptr || *count < programs.size()) {
      *count = static_cast<unsigned int>(programs.size());
      result = NVML_ERROR_INSUFFICIENT_SIZE;
      return;
    }
    unsigned int written = 0;
    for (const Program& program : programs) {
      const unsigned int percent = program.utilization_percent;
      if (percent != 0) samples[written++] = {program.process, realtime_us(), percent, percent, 0, 0};
    }
    *count = written;
    if (written == 0) result = NVML_ERROR_NOT_FOUND;
  });
  return status != NVML_SUCCESS ? status : result;
}
MAYA_NVML nvmlDeviceGetProcessesUtilizationInfo(nvmlDevice_t handle, nvmlProcessesUtilizationInfo_t* info) {
  if (info != nullptr && info->version != nvmlProcessesUtilizationInfo_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  nvmlReturn_t result = NVML_SUCCESS;
  const nvmlReturn_t status = with_device(handle, info != nullptr, [&](Device& d) {
    const std::vector<Program> programs = programs_on(d);
    const bool fits = info->procUtilArray != nullptr && info->processSamplesCount >= programs.size();
    info->processSamplesCount = static_cast<unsigned int>(programs.size());
    if (!fits) {
      result = NVML_ERROR_INSUFFICIENT_SIZE;
      return;
    }
    unsigned int written = 0;
    for (const Program& program : programs) {
      const unsigned int percent = program.utilization_percent;
      info->procUtilArray[written++] = {realtime_us(), program.process, percent, percent, 0, 0, 0, 0};
    }
    if (written == 0) result = NVML_ERROR_NOT_FOUND;
  });
  return status != NVML_SUCCESS ? status : result;
}

MAYA_NVML nvmlDeviceGetPowerUsage(nvmlDevice_t handle, unsigned int* milliwatts) {
  return with_device(handle, milliwatts != nullptr,
                     [&](Device& d) { *milliwatts = power_milliwatts(d, utilization_percent(programs_on(d))); });
}
MAYA_NVML nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t handle, unsigned long long* millijoules) {
  return with_device(handle, millijoules != nullptr, [&](Device& d) { *millijoules = energy_millijoules(d); });
}
MAYA_NVML nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t handle, unsigned long long* reasons) {
  return with_device(handle, reasons != nullptr, [&](Device& d) {
    *reasons = utilization_percent(programs_on(d)) == 0 ? nvmlClocksEventReasonGpuIdle : nvmlClocksEventReasonNone;
  });
}
MAYA_NVML nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t handle, unsigned long long* reasons) {
  return nvmlDeviceGetCurrentClocksEventReasons(handle, reasons);
}
// Those that NVML has had since CUDA 12; newer ones are unknown to programs of the release that is emulated.
constexpr unsigned long long kReasons =
    nvmlClocksEventReasonGpuIdle | nvmlClocksEventReasonApplicationsClocksSetting | nvmlClocksEventReasonSwPowerCap |
    nvmlClocksThrottleReasonHwSlowdown | nvmlClocksEventReasonSyncBoost | nvmlClocksEventReasonSwThermalSlowdown |
    nvmlClocksThrottleReasonHwThermalSlowdown | nvmlClocksThrottleReasonHwPowerBrakeSlowdown |
    nvmlClocksEventReasonDisplayClockSetting;
MAYA_NVML nvmlDeviceGetSupportedClocksEventReasons(nvmlDevice_t handle, unsigned long long* reasons) {
  return with_device(handle, reasons != nullptr, [&](Device&) { *reasons = kReasons; });
}
MAYA_NVML nvmlDeviceGetSupportedClocksThrottleReasons(nvmlDevice_t handle, unsigned long long* reasons) {
  return nvmlDeviceGetSupportedClocksEventReasons(handle, reasons);
}

// Copies between host and device, KB/s over the window; from the device is sent.
MAYA_NVML nvmlDeviceGetPcieThroughput(nvmlDevice_t handle, nvmlPcieUtilCounter_t counter, unsigned int* value) {
  return with_device(handle, value != nullptr && counter < NVML_PCIE_UTIL_COUNT, [&](Device& d) {
    double bytes_per_ns = 0;
    for (const Program& program : programs_on(d))
      bytes_per_ns += static_cast<double>(program.window_copied_bytes[counter == NVML_PCIE_UTIL_TX_BYTES ? 1 : 0]) /
                      static_cast<double>(program.window_ns);
    *value = static_cast<unsigned int>(std::min(bytes_per_ns * 1e9 / 1024, 4e9));
  });
}

// One sample: the present.
MAYA_NVML nvmlDeviceGetSamples(nvmlDevice_t handle, nvmlSamplingType_t type, unsigned long long last_seen_us,
                               nvmlValueType_t* value_type, unsigned int* count, nvmlSample_t* samples) {
  nvmlReturn_t result = NVML_SUCCESS;
  const bool valid =
      count != nullptr && value_type != nullptr && type < NVML_SAMPLINGTYPE_COUNT && (samples == nullptr || *count > 0);
  const nvmlReturn_t status = with_device(handle, valid, [&](Device& d) {
    *value_type = NVML_VALUE_TYPE_UNSIGNED_INT;
    *count = 1;
    const unsigned long long now_us = realtime_us();
    if (type == NVML_MODULE_POWER_SAMPLES) result = NVML_ERROR_NOT_SUPPORTED;
    if (last_seen_us >= now_us) result = NVML_ERROR_NOT_FOUND;
    if (samples == nullptr || result != NVML_SUCCESS) return;
    const unsigned int percent = utilization_percent(programs_on(d));
    unsigned int value = 0;
    switch (type) {
      case NVML_TOTAL_POWER_SAMPLES:
        value = power_milliwatts(d, percent);
        break;
      case NVML_GPU_UTILIZATION_SAMPLES:
      case NVML_MEMORY_UTILIZATION_SAMPLES:
        value = percent;
        break;
      case NVML_PROCESSOR_CLK_SAMPLES:
        value = d.profile.clock_khz / 1000;
        break;
      case NVML_MEMORY_CLK_SAMPLES:
        value = d.profile.memory_clock_khz / 1000;
        break;
      default:
        break;  // encoders and decoders: not in use
    }
    samples->timeStamp = now_us;
    samples->sampleValue.uiVal = value;
  });
  return status != NVML_SUCCESS ? status : result;
}
