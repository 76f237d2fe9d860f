// The inside of Memory: all state behind its lock, and the steps that several of its members share. Every member below
// expects `mutex` held, except where noted.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "virtual_device/memory.h"
#include "virtual_device/memory_filter.h"
#include "virtual_device/memory_free_ranges.h"
#include "virtual_device/memory_ledger.h"
#include "virtual_device/memory_region.h"
#include "virtual_device/memory_shadow.h"

namespace maya::device {

// Ranges whose data shrinks by at least this much give their host pages back at once (a system call); others when the
// budget is reached or their memory is freed.
inline constexpr uint64_t kReleaseAtOnce_bytes = 64 << 10;

struct Memory::Impl {
  // Home addresses [home, home + bytes) of a region, the piece of memory at a visible address.
  struct Segment {
    Region* region = nullptr;
    Address home = 0;
    uint64_t bytes = 0;
  };
  struct Owner {
    Region* region = nullptr;
    Reservation* reservation = nullptr;
  };
  // Blocks of one device and layer that small allocations share.
  struct SharedBlocks {
    std::set<std::pair<uint64_t, Region*>> by_largest;  // (longest free stretch, block)
    Region* empty = nullptr;                            // one block without allocations is kept, uncharged
  };

  ~Impl();
  // Reserves addresses, shadow and filter. False when the system refuses even the smallest useful size.
  bool reserve_ranges();

  // --- regions ---
  // New region of `bytes` with addresses and, unless physical, a slot. Throws bad_alloc; null when addresses or slots
  // are used up.
  Region* make_region(Region::Kind kind, int device, Layer layer, uint64_t bytes);
  void destroy_region(Region* region) noexcept;
  Region* region_at(Address address, Region::Kind kind);  // the region whose base is `address`
  MemoryStatus allocate_shared(int device, uint64_t bytes, Layer layer, void* context, Allocation* out);
  void free_shared(Region* block, std::map<Address, Allocation>::iterator part, Allocation* freed);

  // --- look-up ---
  Owner owner_at(Address address) const;
  bool find(Address address, Allocation* out) const;
  // The memory at a visible address, to the end of its allocation or mapping.
  bool resolve(Address address, Segment* segment) const;
  // True when [address, address + bytes) lies in one allocation, or in mappings without gaps.
  bool inside(Address address, uint64_t bytes) const;
  uint64_t bytes_to_end(Address address) const;
  // Calls visit(region, home, offset, bytes) for consecutive parts of a range for which inside() holds.
  template <typename Visitor>
  void for_segments(Address address, uint64_t bytes, Visitor&& visit) const {
    for (uint64_t offset = 0; offset < bytes;) {
      Segment segment;
      if (!resolve(address + offset, &segment)) return;
      const uint64_t part = segment.bytes < bytes - offset ? segment.bytes : bytes - offset;
      visit(*segment.region, segment.home, offset, part);
      offset += part;
    }
  }

  // --- known bytes ---
  // Keeps filter and reservations in step with a region's pieces while it lives.
  class PieceCount {
   public:
    PieceCount(Impl& memory, Region& region)
        : memory_(memory), region_(region), before_(region.known.pieces().size()) {}
    ~PieceCount() { memory_.pieces_changed(region_, before_); }
    PieceCount(const PieceCount&) = delete;
    PieceCount& operator=(const PieceCount&) = delete;

   private:
    Impl& memory_;
    Region& region_;
    size_t before_;
  };
  void pieces_changed(Region& region, size_t before) noexcept;
  // Copies `bytes` from `source` to home addresses and makes them known, budget permitting.
  void store(Region& region, Address home, const void* source, uint64_t bytes);
  void store_fill(Region& region, Address home, uint64_t bytes, uint32_t word);
  void forget(Region& region, Address home, uint64_t bytes);
  // spare_values: leaves out what Memory::make_unknown_around_values() leaves alone.
  void forget(Region& region, Address home, uint64_t bytes, bool spare_values);
  void make_unknown(Address destination, uint64_t bytes, bool spare_values);
  void load(const Region& region, Address home, void* destination, uint64_t bytes) const;
  // Gives back host pages of [home, home + bytes), which has no data any more, and of what is free around it.
  void release_pages(Region& region, Address home, uint64_t bytes);
  void enforce_budget();

  // --- windows ---
  struct Window {
    uint64_t bytes = 0;
    unsigned char* area = nullptr;
    uint32_t slot = 0;
  };
  // Takes over, or passes on, what of [address, address + bytes) lies in windows.
  void take_over(Address address, uint64_t bytes);
  void pass_on(Address address, uint64_t bytes);
  // The part of a range, of which only a bound is known, that those are for: to the end of its allocation.
  uint64_t window_part(Address address, uint64_t bytes) const {
    return windows.empty() ? 0 : std::min(bytes, bytes_to_end(address));
  }
  template <typename Visitor>
  void for_windows(Address address, uint64_t bytes, Visitor&& visit);

  mutable std::mutex mutex;
  Address range_base = 0;
  uint64_t range_bytes = 0;
  FreeRanges addresses;
  Shadow shadow;
  Filter filter;
  std::vector<Owner> owners;  // by slot
  std::map<Address, std::unique_ptr<Region>> regions;
  std::map<Address, std::unique_ptr<Reservation>> reservations;
  std::unordered_map<uint64_t, Region*> physical;  // by handle
  std::map<Address, Allocation> host;
  std::unordered_map<uint32_t, std::vector<std::pair<Address, uint64_t>>> expected;  // by tag
  std::map<Address, Window> windows;
  std::vector<Ledger> ledgers;
  std::vector<std::array<SharedBlocks, kLayerCount>> shared;
  uint64_t next_id = 1;
  uint64_t next_handle = 1;
  uint64_t budget_bytes = 0;
  uint64_t dropped_bytes = 0;
};

}  // namespace maya::device
