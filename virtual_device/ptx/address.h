// Where parameters stand for the interpreter: (ordinal, offset within it), above shared memory and below the memory of
// devices. In 32 bits, since compilers carry addresses of parameters in registers of that width.
#pragma once

#include <cstdint>

namespace maya::device::ptx {

inline constexpr uint64_t kParameterBase = 0xe000'0000;
inline constexpr uint64_t kParameterEnd = 0xf000'0000;
inline constexpr uint32_t kParameterShift = 16;
// Generic addresses from here on are device memory.
inline constexpr uint64_t kGlobalFrom = 1ull << 32;

inline bool is_parameter(uint64_t address) { return address >= kParameterBase && address < kParameterEnd; }
inline uint32_t parameter_ordinal(uint64_t address) {
  return static_cast<uint32_t>((address - kParameterBase) >> kParameterShift);
}
inline uint32_t parameter_offset(uint64_t address) { return static_cast<uint32_t>(address & 0xffff); }

}  // namespace maya::device::ptx
