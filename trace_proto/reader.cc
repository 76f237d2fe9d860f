#include "trace_proto/reader.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "trace_proto/inflate.h"
#include "trace_proto/input_bytes.h"
#include "trace_proto/maya_trace_fields.h"
#include "trace_proto/wire.h"

namespace maya::trace {
namespace {

constexpr uint8_t kPacketTag = fields::Trace::kPacket << 3 | 2;
constexpr size_t kMostFrame_bytes = 1 + 10;
constexpr size_t kMostDamageKept = 100;
constexpr size_t kSearchStep_bytes = 4 << 20;

// Fields with measurements and the group have numbers above 15: two bytes of tag, of which the first is kMeasurementTag
// plus 8 for each field after measured_ns.
constexpr uint8_t kMeasurementTag = (fields::Packet::kMeasuredNs << 3 & 0x7f) | 0x80;
constexpr uint8_t kMeasurementTagEnd = fields::Packet::kMeasuredNs >> 4;
constexpr int kMeasurements = 5;  // measured_ns, call_ns, start_ns, group, delay_ns
static_assert(fields::Packet::kCallNs == fields::Packet::kMeasuredNs + 1);
static_assert(fields::Packet::kStartNs == fields::Packet::kMeasuredNs + 2);
static_assert(fields::Packet::kGroup == fields::Packet::kMeasuredNs + 3);
static_assert(fields::Packet::kDelayNs == fields::Packet::kMeasuredNs + 4);

int64_t from_zigzag(uint64_t value) { return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1); }

// The plain fields of a packet: the hot kinds have no others.
struct PlainFields {
  uint32_t values[4] = {};  // launch, delta_ns, stream, operation
  uint64_t own_ns = 0;
  uint64_t wait_ns = 0;
  uint64_t measurements[kMeasurements] = {};  // as encoded
};

// False when there are other fields or damage: then the generated code decides.
bool decode_plain(const uint8_t* at, const uint8_t* end, PlainFields* out) {
  while (at < end) {
    const uint8_t tag = *at++;
    uint64_t value = 0;
    if ((tag & 0x87) != 0) {
      const uint32_t measurement = static_cast<uint32_t>(tag - kMeasurementTag) >> 3;
      if ((tag & 0x87) != 0x80 || measurement >= kMeasurements || at >= end || *at != kMeasurementTagEnd) return false;
      at = get_varint(at + 1, end, &out->measurements[measurement]);
      if (at == nullptr) return false;
      continue;
    }
    const uint32_t field = tag >> 3;
    if (field < fields::Packet::kLaunch || field > fields::Packet::kWaitNs) return false;
    at = get_varint(at, end, &value);
    if (at == nullptr) return false;
    if (field <= fields::Packet::kOperation) {
      out->values[field - 1] = static_cast<uint32_t>(value);
    } else {
      (field == fields::Packet::kOwnNs ? out->own_ns : out->wait_ns) = value;
    }
  }
  return true;
}

}  // namespace

struct Reader::Impl {
  google::protobuf::LogSilencer silence;  // damage is reported by us, not on standard error by the library
  InputBytes input;
  ReadStatus status = ReadStatus::kOk;
  std::string error;
  std::string path;

  size_t position = 0;            // of the next packet in the file
  std::vector<uint8_t> inflated;  // content of the packed packet being read
  size_t inner_position = 0;
  uint64_t outer_offset = 0;  // of that packed packet
  bool inside_packed = false;

  bool in_chunk = false;
  uint64_t chunk_left_bytes = 0;
  uint64_t time_ns = 0;
  uint32_t thread = 0;
  int64_t process = -1;
  bool ended = false;     // the current process
  bool all_ended = true;  // of those before it
  proto::Packet message;

  std::vector<Damage> damage;
  uint64_t damage_count = 0;
  uint64_t packets = 0;
  uint64_t chunks = 0;
  uint64_t unfinished_chunks = 0;
  uint64_t padding_bytes = 0;
  bool packed = false;

