// The pieces that device memory is made of: regions (charged memory with its known bytes) and address reservations into
// which physical regions are mapped. Plain data, guarded by Memory's lock.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "virtual_device/memory.h"
#include "virtual_device/memory_free_ranges.h"
#include "virtual_device/memory_known_bytes.h"

namespace maya::device {

struct Reservation;

// A stretch of the device range, a multiple of 2 MiB. Known bytes are kept under the region's own addresses ("home"
// addresses). Those are the addresses that a program sees, except for physical regions: these are seen through
// mappings.
struct Region {
  enum class Kind : uint8_t { kSingle, kShared, kChunk, kPhysical };
  Kind kind = Kind::kSingle;
  Address base = 0;
  uint64_t bytes = 0;
  int device = 0;
  Layer layer = Layer::kAllocations;
  uint32_t slot = 0;                    // in the filter; 0 for kPhysical
  Allocation allocation;                // kSingle, kChunk
  std::map<Address, Allocation> parts;  // kShared, kChunk: the allocations inside
  FreeRanges free;                      // kShared
  KnownBytes known;

  // kPhysical
  uint64_t handle = 0;
  uint64_t references = 0;
  struct View {
    Reservation* reservation;
    Address address;
  };
  std::vector<View> views;  // one for each mapping
};

struct Mapping {
  uint64_t bytes = 0;
  uint64_t offset = 0;  // into the physical region
  Region* physical = nullptr;
  void* context = nullptr;
  uint64_t id = 0;
};

struct Reservation {
  Address base = 0;
  uint64_t bytes = 0;
  uint32_t slot = 0;
  std::map<Address, Mapping> mappings;  // by begin
  std::map<Address, Address> runs;      // mapped without gaps: begin -> end
  std::set<Address> known_mappings;     // those whose physical region has known bytes
};

}  // namespace maya::device
