// Shared by the device memory tests.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "virtual_device/memory.h"

namespace maya::device {

inline constexpr uint64_t kKiB = 1ull << 10;
inline constexpr uint64_t kMiB = 1ull << 20;
inline constexpr uint64_t kGiB = 1ull << 30;

inline std::unique_ptr<Memory> make_memory(uint64_t capacity_bytes, int devices = 1,
                                           uint64_t host_budget_bytes = kGiB) {
  Memory::Options options;
  options.devices = devices;
  options.capacity_bytes = capacity_bytes;
  options.host_budget_bytes = host_budget_bytes;
  auto memory = Memory::create(options);
  REQUIRE(memory != nullptr);
  return memory;
}

inline Allocation allocate(Memory& memory, uint64_t bytes, int device = 0, Layer layer = Layer::kAllocations) {
  Allocation made;
  REQUIRE(memory.allocate(device, bytes, layer, nullptr, &made) == MemoryStatus::kOk);
  return made;
}

inline std::vector<unsigned char> read(const Memory& memory, Address address, uint64_t bytes) {
  std::vector<unsigned char> out(bytes, 0xee);
  REQUIRE(memory.read(out.data(), address, bytes) == MemoryStatus::kOk);
  return out;
}

}  // namespace maya::device
