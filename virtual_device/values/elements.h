// Known elements of one tensor, for effects that compute on values.
#pragma once

#include <cstdint>
#include <vector>

#include "virtual_device/values/effect.h"
#include "virtual_device/values/number.h"

namespace maya::device {

// Reads `count` elements at `address`. False when they are more than may be computed, or not all known.
inline bool read_elements(const Memory& memory, Address address, uint64_t count, ElementType type,
                          std::vector<uint8_t>* bytes) {
  const uint64_t element = element_bytes(type), most = most_bytes(type);
  return count <= most / element && memory.in_device_range(address) && memory.maybe_known(address) &&
         read_known(memory, address, count * element, bytes, most) && may_compute(type, count * element);
}

}  // namespace maya::device
