// Where parameters stand for the interpreter: (ordinal, offset within it) above all device addresses.
#pragma once

#include <cstdint>

namespace maya::device::ptx {

inline constexpr uint64_t kParameterBase = 0xffff'0000'0000'0000;
inline constexpr uint32_t kParameterShift = 16;

inline bool is_parameter(uint64_t address) { return address >= kParameterBase; }
inline uint32_t parameter_ordinal(uint64_t address) {
  return static_cast<uint32_t>((address - kParameterBase) >> kParameterShift);
}
inline uint32_t parameter_offset(uint64_t address) { return static_cast<uint32_t>(address & 0xffff); }

}  // namespace maya::device::ptx
