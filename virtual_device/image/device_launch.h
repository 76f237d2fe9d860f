// Dynamic parallelism: which kernels start others, or graphs, themselves. That shows in what they call: functions of
// CUDA's device runtime, as the CUDA programming guide ("CUDA Dynamic Parallelism", PTX-level launch) names them, and
// as nvcc since 12.0 writes them (__cudaCDP2LaunchDeviceV2; measured on images built with 13.0).
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace maya::device {

// Whether a text or a table of names has such a function at all: a quick look.
bool mentions_device_launch(std::string_view text);

class DeviceCalls {
 public:
  void add(std::string_view caller, std::string_view callee) { calls_[std::string(caller)].emplace(callee); }
  // The function by which `function` launches, directly or through others that it calls; empty when it does not.
  std::string launcher_of(const std::string& function) const;

 private:
  std::map<std::string, std::set<std::string>> calls_;
};

}  // namespace maya::device
