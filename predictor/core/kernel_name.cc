#include "predictor/core/kernel_name.h"

#include <cxxabi.h>

#include <charconv>
#include <cstdlib>

namespace maya::model {
namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)";
constexpr size_t kNone = std::string_view::npos;

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

// Length of a token at `i` whose brackets do not nest: "(anonymous namespace)", "operator<", "->". 0 when there is
// none.
size_t opaque_token(std::string_view text, size_t i) {
  if (text[i] != '(' && text[i] != '-' && text[i] != 'o') return 0;
  std::string_view rest = text.substr(i);
  if (rest.starts_with(kAnonymous)) return kAnonymous.size();
  if (rest.starts_with("->")) return 2;
  constexpr std::string_view kOperator = "operator";
  if (rest.starts_with(kOperator) && (i == 0 || !is_word(text[i - 1])) && rest.size() > kOperator.size() &&
      !is_word(rest[kOperator.size()])) {
    size_t end = kOperator.size();
    if (rest.substr(end).starts_with("()")) return end + 2;
    while (end < rest.size() && std::string_view("<>=!+-*/%&|^~[],").find(rest[end]) != kNone) ++end;
    return end;
  }
  return 0;
}

// Takes the bracket that `c` closes, and what is left open inside, from those that are open. Expressions among template
// arguments are in parentheses, "((8)>(0))": there '<' and '>' are no brackets.
void close(char c, std::string* open) {
  if (c == '>') {
    if (!open->empty() && open->back() == '<') open->pop_back();
    return;
  }
  const char opening = c == ')' ? '(' : c == '}' ? '{' : c == ']' ? '[' : '\0';
  if (opening == '\0') return;
  if (const size_t at = open->rfind(opening); at != kNone) open->resize(at);
}

// Calls visit(i, depth) for each character outside opaque tokens until it returns false; depth counts open brackets of
// any kind before it.
template <typename Visit>
void walk(std::string_view text, Visit visit) {
  std::string open;
  for (size_t i = 0; i < text.size(); ++i) {
    if (size_t length = opaque_token(text, i)) {
      i += length - 1;
      continue;
    }
    const char c = text[i];
    close(c, &open);
    if (!visit(i, static_cast<int>(open.size()))) return;
    if (c == '<' || c == '(' || c == '{' || c == '[') open.push_back(c);
  }
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  walk(text, [&](size_t i, int depth) {
    if (text[i] == ',' && depth == 0) {
      parts.push_back(trim(text.substr(begin, i - begin)));
      begin = i + 1;
    }
    return true;
  });
  if (!trim(text.substr(begin)).empty()) parts.push_back(trim(text.substr(begin)));
  return parts;
}

struct TypeName {
  std::string_view name;
  DataType type;
};
constexpr TypeName kTypeNames[] = {
    {"float", DataType::kFloat32},
    {"double", DataType::kFloat64},
    {"BFloat16", DataType::kBfloat16},
    {"__nv_bfloat16", DataType::kBfloat16},
    {"bfloat16_t", DataType::kBfloat16},
    {"Half", DataType::kFloat16},
    {"__half", DataType::kFloat16},
    {"half", DataType::kFloat16},
    {"half_t", DataType::kFloat16},
    {"Float8_e4m3fn", DataType::kFloat8E4m3},
    {"__nv_fp8_e4m3", DataType::kFloat8E4m3},
    {"float_e4m3_t", DataType::kFloat8E4m3},
    {"Float8_e5m2", DataType::kFloat8E5m2},
    {"__nv_fp8_e5m2", DataType::kFloat8E5m2},
    {"float_e5m2_t", DataType::kFloat8E5m2},
    {"long", DataType::kInt64},
    {"int", DataType::kInt32},
    {"short", DataType::kInt16},
    {"bool", DataType::kBool},
    {"char", DataType::kInt8},
    {"unsigned", DataType::kInt32},
    {"signed", DataType::kInt32},
    {"float2", DataType::kComplex64},
};

DataType word_type(std::string_view word) {
  for (const TypeName& entry : kTypeNames)
    if (entry.name == word) return entry.type;
  return DataType::kNone;
}

}  // namespace

