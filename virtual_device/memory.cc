#include "virtual_device/memory.h"

#include <algorithm>

#include "virtual_device/memory_state.h"

namespace maya::device {

Memory::Memory() : impl_(std::make_unique<Impl>()) {}
Memory::~Memory() = default;

std::unique_ptr<Memory> Memory::create(const Options& options) {
  std::unique_ptr<Memory> memory(new Memory());
  Impl& impl = *memory->impl_;
  if (!impl.reserve_ranges()) return nullptr;
  memory->range_base_ = impl.range_base;
  memory->range_bytes_ = impl.range_bytes;
  memory->filter_ = &impl.filter;
  impl.budget_bytes = options.host_budget_bytes;
  for (size_t i = 0; i < static_cast<size_t>(options.devices); ++i)
    impl.ledgers.emplace_back(options.capacity_bytes, i < options.published.size() ? options.published[i] : nullptr);
  impl.shared.resize(static_cast<size_t>(options.devices));
  return memory;
}

MemoryStatus Memory::allocate(int device, uint64_t bytes, Layer layer, void* context, Allocation* out) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  if (bytes == 0 || device < 0 || static_cast<size_t>(device) >= impl_->ledgers.size())
    return MemoryStatus::kInvalidValue;
  if (bytes < kSharedBelow_bytes) return impl_->allocate_shared(device, bytes, layer, context, out);
  if (bytes > UINT64_MAX - kGranularity_bytes) return MemoryStatus::kOutOfMemory;
  const uint64_t charged = (bytes + kGranularity_bytes - 1) & ~(kGranularity_bytes - 1);
  Ledger& ledger = impl_->ledgers[static_cast<size_t>(device)];
  if (!ledger.charge(layer, charged)) return MemoryStatus::kOutOfMemory;
  Region* region = nullptr;
  try {
    region = impl_->make_region(Region::Kind::kSingle, device, layer, charged);
  } catch (...) {
    ledger.release(layer, charged);
    throw;
  }
  if (region == nullptr) {
    ledger.release(layer, charged);
    return MemoryStatus::kNoAddressSpace;
  }
  region->allocation = {region->base,     bytes,   charged, device, layer, AllocationKind::kDevice,
                        impl_->next_id++, context, 0};
  *out = region->allocation;
  return MemoryStatus::kOk;
}

MemoryStatus Memory::adopt(int device, uint64_t bytes, void* context, Allocation* out) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  if (bytes == 0 || bytes > impl_->range_bytes || device < 0 || static_cast<size_t>(device) >= impl_->ledgers.size())
    return MemoryStatus::kInvalidValue;
  const uint64_t rounded = (bytes + kGranularity_bytes - 1) & ~(kGranularity_bytes - 1);
  Region* region = impl_->make_region(Region::Kind::kSingle, device, Layer::kAllocations, rounded);
  if (region == nullptr) return MemoryStatus::kNoAddressSpace;
  region->allocation = {region->base,     bytes,   0, device, Layer::kAllocations, AllocationKind::kDevice,
                        impl_->next_id++, context, 0};
  *out = region->allocation;
  return MemoryStatus::kOk;
}

MemoryStatus Memory::free(Address base, Allocation* freed) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  const Impl::Owner owner = impl_->owner_at(base);
  Region* region = owner.region;
  if (region == nullptr) return MemoryStatus::kInvalidValue;
  if (region->kind == Region::Kind::kSingle) {
    if (region->base != base) return MemoryStatus::kInvalidValue;
    *freed = region->allocation;
    impl_->ledgers[static_cast<size_t>(region->device)].release(region->layer, region->allocation.charged_bytes);
    impl_->destroy_region(region);
    return MemoryStatus::kOk;
  }
  const auto part = region->parts.find(base);
  if (part == region->parts.end()) return MemoryStatus::kInvalidValue;
  if (region->kind == Region::Kind::kShared) {
    impl_->free_shared(region, part, freed);
    return MemoryStatus::kOk;
  }
  *freed = part->second;
  impl_->forget(*region, base, freed->bytes);
  region->parts.erase(part);
  return MemoryStatus::kOk;
}

MemoryStatus Memory::charge(int device, Layer layer, uint64_t bytes) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  if (device < 0 || static_cast<size_t>(device) >= impl_->ledgers.size()) return MemoryStatus::kInvalidValue;
  return impl_->ledgers[static_cast<size_t>(device)].charge(layer, bytes) ? MemoryStatus::kOk
                                                                          : MemoryStatus::kOutOfMemory;
}

void Memory::release(int device, Layer layer, uint64_t bytes) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  if (device < 0 || static_cast<size_t>(device) >= impl_->ledgers.size()) return;
  impl_->ledgers[static_cast<size_t>(device)].release(layer, bytes);
}

bool Memory::find(Address address, Allocation* out) const {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->find(address, out);
}

DeviceMemoryUse Memory::use(int device) const {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  if (device < 0 || static_cast<size_t>(device) >= impl_->ledgers.size()) return {};
  return impl_->ledgers[static_cast<size_t>(device)].use();
}

std::vector<uint64_t> Memory::largest_allocations(int device, int count) const {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  std::vector<uint64_t> sizes;
  for (const auto& [base, region] : impl_->regions) {
    if (region->device != device) continue;
    if (region->kind == Region::Kind::kShared) {
      for (const auto& [address, part] : region->parts) sizes.push_back(part.bytes);
    } else {
      sizes.push_back(region->kind == Region::Kind::kPhysical ? region->bytes : region->allocation.bytes);
    }
  }
  const size_t kept = std::min(sizes.size(), static_cast<size_t>(std::max(count, 0)));
  std::partial_sort(sizes.begin(), sizes.begin() + static_cast<ptrdiff_t>(kept), sizes.end(), std::greater<>());
  sizes.resize(kept);
  return sizes;
}

