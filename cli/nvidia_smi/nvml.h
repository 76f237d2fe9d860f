// NVML as nvidia-smi uses it: loaded from the folder of Maya's libraries at start, so that the command shows exactly
// what programs see.
#pragma once

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>

#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace maya::smi {

// Exit statuses of nvidia-smi, from its manual page.
enum Status : int {
  kSuccess = 0,
  kInvalidArgument = 2,
  kNotAvailable = 3,
  kNotFound = 6,
  kDriverNotLoaded = 9,
  kLibraryNotFound = 12,
  kOther = 255,
};

// "nvidia-smi: message" on standard error, then the end of the process.
[[noreturn]] void fail(Status status, const std::string& message);

struct Nvml {
#define F(name) decltype(&::name) name;
#include "cli/nvidia_smi/functions.inc"
#undef F
};

// Loads and initialises at first use; ends the process with nvidia-smi's status when that fails.
const Nvml& nvml();

struct Gpu {
  unsigned int index = 0;
  nvmlDevice_t handle = nullptr;
};
// All, or those of a comma-separated list of indices, UUIDs and bus ids. kNotFound when one does not exist.
std::vector<Gpu> gpus(const std::string& ids);

// A value that NVML gives by reference; none when it says anything but success.
template <typename... Parameters, typename... Given>
auto ask(nvmlReturn_t (*function)(Parameters...), nvmlDevice_t device, Given... given) {
  using Value = std::remove_pointer_t<std::tuple_element_t<sizeof...(Parameters) - 1, std::tuple<Parameters...>>>;
  Value value{};
  return function(device, given..., &value) == NVML_SUCCESS ? std::optional<Value>(value) : std::nullopt;
}
std::optional<std::string> ask_text(nvmlReturn_t (*function)(nvmlDevice_t, char*, unsigned int), nvmlDevice_t device);

std::optional<int> temperature_celsius(nvmlDevice_t device);

// Texts of values as nvidia-smi writes them, without units; none stays none.
std::optional<std::string> watts(std::optional<unsigned int> milliwatts);    // "70.00"
std::optional<std::string> enabled(std::optional<nvmlEnableState_t> state);  // "Enabled", "Disabled"
std::string mebibytes(unsigned long long bytes);

struct App {
  unsigned int process;
  std::string name;  // path of its executable
  std::optional<unsigned long long> used_bytes;
};
std::vector<App> apps_on(nvmlDevice_t device);

std::string driver_version();
std::string cuda_version();  // "13.2"

}  // namespace maya::smi
