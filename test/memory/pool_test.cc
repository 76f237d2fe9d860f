#include "virtual_device/memory_pool.h"

#include "memory_helpers.h"

using namespace maya::device;

namespace {

struct Made {
  Allocation allocation, grown;
  std::vector<Allocation> released;
};

Made take(MemoryPool& pool, uint64_t bytes) {
  Made made;
  REQUIRE(pool.allocate(bytes, nullptr, &made.allocation, &made.grown, &made.released) == MemoryStatus::kOk);
  return made;
}

}  // namespace

TEST_CASE("a pool takes 32 MiB chunks and carves allocations out of them") {
  auto memory = make_memory(kGiB);
  MemoryPool pool(*memory, 0, 0);
  const Made first = take(pool, 1000);
  CHECK(first.grown.charged_bytes == 32 * kMiB);
  CHECK(first.allocation.charged_bytes == 0);
  CHECK(first.allocation.kind == AllocationKind::kStreamOrdered);
  const Made second = take(pool, 1000);
  CHECK(second.grown.bytes == 0);
  CHECK(memory->use(0).free_bytes == kGiB - 32 * kMiB);
  CHECK(pool.usage().used.now() == 2048);
  CHECK(pool.usage().reserved.now() == 32 * kMiB);
  REQUIRE(memory->fill(first.allocation.base, 1, 1, 1000) == MemoryStatus::kOk);
  CHECK(memory->fill(first.allocation.base, 1, 1, 1001) == MemoryStatus::kInvalidValue);
  Allocation freed;
  REQUIRE(pool.free(first.allocation.base, &freed) == MemoryStatus::kOk);
  CHECK(pool.free(first.allocation.base, &freed) == MemoryStatus::kInvalidValue);
  CHECK(pool.free(0x1234, &freed) == MemoryStatus::kNotFound);
  const Made again = take(pool, 500);
  CHECK(again.allocation.base == first.allocation.base);
  CHECK_FALSE(memory->known(again.allocation.base, 1));
  CHECK(take(pool, 65 * kMiB).grown.bytes == 66 * kMiB);
}

TEST_CASE("trimming gives unused chunks back") {
  auto memory = make_memory(kGiB);
  MemoryPool pool(*memory, 0, 0);
  const Made a = take(pool, 20 * kMiB);
  const Made b = take(pool, 20 * kMiB);
  Allocation freed;
  REQUIRE(pool.free(b.allocation.base, &freed) == MemoryStatus::kOk);
  std::vector<Allocation> released;
  pool.trim(64 * kMiB, &released);
  CHECK(released.empty());
  pool.trim(0, &released);
  REQUIRE(released.size() == 1);
  CHECK(released[0].charged_bytes == 32 * kMiB);
  CHECK(memory->use(0).free_bytes == kGiB - 32 * kMiB);
  CHECK(pool.usage().reserved.high() == 64 * kMiB);
  pool.usage().reserved.reset_high();
  CHECK(pool.usage().reserved.high() == 32 * kMiB);
  CHECK(memory->free_chunk(a.grown.base, &freed) == MemoryStatus::kInUse);
}

TEST_CASE("unused chunks are given back before a request fails") {
  auto memory = make_memory(100 * kMiB);
  MemoryPool pool(*memory, 0, 0);
  const Made a = take(pool, 40 * kMiB);
  Allocation freed;
  REQUIRE(pool.free(a.allocation.base, &freed) == MemoryStatus::kOk);
  const Made b = take(pool, 80 * kMiB);
  CHECK(b.released.size() == 1);
  Made c;
  CHECK(pool.allocate(80 * kMiB, nullptr, &c.allocation, &c.grown, &c.released) == MemoryStatus::kOutOfMemory);
  CHECK(pool.allocate(0, nullptr, &c.allocation, &c.grown, &c.released) == MemoryStatus::kInvalidValue);
}

TEST_CASE("a pool keeps to its own maximum") {
  auto memory = make_memory(kGiB);
  MemoryPool pool(*memory, 0, 64 * kMiB);
  take(pool, 32 * kMiB);
  take(pool, 32 * kMiB);
  Made c;
  CHECK(pool.allocate(1, nullptr, &c.allocation, &c.grown, &c.released) == MemoryStatus::kOutOfMemory);
}

TEST_CASE("a pool whose limit is less than a chunk takes no more than that") {
  auto memory = make_memory(kGiB);
  MemoryPool pool(*memory, 0, 2 * kMiB);
  Allocation made, grown;
  std::vector<Allocation> released;
  REQUIRE(pool.allocate(64, nullptr, &made, &grown, &released) == MemoryStatus::kOk);
  CHECK(grown.bytes == 2 * kMiB);
  CHECK(pool.allocate(2 * kMiB, nullptr, &made, &grown, &released) == MemoryStatus::kOutOfMemory);
  MemoryPool larger(*memory, 0, 35 * kMiB);
  REQUIRE(larger.allocate(30 * kMiB, nullptr, &made, &grown, &released) == MemoryStatus::kOk);
  CHECK(grown.bytes == 32 * kMiB);
  REQUIRE(larger.allocate(2 * kMiB, nullptr, &made, &grown, &released) == MemoryStatus::kOk);
  CHECK(grown.bytes == 0);
  REQUIRE(larger.allocate(kMiB, nullptr, &made, &grown, &released) == MemoryStatus::kOk);
  CHECK(grown.bytes == 2 * kMiB);  // 35 - 32, in whole granules
}
