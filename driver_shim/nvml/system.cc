// Initialisation, versions, error text, processes' names.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <string>

#include "driver_shim/nvml/library.h"
#include "driver_shim/nvml/versions.h"

using namespace maya::nvml;

MAYA_NVML nvmlInit_v2() { return initialize(); }
MAYA_NVML nvmlInit() { return initialize(); }
MAYA_NVML nvmlInitWithFlags(unsigned int) { return initialize(); }
MAYA_NVML nvmlShutdown() { return shutdown(); }

MAYA_NVML nvmlSystemGetDriverVersion(char* version, unsigned int length) {
  if (initialized_count() < 0) return NVML_ERROR_UNINITIALIZED;
  return version == nullptr ? NVML_ERROR_INVALID_ARGUMENT : copy_text(kDriverVersion, version, length);
}

MAYA_NVML nvmlSystemGetNVMLVersion(char* version, unsigned int length) {
  return version == nullptr ? NVML_ERROR_INVALID_ARGUMENT : copy_text(kNvmlVersion, version, length);
}

MAYA_NVML nvmlSystemGetCudaDriverVersion_v2(int* version) {
  if (version == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *version = kCudaDriverVersion;
  return NVML_SUCCESS;
}
MAYA_NVML nvmlSystemGetCudaDriverVersion(int* version) { return nvmlSystemGetCudaDriverVersion_v2(version); }

MAYA_NVML nvmlSystemGetProcessName(unsigned int pid, char* name, unsigned int length) {
  if (initialized_count() < 0) return NVML_ERROR_UNINITIALIZED;
  if (name == nullptr || length == 0) return NVML_ERROR_INVALID_ARGUMENT;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/%u/exe", pid);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0) return NVML_ERROR_NOT_FOUND;
  const size_t kept =
      static_cast<size_t>(size) < length - 1 ? static_cast<size_t>(size) : length - 1;  // documented: cut to length
  memcpy(name, path, kept);
  name[kept] = '\0';
  return NVML_SUCCESS;
}

// `length` is not needed: the structure holds the whole text.
MAYA_NVML nvmlSystemGetDriverBranch(nvmlSystemDriverBranchInfo_t* info, unsigned int) {
  if (initialized_count() < 0) return NVML_ERROR_UNINITIALIZED;
  if (info == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (info->version != nvmlSystemDriverBranchInfo_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  return copy_text(std::string("r") + std::string(kDriverVersion, 3), info->branch, sizeof info->branch);
}
MAYA_NVML nvmlSystemGetConfComputeState(nvmlConfComputeSystemState_t* state) {
  if (initialized_count() < 0) return NVML_ERROR_UNINITIALIZED;
  if (state == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  memset(state, 0, sizeof *state);  // off
  return NVML_SUCCESS;
}
MAYA_NVML nvmlGetExcludedDeviceCount(unsigned int* count) {
  if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *count = 0;
  return NVML_SUCCESS;
}
MAYA_NVML nvmlSystemGetHicVersion(unsigned int* count, nvmlHwbcEntry_t*) {
  if (initialized_count() < 0) return NVML_ERROR_UNINITIALIZED;
  if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *count = 0;
  return NVML_SUCCESS;
}
MAYA_NVML nvmlGpmQueryDeviceSupport(nvmlDevice_t handle, nvmlGpmSupport_t* support) {
  if (support != nullptr && support->version != NVML_GPM_SUPPORT_VERSION) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  return with_device(handle, support != nullptr, [&](Device&) { support->isSupportedDevice = 0; });
}
MAYA_NVML nvmlUnitGetCount(unsigned int* count) {
  if (initialized_count() < 0) return NVML_ERROR_UNINITIALIZED;
  if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *count = 0;
  return NVML_SUCCESS;
}

extern "C" __attribute__((visibility("default"))) const char* nvmlErrorString(nvmlReturn_t result) {
  switch (result) {
    case NVML_SUCCESS:
      return "Success";
    case NVML_ERROR_UNINITIALIZED:
      return "Uninitialized";
    case NVML_ERROR_INVALID_ARGUMENT:
      return "Invalid Argument";
    case NVML_ERROR_NOT_SUPPORTED:
      return "Not Supported";
    case NVML_ERROR_NO_PERMISSION:
      return "Insufficient Permissions";
    case NVML_ERROR_ALREADY_INITIALIZED:
      return "Already Initialized";
    case NVML_ERROR_NOT_FOUND:
      return "Not Found";
    case NVML_ERROR_INSUFFICIENT_SIZE:
      return "Insufficient Size";
    case NVML_ERROR_INSUFFICIENT_POWER:
      return "Insufficient External Power";
    case NVML_ERROR_DRIVER_NOT_LOADED:
      return "Driver Not Loaded";
    case NVML_ERROR_TIMEOUT:
      return "Timeout";
    case NVML_ERROR_IRQ_ISSUE:
      return "Interrupt Request Issue";
    case NVML_ERROR_LIBRARY_NOT_FOUND:
      return "NVML Shared Library Not Found";
    case NVML_ERROR_FUNCTION_NOT_FOUND:
      return "Function Not Found";
    case NVML_ERROR_CORRUPTED_INFOROM:
      return "Corrupted infoROM";
    case NVML_ERROR_GPU_IS_LOST:
      return "GPU is lost";
    case NVML_ERROR_RESET_REQUIRED:
      return "GPU requires reset";
    case NVML_ERROR_OPERATING_SYSTEM:
      return "The operating system has blocked the request.";
    case NVML_ERROR_LIB_RM_VERSION_MISMATCH:
      return "RM has detected an NVML/RM version mismatch.";
    case NVML_ERROR_IN_USE:
      return "In use by another client";
    case NVML_ERROR_MEMORY:
      return "Insufficient Memory";
    case NVML_ERROR_NO_DATA:
      return "No data";
    case NVML_ERROR_VGPU_ECC_NOT_SUPPORTED:
      return "ECC not supported on this vGPU";
    case NVML_ERROR_INSUFFICIENT_RESOURCES:
      return "Insufficient Resources";
    case NVML_ERROR_FREQ_NOT_SUPPORTED:
      return "Requested frequency not supported";
    case NVML_ERROR_ARGUMENT_VERSION_MISMATCH:
      return "Argument version mismatch";
    case NVML_ERROR_DEPRECATED:
      return "Deprecated";
    case NVML_ERROR_NOT_READY:
      return "Not ready";
    case NVML_ERROR_GPU_NOT_FOUND:
      return "GPU not found";
    case NVML_ERROR_INVALID_STATE:
      return "Invalid state";
    default:
      return "Unknown Error";
  }
}
