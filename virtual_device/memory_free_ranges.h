// Which parts of an interval are free: best fit, neighbours joined. Used for device addresses (2 MiB granules), for
// small allocations inside a shared block and for stream-ordered pools (512-byte granules). Not thread safe. Exceptions
// (bad_alloc) leave everything as it was.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace maya::device {

class FreeRanges {
 public:
  FreeRanges() = default;
  FreeRanges(uint64_t begin, uint64_t bytes) { insert(begin, bytes); }  // bytes > 0

  // Takes `bytes` at a multiple of `alignment` (a power of two) from the smallest range that can hold it, at its lowest
  // fitting address. False when there is none.
  bool take(uint64_t bytes, uint64_t alignment, uint64_t* begin);
  // Takes exactly [begin, begin + bytes); false when any of it is in use or outside.
  bool take_at(uint64_t begin, uint64_t bytes);
  // [begin, begin + bytes) must not be free. When the host has no memory for one more entry the range is lost: never
  // handed out again.
  void give_back(uint64_t begin, uint64_t bytes) noexcept;
  // Longest free range, 0 when none.
  uint64_t largest() const { return by_bytes_.empty() ? 0 : by_bytes_.rbegin()->first; }

 private:
  using Ranges = std::map<uint64_t, uint64_t>;  // begin -> bytes
  void insert(uint64_t begin, uint64_t bytes);
  void erase(Ranges::iterator range) noexcept;
  // Gives a range other bounds without allocating; it must keep its place in the order.
  void change(Ranges::iterator range, uint64_t begin, uint64_t bytes) noexcept;

  Ranges by_begin_;
  std::set<std::pair<uint64_t, uint64_t>> by_bytes_;  // (bytes, begin)
};

}  // namespace maya::device