std::vector<Allocation> Memory::allocations_of(const void* context) const {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  std::vector<Allocation> found;
  for (const auto& [base, region] : impl_->regions) {
    if (region->kind == Region::Kind::kSingle && region->allocation.context == context)
      found.push_back(region->allocation);
    for (const auto& [address, part] : region->parts)
      if (part.context == context) found.push_back(part);
  }
  return found;
}

MemoryStatus Memory::allocate_chunk(int device, uint64_t bytes, void* context, Allocation* out) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  if (bytes == 0 || bytes % kGranularity_bytes != 0 || device < 0 ||
      static_cast<size_t>(device) >= impl_->ledgers.size())
    return MemoryStatus::kInvalidValue;
  Ledger& ledger = impl_->ledgers[static_cast<size_t>(device)];
  if (!ledger.charge(Layer::kAllocations, bytes)) return MemoryStatus::kOutOfMemory;
  Region* region = nullptr;
  try {
    region = impl_->make_region(Region::Kind::kChunk, device, Layer::kAllocations, bytes);
  } catch (...) {
    ledger.release(Layer::kAllocations, bytes);
    throw;
  }
  if (region == nullptr) {
    ledger.release(Layer::kAllocations, bytes);
    return MemoryStatus::kNoAddressSpace;
  }
  region->allocation = {region->base,     bytes,   bytes, device, Layer::kAllocations, AllocationKind::kPoolGrowth,
                        impl_->next_id++, context, 0};
  *out = region->allocation;
  return MemoryStatus::kOk;
}

MemoryStatus Memory::free_chunk(Address base, Allocation* freed) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  Region* region = impl_->region_at(base, Region::Kind::kChunk);
  if (region == nullptr) return MemoryStatus::kInvalidValue;
  if (!region->parts.empty()) return MemoryStatus::kInUse;
  *freed = region->allocation;
  impl_->ledgers[static_cast<size_t>(region->device)].release(region->layer, region->bytes);
  impl_->destroy_region(region);
  return MemoryStatus::kOk;
}

MemoryStatus Memory::place(Address base, uint64_t bytes, void* context, Allocation* out) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  Region* region = impl_->owner_at(base).region;
  if (region == nullptr || region->kind != Region::Kind::kChunk || bytes == 0) return MemoryStatus::kInvalidValue;
  if (bytes > region->base + region->bytes - base) return MemoryStatus::kInvalidValue;
  const auto next = region->parts.lower_bound(base);
  if (next != region->parts.end() && next->first < base + bytes) return MemoryStatus::kInUse;
  if (next != region->parts.begin() && std::prev(next)->first + std::prev(next)->second.bytes > base)
    return MemoryStatus::kInUse;
  *out = {base, bytes, 0, region->device, region->layer, AllocationKind::kStreamOrdered, impl_->next_id++, context, 0};
  region->parts.emplace_hint(next, base, *out);
  return MemoryStatus::kOk;
}

MemoryStatus Memory::add_host(const Allocation& allocation) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  if (allocation.bytes == 0) return MemoryStatus::kInvalidValue;
  const auto next = impl_->host.lower_bound(allocation.base);
  if (next != impl_->host.end() && next->first < allocation.base + allocation.bytes) return MemoryStatus::kInUse;
  if (next != impl_->host.begin() && std::prev(next)->first + std::prev(next)->second.bytes > allocation.base)
    return MemoryStatus::kInUse;
  Allocation entry = allocation;
  if (entry.id == 0) entry.id = impl_->next_id++;
  impl_->host.emplace_hint(next, entry.base, entry);
  const Address low = host_low_.load(std::memory_order_relaxed), end = entry.base + entry.bytes;
  if (low == 0 || entry.base < low) host_low_.store(entry.base, std::memory_order_relaxed);
  if (end > host_high_.load(std::memory_order_relaxed)) host_high_.store(end, std::memory_order_relaxed);
  return MemoryStatus::kOk;
}

MemoryStatus Memory::remove_host(Address base, Allocation* removed) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  const auto found = impl_->host.find(base);
  if (found == impl_->host.end()) return MemoryStatus::kNotFound;
  *removed = found->second;
  impl_->host.erase(found);
  return MemoryStatus::kOk;
}

bool Memory::remove_host_overlap(Address base, uint64_t bytes, Allocation* removed) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  auto entry = impl_->host.lower_bound(base + bytes);
  if (entry == impl_->host.begin()) return false;
  --entry;
  if (entry->first + entry->second.bytes <= base) return false;
  *removed = entry->second;
  impl_->host.erase(entry);
  return true;
}

std::vector<Allocation> Memory::host_memory_of(const void* context) const {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  std::vector<Allocation> found;
  for (const auto& [base, entry] : impl_->host)
    if (entry.context == context) found.push_back(entry);
  return found;
}

uint64_t Memory::bytes_to_end(Address address) const {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->bytes_to_end(address);
}

uint64_t Memory::host_bytes_used() const {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->shadow.resident_bytes();
}

uint64_t Memory::host_bytes_dropped() const {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->dropped_bytes;
}

}  // namespace maya::device
