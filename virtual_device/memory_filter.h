// Lock-free answer to "may any byte around this address be known?": a table from 2 MiB granules of the device range to
// slots, and a count of known pieces per slot. One slot belongs to one allocation, shared block, pool chunk or address
// reservation. maybe_known() may be called at any time; the rest needs the caller's lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace maya::device {

class Filter {
 public:
  Filter() = default;
  ~Filter();
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  static constexpr int kGranuleShift = 21;

  bool reserve(uint64_t range_bytes);

  // Slot 0 means none. New slots count zero. 0 when all are used.
  uint32_t take_slot();
  void give_back_slot(uint32_t slot);
  // Lets the granules of [offset, offset + bytes) belong to `slot`.
  void assign(uint64_t offset, uint64_t bytes, uint32_t slot);
  uint32_t slot_at(uint64_t offset) const { return table_[offset >> kGranuleShift].load(std::memory_order_relaxed); }

  void add(uint32_t slot, int64_t pieces) { counts_[slot].fetch_add(pieces, std::memory_order_relaxed); }
  bool maybe_known(uint64_t offset) const { return view().maybe_known(offset); }

  // To ask about several addresses. Valid as long as the filter.
  struct View {
    const std::atomic<uint32_t>* table;
    const std::atomic<int64_t>* counts;
    bool maybe_known(uint64_t offset) const {
      const uint32_t slot = table[offset >> kGranuleShift].load(std::memory_order_relaxed);
      return slot != 0 && counts[slot].load(std::memory_order_relaxed) != 0;
    }
  };
  View view() const { return {table_, counts_}; }

 private:
  static constexpr uint32_t kSlots = 16u << 20;
  std::atomic<uint32_t>* table_ = nullptr;
  std::atomic<int64_t>* counts_ = nullptr;
  uint64_t table_bytes_ = 0;
  uint32_t used_ = 1;
  std::vector<uint32_t> free_;
};

}  // namespace maya::device
