// Bytes inside a chunk: records, padding, publication.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace_proto/encoder.h"
#include "trace_proto/maya_trace_fields.h"

namespace maya::trace {

constexpr uint8_t kPacketTag = fields::Trace::kPacket << 3 | 2;
constexpr uint8_t kLaunchTag = fields::Packet::kLaunch << 3;
constexpr uint8_t kDeltaTag = fields::Packet::kDeltaNs << 3;
constexpr uint8_t kStreamTag = fields::Packet::kStream << 3;
constexpr uint8_t kOperationTag = fields::Packet::kOperation << 3;
constexpr uint8_t kEndTag = fields::Packet::kEnd << 3 | 2;
constexpr size_t kLeastPadding_bytes = 5;                      // 0a 03 fa 01 00
constexpr size_t kHotRecord_bytes = 2 + 3 * (1 + 5);           // tag, length, three uint32 fields
constexpr size_t kRecordFrame_bytes = 1 + 3 + 1 + 5 + 2 + 10;  // tag, length, delta_ns, delay_ns
constexpr size_t kChunkHeader_bytes = 64;                      // at most
constexpr uint64_t kMostDelta_ns = 0xffffffff;

// Makes the record whose other bytes are stored already visible: its first byte comes last.
inline void publish(uint8_t* tag) { __atomic_store_n(tag, kPacketTag, __ATOMIC_RELEASE); }

// Fills [at, end) with one packet that says nothing; at least kLeastPadding_bytes, which must be zero before.
void pad(uint8_t* at, const uint8_t* end);

inline uint8_t* put_delta(uint8_t* out, uint64_t delta_ns) {
  *out++ = kDeltaTag;
  return put_varint(out, delta_ns);
}

}  // namespace maya::trace
