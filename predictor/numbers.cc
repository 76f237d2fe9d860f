#include "predictor/numbers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>

namespace maya::predictor {

uint64_t whole_ns(double ns) {
  if (!(ns > 0)) return 0;
  if (ns >= static_cast<double>(kLongest_ns)) return kLongest_ns;
  return static_cast<uint64_t>(std::llround(ns));
}

uint64_t quantile(std::vector<uint64_t> values, double q) {
  if (values.empty()) return 0;
  const double rank = std::ceil(q * static_cast<double>(values.size())) - 1;
  const size_t index = std::min(values.size() - 1, static_cast<size_t>(std::max(0.0, rank)));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(index), values.end());
  return values[index];
}

uint64_t median(std::vector<uint64_t> values) { return quantile(std::move(values), 0.5); }

std::string bytes_for_people(uint64_t bytes) {
  static constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return (unit == 0 ? std::to_string(bytes) : fixed(value, 2)) + " " + kUnits[unit];
}

std::string fixed(double value, int digits) {
  if (!std::isfinite(value)) value = 0;
  std::array<char, 400> buffer;
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, digits).ptr;
  std::string text(buffer.data(), end);
  // A value that rounds to nothing has no sign.
  if (text.front() == '-' && text.find_first_not_of("-0.") == std::string::npos) text.erase(0, 1);
  return text;
}

uint64_t mix(uint64_t hash, const void* data, size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3ull;  // FNV-1a
  return mix(hash, size);
}

std::string grouped(double value) {
  static constexpr const char* kPrefixes[] = {"", " k", " M", " G", " T", " P"};
  size_t prefix = 0;
  while (value >= 1000 && prefix + 1 < std::size(kPrefixes)) {
    value /= 1000;
    ++prefix;
  }
  return fixed(value, prefix == 0 ? 0 : 2) + kPrefixes[prefix];
}

std::string with_commas(uint64_t value) {
  std::string text = std::to_string(value);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

}  // namespace maya::predictor
