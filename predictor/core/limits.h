// What the hardware allows: the peaks of a device by type, and the bound that no estimate may beat. Internal to the
// estimate core.
#pragma once

#include <cstdint>

#include "predictor/core/estimate.h"

namespace maya::model {

// Efficiencies are kept per generation: the same libraries choose other kernels on each.
enum class Generation : uint8_t { kAmpere = 0, kAda = 1, kHopper = 2, kBlackwell = 3 };
inline constexpr int kGenerations = 4;

// Devices older than Ampere count as Ampere, newer than Blackwell as Blackwell.
Generation generation_of(const device::DeviceProfile& profile);

// Dense operations a second for `type`. Types the device has no units for run at the peak of the type they are emulated
// with: 8-bit floats as float16, and without tensor cores every type below 32 bits as float32.
double peak_of(const device::DeviceProfile& profile, DataType type, bool tensor_cores);

// max(flops / peak, bytes / memory bandwidth, cycles / clock, shortest kernel), in nanoseconds.
double roofline_ns(const device::DeviceProfile& profile, const Work& work);

// A size as an integer for a shape: rounded down, from 0 to 2^62, so that no launch configuration overflows it.
inline int64_t whole(double value) {
  constexpr double kMost = 4611686018427387904.0;
  return value >= kMost ? int64_t{1} << 62 : value > 0 ? static_cast<int64_t>(value) : 0;
}

inline double bytes_of(const Work& work) { return work.read_bytes + work.written_bytes; }

}  // namespace maya::model
