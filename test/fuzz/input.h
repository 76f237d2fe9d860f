// Reads operands of calls from a fuzzer's bytes: the first kMost_bytes of them, so that an input is a session of
// bounded length.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace maya::test {

class FuzzInput {
 public:
  static constexpr size_t kMost_bytes = 4096;

  FuzzInput(const uint8_t* data, size_t size) : at_(data), end_(data + std::min(size, kMost_bytes)) {}
  bool empty() const { return at_ == end_; }
  uint8_t byte() { return empty() ? 0 : *at_++; }
  // Small numbers mostly, and now and then eight bytes of anything.
  int64_t number() {
    constexpr uint8_t kWide = 255;
    const uint8_t first = byte();
    if (first != kWide) return first;
    uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8 | byte();
    return static_cast<int64_t>(value);
  }
  // Everything that is left.
  std::string rest() {
    std::string text(reinterpret_cast<const char*>(at_), static_cast<size_t>(end_ - at_));
    at_ = end_;
    return text;
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

}  // namespace maya::test
