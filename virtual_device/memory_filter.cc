#include "virtual_device/memory_filter.h"

#include <sys/mman.h>

namespace maya::device {
namespace {

void* sparse(uint64_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  madvise(p, bytes, MADV_NOHUGEPAGE);
  return p;
}

}  // namespace

Filter::~Filter() {
  if (table_ != nullptr) munmap(table_, table_bytes_);
  if (counts_ != nullptr) munmap(counts_, kSlots * sizeof(*counts_));
}

bool Filter::reserve(uint64_t range_bytes) {
  table_bytes_ = (range_bytes >> kGranuleShift) * sizeof(*table_);
  table_ = static_cast<std::atomic<uint32_t>*>(sparse(table_bytes_));
  counts_ = static_cast<std::atomic<int64_t>*>(sparse(kSlots * sizeof(*counts_)));
  return table_ != nullptr && counts_ != nullptr;
}

uint32_t Filter::take_slot() {
  uint32_t slot = 0;
  if (!free_.empty()) {
    slot = free_.back();
    free_.pop_back();
  } else if (used_ < kSlots) {
    slot = used_++;
  }
  if (slot != 0) counts_[slot].store(0, std::memory_order_relaxed);
  return slot;
}

void Filter::give_back_slot(uint32_t slot) {
  counts_[slot].store(0, std::memory_order_relaxed);
  free_.push_back(slot);
}

void Filter::assign(uint64_t offset, uint64_t bytes, uint32_t slot) {
  const uint64_t end = (offset + bytes) >> kGranuleShift;
  for (uint64_t granule = offset >> kGranuleShift; granule < end; ++granule)
    table_[granule].store(slot, std::memory_order_relaxed);
}

}  // namespace maya::device
