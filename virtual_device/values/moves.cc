#include "virtual_device/values/moves.h"

#include <algorithm>
#include <cstring>

#include "virtual_device/values/effect.h"

namespace maya::device {

bool Moves::add(Address source, Address destination, uint64_t elements) {
  const uint64_t bytes = elements * element_;
  bytes_ += bytes;
  if (!runs_.empty()) {
    Run& last = runs_.back();
    if (last.source + last.bytes == source && last.destination + last.bytes == destination) {
      last.bytes += bytes;
      return true;
    }
  }
  runs_.push_back({source, destination, bytes});
  return runs_.size() <= most_runs_;
}

bool Moves::carry_out(Memory& memory) const {
  Address low = UINT64_MAX, high = 0, written_low = UINT64_MAX, written_high = 0;
  for (const Run& run : runs_) {
    if (run.bytes > memory.bytes_to_end(run.source) || run.bytes > memory.bytes_to_end(run.destination)) return false;
    low = std::min(low, run.source);
    high = std::max(high, run.source + run.bytes);
    written_low = std::min(written_low, run.destination);
    written_high = std::max(written_high, run.destination + run.bytes);
  }
  // In one piece where that is possible: many short runs of known bytes.
  std::vector<uint8_t> bytes;
  constexpr size_t kFewRuns = 4;
  if (runs_.size() > kFewRuns && high - low <= kMaximumLarge_bytes && memory.known(low, high - low)) {
    bytes.resize(high - low);
    if (memory.read(bytes.data(), low, bytes.size()) != MemoryStatus::kOk) return false;
    if (write_at_once(bytes, low, written_low, written_high, memory)) return true;
    if (runs_.size() > kMaximumSingleRuns) return false;
    for (const Run& run : runs_)
      if (write_result(memory, run.destination, bytes.data() + (run.source - low), run.bytes) != MemoryStatus::kOk)
        return false;
    return true;
  }
  if (runs_.size() > kMaximumSingleRuns) return false;
  // A source may be the destination of an earlier run: all sources are read first, unless each run stands alone.
  const bool may_overlap = written_low < high && low < written_high && runs_.size() > 1;
  if (may_overlap) return set_aside(memory);
  for (const Run& run : runs_)
    if (memory.copy(run.destination, run.source, run.bytes) != MemoryStatus::kOk) return false;
  return true;
}

bool Moves::write_at_once(const std::vector<uint8_t>& sources, Address low, Address written_low, Address written_high,
                          Memory& memory) const {
  const uint64_t extent = written_high - written_low;
  if (extent > kMaximumLarge_bytes || extent > 64 * bytes_) return false;
  std::vector<uint8_t> result(extent);
  const bool filled = memory.known(written_low, extent);
  if (filled && memory.read(result.data(), written_low, extent) != MemoryStatus::kOk) return false;
  std::vector<bool> written(filled ? 0 : extent, false);
  uint64_t covered = 0;
  for (const Run& run : runs_) {
    const uint64_t to = run.destination - written_low;
    std::memcpy(result.data() + to, sources.data() + (run.source - low), run.bytes);
    for (uint64_t i = to; !filled && i < to + run.bytes; ++i) {
      covered += written[i] ? 0 : 1;
      written[i] = true;
    }
  }
  return (filled || covered == extent) && write_result(memory, written_low, result.data(), extent) == MemoryStatus::kOk;
}

bool Moves::set_aside(Memory& memory) const {
  if (bytes_ > kMaximumSetAside_bytes) return false;
  std::vector<uint8_t> bytes(bytes_), known(bytes_);
  uint64_t at = 0;
  for (const Run& run : runs_) {
    if (memory.read(bytes.data() + at, known.data() + at, run.source, run.bytes) != MemoryStatus::kOk) return false;
    at += run.bytes;
  }
  at = 0;
  for (const Run& run : runs_) {
    memory.make_unknown(run.destination, run.bytes);
    for (uint64_t begin = 0, end = 0; begin < run.bytes; begin = end) {
      const bool is_known = known[at + begin] != 0;
      for (end = begin; end < run.bytes && (known[at + end] != 0) == is_known; ++end) continue;
      if (is_known) write_result(memory, run.destination + begin, bytes.data() + at + begin, end - begin);
    }
    at += run.bytes;
  }
  return true;
}

}  // namespace maya::device
