// Memory, processes, clocks, power, temperature, modes. An emulated device idles between modelled kernels: utilisation
// is 0, power and temperature are those of an idle card, clocks are the maxima.
#include <string.h>
#include <unistd.h>

#include "driver_shim/nvml/library.h"

using namespace maya::nvml;

namespace {

constexpr unsigned int kIdleTemperature_celsius = 30;
constexpr double kIdlePowerShare = 0.1;  // of the limit: 70 W of an H100's 700 W

unsigned int clock_of(const Device& d, nvmlClockType_t type) {
  return (type == NVML_CLOCK_MEM ? d.profile.memory_clock_khz : d.profile.clock_khz) / 1000;
}

template <typename Value, typename Given>
nvmlReturn_t answer(nvmlDevice_t handle, Value* out, Given given) {
  return with_device(handle, out != nullptr, [&](Device&) { *out = static_cast<Value>(given); });
}

nvmlReturn_t limit_milliwatts(nvmlDevice_t handle, unsigned int* limit) {
  return with_device(handle, limit != nullptr, [&](Device& d) { *limit = d.profile.power_limit_watts * 1000; });
}

}  // namespace

MAYA_NVML nvmlDeviceGetMemoryInfo(nvmlDevice_t handle, nvmlMemory_t* memory) {
  return with_device(handle, memory != nullptr, [&](Device& d) {
    const MemoryFigures figures = memory_figures(d);
    memory->total = figures.total;
    memory->used = figures.used + figures.reserved;  // version 1 counts the reserve as used
    memory->free = figures.free;
  });
}
MAYA_NVML nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t handle, nvmlMemory_v2_t* memory) {
  if (memory != nullptr && memory->version != nvmlMemory_v2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  return with_device(handle, memory != nullptr, [&](Device& d) {
    const MemoryFigures figures = memory_figures(d);
    memory->total = figures.total;
    memory->reserved = figures.reserved;
    memory->used = figures.used;
    memory->free = figures.free;
  });
}
MAYA_NVML nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t handle, nvmlBAR1Memory_t* memory) {
  return with_device(handle, memory != nullptr, [&](Device& d) {
    memory->bar1Total = 1;
    while (memory->bar1Total < d.profile.nvml_memory_bytes)
      memory->bar1Total <<= 1;  // whole memory is mapped, rounded up to a power of two
    memory->bar1Used = 0;
    memory->bar1Free = memory->bar1Total;
  });
}
MAYA_NVML nvmlDeviceGetMemoryBusWidth(nvmlDevice_t handle, unsigned int* bits) {
  return with_device(handle, bits != nullptr, [&](Device& d) { *bits = d.profile.memory_bus_bits; });
}

// Only this process is listed; it appears once it holds device memory.
MAYA_NVML nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t handle, unsigned int* count, nvmlProcessInfo_t* infos) {
  bool fits = true;
  const nvmlReturn_t status = with_device(handle, count != nullptr, [&](Device& d) {
    uint64_t capacity = 0, free = 0;
    if (const maya::MayaTable* table = maya::shim::driver(); table != nullptr)
      table->memory_use(d.ordinal, &capacity, &free);
    const uint64_t used = capacity - free;
    const bool listed = capacity != 0 && used > d.profile.driver_reserve_bytes;
    fits = !listed || (*count >= 1 && infos != nullptr);
    if (listed && fits) {
      memset(infos, 0, sizeof *infos);
      infos->pid = static_cast<unsigned int>(getpid());
      infos->usedGpuMemory = used - d.profile.driver_reserve_bytes;
      infos->gpuInstanceId = infos->computeInstanceId = 0xffffffff;
    }
    *count = listed ? 1 : 0;
  });
  return status != NVML_SUCCESS ? status : fits ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}
