// Handles and who a device is.
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "driver_shim/nvml/library.h"
#include "driver_shim/nvml/versions.h"
#include "virtual_device/identity.h"

using namespace maya::nvml;
namespace device = maya::device;

MAYA_NVML nvmlDeviceGetCount_v2(unsigned int* count) {
  if (initialized_count() < 0) return NVML_ERROR_UNINITIALIZED;
  if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *count = static_cast<unsigned int>(initialized_count());
  return NVML_SUCCESS;
}
MAYA_NVML nvmlDeviceGetCount(unsigned int* count) { return nvmlDeviceGetCount_v2(count); }

MAYA_NVML nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t* handle) {
  if (initialized_count() < 0) return NVML_ERROR_UNINITIALIZED;
  if (handle == nullptr || index >= static_cast<unsigned int>(initialized_count())) return NVML_ERROR_INVALID_ARGUMENT;
  *handle = handle_of(static_cast<int>(index));
  return NVML_SUCCESS;
}
MAYA_NVML nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t* handle) {
  return nvmlDeviceGetHandleByIndex_v2(index, handle);
}

namespace {

template <typename Matches>
nvmlReturn_t find_handle(nvmlDevice_t* handle, const char* text, Matches&& matches) {
  if (initialized_count() < 0) return NVML_ERROR_UNINITIALIZED;
  if (handle == nullptr || text == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  for (int i = 0; i < initialized_count(); ++i) {
    if (!matches(i)) continue;
    *handle = handle_of(i);
    return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}

std::string serial_of(int ordinal) {
  char text[16];
  snprintf(text, sizeof text, "%013d", 1650000000 + ordinal);
  return text;
}

}  // namespace

// With or without the prefix "GPU-": cuda.core asks without.
MAYA_NVML nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* handle) {
  return find_handle(handle, uuid, [&](int i) {
    const std::string text = device::device_uuid_text(i);
    return text == uuid || text.substr(text.find('-') + 1) == uuid;
  });
}

MAYA_NVML nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, nvmlDevice_t* handle) {
  return find_handle(handle, bus_id, [&](int i) {
    return strcasecmp(device::pci_bus_id(i, 8).c_str(), bus_id) == 0 ||
           strcasecmp(device::pci_bus_id(i, 4).c_str(), bus_id) == 0;
  });
}
MAYA_NVML nvmlDeviceGetHandleByPciBusId(const char* bus_id, nvmlDevice_t* handle) {
  return nvmlDeviceGetHandleByPciBusId_v2(bus_id, handle);
}

MAYA_NVML nvmlDeviceGetHandleBySerial(const char* serial, nvmlDevice_t* handle) {
  return find_handle(handle, serial, [&](int i) { return serial_of(i) == serial; });
}

namespace {

template <typename Text>
nvmlReturn_t device_text(nvmlDevice_t handle, char* out, unsigned int length, Text&& text) {
  nvmlReturn_t copied = NVML_SUCCESS;
  const nvmlReturn_t status =
      with_device(handle, out != nullptr, [&](Device& d) { copied = copy_text(text(d), out, length); });
  return status != NVML_SUCCESS ? status : copied;
}

}  // namespace

MAYA_NVML nvmlDeviceGetName(nvmlDevice_t handle, char* name, unsigned int length) {
  return device_text(handle, name, length, [](Device& d) { return d.profile.product_name; });
}
MAYA_NVML nvmlDeviceGetUUID(nvmlDevice_t handle, char* uuid, unsigned int length) {
  return device_text(handle, uuid, length, [](Device& d) { return device::device_uuid_text(d.ordinal); });
}
MAYA_NVML nvmlDeviceGetSerial(nvmlDevice_t handle, char* serial, unsigned int length) {
  return device_text(handle, serial, length, [](Device& d) { return serial_of(d.ordinal); });
}
MAYA_NVML nvmlDeviceGetVbiosVersion(nvmlDevice_t handle, char* version, unsigned int length) {
  return device_text(handle, version, length, [](Device&) { return "96.00.89.00.01"; });
}

