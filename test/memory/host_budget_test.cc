#include "memory_helpers.h"

using namespace maya::device;

TEST_CASE("beyond the budget the largest ranges become unknown, small ones stay") {
  auto memory = make_memory(80 * kGiB, 1, 16 * kMiB);
  const Allocation small = allocate(*memory, 4096);
  const uint32_t scale = 65536;
  REQUIRE(memory->write(small.base, &scale, 4) == MemoryStatus::kOk);
  std::vector<unsigned char> data(6 * kMiB, 5);
  std::vector<Allocation> large;
  for (int i = 0; i < 3; ++i) {
    large.push_back(allocate(*memory, data.size()));
    REQUIRE(memory->write(large.back().base, data.data(), data.size()) == MemoryStatus::kOk);
    CHECK(memory->host_bytes_used() <= 16 * kMiB);
  }
  CHECK(memory->known(small.base, 4));
  // 18 MiB against a budget of 16 MiB: ranges go until 12 MiB are left.
  CHECK(memory->host_bytes_dropped() == 12 * kMiB);
  int known = 0;
  for (const Allocation& a : large) {
    known += memory->known(a.base, data.size()) ? 1 : 0;
    if (!memory->known(a.base, 1)) CHECK(read(*memory, a.base, 100) == std::vector<unsigned char>(100, 0));
  }
  CHECK(known == 1);
}

TEST_CASE("one copy larger than the budget costs no host memory") {
  auto memory = make_memory(80 * kGiB, 1, 4 * kMiB);
  const Allocation a = allocate(*memory, 8 * kMiB);
  REQUIRE(memory->fill(a.base, 1, 1, 8 * kMiB) == MemoryStatus::kOk);
  std::vector<unsigned char> data(8 * kMiB, 5);
  REQUIRE(memory->write(a.base, data.data(), data.size()) == MemoryStatus::kOk);
  CHECK_FALSE(memory->maybe_known(a.base));
  CHECK(memory->host_bytes_used() == 0);
  CHECK(memory->host_bytes_dropped() == 8 * kMiB);
}

TEST_CASE("pages left over from small ranges are given back before anything is dropped") {
  auto memory = make_memory(80 * kGiB, 1, kMiB);
  const Allocation a = allocate(*memory, 64 * kMiB);
  const uint32_t value = 1;
  for (uint64_t i = 0; i < 1000; ++i) {  // 1000 pages of 4 KiB, one known word at a time
    REQUIRE(memory->write(a.base + i * 4096, &value, 4) == MemoryStatus::kOk);
    memory->make_unknown(a.base + i * 4096, 4);
  }
  CHECK(memory->host_bytes_used() <= kMiB);
  CHECK(memory->host_bytes_dropped() == 0);
}

TEST_CASE("copies between device ranges keep to the budget") {
  auto memory = make_memory(80 * kGiB, 1, 8 * kMiB);
  const Allocation a = allocate(*memory, 6 * kMiB);
  const Allocation b = allocate(*memory, 6 * kMiB);
  std::vector<unsigned char> data(6 * kMiB);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<unsigned char>(i / 1000);
  REQUIRE(memory->write(a.base, data.data(), data.size()) == MemoryStatus::kOk);
  REQUIRE(memory->copy(b.base, a.base, data.size()) == MemoryStatus::kOk);
  CHECK(memory->host_bytes_used() <= 8 * kMiB);
  for (const Allocation& each : {a, b})
    if (memory->known(each.base, 1)) CHECK(read(*memory, each.base, data.size()) == data);
}
