#include "driver_shim/cupti/kernel_name.h"

#include <mutex>
#include <set>
#include <string>

namespace maya::cupti {

const char* kept_name(std::string_view text) {
  static std::mutex mutex;
  static auto& all = *new std::set<std::string, std::less<>>;
  std::lock_guard<std::mutex> lock(mutex);
  const auto known = all.find(text);
  return (known != all.end() ? known : all.emplace(text).first)->c_str();
}

const char* operation_name(const OperationRecord& operation) {
  constexpr std::string_view kLibrary = "nccl";
  const std::string_view call = operation.api;
  if ((operation.family != Family::kCollective && operation.family != Family::kPointToPoint) ||
      !call.starts_with(kLibrary))
    return kept_name(call);
  return kept_name("ncclDevKernel_" + std::string(call.substr(kLibrary.size())));
}

}  // namespace maya::cupti
