// Memory, clocks, limits, temperature, modes. Clocks are the maxima, the temperature is that of an idle card: neither
// is modelled.
#include <string.h>

#include "driver_shim/nvml/library.h"
#include "driver_shim/nvml/usage.h"

using namespace maya::nvml;

namespace {

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
MAYA_NVML nvmlDeviceGetTemperature(nvmlDevice_t handle, nvmlTemperatureSensors_t sensor, unsigned int* celsius) {
  if (sensor != NVML_TEMPERATURE_GPU) return NVML_ERROR_INVALID_ARGUMENT;
  return answer(handle, celsius, kIdleTemperature_celsius);
}
MAYA_NVML nvmlDeviceGetTemperatureV(nvmlDevice_t handle, nvmlTemperature_t* temperature) {
  if (temperature != nullptr && temperature->version != nvmlTemperature_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  return with_device(handle, temperature != nullptr,
                     [&](Device&) { temperature->temperature = kIdleTemperature_celsius; });
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
MAYA_NVML nvmlDeviceGetPerformanceState(nvmlDevice_t handle, nvmlPstates_t* state) {
  return answer(handle, state, NVML_PSTATE_0);
}
MAYA_NVML nvmlDeviceGetPowerState(nvmlDevice_t handle, nvmlPstates_t* state) {
  return answer(handle, state, NVML_PSTATE_0);
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
