// How devices are connected: every pair by NVLink through a switch where the profile has NVLink, else by the PCIe root.
#include <string.h>
#include <unistd.h>

#include "driver_shim/nvml/library.h"
#include "virtual_device/identity.h"

using namespace maya::nvml;

namespace maya::nvml {

// 25 GB/s for NVLink 3 and 4, 50 GB/s for NVLink 5 (NVIDIA's NVLink page).
double link_bandwidth(const Device& d) { return d.profile.compute_major >= 10 ? 50e9 : 25e9; }
unsigned int link_count(const Device& d) {
  return static_cast<unsigned int>(d.profile.nvlink_bandwidth / link_bandwidth(d) + 0.5);
}

}  // namespace maya::nvml

namespace {

template <typename Body>
nvmlReturn_t with_link(nvmlDevice_t handle, unsigned int link, bool outputs, Body&& body) {
  bool present = false;
  const nvmlReturn_t status = with_device(handle, outputs && link < NVML_NVLINK_MAX_LINKS, [&](Device& d) {
    present = link < link_count(d);
    if (present) body(d);
  });
  return status != NVML_SUCCESS ? status : present ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

}  // namespace

MAYA_NVML nvmlDeviceGetP2PStatus(nvmlDevice_t a, nvmlDevice_t b, nvmlGpuP2PCapsIndex_t index,
                                 nvmlGpuP2PStatus_t* status) {
  return with_device(a, status != nullptr && device_of(b) != nullptr, [&](Device& d) {
    *status =
        index == NVML_P2P_CAPS_INDEX_NVLINK && link_count(d) == 0 ? NVML_P2P_STATUS_NOT_SUPPORTED : NVML_P2P_STATUS_OK;
  });
}
MAYA_NVML nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t a, nvmlDevice_t b, nvmlGpuTopologyLevel_t* level) {
  return with_device(a, level != nullptr && device_of(b) != nullptr, [&](Device&) { *level = NVML_TOPOLOGY_NODE; });
}
// Devices at `level` and nearer, other than `self`: all others, since they share a node.
static nvmlReturn_t list_devices(unsigned int* count, nvmlDevice_t* out, const Device* self) {
  unsigned int found = 0;
  for (int i = 0; i < initialized_count(); ++i) {
    if (self != nullptr && self->ordinal == i) continue;
    if (out != nullptr && found < *count) out[found] = handle_of(i);
    ++found;
  }
  const bool fits = out == nullptr || found <= *count;
  *count = found;
  return fits ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}

MAYA_NVML nvmlDeviceGetTopologyNearestGpus(nvmlDevice_t handle, nvmlGpuTopologyLevel_t level, unsigned int* count,
                                           nvmlDevice_t* devices) {
  nvmlReturn_t result = NVML_SUCCESS;
  const nvmlReturn_t status = with_device(handle, count != nullptr, [&](Device& d) {
    if (level == NVML_TOPOLOGY_NODE)
      result = list_devices(count, devices, &d);
    else
      *count = 0;
  });
  return status != NVML_SUCCESS ? status : result;
}
MAYA_NVML nvmlSystemGetTopologyGpuSet(unsigned int, unsigned int* count, nvmlDevice_t* devices) {
  if (initialized_count() < 0) return NVML_ERROR_UNINITIALIZED;
  return count == nullptr ? NVML_ERROR_INVALID_ARGUMENT : list_devices(count, devices, nullptr);
}
MAYA_NVML nvmlDeviceGetNvLinkState(nvmlDevice_t handle, unsigned int link, nvmlEnableState_t* active) {
  return with_link(handle, link, active != nullptr, [&](Device&) { *active = NVML_FEATURE_ENABLED; });
}
MAYA_NVML nvmlDeviceGetNvLinkVersion(nvmlDevice_t handle, unsigned int link, unsigned int* version) {
  return with_link(handle, link, version != nullptr, [&](Device& d) {
    const uint32_t major = d.profile.compute_major;
    *version = major >= 10 ? NVML_NVLINK_VERSION_5_0 : major == 9 ? NVML_NVLINK_VERSION_4_0 : NVML_NVLINK_VERSION_3_0;
  });
}
MAYA_NVML nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t handle, unsigned int link, nvmlIntNvLinkDeviceType_t* type) {
  return with_link(handle, link, type != nullptr, [&](Device&) { *type = NVML_NVLINK_DEVICE_TYPE_SWITCH; });
}
MAYA_NVML nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t handle, unsigned int link, nvmlPciInfo_t* pci) {
  return with_link(handle, link, pci != nullptr, [&](Device&) {
    memset(pci, 0, sizeof *pci);
    pci->bus = 0x07 + link % 4;  // four NVSwitches
    strcpy(pci->busIdLegacy, "0000:07:00.0");
    strcpy(pci->busId, "00000000:07:00.0");
    pci->busId[10] = pci->busIdLegacy[6] = static_cast<char>('7' + link % 3);
  });
}
MAYA_NVML nvmlDeviceGetNvLinkCapability(nvmlDevice_t handle, unsigned int link, nvmlNvLinkCapability_t,
                                        unsigned int* supported) {
  return with_link(handle, link, supported != nullptr, [&](Device&) { *supported = 1; });
}

