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

// Namespaces that say nothing to who looks for what takes time.
constexpr std::string_view kPlainNamespaces[] = {
    "(anonymous namespace)::", "at_cuda_detail::", "at::native::", "at::cuda::", "at::", "c10::", "std::", "cub::"};

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

// The name without return type, parameters and plain namespaces: "vectorized_elementwise_kernel<4, FillFunctor<float>,
// array<char*, 1ul> >".
std::string outline(std::string_view name) {
  constexpr std::string_view kReturnsNothing = "void ";
  if (name.substr(0, kReturnsNothing.size()) == kReturnsNothing) name.remove_prefix(kReturnsNothing.size());
  std::string out;
  int depth = 0;
  for (size_t i = 0; i < name.size();) {
    const bool word_begins = out.empty() || !(is_word(out.back()) || out.back() == ':');
    const auto plain = std::find_if(std::begin(kPlainNamespaces), std::end(kPlainNamespaces),
                                    [&](std::string_view space) { return name.substr(i, space.size()) == space; });
    if (word_begins && plain != std::end(kPlainNamespaces)) {
      i += plain->size();
      continue;
    }
    if (name[i] == '<') ++depth;
    if (name[i] == '>' && depth > 0) --depth;
    if (name[i] == '(' && depth == 0) break;
    out += name[i++];
  }
  return out;
}

}  // namespace

std::string shorten(std::string_view name, size_t width) {
  if (name.size() <= width) return std::string(name);
  std::string out = outline(name);
  if (out.empty()) out = name;
  if (out.size() > width) out = width > 3 ? out.substr(0, width - 3) + "..." : out.substr(0, width);
  return out;
}

bool matches(std::string_view name, std::string_view pattern) {
  if (pattern.find_first_of("*?") != std::string_view::npos) return glob(name, pattern);
  return std::search(name.begin(), name.end(), pattern.begin(), pattern.end(), alike) != name.end() || pattern.empty();
}

}  // namespace maya::predictor
