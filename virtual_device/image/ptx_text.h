// Words and numbers of PTX text (PTX ISA, chapter 4). Untrusted input.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace maya::device {

class PtxTokens {
 public:
  explicit PtxTokens(std::string_view text) : text_(text) { advance(); }

  std::string_view now() const { return token_; }  // empty at the end
  bool at_end() const { return token_.empty(); }
  bool is(std::string_view token) const { return token_ == token; }
  void advance();
  bool take(std::string_view token) {
    if (token_ != token) return false;
    advance();
    return true;
  }
  std::string_view take() {
    const std::string_view taken = token_;
    advance();
    return taken;
  }

 private:
  void skip_blank();

  std::string_view text_, token_;
  size_t position_ = 0;
};

// Integer literal: decimal, 0x..., with an optional sign and an optional U at the end.
std::optional<uint64_t> ptx_number(std::string_view text);

// Literal of a value of `bytes` bytes: integers, 0f and 0d hexadecimal floats (their bits).
std::optional<uint64_t> ptx_value(std::string_view text, uint32_t bytes);

// Bytes of a type such as .u32, .b8, .f16x2, .pred; 0 when it is none.
uint32_t ptx_type_bytes(std::string_view type);

}  // namespace maya::device
