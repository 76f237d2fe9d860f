// Bytes that are on their way from another process (virtual_device/memory.h, "bytes on their way").
#include <string>

#include "memory_helpers.h"

using namespace maya::device;

namespace {

std::vector<uint32_t> settled;

// The other side never brings its bytes.
void bring_nothing(uint32_t tag) { settled.push_back(tag); }

std::string read_text(const Memory& memory, Address at, size_t bytes) {
  std::string text(bytes, '?');
  REQUIRE(memory.read(text.data(), at, bytes) == MemoryStatus::kOk);
  for (char& c : text)
    if (c == 0) c = '0';
  return text;
}

}  // namespace

TEST_CASE("what arrives is known; what was overwritten, freed or never came is not touched") {
  auto memory = make_memory(kGiB);
  const Allocation a = allocate(*memory, 4096);
  memory->expect(1, a.base, 8);
  REQUIRE(memory->write(a.base + 2, "XY", 2) == MemoryStatus::kOk);
  memory->make_unknown(a.base + 5, 1);
  memory->arrive(1, a.base, "abcdefgh", 7);
  memory->end_expecting(1);
  CHECK(read_text(*memory, a.base, 8) == "abXYe0g0");
  CHECK(memory->known(a.base, 5));
  CHECK_FALSE(memory->known(a.base + 5, 1));
  CHECK_FALSE(memory->known(a.base + 7, 1));
  // Late bytes of a tag that has ended.
  memory->arrive(1, a.base, "zzzzzzzz", 8);
  CHECK(read_text(*memory, a.base, 8) == "abXYe0g0");
}

TEST_CASE("memory that was freed and given out again keeps its new bytes") {
  auto memory = make_memory(kGiB);
  const Allocation a = allocate(*memory, 3 * kMiB);
  memory->expect(7, a.base, 8);
  Allocation freed;
  REQUIRE(memory->free(a.base, &freed) == MemoryStatus::kOk);
  const Allocation b = allocate(*memory, 3 * kMiB);
  REQUIRE(b.base == a.base);
  REQUIRE(memory->write(b.base, "new", 3) == MemoryStatus::kOk);
  memory->arrive(7, a.base, "abcdefgh", 8);
  memory->end_expecting(7);
  CHECK(read_text(*memory, b.base, 8) == "new00000");
}

TEST_CASE("reading has expected bytes settled first; of a tag that does not end they are unknown") {
  auto memory = make_memory(kGiB);
  const Allocation a = allocate(*memory, 4096);
  settled.clear();
  memory->set_settle(&bring_nothing);
  memory->expect(3, a.base, 4);
  memory->expect(4, a.base + 4, 4);
  CHECK(settled.empty());
  Memory::Runs runs;
  std::string text(8, '?');
  REQUIRE(memory->read_known(text.data(), a.base, 8, &runs) == MemoryStatus::kOk);
  CHECK(settled == std::vector<uint32_t>{3, 4});
  CHECK(runs.empty());
  memory->arrive(3, a.base, "abcd", 4);  // too late
  CHECK_FALSE(memory->known(a.base, 1));
}

TEST_CASE("every way to look at expected bytes has them settled first") {
  auto memory = make_memory(kGiB);
  const Allocation a = allocate(*memory, 4096), copy = allocate(*memory, 4096);
  memory->set_settle(&bring_nothing);
  char bytes[4];
  uint8_t known[4];
  Memory::Runs runs;
  uint32_t tag = 10;
  const auto settles = [&](auto&& look) {
    settled.clear();
    memory->expect(++tag, a.base, 4);
    look();
    return settled == std::vector<uint32_t>{tag};
  };
  CHECK(settles([&] { (void)memory->read(bytes, a.base, 4); }));
  CHECK(settles([&] { (void)memory->read(bytes, known, a.base, 4); }));
  CHECK(settles([&] { (void)memory->read_known(bytes, a.base, 4, &runs); }));
  CHECK(settles([&] { (void)memory->known(a.base, 4); }));
  CHECK(settles([&] { (void)memory->any_known(a.base, 4); }));
  CHECK(settles([&] { (void)memory->copy(copy.base, a.base, 4); }));
}

TEST_CASE("known runs of a range") {
  auto memory = make_memory(kGiB);
  const Allocation a = allocate(*memory, 4096);
  REQUIRE(memory->write(a.base + 8, "ab", 2) == MemoryStatus::kOk);
  REQUIRE(memory->fill(a.base + 10, 7, 1, 2) == MemoryStatus::kOk);
  REQUIRE(memory->write(a.base + 20, "c", 1) == MemoryStatus::kOk);
  Memory::Runs runs;
  unsigned char bytes[32];
  REQUIRE(memory->read_known(bytes, a.base, 32, &runs) == MemoryStatus::kOk);
  CHECK(runs == Memory::Runs{{8, 4}, {20, 1}});
  CHECK((bytes[8] == 'a' && bytes[11] == 7 && bytes[12] == 0));
}
