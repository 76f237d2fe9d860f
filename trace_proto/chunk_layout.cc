#include "trace_proto/chunk_layout.h"

namespace maya::trace {

void pad(uint8_t* at, const uint8_t* end) {
  const size_t bytes = end - at;
  constexpr uint32_t kTag = fields::Packet::kPadding << 3 | 2;
  const auto put_wide = [](uint8_t* out, size_t value) {  // three bytes whatever the value
    *out++ = static_cast<uint8_t>(value) | 0x80;
    *out++ = static_cast<uint8_t>(value >> 7) | 0x80;
    *out++ = static_cast<uint8_t>(value >> 14);
    return out;
  };
  if (bytes < 128) {
    uint8_t* out = put_varint(at + 1, bytes - 2);
    out = put_varint(out, kTag);
    put_varint(out, bytes - 5);
  } else {
    uint8_t* out = put_wide(at + 1, bytes - 4);
    out = put_varint(out, kTag);
    put_wide(out, bytes - 9);
  }
  publish(at);
}

}  // namespace maya::trace
