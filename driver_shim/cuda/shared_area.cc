#include "driver_shim/cuda/shared_area.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace maya::cuda {
namespace {

constexpr uint64_t kArea_bytes = 1ull << 42;  // of addresses in the file: pages come as they are written

}  // namespace

std::unique_ptr<SharedArea> SharedArea::create(const SharedMemoryTicket& ticket) {
  const int descriptor = memfd_create("maya-shared-memory", MFD_CLOEXEC);
  if (descriptor < 0) return nullptr;
  std::unique_ptr<SharedArea> made(new SharedArea(descriptor, ticket));
  if (ftruncate(descriptor, static_cast<off_t>(kArea_bytes)) != 0 ||
      pwrite(descriptor, &ticket, sizeof(ticket), 0) != static_cast<ssize_t>(sizeof(ticket)))
    return nullptr;
  made->free_ = device::FreeRanges(kPage_bytes, kArea_bytes - kPage_bytes);
  return made;
}

std::unique_ptr<SharedArea> SharedArea::open(int descriptor) {
  SharedMemoryTicket ticket;
  if (descriptor < 0 || pread(descriptor, &ticket, sizeof(ticket), 0) != static_cast<ssize_t>(sizeof(ticket)) ||
      ticket.magic != SharedMemoryTicket::kMagic)
    return nullptr;
  const int own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  return own < 0 ? nullptr : std::unique_ptr<SharedArea>(new SharedArea(own, ticket));
}

SharedArea::~SharedArea() { close(descriptor_); }

int SharedArea::new_descriptor() const { return fcntl(descriptor_, F_DUPFD_CLOEXEC, 0); }

uint64_t SharedArea::take(uint64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  uint64_t offset = 0;
  return free_.take(whole_pages(bytes), kPage_bytes, &offset) ? offset : 0;
}

void SharedArea::give_back(uint64_t offset, uint64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
            static_cast<off_t>(whole_pages(bytes)));
  free_.give_back(offset, whole_pages(bytes));
}

unsigned char* SharedArea::map(uint64_t offset, uint64_t bytes) const {
  if (offset < kPage_bytes || offset % kPage_bytes != 0 || bytes == 0 || bytes > kArea_bytes - offset) return nullptr;
  void* memory =
      mmap(nullptr, whole_pages(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, static_cast<off_t>(offset));
  return memory == MAP_FAILED ? nullptr : static_cast<unsigned char*>(memory);
}

}  // namespace maya::cuda
