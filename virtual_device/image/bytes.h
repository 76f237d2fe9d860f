// Bounds-checked reads from bytes that nobody has checked yet.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace maya::device {

using Bytes = std::span<const uint8_t>;

// Copies a little-endian value at `offset`; false when it does not lie fully inside.
template <typename T>
bool read_at(Bytes bytes, uint64_t offset, T* value) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return false;
  std::memcpy(value, bytes.data() + offset, sizeof(T));
  return true;
}

// The part [offset, offset + count); empty when it does not lie fully inside.
inline Bytes slice(Bytes bytes, uint64_t offset, uint64_t count) {
  if (offset > bytes.size() || bytes.size() - offset < count) return {};
  return bytes.subspan(offset, count);
}

// The NUL-terminated string at `offset`; empty when there is none inside.
inline std::string_view string_at(Bytes bytes, uint64_t offset) {
  if (offset >= bytes.size()) return {};
  const char* begin = reinterpret_cast<const char*>(bytes.data()) + offset;
  const void* end = std::memchr(begin, 0, bytes.size() - offset);
  if (end == nullptr) return {};
  return {begin, static_cast<size_t>(static_cast<const char*>(end) - begin)};
}

}  // namespace maya::device