MAYA_NVML nvmlDeviceGetIndex(nvmlDevice_t handle, unsigned int* index) {
  return with_device(handle, index != nullptr, [&](Device& d) { *index = static_cast<unsigned int>(d.ordinal); });
}
MAYA_NVML nvmlDeviceGetMinorNumber(nvmlDevice_t handle, unsigned int* minor) {
  return nvmlDeviceGetIndex(handle, minor);
}
MAYA_NVML nvmlDeviceGetModuleId(nvmlDevice_t handle, unsigned int* id) { return nvmlDeviceGetIndex(handle, id); }
MAYA_NVML nvmlDeviceGetBoardId(nvmlDevice_t handle, unsigned int* id) {
  return with_device(handle, id != nullptr, [&](Device& d) { *id = device::pci_address(d.ordinal).bus << 8; });
}
MAYA_NVML nvmlDeviceGetBrand(nvmlDevice_t handle, nvmlBrandType_t* brand) {
  return with_device(handle, brand != nullptr, [&](Device&) { *brand = NVML_BRAND_NVIDIA; });
}
MAYA_NVML nvmlDeviceGetMultiGpuBoard(nvmlDevice_t handle, unsigned int* several) {
  return with_device(handle, several != nullptr, [&](Device&) { *several = 0; });
}
MAYA_NVML nvmlDeviceOnSameBoard(nvmlDevice_t a, nvmlDevice_t b, int* same) {
  return with_device(a, same != nullptr && device_of(b) != nullptr, [&](Device&) { *same = a == b; });
}
MAYA_NVML nvmlDeviceIsMigDeviceHandle(nvmlDevice_t handle, unsigned int* is_mig) {
  return with_device(handle, is_mig != nullptr, [&](Device&) { *is_mig = 0; });
}

namespace {

// Device and vendor (0x10de) in one word, from the profile's CUdevice_attribute of that number.
unsigned int pci_id(const Device& d, const char* key, unsigned int otherwise) {
  const auto known = d.profile.extra.find(key);
  return known != d.profile.extra.end() ? static_cast<unsigned int>(known->second) : otherwise;
}

}  // namespace

MAYA_NVML nvmlDeviceGetPciInfo_v3(nvmlDevice_t handle, nvmlPciInfo_t* pci) {
  return with_device(handle, pci != nullptr, [&](Device& d) {
    memset(pci, 0, sizeof *pci);
    const device::PciAddress address = device::pci_address(d.ordinal);
    pci->domain = address.domain;
    pci->bus = address.bus;
    pci->device = address.device;
    pci->pciDeviceId = pci_id(d, "attribute.139", d.profile.compute_major >= 9 ? 0x233010de : 0x20b210de);
    pci->pciSubSystemId = pci_id(d, "attribute.140", 0);
    snprintf(pci->busId, sizeof pci->busId, "%s", device::pci_bus_id(d.ordinal, 8).c_str());
    snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%s", device::pci_bus_id(d.ordinal, 4).c_str());
  });
}
MAYA_NVML nvmlDeviceGetPciInfo_v2(nvmlDevice_t handle, nvmlPciInfo_t* pci) {
  return nvmlDeviceGetPciInfo_v3(handle, pci);
}
MAYA_NVML nvmlDeviceGetPciInfo(nvmlDevice_t handle, nvmlPciInfo_t* pci) { return nvmlDeviceGetPciInfo_v3(handle, pci); }