KernelName parse_kernel_name(std::string_view demangled) {
  demangled = trim(demangled);
  KernelName name;
  size_t begin = 0, template_begin = kNone, template_end = kNone, call_begin = kNone, call_end = kNone;
  walk(demangled, [&](size_t i, int depth) {
    const char c = demangled[i];
    if (depth != 0) return true;
    if (c == ' ') {  // what came before is the return type
      begin = i + 1;
      template_begin = template_end = kNone;
    } else if (c == ':' && template_end != kNone) {  // the arguments belonged to an enclosing class
      template_begin = template_end = kNone;
    } else if (c == '<') {
      template_begin = i;
    } else if (c == '>') {
      template_end = i;
    } else if (c == '(') {
      call_begin = i;
      return false;
    }
    return true;
  });
  if (call_begin != kNone) {
    walk(demangled.substr(call_begin), [&](size_t i, int depth) {
      if (i > 0 && depth == 0 && demangled[call_begin + i] == ')') {
        call_end = call_begin + i;
        return false;
      }
      return true;
    });
  }
  size_t end = template_begin != kNone && template_end != kNone ? template_begin : call_begin;
  name.qualified = demangled.substr(begin, end == kNone ? kNone : end - begin);
  name.leaf = name.qualified;
  walk(name.qualified, [&](size_t i, int depth) {
    if (depth == 0 && name.qualified[i] == ':') name.leaf = name.qualified.substr(i + 1);
    return true;
  });
  if (template_begin != kNone && template_end != kNone)
    name.template_arguments = split(demangled.substr(template_begin + 1, template_end - template_begin - 1));
  if (call_end != kNone) name.parameters = split(demangled.substr(call_begin + 1, call_end - call_begin - 1));
  return name;
}

std::string_view inside(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '<' || c == '(' || c == '{') ++depth;
    if ((c == '>' && text[i - 1] != '-') || c == ')' || c == '}') --depth;
    if (depth == 0) return text.substr(open + 1, i - open - 1);
  }
  return {};
}

std::string demangle(std::string_view mangled) {
  std::string text(mangled);
  if (!mangled.starts_with("_Z")) return text;
  int status = 0;
  char* demangled = abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status);
  if (demangled == nullptr) return text;
  text = demangled;
  std::free(demangled);
  return text;
}

long number_in(std::string_view argument, long otherwise) {
  if (argument.starts_with('(')) {  // "(int)128", "(bool)1"
    size_t close = argument.find(')');
    if (close != kNone) argument.remove_prefix(close + 1);
  }
  if (argument == "true") return 1;
  if (argument == "false") return 0;
  long number = 0;
  auto [end, status] = std::from_chars(argument.data(), argument.data() + argument.size(), number);
  if (status != std::errc()) return otherwise;
  for (; end != argument.data() + argument.size(); ++end)
    if (*end != 'u' && *end != 'l') return otherwise;
  return number;
}

DataType first_type_in(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    if (!is_word(text[i])) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    std::string_view word = text.substr(i, end - i), rest = text.substr(end);
    if (word == "complex" && rest.starts_with("<float>")) return DataType::kComplex64;
    if (word == "complex" && rest.starts_with("<double>")) return DataType::kComplex128;
    if (word == "unsigned" && rest.starts_with(" char")) return DataType::kUint8;
    if (word == "unsigned" && rest.starts_with(" long")) return DataType::kInt64;
    if (word == "unsigned" && rest.starts_with(" short")) return DataType::kInt16;
    if (word == "signed" && rest.starts_with(" char")) return DataType::kInt8;
    // A cast in front of a number, "(int)128", names no element type.
    const bool cast = i > 0 && text[i - 1] == '(' && rest.starts_with(")") && rest.size() > 1 &&
                      ((rest[1] >= '0' && rest[1] <= '9') || rest[1] == '-');
    DataType type = word_type(word);
    if (type != DataType::kNone && !cast) return type;
    i = end;
  }
  return DataType::kNone;
}

DataType type_named(std::string_view text) {
  // Only a plain name, possibly qualified, const and a pointer or reference.
  if (text.find_first_of("<({") != kNone && !text.starts_with("c10::complex<")) return DataType::kNone;
  return first_type_in(text);
}

uint32_t element_bytes_in(std::string_view text) {
  constexpr std::string_view kOpaque = "OpaqueType<";
  size_t opaque = text.find(kOpaque);
  if (opaque != kNone) {
    std::string_view size = text.substr(opaque + kOpaque.size());
    return static_cast<uint32_t>(number_in(size.substr(0, size.find('>')), 0));
  }
  return data_type_bits(first_type_in(text)) / 8;
}

}  // namespace maya::model
