// Addresses and accounting. Charging rules: 2 MiB steps, requests below 1 MiB share a 2 MiB block
// (virtual_device/memory.h).
#include <set>

#include "memory_helpers.h"

using namespace maya::device;

TEST_CASE("a large allocation is charged in 2 MiB steps and given back") {
  auto memory = make_memory(80 * kGiB);
  const Allocation a = allocate(*memory, 3 * kMiB + 1);
  CHECK(a.bytes == 3 * kMiB + 1);
  CHECK(a.charged_bytes == 4 * kMiB);
  CHECK(a.base % 512 == 0);
  CHECK(memory->use(0).free_bytes == 80 * kGiB - 4 * kMiB);
  CHECK(memory->use(0).layer_bytes[0] == 4 * kMiB);
  Allocation freed;
  REQUIRE(memory->free(a.base, &freed) == MemoryStatus::kOk);
  CHECK(freed.charged_bytes == 4 * kMiB);
  CHECK(memory->use(0).free_bytes == 80 * kGiB);
  CHECK(memory->free(a.base, &freed) == MemoryStatus::kInvalidValue);
}

TEST_CASE("small allocations share a 2 MiB block of 512-byte granules") {
  auto memory = make_memory(kGiB);
  std::vector<Allocation> made;
  std::set<Address> addresses;
  for (int i = 0; i < 4096; ++i) {  // 4096 * 512 = 2 MiB
    made.push_back(allocate(*memory, 1 + i % 512));
    CHECK(made.back().charged_bytes == (i == 0 ? 2 * kMiB : 0));
    addresses.insert(made.back().base);
  }
  CHECK(addresses.size() == 4096);
  CHECK(memory->use(0).free_bytes == kGiB - 2 * kMiB);
  CHECK(allocate(*memory, 1).charged_bytes == 2 * kMiB);
  CHECK(memory->use(0).free_bytes == kGiB - 4 * kMiB);
  uint64_t given_back = 0;
  for (const Allocation& a : made) {
    Allocation freed;
    REQUIRE(memory->free(a.base, &freed) == MemoryStatus::kOk);
    given_back += freed.charged_bytes;
  }
  CHECK(given_back == 2 * kMiB);
  CHECK(memory->use(0).free_bytes == kGiB - 2 * kMiB);
}

TEST_CASE("layers have blocks of their own") {
  auto memory = make_memory(kGiB);
  CHECK(allocate(*memory, 100, 0, Layer::kAllocations).charged_bytes == 2 * kMiB);
  CHECK(allocate(*memory, 100, 0, Layer::kWorkspaces).charged_bytes == 2 * kMiB);
  CHECK(memory->use(0).layer_bytes[static_cast<int>(Layer::kWorkspaces)] == 2 * kMiB);
}

TEST_CASE("charges without an address count") {
  auto memory = make_memory(kGiB);
  REQUIRE(memory->charge(0, Layer::kContext, 500 * kMiB) == MemoryStatus::kOk);
  CHECK(memory->use(0).free_bytes == kGiB - 500 * kMiB);
  CHECK(memory->charge(0, Layer::kModules, 600 * kMiB) == MemoryStatus::kOutOfMemory);
  memory->release(0, Layer::kContext, 500 * kMiB);
  CHECK(memory->use(0).free_bytes == kGiB);
}

TEST_CASE("out of memory changes nothing") {
  auto memory = make_memory(10 * kMiB);
  allocate(*memory, 8 * kMiB);
  Allocation out;
  CHECK(memory->allocate(0, 4 * kMiB, Layer::kAllocations, nullptr, &out) == MemoryStatus::kOutOfMemory);
  CHECK(memory->use(0).free_bytes == 2 * kMiB);
  allocate(*memory, 100);
  CHECK(memory->use(0).free_bytes == 0);
  allocate(*memory, 100);  // in the same block
  CHECK(memory->allocate(0, 1023 * kKiB, Layer::kWorkspaces, nullptr, &out) == MemoryStatus::kOutOfMemory);
  CHECK(memory->allocate(0, UINT64_MAX, Layer::kAllocations, nullptr, &out) == MemoryStatus::kOutOfMemory);
  CHECK(memory->allocate(0, 0, Layer::kAllocations, nullptr, &out) == MemoryStatus::kInvalidValue);
  CHECK(memory->allocate(1, 100, Layer::kAllocations, nullptr, &out) == MemoryStatus::kInvalidValue);
  CHECK(memory->largest_allocations(0, 2) == std::vector<uint64_t>{8 * kMiB, 100});
}

