// Integer time and memory arithmetic that cannot overflow, whatever a trace claims.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace maya::predictor {

// No single host gap, call or device operation is taken to be longer (1000 s). With it, ten million of them still fit
// into 64 bits.
inline constexpr uint64_t kLongest_ns = 1'000'000'000'000;

// Nanoseconds of an estimate, rounded; NaN and negative values give 0, everything is capped at kLongest_ns.
uint64_t whole_ns(double ns);

inline uint64_t saturating_add(uint64_t a, uint64_t b) {
  return a > std::numeric_limits<uint64_t>::max() - b ? std::numeric_limits<uint64_t>::max() : a + b;
}
inline uint64_t saturating_subtract(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

// The element at quantile q (0..1) of the sorted values, nearest rank, so always one of them. 0 for an empty list.
// median(v) is the lower of two middle values: noise on a shared machine only ever adds time.
uint64_t quantile(std::vector<uint64_t> values, double q);
uint64_t median(std::vector<uint64_t> values);

// "81.6 GiB", "512 B".
std::string bytes_for_people(uint64_t bytes);
// Fixed notation with `digits` decimals, always with a point, never locale dependent. Not finite: 0.
std::string fixed(double value, int digits);

// "1,048,576".
std::string with_commas(uint64_t value);

// 64-bit mixing for hashes of operation sequences.
inline uint64_t mix(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ull + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdull;
  return hash ^ (hash >> 32);
}
uint64_t mix(uint64_t hash, const void* data, size_t size);

// With a prefix of the decimal system: "12.30 M", "7". A unit goes behind it.
std::string grouped(double value);

}  // namespace maya::predictor
