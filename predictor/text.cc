#include "predictor/text.h"

#include <algorithm>

namespace maya::predictor {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool alike(char a, char b) { return lower(a) == lower(b); }

// `*` stands for any text, `?` for one character. Goes back to the last star only, so the work is at most |name| *
// |pattern|.
bool glob(std::string_view name, std::string_view pattern) {
  size_t n = 0, p = 0, star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || alike(pattern[p], name[n]))) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

// The name without its template arguments and parameters: "at::native::reduce_kernel<...>".
std::string outline(std::string_view name) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  std::string out;
  int depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<' && ++depth == 1) out += "<...";
    if (depth == 0) {
      if (name.substr(i, kAnonymous.size()) == kAnonymous) {
        out += kAnonymous;
        i += kAnonymous.size() - 1;
        continue;
      }
      if (name[i] == '(') break;
      out += name[i];
    }
    if (name[i] == '>' && depth > 0 && --depth == 0) out += '>';
  }
  return out;
}

}  // namespace

std::string shorten(std::string_view name, size_t width) {
  constexpr std::string_view kReturnsNothing = "void ";
  if (name.size() > width && name.substr(0, kReturnsNothing.size()) == kReturnsNothing)
    name.remove_prefix(kReturnsNothing.size());
  if (name.size() <= width) return std::string(name);
  std::string out = outline(name);
  if (out.size() > width) out = width > 3 ? out.substr(0, width - 3) + "..." : out.substr(0, width);
  return out;
}

bool matches(std::string_view name, std::string_view pattern) {
  if (pattern.find_first_of("*?") != std::string_view::npos) return glob(name, pattern);
  return std::search(name.begin(), name.end(), pattern.begin(), pattern.end(), alike) != name.end() || pattern.empty();
}

}  // namespace maya::predictor
