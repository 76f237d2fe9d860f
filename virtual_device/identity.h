// Who an emulated device is: the same answers through the driver and through NVML, without initialising either.
#pragma once

#include <cstdint>
#include <string>

namespace maya::device {

struct PciAddress {
  uint32_t domain = 0, bus = 0, device = 0;
};

// One bus per device, in steps as on an HGX board's switches.
PciAddress pci_address(int ordinal);
// "00000000:1B:00.0" with eight domain digits (NVML) or "0000:1B:00.0" with four (CUDA).
std::string pci_bus_id(int ordinal, int domain_digits);
// Deterministic per ordinal, a valid version 4 UUID.
void device_uuid(int ordinal, unsigned char uuid[16]);
// "GPU-4d617961-..." as NVML and CUDA_VISIBLE_DEVICES write it.
std::string device_uuid_text(int ordinal);

}  // namespace maya::device
