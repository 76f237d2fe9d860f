#include "virtual_device/image/device_launch.h"

#include <vector>

namespace maya::device {
namespace {

constexpr std::string_view kLaunchKernel = "LaunchDevice", kLaunchGraph = "cudaGraphLaunch";

bool launches(std::string_view function) {
  return function.starts_with("cudaLaunchDevice") || function.starts_with("__cudaCDP2LaunchDevice") ||
         function.starts_with(kLaunchGraph);
}

}  // namespace

bool mentions_device_launch(std::string_view text) {
  return text.find(kLaunchKernel) != std::string_view::npos || text.find(kLaunchGraph) != std::string_view::npos;
}

std::string DeviceCalls::launcher_of(const std::string& function) const {
  std::set<std::string> seen;
  std::vector<std::string> open{function};
  while (!open.empty()) {
    const std::string caller = std::move(open.back());
    open.pop_back();
    const auto found = calls_.find(caller);
    if (found == calls_.end() || !seen.insert(caller).second) continue;
    for (const std::string& callee : found->second) {
      if (launches(callee)) return callee;
      open.push_back(callee);
    }
  }
  return {};
}

}  // namespace maya::device
