// Numbers and texts in columns, for reports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "predictor/numbers.h"

namespace maya::predictor {

inline std::string left(std::string_view text, size_t width) {
  return std::string(text) + std::string(text.size() < width ? width - text.size() : 0, ' ');
}
inline std::string right(std::string_view text, size_t width) {
  return std::string(text.size() < width ? width - text.size() : 0, ' ') + std::string(text);
}
inline constexpr size_t kReportColumns = 100;
// Breaks a text at spaces, so that no line is longer than kReportColumns where its words allow it. The first line is
// indented by `first`, the others by `others`.
std::string wrapped(std::string_view text, size_t first, size_t others);

inline std::string ms(uint64_t ns) { return fixed(static_cast<double>(ns) / 1e6, 3); }
inline std::string percent(double share) { return fixed(share * 100, 1) + " %"; }

}  // namespace maya::predictor
