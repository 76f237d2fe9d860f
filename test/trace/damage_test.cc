// A trace cut at every byte and flipped at every byte of its first 64 KiB: no crash, all whole chunks before the damage
// are recovered. MAYA_LONG_TESTS=1 cuts a 1 MB trace at every byte; otherwise at every byte of its last 20,000 and at
// each 211th before.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>

#include "test/trace/trace_files.h"

using namespace maya::test;
using maya::trace::PacketView;
using maya::trace::Reader;
using maya::trace::ReadStatus;

namespace {

// Of about `bytes`, in chunks of 32 KiB, with packets of every size and all common kinds.
std::string sample_trace(size_t bytes) {
  TemporaryFolder folder;
  std::string error;
  auto writer = maya::trace::Writer::create({folder.path(), "sample", 32 << 10}, &error);
  REQUIRE(writer != nullptr);
  writer->packet(header_fields(), 1000);
  size_t written = 0;
  for (uint32_t i = 1; written < bytes; ++i) {
    if (i % 3 == 0) {
      writer->launch(i, i % 5, 1000 + i * 5000ull);
      written += 10;
    } else {
      writer->packet(string_fields(i, std::string(i * 37 % 600, 'a' + i % 26)), 1000 + i * 5000ull);
      written += i * 37 % 600 + 12;
    }
  }
  writer->packet(end_fields(), 1ull << 40);
  const std::string path = writer->path();
  writer->finish();
  return read_file(path);
}

struct Place {
  uint64_t offset;
  uint64_t time_ns;
  std::string bytes;
};

std::vector<Place> places(const std::string& bytes) {
  const auto reader = Reader::from_memory(bytes.data(), bytes.size());
  std::vector<Place> result;
  PacketView packet;
  while (reader->next(&packet))
    result.push_back(
        {packet.offset, packet.time_ns, std::string(reinterpret_cast<const char*>(packet.bytes), packet.size)});
  REQUIRE(reader->complete());
  return result;
}

bool same(const PacketView& packet, const Place& good) {
  return packet.time_ns == good.time_ns && packet.size == good.bytes.size() &&
         std::memcmp(packet.bytes, good.bytes.data(), packet.size) == 0;
}

// `equal`: number of leading packets that are as in the undamaged trace.
struct Comparison {
  ReadStatus status;
  size_t equal;
  bool complete;
  uint64_t first_damage;
  uint64_t damage_count;
};
Comparison compare(const std::string& bytes, size_t size, const std::vector<Place>& good) {
  const auto reader = Reader::from_memory(bytes.data(), size);
  Comparison result{reader->status(), 0, false, ~0ull, 0};
  PacketView packet;
  bool equal = true;
  for (size_t i = 0; reader->next(&packet); ++i) {
    equal = equal && i < good.size() && same(packet, good[i]);
    if (equal) ++result.equal;
  }
  result.complete = reader->complete();
  result.damage_count = reader->damage_count();
  if (!reader->damage().empty()) result.first_damage = reader->damage()[0].offset;
  return result;
}

}  // namespace

TEST_CASE("cut at every byte") {
  const std::string bytes = sample_trace(1'000'000);
  const std::vector<Place> good = places(bytes);
  const char* option = std::getenv("MAYA_LONG_TESTS");
  const bool all = option != nullptr && *option == '1';
  uint64_t wrong = 0;
  size_t whole = 0;  // packets that end at or before the cut
  for (size_t cut = 0; cut < bytes.size(); ++cut) {
    while (whole < good.size() && (whole + 1 < good.size() ? good[whole + 1].offset : bytes.size()) <= cut) ++whole;
    if (!all && cut + 1000 < bytes.size() && cut % 997 != 0 && cut > 300) continue;
    // A copy of its own size, so that an address sanitizer sees any read beyond the cut.
    const std::string part(bytes, 0, cut);
    const Comparison seen = compare(part, cut, good);
    if (seen.status != ReadStatus::kOk) {
      wrong += whole != 0;
      continue;
    }
    // Whole packets may be followed by padding that is cut.
    wrong += seen.complete || seen.equal < whole || seen.equal > whole + 1;
    if (seen.damage_count != 0) wrong += seen.damage_count != 1 || seen.first_damage > cut;
  }
  CHECK(wrong == 0);
}

TEST_CASE("every byte of the first 64 KiB flipped") {
  const std::string bytes = sample_trace(80'000);
  const std::vector<Place> good = places(bytes);
  REQUIRE(bytes.size() > 65536);
  std::string damaged = bytes;
  uint64_t chunks_lost = 0;
  uint64_t offsets_wrong = 0;
  size_t in_chunks_before = 0;  // packets of the chunks that end before the flipped byte
  size_t holder = 0;            // the packet that holds it
  for (size_t at = 0; at < 65536; ++at) {
    while (in_chunks_before < good.size() && good[in_chunks_before].offset / 32768 < at / 32768) ++in_chunks_before;
    while (holder + 1 < good.size() && good[holder + 1].offset <= at) ++holder;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    const Comparison seen = compare(damaged, damaged.size(), good);
    chunks_lost += (seen.status == ReadStatus::kOk ? seen.equal : 0) < in_chunks_before;
    offsets_wrong += seen.damage_count != 0 && seen.first_damage < good[holder].offset;
    damaged[at] = bytes[at];
  }
  CHECK(chunks_lost == 0);
  CHECK(offsets_wrong == 0);
}
