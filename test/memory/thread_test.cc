// Many threads at once. Meant to run under ThreadSanitizer too.
#include <atomic>
#include <cstring>
#include <thread>

#include "memory_helpers.h"
#include "virtual_device/memory_pool.h"

using namespace maya::device;

TEST_CASE("threads allocate, write, read, fill, map and free at once") {
  constexpr int kThreads = 8, kRounds = 300;
  auto memory = make_memory(64 * kGiB, 2, 4 * kMiB);
  MemoryPool pool(*memory, 0, 0);
  const Allocation common = allocate(*memory, 8 * kMiB);
  std::atomic<int> failures{0};
  const auto work = [&](int index) {
    std::vector<unsigned char> mine(5000, static_cast<unsigned char>(index + 1)), seen(5000);
    for (int round = 0; round < kRounds; ++round) {
      Allocation large, small, freed, part, grown;
      std::vector<Allocation> released;
      const int device = round % 2;
      bool ok = memory->allocate(device, 3 * kMiB, Layer::kAllocations, nullptr, &large) == MemoryStatus::kOk;
      ok = ok && memory->allocate(device, 6000, Layer::kWorkspaces, nullptr, &small) == MemoryStatus::kOk;
      ok = ok && memory->write(small.base, mine.data(), 5000) == MemoryStatus::kOk;
      ok = ok && memory->copy(large.base + 1, small.base, 5000) == MemoryStatus::kOk;
      ok = ok && memory->read(seen.data(), large.base + 1, 5000) == MemoryStatus::kOk;
      // The budget may have taken the bytes; other values than these two must never be seen.
      ok = ok && (seen[77] == 0 || seen[77] == mine[0]);
      memory->fill(common.base + static_cast<uint64_t>(index) * 1000, 1, 1, 1000);
      memory->make_unknown(common.base, 8 * kMiB);
      memory->maybe_known(common.base);
      ok = ok && pool.allocate(1000, nullptr, &part, &grown, &released) == MemoryStatus::kOk;
      Address window = 0;
      uint64_t handle = 0;
      ok = ok && memory->reserve(4 * kMiB, 0, &window) == MemoryStatus::kOk;
      ok = ok && memory->create_physical(0, 2 * kMiB, &handle) == MemoryStatus::kOk;
      ok = ok && memory->map(window, 2 * kMiB, 0, handle, nullptr) == MemoryStatus::kOk;
      ok = ok && memory->write(window, mine.data(), 100) == MemoryStatus::kOk;
      ok = ok && memory->unmap(window, 2 * kMiB) == MemoryStatus::kOk &&
           memory->release_physical(handle) == MemoryStatus::kOk;
      ok = ok && memory->unreserve(window, 4 * kMiB) == MemoryStatus::kOk;
      ok = ok && pool.free(part.base, &freed) == MemoryStatus::kOk;
      ok = ok && memory->free(large.base, &freed) == MemoryStatus::kOk &&
           memory->free(small.base, &freed) == MemoryStatus::kOk;
      if (!ok) ++failures;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == 0);
  std::vector<Allocation> released;
  pool.trim(0, &released);
  Allocation freed;
  REQUIRE(memory->free(common.base, &freed) == MemoryStatus::kOk);
  CHECK(memory->use(0).free_bytes == 64 * kGiB);
  CHECK(memory->use(1).free_bytes == 64 * kGiB);
}

TEST_CASE("of two threads that free the same memory one succeeds") {
  auto memory = make_memory(kGiB);
  for (int round = 0; round < 200; ++round) {
    const Allocation a = allocate(*memory, round % 2 == 0 ? 100 : 3 * kMiB);
    std::atomic<int> succeeded{0};
    const auto release = [&] {
      Allocation freed;
      if (memory->free(a.base, &freed) == MemoryStatus::kOk) ++succeeded;
    };
    std::thread other(release);
    release();
    other.join();
    CHECK(succeeded == 1);
  }
}
