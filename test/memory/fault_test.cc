// The k-th host allocation or mmap fails, for k = 0, 1, 2... until everything succeeds: no crash, and what was taken is
// given back.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdlib>
#include <new>

#include "virtual_device/memory.h"
#include "virtual_device/memory_pool.h"

namespace {

long fail_allocation_at = -1, allocations = 0;
long fail_mapping_at = -1, mappings = 0;
bool fail_all_mappings_after = false;

}  // namespace

void* operator new(size_t bytes) {
  if (fail_allocation_at >= 0 && allocations++ == fail_allocation_at) throw std::bad_alloc();
  if (void* p = std::malloc(bytes == 0 ? 1 : bytes)) return p;
  throw std::bad_alloc();
}
// Catch2 takes some of its memory so; a sanitizer's own would not go with the operators below.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return std::malloc(bytes == 0 ? 1 : bytes); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }

extern "C" void* mmap(void* address, size_t bytes, int protection, int flags, int fd, off_t offset) {
  if (fail_mapping_at >= 0) {
    const long index = mappings++;
    if (index == fail_mapping_at || (fail_all_mappings_after && index > fail_mapping_at)) {
      errno = ENOMEM;
      return MAP_FAILED;
    }
  }
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, bytes, protection, flags, fd, offset));
}

using namespace maya::device;

namespace {

constexpr uint64_t kMiB = 1 << 20;

std::unique_ptr<Memory> make() {
  Memory::Options options;
  options.capacity_bytes = 1024 * kMiB;
  return Memory::create(options);
}

// Everything once. Returns false when a call reported failure; throws bad_alloc as the members do.
bool use_everything(Memory& memory, MemoryPool& pool) {
  const unsigned char data[8192] = {1};
  Allocation small, large, freed, grown;
  std::vector<Allocation> released;
  bool ok = memory.allocate(0, 100, Layer::kAllocations, nullptr, &small) == MemoryStatus::kOk;
  ok = ok && memory.allocate(0, 3 * kMiB, Layer::kAllocations, nullptr, &large) == MemoryStatus::kOk;
  ok = ok && memory.write(large.base + 5, data, sizeof(data)) == MemoryStatus::kOk;
  ok = ok && memory.fill(large.base + 100, 7, 4, 10) == MemoryStatus::kOk;
  ok = ok && memory.copy(large.base + kMiB, large.base, 9000) == MemoryStatus::kOk;
  memory.make_unknown(large.base + 200, 10);
  Allocation part;
  ok = ok && pool.allocate(5000, nullptr, &part, &grown, &released) == MemoryStatus::kOk;
  Address window = 0;
  ok = ok && memory.reserve(8 * kMiB, 0, &window) == MemoryStatus::kOk;
  uint64_t handle = 0;
  ok = ok && memory.create_physical(0, 2 * kMiB, &handle) == MemoryStatus::kOk;
  ok = ok && memory.map(window, 2 * kMiB, 0, handle, nullptr) == MemoryStatus::kOk;
  ok = ok && memory.write(window, data, 10) == MemoryStatus::kOk;
  ok = ok && memory.unmap(window, 2 * kMiB) == MemoryStatus::kOk;
  ok = ok && memory.release_physical(handle) == MemoryStatus::kOk;
  ok = ok && memory.unreserve(window, 8 * kMiB) == MemoryStatus::kOk;
  ok = ok && pool.free(part.base, &freed) == MemoryStatus::kOk;
  pool.trim(0, &released);
  ok = ok && memory.free(large.base, &freed) == MemoryStatus::kOk;
  ok = ok && memory.free(small.base, &freed) == MemoryStatus::kOk;
  return ok;
}

}  // namespace

TEST_CASE("each host allocation fails once") {
  long k = 0;
  for (bool succeeded = false; !succeeded; ++k) {
    REQUIRE(k < 1000);
    auto memory = make();
    REQUIRE(memory != nullptr);
    MemoryPool pool(*memory, 0, 0);
    allocations = 0;
    fail_allocation_at = k;
    try {
      succeeded = use_everything(*memory, pool);
    } catch (const std::bad_alloc&) {
    }
    fail_allocation_at = -1;
    // The ledger agrees with what lives, and the device is usable to its last byte.
    std::vector<Allocation> released;
    for (const Allocation& left : memory->allocations_of(nullptr)) {
      Allocation freed;
      const bool ordered = left.kind == AllocationKind::kStreamOrdered;
      CHECK((ordered ? pool.free(left.base, &freed) : memory->free(left.base, &freed)) == MemoryStatus::kOk);
    }
    pool.trim(0, &released);
    for (uint64_t handle = 1; handle < 3; ++handle) {
      uint64_t bytes = 0;
      int device = 0;
      Address mapped = 0;
      if (memory->physical_size(handle, &bytes, &device) != MemoryStatus::kOk) continue;
      if (memory->release_physical(handle) == MemoryStatus::kOk &&
          memory->physical_size(handle, &bytes, &device) == MemoryStatus::kOk)
        mapped = handle;
      if (mapped != 0) memory->release(0, Layer::kAllocations, bytes);
    }
    CHECK(memory->use(0).free_bytes == 1024 * kMiB);
  }
  CHECK(k > 10);
}

TEST_CASE("each mmap of the start fails, once and for good") {
  for (const bool for_good : {false, true}) {
    fail_all_mappings_after = for_good;
    long k = 0;
    for (bool clean = false; !clean; ++k) {
      REQUIRE(k < 1000);
      mappings = 0;
      fail_mapping_at = k;
      auto memory = make();
      const bool reached = mappings > k;
      fail_mapping_at = -1;
      clean = !reached;
      if (memory != nullptr) {
        // A refused writable shadow is replaced by one that is made accessible piece by piece.
        Allocation made;
        unsigned char data[9000] = {1, 2, 3}, seen[9000];
        REQUIRE(memory->allocate(0, 5 * kMiB, Layer::kAllocations, nullptr, &made) == MemoryStatus::kOk);
        REQUIRE(memory->write(made.base + 2 * kMiB - 1000, data, sizeof(data)) == MemoryStatus::kOk);
        REQUIRE(memory->read(seen, made.base + 2 * kMiB - 1000, sizeof(seen)) == MemoryStatus::kOk);
        CHECK(std::equal(seen, seen + sizeof(seen), data));
      }
      if (!for_good) continue;
      CHECK((memory == nullptr) == reached);
    }
    CHECK(k > 3);
  }
}
