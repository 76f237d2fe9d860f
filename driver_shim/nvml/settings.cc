// Settings that only an administrator changes, and features that emulated devices do not have.
#include <string.h>

#include "driver_shim/nvml/library.h"
#include "virtual_device/identity.h"

using namespace maya::nvml;

namespace {

// An emulated device keeps its settings, as a device does for a user without the right to change them.
nvmlReturn_t fixed(nvmlDevice_t handle, bool valid) {
  const nvmlReturn_t status = with_device(handle, valid, [](Device&) {});
  return status != NVML_SUCCESS ? status : NVML_ERROR_NO_PERMISSION;
}

nvmlReturn_t no_licences(nvmlDevice_t handle, nvmlGridLicensableFeatures_t* features) {
  return with_device(handle, features != nullptr, [&](Device&) { *features = {}; });
}

// Structures begin with their version, which the caller sets.
template <typename Structure, typename Body>
nvmlReturn_t with_version(nvmlDevice_t handle, Structure* out, unsigned int version, Body&& body) {
  if (out != nullptr && out->version != version) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  return with_device(handle, out != nullptr, body);
}

}  // namespace

MAYA_NVML nvmlDeviceSetComputeMode(nvmlDevice_t handle, nvmlComputeMode_t mode) {
  return fixed(handle, mode < NVML_COMPUTEMODE_COUNT);
}
MAYA_NVML nvmlDeviceSetPersistenceMode(nvmlDevice_t handle, nvmlEnableState_t mode) {
  return fixed(handle, mode == NVML_FEATURE_DISABLED || mode == NVML_FEATURE_ENABLED);
}
MAYA_NVML nvmlDeviceSetPowerManagementLimit(nvmlDevice_t handle, unsigned int) { return fixed(handle, true); }
MAYA_NVML nvmlDeviceSetPowerManagementLimit_v2(nvmlDevice_t handle, nvmlPowerValue_v2_t* value) {
  return fixed(handle, value != nullptr);
}

// No extended GPU memory.
MAYA_NVML nvmlDeviceGetCapabilities(nvmlDevice_t handle, nvmlDeviceCapabilities_t* capabilities) {
  return with_version(handle, capabilities, nvmlDeviceCapabilities_v1, [&](Device&) { capabilities->capMask = 0; });
}

// Unique to the device: the second half of its UUID.
MAYA_NVML nvmlDeviceGetPdi(nvmlDevice_t handle, nvmlPdi_t* pdi) {
  return with_version(handle, pdi, nvmlPdi_v1, [&](Device& device) {
    unsigned char bytes[16];
    maya::device::device_uuid(device.ordinal, bytes);
    memcpy(&pdi->value, bytes + 8, sizeof pdi->value);
  });
}

// Clocks are not shifted, and have no room to be.
MAYA_NVML nvmlDeviceGetClockOffsets(nvmlDevice_t handle, nvmlClockOffset_t* info) {
  if (info != nullptr && info->type != NVML_CLOCK_GRAPHICS && info->type != NVML_CLOCK_MEM) return fixed(handle, false);
  return with_version(handle, info, nvmlClockOffset_v1,
                      [&](Device&) { info->clockOffsetMHz = info->minClockOffsetMHz = info->maxClockOffsetMHz = 0; });
}

MAYA_NVML nvmlDeviceGetGridLicensableFeatures(nvmlDevice_t handle, nvmlGridLicensableFeatures_t* features) {
  return no_licences(handle, features);
}
MAYA_NVML nvmlDeviceGetGridLicensableFeatures_v2(nvmlDevice_t handle, nvmlGridLicensableFeatures_t* features) {
  return no_licences(handle, features);
}
MAYA_NVML nvmlDeviceGetGridLicensableFeatures_v3(nvmlDevice_t handle, nvmlGridLicensableFeatures_t* features) {
  return no_licences(handle, features);
}
MAYA_NVML nvmlDeviceGetGridLicensableFeatures_v4(nvmlDevice_t handle, nvmlGridLicensableFeatures_t* features) {
  return no_licences(handle, features);
}
