// Virtual memory management, with the sequence that PyTorch's expandable segments use.
#include "memory_helpers.h"

using namespace maya::device;

namespace {

uint64_t physical(Memory& memory, uint64_t bytes) {
  uint64_t handle = 0;
  REQUIRE(memory.create_physical(0, bytes, &handle) == MemoryStatus::kOk);
  return handle;
}

Address reserve(Memory& memory, uint64_t bytes, uint64_t alignment = 0) {
  Address base = 0;
  REQUIRE(memory.reserve(bytes, alignment, &base) == MemoryStatus::kOk);
  return base;
}

}  // namespace

TEST_CASE("a segment grows, is used over its seams, and shrinks") {
  auto memory = make_memory(kGiB);
  const Address base = reserve(*memory, 8 * kGiB);
  CHECK(memory->use(0).free_bytes == kGiB);
  uint64_t handles[3];
  for (int i = 0; i < 3; ++i) {
    handles[i] = physical(*memory, 20 * kMiB);
    REQUIRE(memory->map(base + static_cast<uint64_t>(i) * 20 * kMiB, 20 * kMiB, 0, handles[i], nullptr) ==
            MemoryStatus::kOk);
    REQUIRE(memory->release_physical(handles[i]) == MemoryStatus::kOk);  // the mapping keeps it
  }
  CHECK(memory->use(0).free_bytes == kGiB - 60 * kMiB);
  CHECK(memory->bytes_to_end(base + 1) == 60 * kMiB - 1);
  CHECK(memory->mapped(base, 60 * kMiB));
  CHECK_FALSE(memory->mapped(base, 60 * kMiB + 1));

  std::vector<unsigned char> data(40 * kMiB);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<unsigned char>(i * 7 + i / 65536);
  CHECK_FALSE(memory->maybe_known(base));
  REQUIRE(memory->write(base + 10 * kMiB, data.data(), data.size()) == MemoryStatus::kOk);
  CHECK(memory->maybe_known(base));
  CHECK(read(*memory, base + 10 * kMiB, data.size()) == data);
  CHECK(memory->known(base + 10 * kMiB, data.size()));
  CHECK(memory->write(base + 50 * kMiB, data.data(), 11 * kMiB) == MemoryStatus::kInvalidValue);

  CHECK(memory->unmap(base, 10 * kMiB) == MemoryStatus::kInvalidValue);  // part of a mapping
  std::vector<Allocation> freed;
  REQUIRE(memory->unmap(base + 20 * kMiB, 20 * kMiB, &freed) == MemoryStatus::kOk);
  REQUIRE(freed.size() == 1);
  CHECK(freed[0].base == handles[1]);
  CHECK(freed[0].charged_bytes == 20 * kMiB);
  CHECK(memory->use(0).free_bytes == kGiB - 40 * kMiB);
  CHECK(memory->bytes_to_end(base) == 20 * kMiB);
  CHECK(memory->bytes_to_end(base + 20 * kMiB) == 0);
  CHECK(memory->unmap(base, 60 * kMiB) == MemoryStatus::kInvalidValue);  // a gap
  CHECK(memory->unreserve(base, 8 * kGiB) == MemoryStatus::kInUse);
  REQUIRE(memory->unmap(base, 20 * kMiB) == MemoryStatus::kOk);
  REQUIRE(memory->unmap(base + 40 * kMiB, 20 * kMiB) == MemoryStatus::kOk);
  CHECK(memory->unreserve(base, 4 * kGiB) == MemoryStatus::kInvalidValue);
  REQUIRE(memory->unreserve(base, 8 * kGiB) == MemoryStatus::kOk);
  CHECK(memory->use(0).free_bytes == kGiB);
  CHECK(memory->host_bytes_used() == 0);
}

