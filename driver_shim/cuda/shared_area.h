// Memory that several processes map: a file without a name, passed on as a descriptor. Its first page holds the ticket
// that says what it is; behind it, one process hands out ranges. Thread safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "driver_shim/cuda/shareable_handle.h"
#include "virtual_device/memory_free_ranges.h"

namespace maya::cuda {

class SharedArea {
 public:
  static constexpr uint64_t kPage_bytes = 4096;
  static uint64_t whole_pages(uint64_t bytes) { return (bytes + kPage_bytes - 1) & ~(kPage_bytes - 1); }

  // An empty area. Null when the system has no descriptor left. Throws std::bad_alloc.
  static std::unique_ptr<SharedArea> create(const SharedMemoryTicket& ticket);
  // The area behind another descriptor of it, which stays the caller's; null when it is none.
  static std::unique_ptr<SharedArea> open(int descriptor);
  ~SharedArea();
  SharedArea(const SharedArea&) = delete;
  SharedArea& operator=(const SharedArea&) = delete;

  const SharedMemoryTicket& ticket() const { return ticket_; }
  // A new descriptor for another process, closed on exec; -1 when there is none left.
  int new_descriptor() const;

  // A range for this process to hand out; 0 when the area is full. It reads as zero. For areas made by create().
  uint64_t take(uint64_t bytes);
  void give_back(uint64_t offset, uint64_t bytes);

  // Maps a range; null when the system refuses. munmap() ends that, before or after the area ends.
  unsigned char* map(uint64_t offset, uint64_t bytes) const;

 private:
  SharedArea(int descriptor, const SharedMemoryTicket& ticket) : descriptor_(descriptor), ticket_(ticket) {}

  const int descriptor_;
  const SharedMemoryTicket ticket_;
  std::mutex mutex_;
  device::FreeRanges free_;
};

}  // namespace maya::cuda
