#include "predictor/columns.h"

#include <algorithm>

namespace maya::predictor {

std::string wrapped(std::string_view text, size_t first, size_t others) {
  std::string out;
  for (size_t indent = first; !text.empty(); indent = others) {
    const size_t room = kReportColumns - indent;
    size_t length = text.size();
    if (length > room) {
      length = text.rfind(' ', room);
      if (length == std::string_view::npos || length == 0) length = std::min(text.find(' ', 1), text.size());
    }
    out += std::string(indent, ' ') + std::string(text.substr(0, length)) + "\n";
    text.remove_prefix(std::min(text.size(), length + 1));
  }
  return out;
}

}  // namespace maya::predictor
