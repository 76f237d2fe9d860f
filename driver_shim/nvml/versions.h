// Versions that the emulated driver states, alike in CUDA, NVML and nvidia-smi.
#pragma once

namespace maya::nvml {

inline constexpr const char* kDriverVersion = "595.45.04";  // of the driver series that CUDA 13.2 came with
inline constexpr const char* kNvmlVersion = "13.595.45.04";
inline constexpr int kCudaDriverVersion = 13020;

}  // namespace maya::nvml