TEST_CASE("any address inside an allocation finds it, none outside does") {
  auto memory = make_memory(kGiB);
  const Allocation large = allocate(*memory, 5 * kMiB + 7);
  const Allocation small = allocate(*memory, 300);
  Allocation found;
  REQUIRE(memory->find(large.base + 5 * kMiB + 6, &found));
  CHECK(found.id == large.id);
  CHECK_FALSE(memory->find(large.base + 5 * kMiB + 7, &found));
  REQUIRE(memory->find(small.base + 299, &found));
  CHECK(found.id == small.id);
  CHECK_FALSE(memory->find(small.base + 300, &found));
  CHECK(memory->bytes_to_end(small.base + 100) == 200);
  CHECK(memory->bytes_to_end(small.base + 300) == 0);
  CHECK(memory->in_device_range(small.base));
  CHECK_FALSE(memory->in_device_range(reinterpret_cast<Address>(&found)));
  Allocation freed;
  CHECK(memory->free(small.base + 1, &freed) == MemoryStatus::kInvalidValue);
  CHECK(memory->free(12345, &freed) == MemoryStatus::kInvalidValue);
}

TEST_CASE("host memory is found by address and never charged") {
  auto memory = make_memory(kGiB);
  Allocation host;
  host.base = 0x10000;
  host.bytes = 4096;
  host.kind = AllocationKind::kHost;
  REQUIRE(memory->add_host(host) == MemoryStatus::kOk);
  host.base = 0x10800;
  CHECK(memory->add_host(host) == MemoryStatus::kInUse);
  Allocation found;
  REQUIRE(memory->find(0x10fff, &found));
  CHECK(found.kind == AllocationKind::kHost);
  CHECK_FALSE(memory->find(0x11000, &found));
  CHECK(memory->use(0).free_bytes == kGiB);
  REQUIRE(memory->remove_host(0x10000, &found) == MemoryStatus::kOk);
  CHECK(memory->remove_host(0x10000, &found) == MemoryStatus::kNotFound);
}

// ThreadSanitizer leaves a process less than a terabyte of addresses.
#ifndef __SANITIZE_THREAD__
TEST_CASE("eight 141 GB devices are allocated in full, whatever the host has") {
  constexpr uint64_t kH200_bytes = 141ull * 1000 * 1000 * 1000 / (2 * kMiB) * (2 * kMiB);
  auto memory = make_memory(kH200_bytes, 8);
  for (int device = 0; device < 8; ++device) {
    std::vector<Address> blocks;
    Allocation out;
    while (memory->allocate(device, 2 * kGiB, Layer::kAllocations, nullptr, &out) == MemoryStatus::kOk)
      blocks.push_back(out.base);
    CHECK(blocks.size() == kH200_bytes / (2 * kGiB));
    const uint64_t rest = memory->use(device).free_bytes;
    allocate(*memory, rest, device);
    CHECK(memory->use(device).free_bytes == 0);
    REQUIRE(memory->fill(blocks.front(), 0x3f800000, 4, 2 * kGiB / 4) == MemoryStatus::kOk);
    CHECK(read(*memory, blocks.front() + 2 * kGiB - 4, 4) == std::vector<unsigned char>{0, 0, 0x80, 0x3f});
  }
  CHECK(memory->host_bytes_used() == 0);
}

TEST_CASE("unlimited memory never runs out") {
  auto memory = make_memory(UINT64_MAX);
  for (int i = 0; i < 100; ++i) allocate(*memory, 100 * kGiB);
  CHECK(UINT64_MAX - memory->use(0).free_bytes == 100 * 100 * kGiB);
}
#endif

TEST_CASE("allocations are found by their owner") {
  auto memory = make_memory(kGiB);
  int one = 0, other = 0;
  Allocation a, b, c;
  REQUIRE(memory->allocate(0, 100, Layer::kAllocations, &one, &a) == MemoryStatus::kOk);
  REQUIRE(memory->allocate(0, 3 * kMiB, Layer::kAllocations, &one, &b) == MemoryStatus::kOk);
  REQUIRE(memory->allocate(0, 100, Layer::kAllocations, &other, &c) == MemoryStatus::kOk);
  CHECK(memory->allocations_of(&one).size() == 2);
  CHECK(memory->allocations_of(&other).size() == 1);
}

TEST_CASE("memory adopted from another process has an address and no charge") {
  auto memory = make_memory(kGiB);
  Allocation adopted;
  REQUIRE(memory->adopt(0, 3 * kMiB, nullptr, &adopted) == MemoryStatus::kOk);
  CHECK(memory->use(0).free_bytes == kGiB);
  CHECK(memory->bytes_to_end(adopted.base) == 3 * kMiB);
  Allocation freed;
  REQUIRE(memory->free(adopted.base, &freed) == MemoryStatus::kOk);
  CHECK(freed.charged_bytes == 0);
}
