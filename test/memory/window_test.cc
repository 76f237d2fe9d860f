// Windows: two Memory objects stand for two processes that have the same area mapped.
#include <cstring>
#include <random>
#include <string>

#include "memory_helpers.h"

using namespace maya::device;

namespace {

struct TwoProcesses {
  static constexpr uint64_t kBytes = 3 * 4096 + 100;
  explicit TwoProcesses(uint64_t bytes = kBytes) : area(Memory::window_bytes(bytes), 0) {
    one->write(a.base + 10, "known before", 12);
    one->share(a.base, bytes, area.data(), true);
    two->share(b.base, bytes, area.data(), false);
  }
  std::unique_ptr<Memory> one = make_memory(kGiB), two = make_memory(kGiB);
  Allocation a = allocate(*one, kBytes), b = allocate(*two, kBytes);
  std::vector<unsigned char> area;
};

using Bytes = std::vector<unsigned char>;

}  // namespace

TEST_CASE("what one process writes, fills, copies or makes unknown is so in the other") {
  TwoProcesses p;
  const Bytes text = {1, 2, 3, 4, 5, 6, 7, 8};
  CHECK_FALSE(p.two->known(p.b.base, 1));
  REQUIRE(p.one->write(p.a.base + 4092, text.data(), 8) == MemoryStatus::kOk);  // over the end of a page
  CHECK(read(*p.two, p.b.base + 4092, 8) == text);
  CHECK(p.two->known(p.b.base + 4092, 8));
  CHECK_FALSE(p.two->known(p.b.base + 4091, 9));

  REQUIRE(p.two->fill(p.b.base + 4096, 0x0908, 2, 2) == MemoryStatus::kOk);
  CHECK(read(*p.one, p.a.base + 4092, 8) == Bytes{1, 2, 3, 4, 8, 9, 8, 9});

  const Allocation own = allocate(*p.one, 4096);
  REQUIRE(p.one->copy(own.base, p.a.base + 4092, 8) == MemoryStatus::kOk);
  REQUIRE(p.one->copy(p.a.base + TwoProcesses::kBytes - 4, own.base, 4) == MemoryStatus::kOk);
  CHECK(read(*p.two, p.b.base + TwoProcesses::kBytes - 4, 4) == Bytes{1, 2, 3, 4});

  p.two->make_unknown(p.b.base, UINT64_MAX);
  CHECK_FALSE(p.one->known(p.a.base + 4092, 1));
  CHECK(read(*p.one, p.a.base + 4092, 8) == Bytes(8, 0));
}

TEST_CASE("what the first process knew when the window began is known in the others") {
  TwoProcesses p;
  const Bytes text = read(*p.two, p.b.base + 10, 12);
  CHECK(std::string(text.begin(), text.end()) == "known before");
  CHECK_FALSE(p.two->known(p.b.base + 9, 2));
}

TEST_CASE("a kernel that may write to a window makes unknown what only the other process knew") {
  TwoProcesses p;
  REQUIRE(p.one->fill(p.a.base, 7, 1, TwoProcesses::kBytes) == MemoryStatus::kOk);
  REQUIRE(p.two->maybe_known(p.b.base));  // though it never looked
  p.two->make_unknown(p.b.base, TwoProcesses::kBytes);
  CHECK(read(*p.one, p.a.base, 4) == Bytes(4, 0));
}

TEST_CASE("a window that ended is left alone") {
  TwoProcesses p;
  p.two->unshare(p.b.base);
  REQUIRE(p.one->fill(p.a.base, 7, 1, 16) == MemoryStatus::kOk);
  CHECK(read(*p.two, p.b.base, 16) == Bytes(16, 0));
  CHECK_FALSE(p.two->maybe_known(p.b.base));
}

TEST_CASE("a window and plain memory agree after random changes from both sides") {
  TwoProcesses p;
  p.one->make_unknown(p.a.base, TwoProcesses::kBytes);
  std::mt19937 random(11);
  Bytes bytes(TwoProcesses::kBytes, 0), known(TwoProcesses::kBytes, 0);
  for (int step = 0; step < 3000; ++step) {
    Memory& memory = random() % 2 != 0 ? *p.one : *p.two;
    const Address base = &memory == p.one.get() ? p.a.base : p.b.base;
    const uint64_t at = random() % TwoProcesses::kBytes;
    const uint64_t length = 1 + random() % std::min<uint64_t>(TwoProcesses::kBytes - at, 6000);
    const auto value = static_cast<unsigned char>(random());
    const int what = static_cast<int>(random() % 4);
    if (what == 0) {
      const Bytes source(length, value);
      REQUIRE(memory.write(base + at, source.data(), length) == MemoryStatus::kOk);
    } else if (what == 1) {
      REQUIRE(memory.fill(base + at, value, 1, length) == MemoryStatus::kOk);
    } else if (what == 2) {
      memory.make_unknown(base + at, length);
    }
    if (what < 3) {
      std::fill_n(bytes.begin() + static_cast<int64_t>(at), length, what == 2 ? 0 : value);
      std::fill_n(known.begin() + static_cast<int64_t>(at), length, what == 2 ? 0 : 1);
      continue;
    }
    Bytes got(length), got_known(length);
    REQUIRE(memory.read(got.data(), got_known.data(), base + at, length) == MemoryStatus::kOk);
    REQUIRE(std::memcmp(got.data(), bytes.data() + at, length) == 0);
    REQUIRE(std::memcmp(got_known.data(), known.data() + at, length) == 0);
  }
}
