#include "virtual_device/image/ptx_text.h"

#include <algorithm>
#include <charconv>

namespace maya::device {

namespace {

bool word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         c == '%' || c == '.' || c == '-' || c == '+';
}

}  // namespace

void PtxTokens::advance() {
  skip_blank();
  const size_t start = position_;
  if (start >= text_.size()) {
    token_ = {};
    return;
  }
  const char first = text_[start];
  if (first == '"') {
    ++position_;
    while (position_ < text_.size() && text_[position_] != '"') ++position_;
    if (position_ < text_.size()) ++position_;
  } else if (word(first)) {
    while (position_ < text_.size() && word(text_[position_])) ++position_;
  } else {
    ++position_;
  }
  token_ = text_.substr(start, position_ - start);
}

void PtxTokens::skip_blank() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++position_;
    } else if (text_.substr(position_, 2) == "//") {
      position_ = std::min(text_.size(), text_.find('\n', position_));
    } else if (text_.substr(position_, 2) == "/*") {
      const size_t end = text_.find("*/", position_ + 2);
      position_ = end == std::string_view::npos ? text_.size() : end + 2;
    } else {
      return;
    }
  }
}

std::optional<uint64_t> ptx_number(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (!text.empty() && (text.back() == 'U' || text.back() == 'u')) text.remove_suffix(1);
  int base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    base = 16;
    text.remove_prefix(2);
  }
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return negative ? 0 - value : value;
}

std::optional<uint64_t> ptx_value(std::string_view text, uint32_t bytes) {
  if (text.size() == 10 && (text.starts_with("0f") || text.starts_with("0F")) && bytes == 4) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
    if (error == std::errc() && end == text.data() + text.size()) return value;
    return std::nullopt;
  }
  if (text.size() == 18 && (text.starts_with("0d") || text.starts_with("0D")) && bytes == 8) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
    if (error == std::errc() && end == text.data() + text.size()) return value;
    return std::nullopt;
  }
  return ptx_number(text);
}

uint32_t ptx_type_bytes(std::string_view type) {
  if (type.size() < 3 || type[0] != '.') return 0;
  const std::string_view name = type.substr(1);
  if (name == "f16x2") return 4;
  if (name == "pred") return 1;
  if (name == "texref" || name == "samplerref" || name == "surfref") return 8;
  if (name[0] != 'u' && name[0] != 's' && name[0] != 'b' && name[0] != 'f') return 0;
  const std::string_view bits = name.substr(1);
  if (bits == "8") return 1;
  if (bits == "16") return 2;
  if (bits == "32") return 4;
  if (bits == "64") return 8;
  if (bits == "128") return 16;
  return 0;
}

}  // namespace maya::device