  void fail(ReadStatus why, const std::string& what) {
    status = why;
    error = what;
  }
  void note_damage(uint64_t offset, const std::string& reason) {
    if (++damage_count <= kMostDamageKept) damage.push_back({offset, reason});
  }
  uint64_t offset() const { return inside_packed ? outer_offset : position; }
  void check_start();
  void restart();
  void seek_chunk(size_t skip);
  bool begin_packed(const uint8_t* body, size_t size, uint64_t at);
  bool take(const uint8_t* body, size_t size, PacketView* packet, std::string* reason);
  bool take_message(const uint8_t* body, size_t size, PacketView* packet, std::string* reason);
  bool next(PacketView* packet);
};

// Goes on at the next chunk or packed packet that begins at least `skip` bytes behind the current position.
void Reader::Impl::seek_chunk(size_t skip) {
  in_chunk = false;
  if (inside_packed) {
    const uint8_t* end = inflated.data() + inflated.size();
    const uint8_t* from = inflated.data() + std::min(inner_position + skip, inflated.size());
    const uint8_t* found = find_packet_start(from, end);
    inner_position = (found != nullptr ? found : end) - inflated.data();
    return;
  }
  for (size_t from = position + skip;;) {
    input.ensure(from + kSearchStep_bytes);
    const size_t until = std::min(from + kSearchStep_bytes, input.size());
    if (from >= until) break;
    if (const uint8_t* found = find_packet_start(input.data() + from, input.data() + until)) {
      position = found - input.data();
      return;
    }
    if (until == input.size()) break;
    from = until - 2 * kMostFrame_bytes;  // one may begin across the edge
    input.forget_before(from);
  }
  position = input.size();
}

// A packed packet's content is read as if it stood in the file.
bool Reader::Impl::begin_packed(const uint8_t* body, size_t size, uint64_t at) {
  uint64_t length = 0;
  const uint8_t* frame = get_varint(body + 1, body + size, &length);
  std::string reason;
  if (frame == nullptr || length != static_cast<uint64_t>(body + size - frame)) {
    reason = "a packed packet holds something else too";
  } else if (inflate(frame, length, Limits::kInflated_bytes, &inflated, &reason)) {
    packed = true;
    inside_packed = true;
    inner_position = 0;
    outer_offset = at;
    return true;
  }
  note_damage(at, reason);
  return false;
}

bool Reader::Impl::take_message(const uint8_t* body, size_t size, PacketView* packet, std::string* reason) {
  google::protobuf::io::CodedInputStream stream(body, static_cast<int>(size));
  stream.SetRecursionLimit(Limits::kNesting);
  message.Clear();
  if (!message.MergeFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    *reason = "the packet cannot be decoded";
    return false;
  }
  if (message.kind_case() == proto::Packet::kChunk) {
    const proto::ChunkHeader& header = message.chunk();
    if (header.magic() != fields::kChunkMagic) {
      *reason = "the chunk header has a wrong magic number";
      return false;
    }
    if (header.chunk_bytes() > Limits::kChunk_bytes) {
      *reason = "the chunk header names a chunk above 1 MiB";
      return false;
    }
    if (header.sequence() == 0 || process < 0) {
      all_ended = all_ended && (process < 0 || ended);
      ended = false;
      ++process;
    }
    in_chunk = true;
    chunk_left_bytes = header.chunk_bytes() != 0 ? header.chunk_bytes() : Limits::kChunk_bytes;
    thread = header.thread();
    time_ns = header.time_ns();
    ++chunks;
  } else if (!in_chunk) {
    *reason = "a packet stands outside a chunk";
    return false;
  } else if (message.kind_case() == proto::Packet::kProcess && message.process().format() > fields::kFormatVersion) {
    fail(ReadStatus::kNewerFormat, "trace format " + std::to_string(message.process().format()) +
                                       " is newer than this Maya reads (" + std::to_string(fields::kFormatVersion) +
                                       ")");
    return false;
  } else if (message.kind_case() == proto::Packet::kEnd) {
    ended = true;
  }
  time_ns += message.delta_ns();
  packet->launch = message.launch();
  packet->operation = message.operation();
  packet->stream = message.stream();
  packet->own_ns = message.own_ns();
  packet->wait_ns = message.wait_ns();
  packet->measured_ns = message.measured_ns();
  packet->call_ns = message.call_ns();
  packet->start_ns = message.start_ns();
  packet->group = message.group();
  packet->delay_ns = message.delay_ns();
  packet->message = &message;
  return true;
}

