#include "test/trace/trace_files.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "trace_proto/maya_trace_fields.h"

namespace maya::test {

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "maya-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_file(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

std::string encoded(const proto::Packet& packet) {
  proto::Trace trace;
  *trace.add_packet() = packet;
  return trace.SerializeAsString();
}

proto::Packet chunk_header(uint32_t thread, uint32_t sequence, uint64_t time_ns, uint32_t chunk_bytes) {
  proto::Packet packet;
  proto::ChunkHeader* header = packet.mutable_chunk();
  header->set_magic(trace::fields::kChunkMagic);
  header->set_thread(thread);
  header->set_sequence(sequence);
  header->set_time_ns(time_ns);
  header->set_chunk_bytes(chunk_bytes);
  return packet;
}

proto::Packet process_header(uint32_t format) {
  proto::Packet packet;
  packet.mutable_process()->set_format(format);
  packet.mutable_process()->set_program("program");
  packet.mutable_process()->set_rank(-1);
  packet.mutable_process()->set_world_size(-1);
  return packet;
}

proto::Packet process_end() {
  proto::Packet packet;
  packet.mutable_end()->set_reason("exit");
  return packet;
}

proto::Packet launch(uint32_t configuration, uint32_t stream, uint32_t delta_ns) {
  proto::Packet packet;
  packet.set_launch(configuration);
  packet.set_stream(stream);
  packet.set_delta_ns(delta_ns);
  return packet;
}

namespace {

trace::Encoder in_packet(uint32_t field, const trace::Encoder& inner) {
  trace::Encoder fields;
  fields.message(field, inner);
  return fields;
}

}  // namespace

trace::Encoder header_fields() {
  trace::Encoder inner;
  inner.integer(trace::fields::ProcessHeader::kFormat, trace::fields::kFormatVersion);
  inner.text(trace::fields::ProcessHeader::kProgram, "program");
  return in_packet(trace::fields::Packet::kProcess, inner);
}

trace::Encoder end_fields(uint64_t packets_lost) {
  trace::Encoder inner;
  inner.integer(trace::fields::ProcessEnd::kPacketsLost, packets_lost);
  inner.text(trace::fields::ProcessEnd::kReason, "exit");
  return in_packet(trace::fields::Packet::kEnd, inner);
}

trace::Encoder string_fields(uint32_t id, const std::string& text) {
  trace::Encoder inner;
  inner.integer(trace::fields::InternedString::kId, id);
  inner.text(trace::fields::InternedString::kText, text);
  return in_packet(trace::fields::Packet::kString, inner);
}

namespace {

ReadResult read_from(trace::Reader* reader) {
  ReadResult result;
  trace::PacketView view;
  while (reader->next(&view)) {
    proto::Packet packet;
    if (!packet.ParseFromArray(view.bytes, static_cast<int>(view.size)))
      throw std::runtime_error("reader gave a bad packet");
    view.message = nullptr;
    view.bytes = nullptr;
    result.packets.push_back({view, packet});
  }
  result.status = reader->status();
  result.error = reader->error();
  result.complete = reader->complete();
  result.damage = reader->damage();
  result.unfinished_chunks = reader->unfinished_chunks();
  return result;
}

}  // namespace

ReadResult read_all(const std::string& bytes) {
  return read_from(trace::Reader::from_memory(bytes.data(), bytes.size()).get());
}

ReadResult read_all_of_file(const std::string& path) { return read_from(trace::Reader::open(path).get()); }

}  // namespace maya::test
