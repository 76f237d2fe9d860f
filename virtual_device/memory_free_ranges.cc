#include "virtual_device/memory_free_ranges.h"

#include <new>

namespace maya::device {

void FreeRanges::insert(uint64_t begin, uint64_t bytes) {
  const auto made = by_bytes_.emplace(bytes, begin).first;
  try {
    by_begin_.emplace(begin, bytes);
  } catch (...) {
    by_bytes_.erase(made);
    throw;
  }
}

void FreeRanges::erase(Ranges::iterator range) noexcept {
  by_bytes_.erase({range->second, range->first});
  by_begin_.erase(range);
}

void FreeRanges::change(Ranges::iterator range, uint64_t begin, uint64_t bytes) noexcept {
  auto sized = by_bytes_.extract({range->second, range->first});
  sized.value() = {bytes, begin};
  by_bytes_.insert(std::move(sized));
  if (range->first == begin) {
    range->second = bytes;
    return;
  }
  auto placed = by_begin_.extract(range);
  placed.key() = begin;
  placed.mapped() = bytes;
  by_begin_.insert(std::move(placed));
}

bool FreeRanges::take(uint64_t bytes, uint64_t alignment, uint64_t* begin) {
  for (auto candidate = by_bytes_.lower_bound({bytes, 0}); candidate != by_bytes_.end(); ++candidate) {
    const uint64_t start = (candidate->second + alignment - 1) & ~(alignment - 1);
    const uint64_t end = candidate->second + candidate->first;
    if (start < candidate->second || start > end || end - start < bytes) continue;
    *begin = start;
    return take_at(start, bytes);
  }
  return false;
}

bool FreeRanges::take_at(uint64_t begin, uint64_t bytes) {
  auto range = by_begin_.upper_bound(begin);
  if (range == by_begin_.begin()) return false;
  --range;
  const uint64_t range_begin = range->first;
  const uint64_t range_end = range->first + range->second;
  if (begin >= range_end || range_end - begin < bytes) return false;
  const uint64_t tail_begin = begin + bytes;
  if (begin > range_begin) {
    if (tail_begin < range_end) insert(tail_begin, range_end - tail_begin);
    change(range, range_begin, begin - range_begin);
  } else if (tail_begin < range_end) {
    change(range, tail_begin, range_end - tail_begin);
  } else {
    erase(range);
  }
  return true;
}

void FreeRanges::give_back(uint64_t begin, uint64_t bytes) noexcept {
  if (bytes == 0) return;
  const auto next = by_begin_.lower_bound(begin);
  const bool joins_next = next != by_begin_.end() && next->first == begin + bytes;
  if (next != by_begin_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == begin) {
      const uint64_t joined = previous->second + bytes + (joins_next ? next->second : 0);
      if (joins_next) erase(next);
      change(previous, previous->first, joined);
      return;
    }
  }
  if (joins_next) {
    change(next, begin, bytes + next->second);
    return;
  }
  try {
    insert(begin, bytes);
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace maya::device
