#include "virtual_device/memory_shadow.h"

#include <sys/mman.h>

#include <algorithm>

namespace maya::device {

Shadow::~Shadow() {
  if (bytes_ != 0) munmap(at(base_), bytes_);
}

bool Shadow::reserve(uint64_t device_base, uint64_t bytes) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* host = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (host == MAP_FAILED) {
    // vm.overcommit_memory = 2 counts writable mappings against the machine's memory, NORESERVE or not.
    host = mmap(nullptr, bytes, PROT_NONE, kFlags, -1, 0);
    if (host == MAP_FAILED) return false;
    commit_ = true;
  }
  // Huge pages would make four bytes cost 2 MiB; the others keep core dumps and fork() of the user's program as they
  // were.
  madvise(host, bytes, MADV_NOHUGEPAGE);
  madvise(host, bytes, MADV_DONTDUMP);
  madvise(host, bytes, MADV_DONTFORK);
  base_ = device_base;
  bytes_ = bytes;
  distance_ = reinterpret_cast<uint64_t>(host) - device_base;
  return true;
}

bool Shadow::touch(uint64_t begin, uint64_t end) {
  uint64_t page = (begin - base_) / kPage_bytes;
  const uint64_t end_page = (end - base_ + kPage_bytes - 1) / kPage_bytes;
  while (page < end_page) {
    const uint64_t index = page / kPages;
    auto found = granules_.find(index);
    if (found == granules_.end()) {
      if (commit_ && mprotect(at(base_ + index * kGranule_bytes), kGranule_bytes, PROT_READ | PROT_WRITE) != 0)
        return false;
      found = granules_.emplace(index, Granule()).first;
    }
    const uint64_t stop = std::min(end_page, (index + 1) * kPages);
    for (; page < stop; ++page) {
      if (found->second.resident[page % kPages]) continue;
      found->second.resident[page % kPages] = true;
      ++resident_pages_;
    }
  }
  return true;
}

void Shadow::release(uint64_t begin, uint64_t end) {
  const uint64_t first_page = (begin - base_ + kPage_bytes - 1) / kPage_bytes;
  const uint64_t end_page = (end - base_) / kPage_bytes;
  if (first_page >= end_page) return;
  uint64_t first_resident = end_page;
  uint64_t last_resident = first_page;
  for (auto granule = granules_.lower_bound(first_page / kPages); granule != granules_.end();) {
    const uint64_t granule_page = granule->first * kPages;
    if (granule_page >= end_page) break;
    auto& resident = granule->second.resident;
    const uint64_t stop = std::min(end_page, granule_page + kPages);
    for (uint64_t page = std::max(first_page, granule_page); page < stop; ++page) {
      if (!resident[page % kPages]) continue;
      resident[page % kPages] = false;
      --resident_pages_;
      first_resident = std::min(first_resident, page);
      last_resident = page;
    }
    if (resident.none() && !commit_)
      granule = granules_.erase(granule);
    else
      ++granule;
  }
  if (first_resident < end_page)
    madvise(at(base_ + first_resident * kPage_bytes), (last_resident + 1 - first_resident) * kPage_bytes,
            MADV_DONTNEED);
}

}  // namespace maya::device
