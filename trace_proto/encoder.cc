#include "trace_proto/encoder.h"

namespace maya::trace {
namespace {

enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

constexpr size_t kMaxVarint_bytes = 10;

size_t varint_size(uint64_t value) {
  size_t bytes = 1;
  while (value >= 0x80) {
    value >>= 7;
    ++bytes;
  }
  return bytes;
}

uint64_t zigzag(int64_t value) { return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63); }

uint64_t tag(uint32_t field, WireType type) { return static_cast<uint64_t>(field) << 3 | type; }

// Length of the well-formed UTF-8 sequence at `text`, 0 when there is none (The Unicode Standard, table 3-7).
size_t utf8_sequence(const uint8_t* text, size_t size) {
  const uint8_t lead = text[0];
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xc2 && lead <= 0xdf   ? 2
                        : (lead & 0xf0) == 0xe0        ? 3
                        : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                       : 0;
  if (length == 0 || length > size) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((text[i] & 0xc0) != 0x80) return 0;
  }
  if ((lead == 0xe0 && text[1] < 0xa0) || (lead == 0xed && text[1] > 0x9f)) return 0;
  if ((lead == 0xf0 && text[1] < 0x90) || (lead == 0xf4 && text[1] > 0x8f)) return 0;
  return length;
}

}  // namespace

void Encoder::integer(uint32_t field, uint64_t value) {
  if (value == 0) return;
  if (size_ + 2 * kMaxVarint_bytes > kCapacity_bytes) {
    truncated_ = true;
    return;
  }
  uint8_t* out = put_varint(buffer_ + size_, tag(field, kVarint));
  size_ = put_varint(out, value) - buffer_;
}

void Encoder::sint(uint32_t field, int64_t value) { integer(field, zigzag(value)); }

void Encoder::fixed32(uint32_t field, uint32_t value) {
  if (value == 0) return;
  if (size_ + kMaxVarint_bytes + sizeof value > kCapacity_bytes) {
    truncated_ = true;
    return;
  }
  uint8_t* out = put_varint(buffer_ + size_, tag(field, kFixed32));
  std::memcpy(out, &value, sizeof value);
  size_ = out + sizeof value - buffer_;
}

void Encoder::fixed64(uint32_t field, uint64_t value) {
  if (value == 0) return;
  if (size_ + kMaxVarint_bytes + sizeof value > kCapacity_bytes) {
    truncated_ = true;
    return;
  }
  uint8_t* out = put_varint(buffer_ + size_, tag(field, kFixed64));
  std::memcpy(out, &value, sizeof value);
  size_ = out + sizeof value - buffer_;
}

void Encoder::number(uint32_t field, double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  fixed64(field, bits);
}

void Encoder::text(uint32_t field, std::string_view value) {
  if (value.empty()) return;
  if (size_ + 2 * kMaxVarint_bytes + value.size() > kCapacity_bytes) {
    truncated_ = true;
    if (size_ + 2 * kMaxVarint_bytes >= kCapacity_bytes) return;
    size_t keep = kCapacity_bytes - size_ - 2 * kMaxVarint_bytes;
    while (keep > 0 && (static_cast<uint8_t>(value[keep]) & 0xc0) == 0x80) --keep;
    value = value.substr(0, keep);
  }
  uint8_t* out = put_varint(buffer_ + size_, tag(field, kLengthDelimited));
  out = put_varint(out, value.size());
  const uint8_t* in = reinterpret_cast<const uint8_t*>(value.data());
  for (size_t i = 0; i < value.size();) {
    const size_t length = utf8_sequence(in + i, value.size() - i);
    if (length == 0) {
      *out++ = '?';
      ++i;
      continue;
    }
    for (size_t end = i + length; i < end; ++i) *out++ = in[i];
  }
  size_ = out - buffer_;
}

void Encoder::packed(uint32_t field, const uint64_t* values, size_t count) {
  if (count == 0) return;
  size_t bytes = 0;
  for (size_t i = 0; i < count; ++i) bytes += varint_size(values[i]);
  if (size_ + 2 * kMaxVarint_bytes + bytes > kCapacity_bytes) {
    truncated_ = true;
    return;
  }
  uint8_t* out = put_varint(buffer_ + size_, tag(field, kLengthDelimited));
  out = put_varint(out, bytes);
  for (size_t i = 0; i < count; ++i) out = put_varint(out, values[i]);
  size_ = out - buffer_;
}

void Encoder::packed_sint(uint32_t field, const int64_t* values, size_t count) {
  if (count == 0) return;
  size_t bytes = 0;
  for (size_t i = 0; i < count; ++i) bytes += varint_size(zigzag(values[i]));
  if (size_ + 2 * kMaxVarint_bytes + bytes > kCapacity_bytes) {
    truncated_ = true;
    return;
  }
  uint8_t* out = put_varint(buffer_ + size_, tag(field, kLengthDelimited));
  out = put_varint(out, bytes);
  for (size_t i = 0; i < count; ++i) out = put_varint(out, zigzag(values[i]));
  size_ = out - buffer_;
}

void Encoder::message(uint32_t field, const Encoder& inner) {
  truncated_ |= inner.truncated_;
  if (size_ + 2 * kMaxVarint_bytes + inner.size_ > kCapacity_bytes) {
    truncated_ = true;
    return;
  }
  uint8_t* out = put_varint(buffer_ + size_, tag(field, kLengthDelimited));
  out = put_varint(out, inner.size_);
  std::memcpy(out, inner.buffer_, inner.size_);
  size_ = out + inner.size_ - buffer_;
}

}  // namespace maya::trace
