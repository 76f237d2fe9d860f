// Trace files for tests: temporary folders, hand-made bytes, and traces written by the real writer.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trace_proto/encoder.h"
#include "trace_proto/maya_trace.pb.h"
#include "trace_proto/reader.h"
#include "trace_proto/writer.h"

namespace maya::test {

// A folder of its own, removed with what is in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& bytes);

// Packets as they stand in a file.
std::string encoded(const proto::Packet& packet);
proto::Packet chunk_header(uint32_t thread, uint32_t sequence, uint64_t time_ns, uint32_t chunk_bytes = 65536);
proto::Packet process_header(uint32_t format = 1);
proto::Packet process_end();
proto::Packet launch(uint32_t configuration, uint32_t stream, uint32_t delta_ns);

// Encoded fields of small packets for Writer::packet().
trace::Encoder header_fields();
trace::Encoder end_fields(uint64_t packets_lost = 0);
trace::Encoder string_fields(uint32_t id, const std::string& text);

// What a reader gave: a copy of every packet, in order.
struct ReadPacket {
  trace::PacketView view;  // without message and bytes
  proto::Packet packet;
};
struct ReadResult {
  trace::ReadStatus status;
  std::string error;
  bool complete;
  std::vector<trace::Damage> damage;
  std::vector<ReadPacket> packets;
  uint64_t unfinished_chunks;
};
ReadResult read_all(const std::string& bytes);
ReadResult read_all_of_file(const std::string& path);

}  // namespace maya::test
