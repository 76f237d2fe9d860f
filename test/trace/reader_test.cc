#include "trace_proto/reader.h"

#include <catch2/catch.hpp>

#include "test/trace/trace_files.h"

using namespace maya::test;
using maya::trace::ReadStatus;

namespace {

std::string small_trace() {
  return encoded(chunk_header(0, 0, 1000)) + encoded(process_header()) + encoded(launch(1, 0, 5)) +
         encoded(process_end());
}

}  // namespace

TEST_CASE("inputs that cannot be used are told apart") {
  TemporaryFolder folder;
  CHECK(read_all_of_file(folder.path() + "/missing.pb").status == ReadStatus::kMissing);
  CHECK(read_all_of_file(folder.path()).status == ReadStatus::kMissing);
  CHECK(read_all("").status == ReadStatus::kEmpty);
  CHECK(read_all("#!/bin/sh\necho hello\n").status == ReadStatus::kForeign);
  CHECK(read_all(std::string("\x7f"
                             "ELF\x02\x01\x01",
                             7))
            .status == ReadStatus::kForeign);
  CHECK(read_all(std::string(1 << 20, '\0')).status == ReadStatus::kDamaged);
  CHECK(read_all(small_trace().substr(0, 12)).status == ReadStatus::kDamaged);
  CHECK(read_all("x" + small_trace()).status == ReadStatus::kDamaged);
  const ReadResult newer =
      read_all(encoded(chunk_header(0, 0, 1)) + encoded(process_header(2)) + encoded(launch(1, 0, 5)));
  CHECK(newer.status == ReadStatus::kNewerFormat);
  CHECK(newer.error == "trace format 2 is newer than this Maya reads (1)");
  CHECK(newer.packets.empty());
}

TEST_CASE("concatenated files are read as processes one after the other") {
  const ReadResult read = read_all(small_trace() + small_trace());
  CHECK(read.complete);
  REQUIRE(read.packets.size() == 8);
  CHECK(read.packets[3].view.process == 0);
  CHECK(read.packets[4].view.process == 1);
  const std::string open_end = encoded(chunk_header(0, 0, 1000)) + encoded(process_header());
  CHECK_FALSE(read_all(open_end + small_trace()).complete);
  CHECK_FALSE(read_all(small_trace() + open_end).complete);
}

TEST_CASE("an unfinished chunk ends at its first zero byte and the next chunk is found") {
  const std::string first = encoded(chunk_header(0, 0, 1000)) + encoded(process_header()) + encoded(launch(1, 0, 5));
  const std::string torn = std::string("\0\x06\x08\x07", 4) + std::string(500, '\0');  // a body without its tag
  const std::string second = encoded(chunk_header(1, 1, 2000)) + encoded(launch(2, 0, 1));
  const ReadResult read = read_all(first + torn + second + std::string(100'000, '\0'));
  CHECK(read.status == ReadStatus::kOk);
  CHECK_FALSE(read.complete);
  CHECK(read.damage.empty());
  CHECK(read.unfinished_chunks == 2);
  REQUIRE(read.packets.size() == 5);
  CHECK(read.packets[4].view.launch == 2);
  CHECK(read.packets[4].view.time_ns == 2001);
  CHECK(read.packets[4].view.thread == 1);
}

TEST_CASE("damage ends its chunk, is reported with its offset, and the next chunk is read") {
  const std::string head = encoded(chunk_header(0, 0, 1000)) + encoded(process_header()) + encoded(launch(1, 0, 5));
  const std::string second = encoded(chunk_header(1, 1, 2000)) + encoded(launch(2, 0, 1)) + encoded(process_end());
  const auto check = [&](const std::string& damage, const std::string& reason) {
    INFO(reason);
    const ReadResult read = read_all(head + damage + encoded(launch(77, 0, 1)) + second);
    CHECK(read.status == ReadStatus::kOk);
    CHECK_FALSE(read.complete);
    REQUIRE(read.damage.size() == 1);
    CHECK(read.damage[0].offset == head.size());
    CHECK(read.damage[0].reason == reason);
    CHECK(read.packets.size() == 6);
  };
  check("\x12\x00", "no packet begins here");
  check("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "the packet's length is not a number");
  check("\x0a\x81\x80\x80\x08", "the packet is longer than 16 MiB");  // 16 MiB + 1
  check("\x0a\x80\x80\x80\x02", "the file is cut inside a packet");   // 4 MiB that are not there
  check("\x0a\x02\x5a\x05", "the packet cannot be decoded");          // a string longer than its packet
  check(std::string("\x0a\x05\x5a\x03\x12\x01\xff", 7), "the packet cannot be decoded");  // a string that is not UTF-8
}

TEST_CASE("limits: chunk of 1 MiB, nesting of 16, packets inside their chunk") {
  const auto first_damage = [](const std::string& bytes) {
    const ReadResult read = read_all(bytes);
    return read.damage.empty() ? std::string() : read.damage[0].reason;
  };
  const std::string good = encoded(chunk_header(0, 0, 1));
  CHECK(first_damage(good + encoded(chunk_header(0, 1, 1, 1 << 20)) + encoded(launch(1, 0, 0))).empty());
  CHECK(first_damage(good + encoded(chunk_header(0, 1, 1, (1 << 20) + 1)) + encoded(launch(1, 0, 0))) ==
        "the chunk header names a chunk above 1 MiB");
  CHECK(first_damage(encoded(chunk_header(0, 0, 1, 50)) + encoded(process_header()) + std::string(100, ' ')) ==
        "the packet runs over the end of its chunk");
  // Groups of an unknown field, one inside the other: 100 << 3 | 3 begins one, 100 << 3 | 4 ends it.
  const auto nested = [](int depth) {
    std::string body;
    for (int i = 0; i < depth; ++i) body += "\xa3\x06";
    for (int i = 0; i < depth; ++i) body += "\xa4\x06";
    return "\x0a" + std::string(1, static_cast<char>(body.size())) + body;
  };
  CHECK(first_damage(good + nested(15)).empty());
  CHECK(first_damage(good + nested(17)) == "the packet cannot be decoded");
}

TEST_CASE("a wrong magic number is no chunk") {
  maya::proto::Packet header = chunk_header(0, 1, 1);
  header.mutable_chunk()->set_magic(7);
  const ReadResult read = read_all(encoded(chunk_header(0, 0, 1)) + encoded(header) + encoded(launch(1, 0, 0)));
  REQUIRE(read.damage.size() == 1);
  CHECK(read.damage[0].reason == "the chunk header has a wrong magic number");
}

TEST_CASE("fields of a newer Maya are passed over") {
  // Field 40, a varint, behind a launch: 40 << 3 | 0 = 0x140.
  const ReadResult read =
      read_all(encoded(chunk_header(0, 0, 1)) + "\x0a\x05\x08\x09\xc0\x02\x01" + encoded(launch(2, 0, 0)));
  REQUIRE(read.packets.size() == 3);
  CHECK(read.packets[1].view.launch == 9);
  CHECK(read.packets[2].view.launch == 2);
}