TEST_CASE("contents belong to the physical memory: two mappings show the same bytes, and they outlive both") {
  auto memory = make_memory(kGiB);
  const Address base = reserve(*memory, 64 * kMiB);
  const uint64_t handle = physical(*memory, 4 * kMiB);
  REQUIRE(memory->map(base, 4 * kMiB, 0, handle, nullptr) == MemoryStatus::kOk);
  REQUIRE(memory->map(base + 32 * kMiB, 4 * kMiB, 0, handle, nullptr) == MemoryStatus::kOk);
  const uint32_t value = 0xabcd1234;
  REQUIRE(memory->write(base + 100, &value, 4) == MemoryStatus::kOk);
  CHECK(memory->known(base + 32 * kMiB + 100, 4));
  uint32_t seen = 0;
  REQUIRE(memory->read(&seen, base + 32 * kMiB + 100, 4) == MemoryStatus::kOk);
  CHECK(seen == value);
  REQUIRE(memory->unmap(base, 4 * kMiB) == MemoryStatus::kOk);
  REQUIRE(memory->unmap(base + 32 * kMiB, 4 * kMiB) == MemoryStatus::kOk);
  CHECK_FALSE(memory->maybe_known(base));
  REQUIRE(memory->map(base + 8 * kMiB, 4 * kMiB, 0, handle, nullptr) == MemoryStatus::kOk);
  CHECK(memory->maybe_known(base));
  REQUIRE(memory->read(&seen, base + 8 * kMiB + 100, 4) == MemoryStatus::kOk);
  CHECK(seen == value);
  memory->make_unknown(base + 8 * kMiB, 4 * kMiB);
  CHECK_FALSE(memory->maybe_known(base));
}

TEST_CASE("make_unknown reaches every mapping of a run and nothing beyond its range") {
  auto memory = make_memory(8 * kGiB);
  const Address base = reserve(*memory, 8 * kGiB);
  for (uint64_t i = 0; i < 100; ++i)
    REQUIRE(memory->map(base + i * 2 * kMiB, 2 * kMiB, 0, physical(*memory, 2 * kMiB), nullptr) == MemoryStatus::kOk);
  for (const uint64_t at : {0, 50, 99})
    REQUIRE(memory->fill(base + at * 2 * kMiB + kMiB, 1, 1, 100) == MemoryStatus::kOk);
  memory->make_unknown(base + kMiB + 100, UINT64_MAX / 2);
  CHECK(memory->known(base + kMiB, 100));
  CHECK_FALSE(memory->known(base + 101 * kMiB, 1));
  CHECK_FALSE(memory->known(base + 199 * kMiB, 1));
}

TEST_CASE("wrong requests are refused") {
  auto memory = make_memory(kGiB);
  const Address base = reserve(*memory, 16 * kMiB, 4 * kMiB);
  CHECK(base % (4 * kMiB) == 0);
  uint64_t handle = 0;
  CHECK(memory->create_physical(0, 3 * kMiB, &handle) == MemoryStatus::kInvalidValue);
  CHECK(memory->create_physical(0, 2 * kGiB, &handle) == MemoryStatus::kOutOfMemory);
  handle = physical(*memory, 4 * kMiB);
  CHECK(memory->map(base, 6 * kMiB, 0, handle, nullptr) == MemoryStatus::kInvalidValue);
  CHECK(memory->map(base + kMiB, 2 * kMiB, 0, handle, nullptr) == MemoryStatus::kInvalidValue);
  CHECK(memory->map(base + 14 * kMiB, 4 * kMiB, 0, handle, nullptr) == MemoryStatus::kInvalidValue);
  CHECK(memory->map(base, 4 * kMiB, 0, handle + 1, nullptr) == MemoryStatus::kInvalidValue);
  REQUIRE(memory->map(base, 4 * kMiB, 0, handle, nullptr) == MemoryStatus::kOk);
  CHECK(memory->map(base + 2 * kMiB, 2 * kMiB, 0, handle, nullptr) == MemoryStatus::kInUse);
  uint64_t found = 0;
  REQUIRE(memory->physical_of(base + 3 * kMiB, &found) == MemoryStatus::kOk);
  CHECK(found == handle);
  CHECK(memory->physical_of(base + 5 * kMiB, &found) == MemoryStatus::kNotFound);
  CHECK(memory->reserve(kMiB, 3 * kMiB, &found) == MemoryStatus::kInvalidValue);
  CHECK(memory->reserve(1ull << 60, 0, &found) == MemoryStatus::kNoAddressSpace);
  CHECK(memory->release_physical(12345) == MemoryStatus::kInvalidValue);
}

TEST_CASE("a reservation goes where the hint says when that is free") {
  auto memory = make_memory(kGiB);
  const Address first = reserve(*memory, 16 * kMiB);
  Address second = 0;
  REQUIRE(memory->reserve(16 * kMiB, 0, &second, first + kGiB) == MemoryStatus::kOk);
  CHECK(second == first + kGiB);
  Address third = 0;
  REQUIRE(memory->reserve(16 * kMiB, 0, &third, first + kGiB) == MemoryStatus::kOk);
  CHECK(third != second);
}
