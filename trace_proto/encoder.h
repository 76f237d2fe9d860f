// Append-only protobuf encoder for one packet, on the stack, without third-party code. Wire format only: no schema
// knowledge.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace maya::trace {

inline uint8_t* put_varint(uint8_t* out, uint64_t value) {
  while (value >= 0x80) {
    *out++ = static_cast<uint8_t>(value) | 0x80;
    value >>= 7;
  }
  *out++ = static_cast<uint8_t>(value);
  return out;
}

// Encodes fields into a fixed buffer. A field that does not fit is left out whole and `truncated()` turns true.
// Zero values are left out, as proto3 does; an empty message is kept, because its presence says something.
class Encoder {
 public:
  static constexpr size_t kCapacity_bytes = 16384;

  void integer(uint32_t field, uint64_t value);  // uint32, uint64, int32 >= 0, bool, enum
  void sint(uint32_t field, int64_t value);      // sint64, sint32
  void fixed32(uint32_t field, uint32_t value);
  void fixed64(uint32_t field, uint64_t value);
  void number(uint32_t field, double value);
  void text(uint32_t field, std::string_view value);  // string; cut to what fits; bytes that are not UTF-8 become '?'
  void packed(uint32_t field, const uint64_t* values, size_t count);
  void packed_sint(uint32_t field, const int64_t* values, size_t count);
  void message(uint32_t field, const Encoder& inner);
  const uint8_t* data() const { return buffer_; }
  size_t size() const { return size_; }
  bool truncated() const { return truncated_; }

 private:
  size_t size_ = 0;
  bool truncated_ = false;
  uint8_t buffer_[kCapacity_bytes];
};

}  // namespace maya::trace
