#include "virtual_device/memory_pool.h"

#include <algorithm>

namespace maya::device {
namespace {

uint64_t rounded_to(uint64_t bytes, uint64_t granule) { return (bytes + granule - 1) & ~(granule - 1); }

}  // namespace

std::map<Address, MemoryPool::Chunk>::const_iterator MemoryPool::chunk_around(Address address) const {
  auto chunk = chunks_.upper_bound(address);
  if (chunk == chunks_.begin()) return chunks_.end();
  --chunk;
  return address - chunk->first < chunk->second.bytes ? chunk : chunks_.end();
}

MemoryStatus MemoryPool::allocate(uint64_t bytes, void* context, Allocation* out, Allocation* grown,
                                  std::vector<Allocation>* released) {
  std::lock_guard<std::mutex> lock(mutex_);
  *grown = {};
  if (bytes == 0) return MemoryStatus::kInvalidValue;
  if (bytes > UINT64_MAX - kGrowth_bytes) return MemoryStatus::kOutOfMemory;
  const uint64_t rounded = rounded_to(bytes, Memory::kSmallGranule_bytes);
  auto best = chunks_.end();
  for (auto chunk = chunks_.begin(); chunk != chunks_.end(); ++chunk) {
    const uint64_t largest = chunk->second.free.largest();
    if (largest >= rounded && (best == chunks_.end() || largest < best->second.free.largest())) best = chunk;
  }
  if (best == chunks_.end()) {
    const uint64_t wanted = rounded_to(rounded, Memory::kGranularity_bytes);
    uint64_t chunk_bytes = std::max(kGrowth_bytes, wanted);
    if (maximum_bytes_ != 0) {
      const uint64_t room = maximum_bytes_ - std::min(maximum_bytes_, usage_.reserved.now());
      chunk_bytes = std::clamp(room / Memory::kGranularity_bytes * Memory::kGranularity_bytes, wanted, chunk_bytes);
    }
    const auto grow = [&] {
      if (maximum_bytes_ != 0 && chunk_bytes > maximum_bytes_ - std::min(maximum_bytes_, usage_.reserved.now()))
        return MemoryStatus::kOutOfMemory;
      return memory_.allocate_chunk(device_, chunk_bytes, nullptr, grown);
    };
    MemoryStatus status = grow();
    if (status == MemoryStatus::kOutOfMemory) {
      trim_locked(0, released);
      status = grow();
    }
    if (status != MemoryStatus::kOk) return status;
    try {
      best = chunks_.emplace(grown->base, Chunk{chunk_bytes, 0, FreeRanges(grown->base, chunk_bytes)}).first;
    } catch (...) {
      memory_.free_chunk(grown->base, grown);
      throw;
    }
    usage_.reserved.add(chunk_bytes);
  }
  Chunk& chunk = best->second;
  Address base = 0;
  if (!chunk.free.take(rounded, Memory::kSmallGranule_bytes, &base)) return MemoryStatus::kOutOfMemory;
  const MemoryStatus status = memory_.place(base, bytes, context, out);
  if (status != MemoryStatus::kOk) {
    chunk.free.give_back(base, rounded);
    return status;
  }
  chunk.used_bytes += rounded;
  usage_.used.add(rounded);
  return MemoryStatus::kOk;
}

MemoryStatus MemoryPool::free(Address base, Allocation* freed) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = chunk_around(base);
  if (found == chunks_.end()) return MemoryStatus::kNotFound;
  if (const MemoryStatus status = memory_.free(base, freed); status != MemoryStatus::kOk) return status;
  Chunk& chunk = chunks_.find(found->first)->second;
  const uint64_t rounded = rounded_to(freed->bytes, Memory::kSmallGranule_bytes);
  chunk.free.give_back(base, rounded);
  chunk.used_bytes -= rounded;
  usage_.used.remove(rounded);
  return MemoryStatus::kOk;
}

bool MemoryPool::owns(Address address) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return chunk_around(address) != chunks_.end();
}

void MemoryPool::trim_locked(uint64_t keep_bytes, std::vector<Allocation>* released) {
  for (auto chunk = chunks_.begin(); chunk != chunks_.end() && usage_.reserved.now() > keep_bytes;) {
    if (chunk->second.used_bytes != 0 || usage_.reserved.now() - chunk->second.bytes < keep_bytes) {
      ++chunk;
      continue;
    }
    released->reserve(released->size() + 1);
    Allocation freed;
    if (memory_.free_chunk(chunk->first, &freed) == MemoryStatus::kOk) released->push_back(freed);
    usage_.reserved.remove(chunk->second.bytes);
    chunk = chunks_.erase(chunk);
  }
}

void MemoryPool::trim(uint64_t keep_bytes, std::vector<Allocation>* released) {
  std::lock_guard<std::mutex> lock(mutex_);
  trim_locked(keep_bytes, released);
}

}  // namespace maya::device
