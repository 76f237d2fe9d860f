// Virtual memory management: address reservations, physical memory, and mappings between them.
#include <algorithm>

#include "virtual_device/memory.h"
#include "virtual_device/memory_state.h"

namespace maya::device {
namespace {

bool whole_granules(uint64_t value) { return value % Memory::kGranularity_bytes == 0; }

// Forgets a physical region that nothing refers to any more; fills *freed.
void destroy_physical(auto& impl, Region* region, Allocation* freed) {
  if (freed != nullptr)
    *freed = {region->handle,
              region->bytes,
              region->bytes,
              region->device,
              Layer::kAllocations,
              AllocationKind::kPhysical,
              region->handle,
              nullptr,
              0};
  impl.ledgers[static_cast<size_t>(region->device)].release(Layer::kAllocations, region->bytes);
  impl.physical.erase(region->handle);
  impl.destroy_region(region);
}

// Keeps the runs of mapped addresses joined.
void add_run(std::map<Address, Address>& runs, Address begin, Address end) {
  auto next = runs.lower_bound(begin);
  if (next != runs.begin() && std::prev(next)->second == begin) {
    const auto previous = std::prev(next);
    previous->second = end;
    if (next != runs.end() && next->first == end) {
      previous->second = next->second;
      runs.erase(next);
    }
    return;
  }
  if (next != runs.end() && next->first == end) {
    auto node = runs.extract(next);
    node.key() = begin;
    runs.insert(std::move(node));
    return;
  }
  runs.emplace_hint(next, begin, end);
}

void remove_run(std::map<Address, Address>& runs, Address begin, Address end) {
  auto run = std::prev(runs.upper_bound(begin));
  const Address run_end = run->second;
  if (end < run_end) runs.emplace(end, run_end);
  if (run->first == begin)
    runs.erase(run);
  else
    run->second = begin;
}

}  // namespace

MemoryStatus Memory::reserve(uint64_t bytes, uint64_t alignment, Address* out, Address hint) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  if (bytes == 0 || (alignment & (alignment - 1)) != 0) return MemoryStatus::kInvalidValue;
  if (bytes > impl_->range_bytes) return MemoryStatus::kNoAddressSpace;
  const uint64_t rounded = (bytes + kGranularity_bytes - 1) & ~(kGranularity_bytes - 1);
  alignment = std::max(alignment, kGranularity_bytes);
  auto reservation = std::make_unique<Reservation>();
  reservation->bytes = bytes;
  reservation->base = hint;
  const bool at_hint =
      hint != 0 && hint % alignment == 0 && in_device_range(hint) && impl_->addresses.take_at(hint, rounded);
  if (!at_hint && !impl_->addresses.take(rounded, alignment, &reservation->base)) return MemoryStatus::kNoAddressSpace;
  const Address base = reservation->base;
  const uint32_t slot = impl_->filter.take_slot();
  if (slot == 0) {
    impl_->addresses.give_back(base, rounded);
    return MemoryStatus::kNoAddressSpace;
  }
  reservation->slot = slot;
  try {
    if (slot >= impl_->owners.size()) impl_->owners.resize(slot + 1);
    impl_->owners[slot] = {nullptr, reservation.get()};
    impl_->reservations.emplace(base, std::move(reservation));
  } catch (...) {
    if (slot < impl_->owners.size()) impl_->owners[slot] = {};
    impl_->filter.give_back_slot(slot);
    impl_->addresses.give_back(base, rounded);
    throw;
  }
  impl_->filter.assign(base - impl_->range_base, rounded, slot);
  *out = base;
  return MemoryStatus::kOk;
}

MemoryStatus Memory::unreserve(Address base, uint64_t bytes) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  const auto found = impl_->reservations.find(base);
  if (found == impl_->reservations.end() || found->second->bytes != bytes) return MemoryStatus::kInvalidValue;
  const Reservation& reservation = *found->second;
  if (!reservation.mappings.empty()) return MemoryStatus::kInUse;
  const uint64_t rounded = (bytes + kGranularity_bytes - 1) & ~(kGranularity_bytes - 1);
  impl_->filter.assign(base - impl_->range_base, rounded, 0);
  impl_->owners[reservation.slot] = {};
  impl_->filter.give_back_slot(reservation.slot);
  impl_->addresses.give_back(base, rounded);
  impl_->reservations.erase(found);
  return MemoryStatus::kOk;
}

bool Memory::find_reservation(Address address, Address* base, uint64_t* bytes) const {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  const Reservation* reservation = impl_->owner_at(address).reservation;
  if (reservation == nullptr || address - reservation->base >= reservation->bytes) return false;
  *base = reservation->base;
  *bytes = reservation->bytes;
  return true;
}

bool Memory::mapped(Address base, uint64_t bytes) const {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->owner_at(base).reservation != nullptr && impl_->inside(base, bytes);
}

