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

#define MAYA_SMI_FUNCTIONS(F)                                                                                          \
  F(nvmlInit_v2)                                                                                                       \
  F(nvmlErrorString)                                                                                                   \
  F(nvmlSystemGetDriverVersion) F(nvmlSystemGetNVMLVersion) F(nvmlSystemGetCudaDriverVersion_v2) F(                    \
      nvmlSystemGetProcessName) F(nvmlDeviceGetCount_v2) F(nvmlDeviceGetHandleByIndex_v2) F(nvmlDeviceGetHandleByUUID) \
      F(nvmlDeviceGetHandleByPciBusId_v2) F(nvmlDeviceGetIndex) F(nvmlDeviceGetName) F(nvmlDeviceGetBrand) F(          \
          nvmlDeviceGetUUID) F(nvmlDeviceGetSerial) F(nvmlDeviceGetVbiosVersion) F(nvmlDeviceGetMinorNumber)           \
          F(nvmlDeviceGetPciInfo_v3) F(nvmlDeviceGetMaxPcieLinkGeneration) F(nvmlDeviceGetCurrPcieLinkGeneration) F(   \
              nvmlDeviceGetMaxPcieLinkWidth) F(nvmlDeviceGetCurrPcieLinkWidth) F(nvmlDeviceGetPcieThroughput)          \
              F(nvmlDeviceGetPcieReplayCounter) F(nvmlDeviceGetMemoryInfo_v2) F(nvmlDeviceGetBAR1MemoryInfo) F(        \
                  nvmlDeviceGetUtilizationRates) F(nvmlDeviceGetEncoderUtilization) F(nvmlDeviceGetDecoderUtilization) \
                  F(nvmlDeviceGetTemperatureV) F(nvmlDeviceGetPowerUsage) F(nvmlDeviceGetPowerManagementLimit)         \
                      F(nvmlDeviceGetPowerManagementDefaultLimit) F(nvmlDeviceGetEnforcedPowerLimit) F(                \
                          nvmlDeviceGetPowerManagementLimitConstraints) F(nvmlDeviceGetClockInfo)                      \
                          F(nvmlDeviceGetMaxClockInfo) F(nvmlDeviceGetClock) F(nvmlDeviceGetCurrentClocksEventReasons) \
                              F(nvmlDeviceGetPerformanceState) F(nvmlDeviceGetComputeMode)                             \
                                  F(nvmlDeviceGetPersistenceMode) F(nvmlDeviceGetDisplayMode)                          \
                                      F(nvmlDeviceGetDisplayActive) F(nvmlDeviceGetMigMode) F(nvmlDeviceGetEccMode)    \
                                          F(nvmlDeviceGetTotalEccErrors) F(nvmlDeviceGetCudaComputeCapability)         \
                                              F(nvmlDeviceGetComputeRunningProcesses_v3) F(nvmlDeviceGetP2PStatus)     \
                                                  F(nvmlDeviceGetTopologyCommonAncestor) F(nvmlDeviceGetNvLinkState)   \
                                                      F(nvmlDeviceGetNvLinkVersion) F(nvmlDeviceGetFieldValues)        \
                                                          F(nvmlDeviceGetTotalEnergyConsumption)

struct Nvml {
#define MAYA_SMI_MEMBER(name) decltype(&::name) name;
  MAYA_SMI_FUNCTIONS(MAYA_SMI_MEMBER)
#undef MAYA_SMI_MEMBER
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

struct App {
  unsigned int process;
  std::string name;  // path of its executable
  std::optional<unsigned long long> used_bytes;
};
std::vector<App> apps_on(nvmlDevice_t device);

std::string driver_version();
std::string cuda_version();  // "13.2"

}  // namespace maya::smi
