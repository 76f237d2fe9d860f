// CUdevice_attribute values, from the device profile.
#pragma once

#include <cuda.h>

#include <cstddef>

#include "virtual_device/profile.h"

namespace maya::cuda {

// False when `attribute` is not one of cuda.h's, or the profile does not say.
bool device_attribute(const device::DeviceProfile& profile, int ordinal, CUdevice_attribute attribute, int* value);

// Bytes of one channel of an array element; 0 for formats that are not plain integers or floating point numbers.
size_t array_format_bytes(CUarray_format format);

// Arguments of the queries for atomic capabilities: no null pointer, a count, and known operations.
bool valid_atomic_operations(const unsigned int* capabilities, const CUatomicOperation* operations, unsigned int count);

}  // namespace maya::cuda