MAYA_NVML nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t handle, unsigned int* count, nvmlProcessInfo_v1_t* infos) {
  nvmlProcessInfo_t own;
  unsigned int room = count != nullptr && *count > 0 && infos != nullptr ? 1 : 0;
  const nvmlReturn_t status = nvmlDeviceGetComputeRunningProcesses_v3(handle, count == nullptr ? nullptr : &room, &own);
  if (status != NVML_SUCCESS && status != NVML_ERROR_INSUFFICIENT_SIZE) return status;
  if (room == 1 && *count > 0 && infos != nullptr) *infos = {own.pid, own.usedGpuMemory};
  *count = room;
  return status;
}
MAYA_NVML nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t handle, unsigned int* count,
                                                  nvmlProcessInfo_v2_t* infos) {
  return nvmlDeviceGetComputeRunningProcesses_v3(handle, count,
                                                 reinterpret_cast<nvmlProcessInfo_t*>(infos));  // same layout
}
MAYA_NVML nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t handle, unsigned int* count, nvmlProcessInfo_t*) {
  return answer(handle, count, 0);
}
MAYA_NVML nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t handle, unsigned int* count, nvmlProcessInfo_t*) {
  return answer(handle, count, 0);
}

MAYA_NVML nvmlDeviceGetClockInfo(nvmlDevice_t handle, nvmlClockType_t type, unsigned int* clock) {
  return with_device(handle, clock != nullptr && type < NVML_CLOCK_COUNT,
                     [&](Device& d) { *clock = clock_of(d, type); });
}
MAYA_NVML nvmlDeviceGetMaxClockInfo(nvmlDevice_t handle, nvmlClockType_t type, unsigned int* clock) {
  return nvmlDeviceGetClockInfo(handle, type, clock);
}
MAYA_NVML nvmlDeviceGetApplicationsClock(nvmlDevice_t handle, nvmlClockType_t type, unsigned int* clock) {
  return nvmlDeviceGetClockInfo(handle, type, clock);
}
MAYA_NVML nvmlDeviceGetDefaultApplicationsClock(nvmlDevice_t handle, nvmlClockType_t type, unsigned int* clock) {
  return nvmlDeviceGetClockInfo(handle, type, clock);
}
MAYA_NVML nvmlDeviceGetMaxCustomerBoostClock(nvmlDevice_t handle, nvmlClockType_t type, unsigned int* clock) {
  return nvmlDeviceGetClockInfo(handle, type, clock);
}
MAYA_NVML nvmlDeviceGetClock(nvmlDevice_t handle, nvmlClockType_t type, nvmlClockId_t, unsigned int* clock) {
  return nvmlDeviceGetClockInfo(handle, type, clock);
}
MAYA_NVML nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t handle, unsigned long long* reasons) {
  return answer(handle, reasons, nvmlClocksEventReasonGpuIdle);
}
MAYA_NVML nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t handle, unsigned long long* reasons) {
  return answer(handle, reasons, nvmlClocksEventReasonGpuIdle);
}

MAYA_NVML nvmlDeviceGetTemperature(nvmlDevice_t handle, nvmlTemperatureSensors_t sensor, unsigned int* celsius) {
  if (sensor != NVML_TEMPERATURE_GPU) return NVML_ERROR_INVALID_ARGUMENT;
  return answer(handle, celsius, kIdleTemperature_celsius);
}
MAYA_NVML nvmlDeviceGetTemperatureV(nvmlDevice_t handle, nvmlTemperature_t* temperature) {
  if (temperature != nullptr && temperature->version != nvmlTemperature_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  return with_device(handle, temperature != nullptr,
                     [&](Device&) { temperature->temperature = kIdleTemperature_celsius; });
}
MAYA_NVML nvmlDeviceGetPowerUsage(nvmlDevice_t handle, unsigned int* milliwatts) {
  return with_device(handle, milliwatts != nullptr, [&](Device& d) {
    *milliwatts = static_cast<unsigned int>(d.profile.power_limit_watts * 1000 * kIdlePowerShare);
  });
}
MAYA_NVML nvmlDeviceGetPowerManagementLimit(nvmlDevice_t handle, unsigned int* limit) {
  return limit_milliwatts(handle, limit);
}
MAYA_NVML nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t handle, unsigned int* limit) {
  return limit_milliwatts(handle, limit);
}
MAYA_NVML nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t handle, unsigned int* limit) {
  return limit_milliwatts(handle, limit);
}
MAYA_NVML nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t handle, unsigned int* low, unsigned int* high) {
  return with_device(handle, low != nullptr && high != nullptr, [&](Device& d) {
    *low = 200000 < d.profile.power_limit_watts * 1000 ? 200000 : d.profile.power_limit_watts * 500;
    *high = d.profile.power_limit_watts * 1000;
  });
}
MAYA_NVML nvmlDeviceGetPowerManagementMode(nvmlDevice_t handle, nvmlEnableState_t* mode) {
  return answer(handle, mode, NVML_FEATURE_ENABLED);
}
MAYA_NVML nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t handle, unsigned long long* millijoules) {
  return answer(handle, millijoules, 0);
}
MAYA_NVML nvmlDeviceGetPerformanceState(nvmlDevice_t handle, nvmlPstates_t* state) {
  return answer(handle, state, NVML_PSTATE_0);
}
MAYA_NVML nvmlDeviceGetPowerState(nvmlDevice_t handle, nvmlPstates_t* state) {
  return answer(handle, state, NVML_PSTATE_0);
}