// False with a reason when the packet cannot be used.
inline bool Reader::Impl::take(const uint8_t* body, size_t size, PacketView* packet, std::string* reason) {
  PlainFields plain;
  if (!decode_plain(body, body + size, &plain)) {
    if (!take_message(body, size, packet, reason)) return false;
  } else {
    if (!in_chunk) {
      *reason = "a packet stands outside a chunk";
      return false;
    }
    time_ns += plain.values[1];
    packet->launch = plain.values[0];
    packet->stream = plain.values[2];
    packet->operation = plain.values[3];
    packet->own_ns = plain.own_ns;
    packet->wait_ns = plain.wait_ns;
    packet->measured_ns = plain.measurements[0];
    packet->call_ns = plain.measurements[1];
    packet->start_ns = from_zigzag(plain.measurements[2]);
    packet->group = static_cast<uint32_t>(plain.measurements[3]);
    packet->delay_ns = plain.measurements[4];
    packet->message = nullptr;
  }
  packet->time_ns = time_ns;
  packet->thread = thread;
  packet->process = static_cast<uint32_t>(process);
  packet->bytes = body;
  packet->size = size;
  return true;
}

bool Reader::Impl::next(PacketView* packet) {
  constexpr uint8_t kPackedTag = fields::Packet::kPacked << 3 | 2;
  constexpr uint8_t kPaddingTag[2] = {0xfa, 0x01};  // field 31, bytes
  while (status == ReadStatus::kOk) {
    if (inside_packed && inner_position >= inflated.size()) {
      inside_packed = false;
      in_chunk = false;
      continue;
    }
    if (!inside_packed) {
      input.forget_before(position);
      input.ensure(position + kMostFrame_bytes);
      if (position >= input.size()) return false;
    }
    const uint8_t* data = inside_packed ? inflated.data() : input.data();
    const size_t size = inside_packed ? inflated.size() : input.size();
    size_t& at = inside_packed ? inner_position : position;

    if (data[at] == 0) {  // nothing was published from here to the end of the chunk
      ++unfinished_chunks;
      seek_chunk(1);
      continue;
    }
    std::string reason;
    uint64_t length = 0;
    const uint8_t* body = nullptr;
    if (data[at] != kPacketTag) {
      reason = "no packet begins here";
    } else if (body = get_varint(data + at + 1, data + size, &length); body == nullptr) {
      reason = size - at < kMostFrame_bytes ? "the file is cut inside a packet" : "the packet's length is not a number";
    } else if (length > Limits::kPacket_bytes) {
      reason = "the packet is longer than 16 MiB";
    } else if (!(inside_packed ? length <= static_cast<uint64_t>(data + size - body)
                               : input.ensure(body - data + length))) {
      reason = "the file is cut inside a packet";
    } else {
      const size_t record_bytes = body - (data + at) + length;
      if (length >= 2 && body[0] == kPackedTag) {
        const uint64_t record_offset = offset();
        if (inside_packed) {
          reason = "packed packets inside packed packets";
        } else {
          position += record_bytes;
          in_chunk = false;
          begin_packed(body, length, record_offset);
          continue;
        }
      } else if (length >= 2 && body[0] == kPaddingTag[0] && body[1] == kPaddingTag[1]) {
        padding_bytes += record_bytes;
        at += record_bytes;
        continue;
      } else if (in_chunk && record_bytes > chunk_left_bytes && !is_chunk_header(data + at, data + size)) {
        reason = "the packet runs over the end of its chunk";
      } else {
        packet->offset = offset();
        if (take(body, length, packet, &reason)) {
          chunk_left_bytes -= std::min<uint64_t>(record_bytes, chunk_left_bytes);
          at += record_bytes;
          ++packets;
          return true;
        }
        if (status != ReadStatus::kOk) return false;
      }
    }
    note_damage(offset(), reason);
    seek_chunk(1);
  }
  return false;
}