MAYA_NVML nvmlDeviceGetPciInfoExt(nvmlDevice_t handle, nvmlPciInfoExt_t* pci) {
  if (pci != nullptr && pci->version != nvmlPciInfoExt_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  nvmlPciInfo_t known;
  const nvmlReturn_t status = nvmlDeviceGetPciInfo_v3(handle, pci == nullptr ? nullptr : &known);
  if (status != NVML_SUCCESS) return status;
  pci->domain = known.domain;
  pci->bus = known.bus;
  pci->device = known.device;
  pci->pciDeviceId = known.pciDeviceId;
  pci->pciSubSystemId = known.pciSubSystemId;
  pci->baseClass = 0x03;  // display controller, as of the PCI Code and ID Assignment Specification
  pci->subClass = 0x02;   // 3D controller
  memcpy(pci->busId, known.busId, sizeof pci->busId);
  return NVML_SUCCESS;
}
MAYA_NVML nvmlDeviceGetHandleByUUIDV(const nvmlUUID_t* uuid, nvmlDevice_t* handle) {
  if (uuid != nullptr && uuid->version != nvmlUUID_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  if (uuid != nullptr && uuid->type == NVML_UUID_TYPE_BINARY)
    return find_handle(handle, "", [&](int i) {
      unsigned char bytes[16];
      device::device_uuid(i, bytes);
      return memcmp(bytes, uuid->value.bytes, sizeof bytes) == 0;
    });
  if (uuid != nullptr && uuid->type != NVML_UUID_TYPE_ASCII) return NVML_ERROR_INVALID_ARGUMENT;
  return nvmlDeviceGetHandleByUUID(uuid == nullptr ? nullptr : uuid->value.str, handle);
}
MAYA_NVML nvmlDeviceGetCudaComputeCapability(nvmlDevice_t handle, int* major, int* minor) {
  return with_device(handle, major != nullptr && minor != nullptr, [&](Device& d) {
    *major = static_cast<int>(d.profile.compute_major);
    *minor = static_cast<int>(d.profile.compute_minor);
  });
}
MAYA_NVML nvmlDeviceGetArchitecture(nvmlDevice_t handle, nvmlDeviceArchitecture_t* architecture) {
  return with_device(handle, architecture != nullptr, [&](Device& d) {
    const uint32_t major = d.profile.compute_major, minor = d.profile.compute_minor;
    *architecture = major >= 10  ? NVML_DEVICE_ARCH_BLACKWELL
                    : major == 9 ? NVML_DEVICE_ARCH_HOPPER
                    : minor == 9 ? NVML_DEVICE_ARCH_ADA
                                 : NVML_DEVICE_ARCH_AMPERE;
  });
}
MAYA_NVML nvmlDeviceGetNumGpuCores(nvmlDevice_t handle, unsigned int* cores) {
  return with_device(handle, cores != nullptr, [&](Device& d) {
    // FP32 lanes per multiprocessor: 64 on compute capability 8.0, 128 on 8.6 and later (CUDA programming guide,
    // arithmetic throughput table)
    *cores = d.profile.multiprocessors * (d.profile.compute_major == 8 && d.profile.compute_minor == 0 ? 64 : 128);
  });
}
MAYA_NVML nvmlDeviceGetAttributes_v2(nvmlDevice_t handle, nvmlDeviceAttributes_t* attributes) {
  return with_device(handle, attributes != nullptr, [&](Device& d) {
    memset(attributes, 0, sizeof *attributes);
    attributes->multiprocessorCount = d.profile.multiprocessors;
    attributes->sharedCopyEngineCount = d.profile.copy_engines;
    attributes->memorySizeMB = d.profile.nvml_memory_bytes >> 20;
  });
}
MAYA_NVML nvmlDeviceGetNumaNodeId(nvmlDevice_t handle, unsigned int* node) {
  return with_device(handle, node != nullptr, [&](Device&) { *node = 0; });
}
MAYA_NVML nvmlDeviceGetGspFirmwareMode(nvmlDevice_t handle, unsigned int* enabled, unsigned int* by_default) {
  return with_device(handle, enabled != nullptr && by_default != nullptr, [&](Device&) { *enabled = *by_default = 1; });
}
// `version` holds NVML_GSP_FIRMWARE_VERSION_BUF_SIZE characters: the firmware comes with the driver.
MAYA_NVML nvmlDeviceGetGspFirmwareVersion(nvmlDevice_t handle, char* version) {
  return device_text(handle, version, NVML_GSP_FIRMWARE_VERSION_BUF_SIZE, [](Device&) { return kDriverVersion; });
}
MAYA_NVML nvmlDeviceGetC2cModeInfoV(nvmlDevice_t handle, nvmlC2cModeInfo_v1_t* mode) {
  return with_device(handle, mode != nullptr, [&](Device&) { mode->isC2cEnabled = 0; });
}