MemoryStatus Memory::create_physical(int device, uint64_t bytes, uint64_t* handle) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  if (device < 0 || static_cast<size_t>(device) >= impl_->ledgers.size() || bytes == 0 || !whole_granules(bytes))
    return MemoryStatus::kInvalidValue;
  Ledger& ledger = impl_->ledgers[static_cast<size_t>(device)];
  if (!ledger.charge(Layer::kAllocations, bytes)) return MemoryStatus::kOutOfMemory;
  Region* region = nullptr;
  try {
    region = impl_->make_region(Region::Kind::kPhysical, device, Layer::kAllocations, bytes);
    if (region != nullptr) impl_->physical.emplace(impl_->next_handle, region);
  } catch (...) {
    if (region != nullptr) impl_->destroy_region(region);
    ledger.release(Layer::kAllocations, bytes);
    throw;
  }
  if (region == nullptr) {
    ledger.release(Layer::kAllocations, bytes);
    return MemoryStatus::kNoAddressSpace;
  }
  region->handle = impl_->next_handle++;
  region->references = 1;
  *handle = region->handle;
  return MemoryStatus::kOk;
}

MemoryStatus Memory::retain_physical(uint64_t handle) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  const auto found = impl_->physical.find(handle);
  if (found == impl_->physical.end()) return MemoryStatus::kInvalidValue;
  ++found->second->references;
  return MemoryStatus::kOk;
}

MemoryStatus Memory::release_physical(uint64_t handle, Allocation* freed) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  if (freed != nullptr) *freed = {};
  const auto found = impl_->physical.find(handle);
  if (found == impl_->physical.end() || found->second->references == 0) return MemoryStatus::kInvalidValue;
  Region* region = found->second;
  if (--region->references == 0 && region->views.empty()) destroy_physical(*impl_, region, freed);
  return MemoryStatus::kOk;
}

MemoryStatus Memory::physical_of(Address address, uint64_t* handle) const {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  Impl::Segment segment;
  if (!impl_->resolve(address, &segment) || segment.region->kind != Region::Kind::kPhysical)
    return MemoryStatus::kNotFound;
  *handle = segment.region->handle;
  return MemoryStatus::kOk;
}

MemoryStatus Memory::physical_size(uint64_t handle, uint64_t* bytes, int* device) const {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  const auto found = impl_->physical.find(handle);
  if (found == impl_->physical.end()) return MemoryStatus::kNotFound;
  *bytes = found->second->bytes;
  *device = found->second->device;
  return MemoryStatus::kOk;
}

MemoryStatus Memory::map(Address base, uint64_t bytes, uint64_t offset, uint64_t handle, void* context) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  if (bytes == 0 || !whole_granules(base - range_base_) || !whole_granules(bytes) || !whole_granules(offset))
    return MemoryStatus::kInvalidValue;
  const auto found = impl_->physical.find(handle);
  Reservation* reservation = impl_->owner_at(base).reservation;
  if (found == impl_->physical.end() || reservation == nullptr) return MemoryStatus::kInvalidValue;
  Region* region = found->second;
  if (region->references == 0 || offset > region->bytes || bytes > region->bytes - offset)
    return MemoryStatus::kInvalidValue;
  if (bytes > reservation->base + reservation->bytes - base) return MemoryStatus::kInvalidValue;
  const auto next = reservation->mappings.lower_bound(base);
  if (next != reservation->mappings.end() && next->first < base + bytes) return MemoryStatus::kInUse;
  if (next != reservation->mappings.begin() && std::prev(next)->first + std::prev(next)->second.bytes > base)
    return MemoryStatus::kInUse;

  region->views.reserve(region->views.size() + 1);
  const auto made =
      reservation->mappings.emplace_hint(next, base, Mapping{bytes, offset, region, context, impl_->next_id});
  const int64_t pieces = static_cast<int64_t>(region->known.pieces().size());
  try {
    if (pieces != 0) reservation->known_mappings.insert(base);
    add_run(reservation->runs, base, base + bytes);
  } catch (...) {
    reservation->known_mappings.erase(base);
    reservation->mappings.erase(made);
    throw;
  }
  region->views.push_back({reservation, base});
  impl_->filter.add(reservation->slot, pieces);
  ++impl_->next_id;
  return MemoryStatus::kOk;
}

MemoryStatus Memory::unmap(Address base, uint64_t bytes, std::vector<Allocation>* freed) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  Reservation* reservation = impl_->owner_at(base).reservation;
  if (reservation == nullptr || bytes == 0 || !impl_->inside(base, bytes)) return MemoryStatus::kInvalidValue;
  const auto first = reservation->mappings.find(base);
  if (first == reservation->mappings.end()) return MemoryStatus::kInvalidValue;
  const auto last = std::prev(reservation->mappings.lower_bound(base + bytes));
  if (last->first + last->second.bytes != base + bytes) return MemoryStatus::kInvalidValue;
  if (freed != nullptr) freed->reserve(freed->size() + static_cast<size_t>(std::distance(first, last)) + 1);
  remove_run(reservation->runs, base, base + bytes);
  const auto end = std::next(last);
  for (auto mapping = first; mapping != end;) {
    Region* region = mapping->second.physical;
    impl_->filter.add(reservation->slot, -static_cast<int64_t>(region->known.pieces().size()));
    reservation->known_mappings.erase(mapping->first);
    const auto view = std::find_if(region->views.begin(), region->views.end(), [&](const Region::View& candidate) {
      return candidate.reservation == reservation && candidate.address == mapping->first;
    });
    region->views.erase(view);
    mapping = reservation->mappings.erase(mapping);
    if (!region->views.empty() || region->references != 0) continue;
    Allocation gone;
    destroy_physical(*impl_, region, &gone);
    if (freed != nullptr) freed->push_back(gone);
  }
  return MemoryStatus::kOk;
}

}  // namespace maya::device
