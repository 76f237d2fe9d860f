#include "trace_proto/pack.h"

#include <zstd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <random>

#include "test/trace/sample_trace.h"
#include "test/trace/trace_files.h"

using namespace maya::test;
using namespace maya::trace;

namespace {

// A file that the writer made: launches in a training loop's rhythm with jittered times.
std::string written_trace(const std::string& folder, int launches, uint64_t* unpacked_bytes) {
  std::string error;
  auto writer = Writer::create({folder, "run"}, &error);
  REQUIRE(writer != nullptr);
  std::mt19937 random(1);
  uint64_t time_ns = 1'000'000'000;
  writer->packet(header_fields(), time_ns);
  for (int i = 0; i < launches; ++i) {
    time_ns += 3000 + random() % 8000;
    if (i % 5 == 0)
      writer->operation(1 + i % 70, 7, time_ns);
    else
      writer->launch(1 + i % 400, 7, time_ns);
  }
  writer->packet(end_fields(), time_ns);
  const std::string path = writer->path();
  writer->finish();
  *unpacked_bytes = std::filesystem::file_size(path);
  return path;
}

void check_same(const ReadResult& a, const ReadResult& b) {
  CHECK(a.complete == b.complete);
  REQUIRE(a.packets.size() == b.packets.size());
  for (size_t i = 0; i < a.packets.size(); ++i) {
    REQUIRE(a.packets[i].view.time_ns == b.packets[i].view.time_ns);
    REQUIRE(a.packets[i].view.thread == b.packets[i].view.thread);
    REQUIRE(a.packets[i].packet.SerializeAsString() == b.packets[i].packet.SerializeAsString());
  }
}

std::string packed_packet(const std::string& content) {
  std::string frame(ZSTD_compressBound(content.size()), '\0');
  frame.resize(ZSTD_compress(frame.data(), frame.size(), content.data(), content.size(), 3));
  maya::proto::Packet packet;
  packet.set_packed(frame);
  return encoded(packet);
}

}  // namespace

TEST_CASE("at most 24 bytes a launch before packing, at most 12 after; nothing is lost") {
  TemporaryFolder folder;
  constexpr int kLaunches = 100'000;
  uint64_t unpacked_bytes = 0;
  const std::string path = written_trace(folder.path(), kLaunches, &unpacked_bytes);
  CHECK(static_cast<double>(unpacked_bytes) / kLaunches <= 24);
  const std::string packed = folder.path() + "/packed.pb";
  const PackResult result = pack(path, packed, false);
  INFO(result.error);
  REQUIRE(result.written);
  CHECK(result.output_bytes == std::filesystem::file_size(packed));
  CHECK(static_cast<double>(result.output_bytes) / kLaunches <= 12);
  CHECK(result.output_bytes * 2 < unpacked_bytes);
  check_same(read_all_of_file(path), read_all_of_file(packed));
  maya::proto::Trace whole;
  CHECK(whole.ParseFromString(read_file(packed)));
}

TEST_CASE("packing in place, again, and onto another file") {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/a.pb";
  write_file(path, golden_trace());
  const ReadResult before = read_all_of_file(path);
  REQUIRE(pack(path, path, false).written);
  check_same(before, read_all_of_file(path));
  REQUIRE(pack(path, path, false).written);
  check_same(before, read_all_of_file(path));
  const std::string other = folder.path() + "/b.pb";
  write_file(other, "precious");
  const PackResult refused = pack(path, other, false);
  CHECK_FALSE(refused.written);
  CHECK(refused.error.find("File exists") != std::string::npos);
  CHECK(read_file(other) == "precious");
  CHECK(pack(path, other, true).written);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 2);  // no temporary files left
}

TEST_CASE("an unfinished trace stays unfinished, a damaged one is refused, a concatenation is packed") {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/a.pb", out = folder.path() + "/b.pb";
  write_file(path, golden_trace() + std::string(5000, '\0'));
  REQUIRE(pack(path, out, true).written);
  CHECK_FALSE(read_all_of_file(out).complete);
  check_same(read_all_of_file(path), read_all_of_file(out));
  write_file(path, golden_trace() + golden_trace());
  REQUIRE(pack(path, out, true).written);
  check_same(read_all_of_file(path), read_all_of_file(out));
  const std::string good = read_file(out);
  write_file(path, golden_trace() + "xyz");
  const PackResult refused = pack(path, out, true);
  CHECK(refused.damaged);
  CHECK(refused.error == "damaged at offset " + std::to_string(golden_trace().size()) + ": no packet begins here");
  CHECK(read_file(out) == good);
  CHECK(pack(folder.path() + "/missing.pb", out, true).input == ReadStatus::kMissing);
  CHECK_FALSE(pack(path, "/nonexistent/out.pb", true).written);
}

TEST_CASE("packed packets concatenate with others; damage in one leaves the next readable") {
  const std::string one = golden_trace();
  const ReadResult mixed = read_all(packed_packet(one) + one + packed_packet(one));
  CHECK(mixed.complete);
  CHECK(mixed.packets.size() == 3 * read_all(one).packets.size());
  std::string bad = packed_packet(one);
  bad[bad.size() / 2] ^= 0x55;
  bad[bad.size() / 2 + 1] ^= 0x55;
  const ReadResult damaged = read_all(one + bad + packed_packet(one));
  CHECK(damaged.damage.size() >= 1);
  CHECK(damaged.damage[0].offset == one.size());
  CHECK(damaged.packets.size() >= 2 * read_all(one).packets.size());
}

TEST_CASE("hostile packed packets: a bomb, one in another, a cut frame, something beside it") {
  const std::string one = golden_trace();
  const auto first_damage = [&](const std::string& bytes) {
    const ReadResult read = read_all(one + bytes);
    return read.damage.empty() ? std::string() : read.damage[0].reason;
  };
  CHECK(first_damage(packed_packet(std::string(33 << 20, '\x0a'))) == "packed packets inflate beyond the limit");
  CHECK(first_damage(packed_packet(one + packed_packet(one))) == "packed packets inside packed packets");
  maya::proto::Packet cut;
  REQUIRE(maya::proto::Trace().ParseFromString(packed_packet(one)));
  cut.set_packed(packed_packet(one).substr(6, 60));
  CHECK(first_damage(encoded(cut)).rfind("packed packets", 0) == 0);
  const std::string frame = packed_packet(one);
  maya::proto::Trace parsed;
  REQUIRE(parsed.ParseFromString(frame));
  maya::proto::Packet twice = parsed.packet(0);
  twice.set_packed(twice.packed() + "tail");
  CHECK(first_damage(encoded(twice)) == "bytes follow the packed packets");
}
