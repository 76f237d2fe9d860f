// Bounded decoding of the protobuf wire format, and recognition of packets that can be found again after damage.
#pragma once

#include <cstddef>
#include <cstdint>

namespace maya::trace {

// Reads a varint of at most 10 bytes. Returns the byte after it, null when it is not whole before `end`.
inline const uint8_t* get_varint(const uint8_t* at, const uint8_t* end, uint64_t* value) {
  if (at < end && *at < 0x80) {
    *value = *at;
    return at + 1;
  }
  uint64_t result = 0;
  for (int shift = 0; shift < 70 && at < end; shift += 7) {
    const uint8_t byte = *at++;
    if (shift < 64) result |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *value = result;
      return at;
    }
  }
  return nullptr;
}

// True when a chunk header as the writer lays it out begins at `at`: 0a LL 42 LL 0d "MAYA".
bool is_chunk_header(const uint8_t* at, const uint8_t* end);
// True when a packed packet begins at `at`: 0a LEN 3a LEN, zstd's magic number.
bool is_packed_packet(const uint8_t* at, const uint8_t* end);
// The first place in [at, end) where one of the two begins; null when there is none.
const uint8_t* find_packet_start(const uint8_t* at, const uint8_t* end);
// True when [at, end) is a beginning, however short, of a chunk header or of a packed packet.
bool may_begin_trace(const uint8_t* at, const uint8_t* end);

}  // namespace maya::trace
