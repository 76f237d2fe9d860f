#include "trace_proto/wire.h"

#include <string.h>

#include <algorithm>

#include "trace_proto/maya_trace_fields.h"

namespace maya::trace {
namespace {

constexpr uint8_t kPacketTag = fields::Trace::kPacket << 3 | 2;
constexpr uint8_t kChunkTag = fields::Packet::kChunk << 3 | 2;
constexpr uint8_t kPackedTag = fields::Packet::kPacked << 3 | 2;
constexpr uint8_t kHeaderMagic[5] = {fields::ChunkHeader::kMagic << 3 | 5, 'M', 'A', 'Y', 'A'};
constexpr uint8_t kFrameMagic[4] = {0x28, 0xb5, 0x2f, 0xfd};  // RFC 8878 section 3.1.1
constexpr int kMostLength_bytes = 4;                          // of a packet of 16 MiB

// The start of a packed packet whose frame begins at `frame`; null when there is none at or after `least`.
const uint8_t* packed_start(const uint8_t* frame, const uint8_t* least, const uint8_t* end) {
  const uint8_t* earliest = frame - std::min<ptrdiff_t>(frame - least, 2 * (1 + kMostLength_bytes));
  for (const uint8_t* at = earliest; at + 4 <= frame; ++at) {
    if (!is_packed_packet(at, end)) continue;
    uint64_t length = 0;
    const uint8_t* inner = get_varint(at + 1, end, &length);
    if (get_varint(inner + 1, end, &length) == frame) return at;
  }
  return nullptr;
}

}  // namespace

bool is_chunk_header(const uint8_t* at, const uint8_t* end) {
  return end - at >= 9 && at[0] == kPacketTag && at[2] == kChunkTag && at[1] < 0x80 && at[3] < 0x80 &&
         at[1] >= at[3] + 2 && memcmp(at + 4, kHeaderMagic, sizeof kHeaderMagic) == 0;
}

bool is_packed_packet(const uint8_t* at, const uint8_t* end) {
  if (at >= end || *at != kPacketTag) return false;
  uint64_t outer = 0;
  uint64_t inner = 0;
  const uint8_t* field = get_varint(at + 1, end, &outer);
  if (field == nullptr || field >= end || *field != kPackedTag) return false;
  const uint8_t* frame = get_varint(field + 1, end, &inner);
  return frame != nullptr && end - frame >= static_cast<ptrdiff_t>(sizeof kFrameMagic) &&
         outer == inner + static_cast<uint64_t>(frame - field) && memcmp(frame, kFrameMagic, sizeof kFrameMagic) == 0;
}

const uint8_t* find_packet_start(const uint8_t* at, const uint8_t* end) {
  const uint8_t* header = nullptr;
  for (const uint8_t* from = at; header == nullptr && from < end;) {
    const auto* magic = static_cast<const uint8_t*>(memmem(from, end - from, kHeaderMagic, sizeof kHeaderMagic));
    if (magic == nullptr) break;
    if (magic - at >= 4 && is_chunk_header(magic - 4, end)) header = magic - 4;
    from = magic + 1;
  }
  const uint8_t* before = header != nullptr ? header : end;
  for (const uint8_t* from = at; from < before;) {
    const auto* magic = static_cast<const uint8_t*>(memmem(from, before - from, kFrameMagic, sizeof kFrameMagic));
    if (magic == nullptr) break;
    if (const uint8_t* start = packed_start(magic, at, end)) return start;
    from = magic + 1;
  }
  return header;
}

bool may_begin_trace(const uint8_t* at, const uint8_t* end) {
  if (at >= end || at[0] != kPacketTag) return false;
  if (is_chunk_header(at, end) || is_packed_packet(at, end)) return true;
  const size_t size = end - at;
  if (size >= 9) return false;
  if (size == 1 || (size == 2 && at[1] != 0)) return true;
  if (size >= 3 && at[2] == kChunkTag) return size < 5 || memcmp(at + 4, kHeaderMagic, size - 4) == 0;
  uint64_t length = 0;
  const uint8_t* field = get_varint(at + 1, end, &length);
  return field == nullptr || field >= end || *field == kPackedTag;
}

}  // namespace maya::trace
