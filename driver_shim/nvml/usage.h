// Power and energy of a device, for the entry points that give them in different forms.
#pragma once

#include "driver_shim/nvml/library.h"

namespace maya::nvml {

inline constexpr double kIdlePowerShare = 0.1;  // of the limit: 70 W of an H100's 700 W
inline constexpr unsigned int kIdleTemperature_celsius = 30;

unsigned int power_milliwatts(const Device& device, unsigned int utilization_percent);
// Of the programs that are alive, since the first of them started, over their virtual time.
unsigned long long energy_millijoules(const Device& device);
unsigned long long realtime_us();  // CLOCK_REALTIME: NVML's "CPU timestamp"

}  // namespace maya::nvml
