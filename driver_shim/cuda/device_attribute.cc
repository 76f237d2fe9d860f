#include "driver_shim/cuda/device_attribute.h"

#include <string>

#include "driver_shim/cuda/configuration.h"
#include "virtual_device/identity.h"

namespace maya::cuda {
namespace {

// Attributes that follow from the profile's own fields. False: not one of those.
bool derived_attribute(const device::DeviceProfile& profile, int ordinal, CUdevice_attribute attribute,
                       uint64_t* value) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = profile.threads_per_block;
      return true;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      *value = profile.shared_bytes_per_block;
      return true;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
      *value = profile.registers_per_block;
      return true;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      *value = profile.clock_khz;
      return true;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = profile.multiprocessors;
      return true;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
      *value = device::pci_address(machine_device(ordinal)).bus;
      return true;
    case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
      *value = device::pci_address(machine_device(ordinal)).device;
      return true;
    case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
      *value = device::pci_address(machine_device(ordinal)).domain;
      return true;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
      *value = profile.memory_clock_khz;
      return true;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
      *value = profile.memory_bus_bits;
      return true;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      *value = profile.l2_bytes;
      return true;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      *value = profile.threads_per_multiprocessor;
      return true;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
      *value = profile.copy_engines;
      return true;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = profile.compute_major;
      return true;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = profile.compute_minor;
      return true;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      *value = profile.shared_bytes_per_multiprocessor;
      return true;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
      *value = profile.registers_per_multiprocessor;
      return true;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      *value = profile.shared_bytes_per_block_optin;
      return true;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
      *value = profile.blocks_per_multiprocessor;
      return true;
    case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
      *value = profile.reserved_shared_bytes_per_block;
      return true;
    default:
      return false;
  }
}

}  // namespace

bool device_attribute(const device::DeviceProfile& profile, int ordinal, CUdevice_attribute attribute, int* value) {
  if (attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX) return false;
  // A profile file may overrule what would follow from its other fields.
  if (const auto stated = profile.extra.find("attribute." + std::to_string(static_cast<int>(attribute)));
      stated != profile.extra.end()) {
    *value = static_cast<int>(stated->second);
    return true;
  }
  uint64_t derived = 0;
  if (!derived_attribute(profile, ordinal, attribute, &derived)) return false;
  *value = static_cast<int>(derived);
  return true;
}

size_t array_format_bytes(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return 4;
    default:
      return 0;
  }
}

bool valid_atomic_operations(const unsigned int* capabilities, const CUatomicOperation* operations,
                             unsigned int count) {
  if (capabilities == nullptr || operations == nullptr || count == 0) return false;
  for (unsigned int i = 0; i < count; ++i)
    if (operations[i] < 0 || operations[i] >= CU_ATOMIC_OPERATION_MAX) return false;
  return true;
}

}  // namespace maya::cuda
