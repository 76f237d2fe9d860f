// Arithmetic on sizes that callers give: what is too large stays the largest number, instead of coming out small or
// negative.
#pragma once

#include <cstdint>

namespace maya::shim {

inline uint64_t times(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

inline uint64_t plus(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

// For counts in records, which are signed.
inline int64_t counted(uint64_t count) {
  return count > static_cast<uint64_t>(INT64_MAX) ? INT64_MAX : static_cast<int64_t>(count);
}

// A count that was worked out in floating point; NaN and what is below zero: 0.
inline int64_t counted(double count) {
  constexpr double kAbove = 9223372036854775808.0;  // 2^63
  return count >= kAbove ? INT64_MAX : count > 0 ? static_cast<int64_t>(count) : 0;
}

// No memory holds more: virtual addresses have 57 bits at most, and so many bytes can be added up and multiplied by a
// few without a thought.
inline constexpr double kMostBytes = 1ull << 57;

}  // namespace maya::shim
