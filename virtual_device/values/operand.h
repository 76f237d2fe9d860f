// A range of memory that a kernel reads, of which some bytes may be unknown.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "virtual_device/values/effect.h"

namespace maya::device {

class Operand {
 public:
  // False when nothing of the range is known: then all of it reads as zero and unknown. Also false, and not even
  // readable(), when it is longer than `most` bytes, and when it is long and not known as a whole.
  bool load(const Memory& memory, Address address, uint64_t bytes, uint64_t most) {
    bytes_.clear();
    known_.clear();
    const bool whole = all_known(memory, address, bytes);
    readable_ = bytes <= most && (whole || bytes <= kMaximumIntegers_bytes);
    if (!readable_) return false;
    bytes_.assign(bytes, 0);
    if (bytes == 0 || (whole && memory.read(bytes_.data(), address, bytes) == MemoryStatus::kOk)) return true;
    known_.assign(bytes, 0);
    if (whole || !memory.in_device_range(address) || !memory.maybe_known(address)) return false;
    if (memory.read(bytes_.data(), known_.data(), address, bytes) == MemoryStatus::kOk)
      return std::find(known_.begin(), known_.end(), 1) != known_.end();
    known_.assign(bytes, 0);
    return false;
  }
  bool readable() const { return readable_; }

  const uint8_t* at(uint64_t offset) const { return bytes_.data() + offset; }
  bool known(uint64_t offset, uint64_t bytes) const {
    if (known_.empty()) return true;
    const auto begin = known_.begin() + static_cast<std::ptrdiff_t>(offset);
    return std::find(begin, begin + static_cast<std::ptrdiff_t>(bytes), 0) ==
           begin + static_cast<std::ptrdiff_t>(bytes);
  }
  // Every byte is known.
  bool whole() const { return known_.empty(); }

 private:
  std::vector<uint8_t> bytes_;
  std::vector<uint8_t> known_;  // empty: all
  bool readable_ = false;
};

}  // namespace maya::device
