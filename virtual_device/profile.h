// A device model: the figures a program can ask for and those that decide how long work takes.
// Profiles are text files in virtual_device/profiles/, one `key = value  # source` a line, keys as the fields below; a
// user's own file works the same way. `parent = NAME` as the first key takes everything from a built-in profile, which
// later lines override. Immutable after parsing, so safe to share between threads.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace maya::device {

struct DeviceProfile {
  std::string name;          // "h100-sxm"
  std::string product_name;  // what cuDeviceGetName answers: "NVIDIA H100 80GB HBM3"
  uint32_t compute_major = 0, compute_minor = 0;
  uint32_t multiprocessors = 0;

  uint64_t total_memory_bytes = 0;    // what cuDeviceTotalMem answers
  uint64_t nvml_memory_bytes = 0;     // what NVML calls total: silicon less ECC
  uint64_t context_bytes = 0;         // charged by the first context of a process on the device
  uint64_t driver_reserve_bytes = 0;  // gone from "free" before any process started

  // Peaks, dense, at boost clock. Bytes and operations a second.
  double memory_bandwidth = 0;  // bytes/s
  double peak_fp64 = 0, peak_fp32 = 0, peak_tf32 = 0, peak_fp16 = 0, peak_bf16 = 0, peak_fp8 = 0, peak_int8 = 0;
  double peak_fp64_tensor = 0;
  double l2_bandwidth = 0;
  double pcie_bandwidth = 0;    // one direction, pinned, bytes/s
  double nvlink_bandwidth = 0;  // one direction, sum of links, bytes/s

  uint64_t l2_bytes = 0;
  uint32_t clock_khz = 0, memory_clock_khz = 0, memory_bus_bits = 0;
  uint32_t power_limit_watts = 0;

  uint32_t shared_bytes_per_multiprocessor = 0, shared_bytes_per_block = 49152, shared_bytes_per_block_optin = 0;
  uint32_t reserved_shared_bytes_per_block = 1024;
  uint32_t registers_per_multiprocessor = 65536, registers_per_block = 65536;
  uint32_t threads_per_multiprocessor = 2048, blocks_per_multiprocessor = 32, threads_per_block = 1024;
  uint32_t copy_engines = 3;

  // Launch effects, nanoseconds.
  double kernel_floor_ns = 0;    // shortest kernel
  double queued_gap_ns = 0;      // between two kernels queued on a stream
  double launch_latency_ns = 0;  // launch call to kernel start on an idle stream
  double launch_host_ns = 0;     // host time of one launch call on the real driver

  // Further integers of the file, by their whole key: `attribute.<number>` are CUdevice_attribute values that are not
  // derived from the above; `nvml.` and `estimate.` keys belong to those parts. Keys outside these three prefixes are
  // errors.
  std::map<std::string, int64_t, std::less<>> extra;
};

// Parses a profile file. On failure returns false and `error` is one line naming the line number, the key and what was
// expected.
bool parse_profile(std::string_view text, DeviceProfile* profile, std::string* error);

// The profiles built in, in a fixed order. Text is embedded at build time.
struct BuiltinProfile {
  std::string_view name;
  std::string_view text;
};
const std::vector<BuiltinProfile>& builtin_profiles();
// nullptr when unknown. The object lives for ever.
const DeviceProfile* find_builtin_profile(std::string_view name);

}  // namespace maya::device