MAYA_NVML nvmlDeviceGetUtilizationRates(nvmlDevice_t handle, nvmlUtilization_t* utilization) {
  return with_device(handle, utilization != nullptr, [&](Device&) { *utilization = {0, 0}; });
}
MAYA_NVML nvmlDeviceGetEncoderUtilization(nvmlDevice_t handle, unsigned int* utilization, unsigned int* period_us) {
  return with_device(handle, utilization != nullptr && period_us != nullptr,
                     [&](Device&) { *utilization = 0, *period_us = 167000; });
}
MAYA_NVML nvmlDeviceGetDecoderUtilization(nvmlDevice_t handle, unsigned int* utilization, unsigned int* period_us) {
  return nvmlDeviceGetEncoderUtilization(handle, utilization, period_us);
}

MAYA_NVML nvmlDeviceGetComputeMode(nvmlDevice_t handle, nvmlComputeMode_t* mode) {
  return answer(handle, mode, NVML_COMPUTEMODE_DEFAULT);
}
MAYA_NVML nvmlDeviceGetPersistenceMode(nvmlDevice_t handle, nvmlEnableState_t* mode) {
  return answer(handle, mode, NVML_FEATURE_ENABLED);
}
MAYA_NVML nvmlDeviceGetDisplayMode(nvmlDevice_t handle, nvmlEnableState_t* mode) {
  return answer(handle, mode, NVML_FEATURE_DISABLED);
}
MAYA_NVML nvmlDeviceGetDisplayActive(nvmlDevice_t handle, nvmlEnableState_t* active) {
  return answer(handle, active, NVML_FEATURE_DISABLED);
}
MAYA_NVML nvmlDeviceGetVirtualizationMode(nvmlDevice_t handle, nvmlGpuVirtualizationMode_t* mode) {
  return answer(handle, mode, NVML_GPU_VIRTUALIZATION_MODE_NONE);
}
MAYA_NVML nvmlDeviceGetMigMode(nvmlDevice_t handle, unsigned int* current, unsigned int* pending) {
  return with_device(handle, current != nullptr && pending != nullptr,
                     [&](Device&) { *current = *pending = NVML_DEVICE_MIG_DISABLE; });
}
MAYA_NVML nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t handle, unsigned int* count) { return answer(handle, count, 0); }
MAYA_NVML nvmlDeviceGetEccMode(nvmlDevice_t handle, nvmlEnableState_t* current, nvmlEnableState_t* pending) {
  return with_device(handle, current != nullptr && pending != nullptr,
                     [&](Device&) { *current = *pending = NVML_FEATURE_ENABLED; });
}
MAYA_NVML nvmlDeviceGetDefaultEccMode(nvmlDevice_t handle, nvmlEnableState_t* mode) {
  return answer(handle, mode, NVML_FEATURE_ENABLED);
}
MAYA_NVML nvmlDeviceGetTotalEccErrors(nvmlDevice_t handle, nvmlMemoryErrorType_t, nvmlEccCounterType_t,
                                      unsigned long long* errors) {
  return answer(handle, errors, 0);
}
MAYA_NVML nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t handle, nvmlMemoryErrorType_t, nvmlEccCounterType_t,
                                          nvmlMemoryLocation_t, unsigned long long* errors) {
  return answer(handle, errors, 0);
}
