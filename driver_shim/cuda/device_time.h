// Small helpers of the launch paths.
#pragma once

#include <cstdint>

namespace maya::cuda {

inline uint64_t whole_ns(double nanoseconds) { return nanoseconds > 0 ? static_cast<uint64_t>(nanoseconds + 0.5) : 0; }

// Odd constants of a multiplicative hash over independent words: successive multiples of 2^64 divided by the golden
// ratio, made odd.
inline constexpr uint64_t kMultipliers[] = {0x9e3779b97f4a7c15, 0x3c6ef372fe94f82b, 0xdaa66d2c7ddf743f,
                                            0x78dde6e5fd29f055, 0x1715609f7c746c69, 0xb54cda58fbbee87f,
                                            0x5384541287b06493, 0xf1bbcdcc05fae0a9};

}  // namespace maya::cuda