MAYA_NVML nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t handle, nvmlGpuFabricInfoV_t* info) {
  return with_device(handle, info != nullptr, [&](Device&) { info->state = NVML_GPU_FABRIC_STATE_NOT_SUPPORTED; });
}
MAYA_NVML nvmlDeviceGetGpuFabricInfo(nvmlDevice_t handle, nvmlGpuFabricInfo_t* info) {
  return with_device(handle, info != nullptr, [&](Device&) {
    memset(info, 0, sizeof *info);
    info->state = NVML_GPU_FABRIC_STATE_NOT_SUPPORTED;
  });
}

namespace {

// PCI Express generation: 4 for Ampere and Ada, 5 for Hopper and later.
unsigned int pcie_generation(const Device& d) { return d.profile.compute_major >= 9 ? 5 : 4; }

}  // namespace

MAYA_NVML nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t handle, unsigned int* generation) {
  return with_device(handle, generation != nullptr, [&](Device& d) { *generation = pcie_generation(d); });
}
MAYA_NVML nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t handle, unsigned int* generation) {
  return nvmlDeviceGetMaxPcieLinkGeneration(handle, generation);
}
MAYA_NVML nvmlDeviceGetGpuMaxPcieLinkGeneration(nvmlDevice_t handle, unsigned int* generation) {
  return nvmlDeviceGetMaxPcieLinkGeneration(handle, generation);
}
// MB/s a lane: 16 GT/s of generation 4 and 32 GT/s of generation 5.
MAYA_NVML nvmlDeviceGetPcieSpeed(nvmlDevice_t handle, unsigned int* speed) {
  return with_device(handle, speed != nullptr, [&](Device& d) { *speed = pcie_generation(d) == 5 ? 32000 : 16000; });
}
MAYA_NVML nvmlDeviceGetPcieLinkMaxSpeed(nvmlDevice_t handle, unsigned int* speed) {
  return with_device(handle, speed != nullptr, [&](Device& d) {
    *speed = pcie_generation(d) == 5 ? NVML_PCIE_LINK_MAX_SPEED_32000MBPS : NVML_PCIE_LINK_MAX_SPEED_16000MBPS;
  });
}
MAYA_NVML nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t handle, unsigned int* width) {
  return with_device(handle, width != nullptr, [&](Device&) { *width = 16; });
}
MAYA_NVML nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t handle, unsigned int* width) {
  return nvmlDeviceGetMaxPcieLinkWidth(handle, width);
}
MAYA_NVML nvmlDeviceGetBusType(nvmlDevice_t handle, nvmlBusType_t* type) {
  return with_device(handle, type != nullptr, [&](Device&) { *type = NVML_BUS_TYPE_PCIE; });
}

namespace {

// The first `count` bits of a set.
nvmlReturn_t first_bits(nvmlDevice_t handle, unsigned int words, unsigned long* set, unsigned long count) {
  constexpr unsigned long kBits = 8 * sizeof *set;
  return with_device(handle, set != nullptr && words > 0, [&](Device&) {
    for (unsigned int i = 0; i < words; ++i) {
      const unsigned long left = count > i * kBits ? count - i * kBits : 0;
      set[i] = left >= kBits ? ~0ul : (1ul << left) - 1;
    }
  });
}

// Every CPU of the host is near every device.
unsigned long host_cpus() { return static_cast<unsigned long>(sysconf(_SC_NPROCESSORS_CONF)); }

}  // namespace

MAYA_NVML nvmlDeviceGetCpuAffinity(nvmlDevice_t handle, unsigned int words, unsigned long* set) {
  return first_bits(handle, words, set, host_cpus());
}
MAYA_NVML nvmlDeviceGetCpuAffinityWithinScope(nvmlDevice_t handle, unsigned int words, unsigned long* set,
                                              nvmlAffinityScope_t) {
  return first_bits(handle, words, set, host_cpus());
}
MAYA_NVML nvmlDeviceGetMemoryAffinity(nvmlDevice_t handle, unsigned int words, unsigned long* set,
                                      nvmlAffinityScope_t) {
  return first_bits(handle, words, set, 1);  // of one node
}
MAYA_NVML nvmlDeviceSetCpuAffinity(nvmlDevice_t handle) {
  return with_device(handle, true, [](Device&) {});
}
MAYA_NVML nvmlDeviceClearCpuAffinity(nvmlDevice_t handle) { return nvmlDeviceSetCpuAffinity(handle); }
