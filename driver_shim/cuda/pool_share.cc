#include "driver_shim/cuda/pool_share.h"

#include <sys/mman.h>

#include <atomic>
#include <cstring>

#include "driver_shim/cuda/allocation.h"
#include "driver_shim/cuda/host_allocation.h"
#include "driver_shim/cuda/pool.h"
#include "driver_shim/cuda/recorder.h"

namespace maya::cuda {
namespace {

// The location's and the allocation's type in one word of a ticket.
uint64_t packed_types(const PoolProperties& properties) {
  return static_cast<uint64_t>(properties.location.type) | static_cast<uint64_t>(properties.type) << 32;
}

}  // namespace

std::unique_ptr<PoolShare> PoolShare::create(const PoolProperties& properties) {
  static std::atomic<uint64_t> next_number{1};
  SharedMemoryTicket ticket;
  ticket.kind = SharedMemoryTicket::kPool;
  ticket.process = this_process();
  ticket.object = next_number.fetch_add(1, std::memory_order_relaxed);
  ticket.address = packed_types(properties);
  ticket.bytes = properties.maximum_bytes;
  ticket.device = properties.location.id;
  std::unique_ptr<SharedArea> area = SharedArea::create(ticket);
  return area == nullptr ? nullptr : std::unique_ptr<PoolShare>(new PoolShare(std::move(area), false));
}

std::unique_ptr<PoolShare> PoolShare::open(int descriptor, PoolProperties* properties) {
  std::unique_ptr<SharedArea> area = SharedArea::open(descriptor);
  if (area == nullptr || area->ticket().kind != SharedMemoryTicket::kPool) return nullptr;
  const SharedMemoryTicket& ticket = area->ticket();
  properties->type = static_cast<CUmemAllocationType>(ticket.address >> 32);
  properties->location = {static_cast<CUmemLocationType>(ticket.address & UINT32_MAX),
                          {static_cast<int>(ticket.device)}};
  properties->maximum_bytes = ticket.bytes;
  properties->export_types = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return std::unique_ptr<PoolShare>(new PoolShare(std::move(area), true));
}

bool PoolShare::map_new(uint64_t bytes, uint64_t mapped_bytes, Part* out) {
  Part made;
  made.bytes = bytes;
  made.mapped_bytes = mapped_bytes;
  made.offset = area_->take(mapped_bytes);
  if (made.offset == 0) return false;
  made.mapping = area_->map(made.offset, mapped_bytes);
  if (made.mapping == nullptr) {
    area_->give_back(made.offset, mapped_bytes);
    return false;
  }
  *out = made;
  return true;
}

void* PoolShare::allocate(uint64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  Part made;
  if (!map_new(bytes, SharedArea::whole_pages(bytes), &made)) return nullptr;
  parts_[reinterpret_cast<CUdeviceptr>(made.mapping)] = made;
  return made.mapping;
}

CUresult PoolShare::export_pointer(device::Memory& memory, const device::Allocation& allocation,
                                   CUmemPoolPtrExportData* out) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto part = parts_.find(allocation.base);
  if (part == parts_.end()) {
    // Device memory, for the first time.
    Part made;
    if (!map_new(allocation.bytes, device::Memory::window_bytes(allocation.bytes), &made))
      return CUDA_ERROR_OUT_OF_MEMORY;
    made.window = true;
    part = parts_.emplace(allocation.base, made).first;
    memory.share(allocation.base, allocation.bytes, made.mapping, true);
  }
  SharedMemoryTicket ticket = area_->ticket();
  ticket.kind = SharedMemoryTicket::kPoolAllocation;
  ticket.address = part->second.offset;
  ticket.bytes = part->second.bytes;
  *out = {};
  std::memcpy(out->reserved, &ticket, sizeof(ticket));
  return CUDA_SUCCESS;
}

CUresult PoolShare::import_pointer(Driver& driver, const PoolProperties& properties, const CUmemPoolPtrExportData& data,
                                   device::Allocation* out) {
  SharedMemoryTicket ticket;
  std::memcpy(&ticket, data.reserved, sizeof(ticket));
  const SharedMemoryTicket& pool = area_->ticket();
  if (ticket.magic != SharedMemoryTicket::kMagic || ticket.kind != SharedMemoryTicket::kPoolAllocation ||
      ticket.process != pool.process || ticket.object != pool.object || ticket.bytes == 0)
    return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard<std::mutex> lock(mutex_);
  Part made;
  made.window = properties.on_device();
  made.bytes = ticket.bytes;
  made.offset = ticket.address;
  made.mapped_bytes = made.window ? device::Memory::window_bytes(ticket.bytes) : SharedArea::whole_pages(ticket.bytes);
  made.mapping = area_->map(made.offset, made.mapped_bytes);
  if (made.mapping == nullptr) return CUDA_ERROR_MAP_FAILED;
  CUresult status = CUDA_SUCCESS;
  if (made.window) {
    status = memory_result(driver.memory().adopt(properties.location.id, made.bytes, nullptr, out));
  } else {
    *out = {};
    out->base = out->host_alias = reinterpret_cast<uint64_t>(made.mapping);
    out->bytes = made.bytes;
    out->kind = device::AllocationKind::kHost;
    out->flags = CU_MEMHOSTALLOC_PORTABLE;
    status = add_host_memory(driver, *out);
  }
  if (status != CUDA_SUCCESS) {
    munmap(made.mapping, made.mapped_bytes);
    return status;
  }
  if (made.window) {
    driver.memory().share(out->base, made.bytes, made.mapping, false);
    Recorder::get().allocation(*out);
  }
  parts_[out->base] = made;
  return CUDA_SUCCESS;
}

bool PoolShare::holds(CUdeviceptr address) const {
  std::lock_guard<std::mutex> lock(mutex_);
  auto part = parts_.upper_bound(address);
  return part != parts_.begin() && address - (--part)->first < part->second.bytes;
}

bool PoolShare::end(device::Memory& memory, CUdeviceptr address) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto part = parts_.find(address);
  if (part == parts_.end()) return false;
  if (part->second.window) memory.unshare(address);
  munmap(part->second.mapping, part->second.mapped_bytes);
  if (!imported_) area_->give_back(part->second.offset, part->second.mapped_bytes);
  parts_.erase(part);
  return true;
}

}  // namespace maya::cuda