void Reader::Impl::restart() {
  input.rewind();
  position = 0;
  inside_packed = in_chunk = ended = packed = false;
  all_ended = true;
  process = -1;
  damage.clear();
  damage_count = packets = chunks = unfinished_chunks = padding_bytes = 0;
}

// Decides whether this is a trace at all, and one that this reader knows.
void Reader::Impl::check_start() {
  if (input.size() == 0) return fail(ReadStatus::kEmpty, "the file is empty");
  input.ensure(kSearchStep_bytes);
  const uint8_t* begin = input.data();
  const uint8_t* end = begin + std::min(input.size(), kSearchStep_bytes);
  if (!may_begin_trace(begin, end)) {
    if (find_packet_start(begin, end) != nullptr || std::all_of(begin, end, [](uint8_t byte) { return byte == 0; })) {
      return fail(ReadStatus::kDamaged, "damaged before the first whole packet, at offset 0");
    }
    return fail(ReadStatus::kForeign, "not a Maya trace");
  }
  // The second packet is the process header, which tells the format.
  PacketView packet;
  if (!next(&packet)) {
    if (status == ReadStatus::kOk) {
      fail(ReadStatus::kDamaged,
           "damaged before the first whole packet, at offset " + std::to_string(damage.empty() ? 0 : damage[0].offset));
    }
  } else {
    next(&packet);
  }
  restart();
}

Reader::Reader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Reader::~Reader() = default;

std::unique_ptr<Reader> Reader::open(const std::string& path) {
  std::unique_ptr<Impl> impl(new Impl);
  impl->path = path;
  if (!impl->input.open(path)) {
    impl->fail(ReadStatus::kMissing, std::string("cannot be read: ") + std::strerror(errno));
  } else {
    impl->check_start();
  }
  return std::unique_ptr<Reader>(new Reader(std::move(impl)));
}

std::unique_ptr<Reader> Reader::from_memory(const void* data, size_t size) {
  std::unique_ptr<Impl> impl(new Impl);
  impl->input.use_memory(data, size);
  impl->check_start();
  return std::unique_ptr<Reader>(new Reader(std::move(impl)));
}

ReadStatus Reader::status() const { return impl_->status; }
const std::string& Reader::error() const { return impl_->error; }
bool Reader::next(PacketView* packet) { return impl_->next(packet); }
bool Reader::complete() const {
  return impl_->status == ReadStatus::kOk && impl_->process >= 0 && impl_->ended && impl_->all_ended &&
         impl_->damage_count == 0 && impl_->unfinished_chunks == 0;
}
const std::vector<Damage>& Reader::damage() const { return impl_->damage; }
uint64_t Reader::damage_count() const { return impl_->damage_count; }
uint64_t Reader::packets() const { return impl_->packets; }
uint64_t Reader::chunks() const { return impl_->chunks; }
uint64_t Reader::unfinished_chunks() const { return impl_->unfinished_chunks; }
uint64_t Reader::padding_bytes() const { return impl_->padding_bytes; }
uint64_t Reader::file_bytes() const { return impl_->input.size(); }
bool Reader::packed() const { return impl_->packed; }

}  // namespace maya::trace
