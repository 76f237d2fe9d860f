// Small helpers of the launch paths.
#pragma once

#include <cstdint>

namespace maya::cuda {

inline uint64_t whole_ns(double nanoseconds) { return nanoseconds > 0 ? static_cast<uint64_t>(nanoseconds + 0.5) : 0; }

// One step of a multiplicative hash; the constant is 2^64 divided by the golden ratio.
inline uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
  return hash ^ hash >> 32;
}

}  // namespace maya::cuda
