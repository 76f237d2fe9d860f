#include <cstring>

#include "memory_helpers.h"

using namespace maya::device;

TEST_CASE("new and freed memory is unknown and reads as zero") {
  auto memory = make_memory(kGiB);
  for (const uint64_t bytes : {uint64_t{1000}, 4 * kMiB}) {
    const Allocation a = allocate(*memory, bytes);
    CHECK_FALSE(memory->known(a.base, 1));
    CHECK(read(*memory, a.base, 1000) == std::vector<unsigned char>(1000, 0));
    REQUIRE(memory->fill(a.base, 0xff, 1, bytes) == MemoryStatus::kOk);
    std::vector<unsigned char> data(1000, 0x55);
    REQUIRE(memory->write(a.base, data.data(), 500) == MemoryStatus::kOk);
    CHECK(memory->known(a.base, bytes));
    Allocation freed;
    REQUIRE(memory->free(a.base, &freed) == MemoryStatus::kOk);
    const Allocation again = allocate(*memory, bytes);
    CHECK(again.base == a.base);
    CHECK_FALSE(memory->known(again.base, 1));
    CHECK_FALSE(memory->maybe_known(again.base));
    CHECK(read(*memory, again.base, 1000) == std::vector<unsigned char>(1000, 0));
  }
}

TEST_CASE("a read tells which bytes are known") {
  auto memory = make_memory(kGiB);
  const Address base = allocate(*memory, 4096).base;
  const unsigned char data[2] = {7, 8};
  REQUIRE(memory->write(base + 1, data, 2) == MemoryStatus::kOk);
  REQUIRE(memory->fill(base + 4, 9, 1, 2) == MemoryStatus::kOk);
  unsigned char bytes[8] = {}, known[8];
  REQUIRE(memory->read(bytes, known, base, 8) == MemoryStatus::kOk);
  CHECK(std::vector<int>(bytes, bytes + 8) == std::vector<int>{0, 7, 8, 0, 9, 9, 0, 0});
  CHECK(std::vector<int>(known, known + 8) == std::vector<int>{0, 1, 1, 0, 1, 1, 0, 0});
  CHECK(memory->read(bytes, known, base + 4095, 2) == MemoryStatus::kInvalidValue);
}

TEST_CASE("ranges that leave their allocation are refused and change nothing") {
  auto memory = make_memory(kGiB);
  const Allocation a = allocate(*memory, 1000);
  const Allocation b = allocate(*memory, 1000);
  std::vector<unsigned char> data(2000, 1);
  CHECK(memory->write(a.base + 1, data.data(), 1000) == MemoryStatus::kInvalidValue);
  CHECK(memory->read(data.data(), a.base + 999, 2) == MemoryStatus::kInvalidValue);
  CHECK(memory->fill(a.base, 1, 4, 251) == MemoryStatus::kInvalidValue);
  CHECK(memory->fill(a.base, 1, 4, UINT64_MAX) == MemoryStatus::kInvalidValue);
  CHECK(memory->fill(a.base, 1, 3, 1) == MemoryStatus::kInvalidValue);
  CHECK(memory->copy(b.base, a.base, 1001) == MemoryStatus::kInvalidValue);
  CHECK(memory->copy(b.base + 1, a.base, 1000) == MemoryStatus::kInvalidValue);
  CHECK(memory->write(0x1234, data.data(), 1) == MemoryStatus::kInvalidValue);
  CHECK(memory->write(0x1234, data.data(), 0) == MemoryStatus::kOk);
  CHECK_FALSE(memory->maybe_known(a.base));
}

TEST_CASE("copies carry known and unknown states, also between devices and over themselves") {
  auto memory = make_memory(kGiB, 2);
  const Allocation a = allocate(*memory, 100, 0);
  const Allocation b = allocate(*memory, 100, 1);
  const unsigned char data[] = {1, 2, 3, 4, 5, 6, 7, 8};
  REQUIRE(memory->write(a.base + 10, data, 8) == MemoryStatus::kOk);
  REQUIRE(memory->fill(a.base + 20, 0x04030201, 4, 3) == MemoryStatus::kOk);
  REQUIRE(memory->fill(b.base, 9, 1, 100) == MemoryStatus::kOk);
  REQUIRE(memory->copy(b.base + 3, a.base + 10, 25) == MemoryStatus::kOk);
  CHECK(memory->known(b.base, 11));
  CHECK_FALSE(memory->known(b.base + 11, 1));
  CHECK(memory->known(b.base + 13, 12));
  CHECK_FALSE(memory->known(b.base + 27, 1));
  CHECK(memory->known(b.base + 28, 72));
  CHECK(read(*memory, b.base, 30) == std::vector<unsigned char>{9, 9, 9, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 1, 2,
                                                                3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 0, 0, 0, 9, 9});
  REQUIRE(memory->copy(a.base + 12, a.base + 10, 8) == MemoryStatus::kOk);
  CHECK(read(*memory, a.base + 10, 10) == std::vector<unsigned char>{1, 2, 1, 2, 3, 4, 5, 6, 7, 8});
}

TEST_CASE("a fill touches no host memory, whatever its size") {
  auto memory = make_memory(200 * kGiB);
  const Allocation a = allocate(*memory, 100 * kGiB);
  REQUIRE(memory->fill(a.base, 0, 1, 100 * kGiB) == MemoryStatus::kOk);
  const Allocation b = allocate(*memory, 100 * kGiB);
  REQUIRE(memory->copy(b.base, a.base, 100 * kGiB) == MemoryStatus::kOk);
  CHECK(memory->known(b.base, 100 * kGiB));
  CHECK(memory->host_bytes_used() == 0);
}

TEST_CASE("make_unknown is clipped to the allocation and gives host pages back") {
  auto memory = make_memory(kGiB);
  const Allocation a = allocate(*memory, 4 * kMiB);
  const Allocation b = allocate(*memory, 4 * kMiB);
  std::vector<unsigned char> data(4 * kMiB, 3);
  REQUIRE(memory->write(a.base, data.data(), data.size()) == MemoryStatus::kOk);
  REQUIRE(memory->write(b.base, data.data(), data.size()) == MemoryStatus::kOk);
  CHECK(memory->host_bytes_used() == 8 * kMiB);
  memory->make_unknown(a.base + 2 * kMiB + 10, UINT64_MAX);
  CHECK(memory->known(a.base, 2 * kMiB + 10));
  CHECK_FALSE(memory->known(a.base + 2 * kMiB + 10, 1));
  CHECK(memory->known(b.base, 4 * kMiB));
  CHECK(memory->host_bytes_used() == 6 * kMiB + 4096);
  memory->make_unknown(0x1234, 100);
  memory->make_unknown(a.base + 4 * kMiB, 100);
}

TEST_CASE("maybe_known answers for the whole allocation") {
  auto memory = make_memory(kGiB);
  const Allocation a = allocate(*memory, 100 * kMiB);
  CHECK_FALSE(memory->maybe_known(a.base));
  REQUIRE(memory->fill(a.base + 99 * kMiB, 1, 1, 1) == MemoryStatus::kOk);
  CHECK(memory->maybe_known(a.base));
  CHECK(memory->maybe_known(a.base + 50 * kMiB));
  memory->make_unknown(a.base, 100 * kMiB);
  CHECK_FALSE(memory->maybe_known(a.base));
  CHECK_FALSE(memory->maybe_known(0));
  CHECK_FALSE(memory->maybe_known(UINT64_MAX));
}
