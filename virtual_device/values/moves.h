// Elements that a kernel copies from place to place: gathers, scatters, flips, concatenations.
#pragma once

#include <cstdint>
#include <vector>

#include "virtual_device/memory.h"

namespace maya::device {

class Moves {
 public:
  // At most so many runs of neighbours, which bounds what carry_out() does.
  static constexpr size_t kMaximumSingleRuns = 16 << 10;
  // More only of known bytes, in one piece, for those that ask for it.
  static constexpr size_t kMaximumRuns = 4 << 20;

  // `element`: bytes of each.
  explicit Moves(uint64_t element, size_t most_runs = kMaximumSingleRuns) : element_(element), most_runs_(most_runs) {}

  // Later moves win where destinations overlap. `elements` neighbours are moved as one. Joins with the move before
  // where both sides continue it. False when there are too many.
  bool add(Address source, Address destination, uint64_t elements = 1);

  // Copies, known and unknown states alike, as if all sources were read first. False when a place is outside of
  // memory, or when runs are many and not of known bytes that fill a range; then nothing was written.
  bool carry_out(Memory& memory) const;

  bool empty() const { return runs_.empty(); }
  uint64_t bytes() const { return bytes_; }

 private:
  // Where sources and destinations may overlap: so much is moved by way of host memory.
  static constexpr uint64_t kMaximumSetAside_bytes = 1 << 20;
  bool set_aside(Memory& memory) const;
  // The range of all destinations, from known bytes. False where sources or what lies between destinations are not.
  bool write_at_once(const std::vector<uint8_t>& sources, Address low, Address written_low, Address written_high,
                     Memory& memory) const;

  struct Run {
    Address source, destination;
    uint64_t bytes;
  };
  uint64_t element_;
  size_t most_runs_;
  uint64_t bytes_ = 0;
  std::vector<Run> runs_;
};

}  // namespace maya::device
