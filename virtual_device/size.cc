#include "virtual_device/size.h"

#include <cctype>
#include <charconv>
#include <string>

namespace maya::device {

bool parse_size(std::string_view text, uint64_t* bytes) {
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !(number >= 0)) return false;  // not a number is no size
  std::string unit;
  for (const char* c = rest; c != text.data() + text.size(); ++c)
    unit += static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
  double factor = 1;
  if (!unit.empty() && unit != "b") {
    const size_t power = std::string_view("kmgt").find(unit[0]);
    if (power == std::string_view::npos) return false;
    const std::string_view ending = std::string_view(unit).substr(1);
    if (ending != "" && ending != "ib" && ending != "b") return false;
    for (size_t i = 0; i <= power; ++i) factor *= ending == "b" ? 1000 : 1024;
  }
  const double value = number * factor;
  if (value > 9.2e18) return false;
  *bytes = static_cast<uint64_t>(value);
  return true;
}

}  // namespace maya::device
