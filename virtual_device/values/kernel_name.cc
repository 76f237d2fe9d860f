#include "virtual_device/values/kernel_name.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace maya::device {

namespace {

bool opens(char c) { return c == '(' || c == '<' || c == '{' || c == '['; }
bool closes(std::string_view text, size_t i) {
  const char c = text[i];
  if (c == '>') return i == 0 || text[i - 1] != '-';  // not the arrow of a trailing return type
  return c == ')' || c == '}' || c == ']';
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split_arguments(std::string_view list) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    if (opens(list[i])) ++depth;
    if (closes(list, i)) --depth;
    if (list[i] == ',' && depth == 0) {
      parts.push_back(trim(list.substr(start, i - start)));
      start = i + 1;
    }
  }
  const std::string_view last = trim(list.substr(start));
  if (!last.empty()) parts.push_back(last);
  return parts;
}

// Index of the bracket that the one at `end` closes; npos when there is none.
size_t matching_open(std::string_view text, size_t end) {
  int depth = 0;
  for (size_t i = end + 1; i-- > 0;) {
    if (closes(text, i)) ++depth;
    if (opens(text[i]) && --depth == 0) return i;
  }
  return std::string_view::npos;
}

std::string_view without_restrict(std::string_view type) {
  constexpr std::string_view kRestrict = " __restrict__";
  if (type.ends_with(kRestrict)) type.remove_suffix(kRestrict.size());
  return type;
}

// Length of what stands before the function's qualified name, such as "void " or "std::enable_if<..., void>::type ".
size_t return_type_bytes(std::string_view text) {
  int depth = 0;
  for (size_t i = text.size(); i-- > 0;) {
    if (closes(text, i)) ++depth;
    if (opens(text[i])) --depth;
    if (text[i] == ' ' && depth == 0) return i + 1;
  }
  return 0;
}

std::vector<std::string> to_strings(const std::vector<std::string_view>& views) { return {views.begin(), views.end()}; }

}  // namespace

KernelName parse_kernel_name(const std::string& mangled) {
  KernelName name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0 || demangled == nullptr) {
    name.function = mangled;
    return name;
  }
  std::string_view text = trim(demangled.get());
  if (text.ends_with(')')) {
    const size_t open = matching_open(text, text.size() - 1);
    if (open != std::string_view::npos) {
      name.parameters = to_strings(split_arguments(text.substr(open + 1, text.size() - open - 2)));
      text = trim(text.substr(0, open));
    }
  }
  if (text.ends_with('>')) {
    const size_t open = matching_open(text, text.size() - 1);
    if (open != std::string_view::npos) {
      name.template_arguments = to_strings(split_arguments(text.substr(open + 1, text.size() - open - 2)));
      text = trim(text.substr(0, open));
    }
  }
  name.function = text.substr(return_type_bytes(text));
  return name;
}

std::string_view cub_kernel(std::string_view function) {
  constexpr std::string_view kCub = "at_cuda_detail::cub::";
  if (!function.starts_with(kCub)) return {};
  return function.substr(function.rfind("::") + 2);
}

bool is_pointer_to_const(std::string_view type) { return without_restrict(type).ends_with(" const*"); }

std::string_view pointed_type(std::string_view type) {
  type = without_restrict(type);
  if (!type.ends_with('*')) return {};
  type.remove_suffix(1);
  constexpr std::string_view kConst = " const";
  if (type.ends_with(kConst)) type.remove_suffix(kConst.size());
  return type;
}

std::string_view template_base(std::string_view text) { return trim(text.substr(0, text.find('<'))); }

std::vector<std::string_view> template_arguments(std::string_view text) {
  const size_t open = text.find('<');
  text = trim(text);
  if (open == std::string_view::npos || !text.ends_with('>')) return {};
  return split_arguments(text.substr(open + 1, text.size() - open - 2));
}

std::vector<std::string_view> nested_arguments(std::string_view text, std::string_view name) {
  for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const size_t open = at + name.size();
    if (open >= text.size() || text[open] != '<') continue;
    int depth = 0;
    for (size_t i = open; i < text.size(); ++i) {
      if (opens(text[i])) ++depth;
      if (closes(text, i) && --depth == 0) return split_arguments(text.substr(open + 1, i - open - 1));
    }
  }
  return {};
}

bool lambda_arguments(std::string_view text, std::vector<std::string_view>* types) {
  text = trim(text);
  if (!text.ends_with('}')) return false;
  const size_t open = matching_open(text, text.size() - 1);
  if (open == std::string_view::npos) return false;
  const std::string_view lambda = text.substr(open);
  constexpr std::string_view kStart = "{lambda(";
  if (!lambda.starts_with(kStart)) return false;
  const size_t end = lambda.rfind(")#");
  if (end == std::string_view::npos || end < kStart.size()) return false;
  *types = split_arguments(lambda.substr(kStart.size(), end - kStart.size()));
  return true;
}

}  // namespace maya::device
