#include "virtual_device/memory_state.h"

#include <sys/mman.h>

#include <algorithm>

namespace maya::device {
namespace {

// The device range and its shadow take twice this out of the 128 TiB that a process has. 32 TiB hold 16 devices of 256
// GiB several times over and 8 TiB of address reservations. Less is taken where the system allows no more (RLIMIT_AS,
// sanitizers).
constexpr uint64_t kLargestRange_bytes = 32ull << 40;
constexpr uint64_t kSmallestRange_bytes = 1ull << 30;

}  // namespace

Memory::Impl::~Impl() {
  if (range_bytes != 0) munmap(reinterpret_cast<void*>(range_base), range_bytes);
}

bool Memory::Impl::reserve_ranges() {
  for (uint64_t bytes = kLargestRange_bytes; bytes >= kSmallestRange_bytes; bytes /= 2) {
    void* range =
        mmap(nullptr, bytes + kGranularity_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) continue;
    const uint64_t start = reinterpret_cast<uint64_t>(range);
    const uint64_t aligned = (start + kGranularity_bytes - 1) & ~(kGranularity_bytes - 1);
    if (aligned > start) munmap(range, aligned - start);
    munmap(reinterpret_cast<void*>(aligned + bytes), start + kGranularity_bytes - aligned);
    if (shadow.reserve(aligned, bytes)) {
      madvise(reinterpret_cast<void*>(aligned), bytes, MADV_DONTDUMP);
      range_base = aligned;
      range_bytes = bytes;
      break;
    }
    munmap(reinterpret_cast<void*>(aligned), bytes);
  }
  if (range_bytes == 0 || !filter.reserve(range_bytes)) return false;
  owners.resize(1);
  addresses.give_back(range_base, range_bytes);
  return true;
}

Region* Memory::Impl::make_region(Region::Kind kind, int device, Layer layer, uint64_t bytes) {
  auto region = std::make_unique<Region>();
  region->kind = kind;
  region->device = device;
  region->layer = layer;
  region->bytes = bytes;
  if (!addresses.take(bytes, kGranularity_bytes, &region->base)) return nullptr;
  Region* made = region.get();
  try {
    const uint32_t slot = kind == Region::Kind::kPhysical ? 0 : filter.take_slot();
    made->slot = slot;
    if (slot == 0 && kind != Region::Kind::kPhysical) {
      addresses.give_back(made->base, bytes);
      return nullptr;
    }
    if (slot >= owners.size()) owners.resize(slot + 1);
    regions.emplace(made->base, std::move(region));
    if (slot != 0) {
      owners[slot] = {made, nullptr};
      filter.assign(made->base - range_base, bytes, slot);
    }
  } catch (...) {
    if (region != nullptr) {
      if (region->slot != 0) filter.give_back_slot(region->slot);
      addresses.give_back(region->base, bytes);
    }
    throw;
  }
  return made;
}

void Memory::Impl::destroy_region(Region* region) noexcept {
  if (region->slot != 0) {
    filter.assign(region->base - range_base, region->bytes, 0);
    owners[region->slot] = {};
    filter.give_back_slot(region->slot);
  }
  shadow.release(region->base, region->base + region->bytes);
  addresses.give_back(region->base, region->bytes);
  regions.erase(region->base);
}

Region* Memory::Impl::region_at(Address address, Region::Kind kind) {
  Region* region = owner_at(address).region;
  return region != nullptr && region->kind == kind && region->base == address ? region : nullptr;
}

MemoryStatus Memory::Impl::allocate_shared(int device, uint64_t bytes, Layer layer, void* context, Allocation* out) {
  const uint64_t rounded = (bytes + kSmallGranule_bytes - 1) & ~(kSmallGranule_bytes - 1);
  SharedBlocks& blocks = shared[static_cast<size_t>(device)][static_cast<size_t>(layer)];
  Ledger& ledger = ledgers[static_cast<size_t>(device)];
  // First all that may throw, then the change.
  std::map<Address, Allocation> made;
  auto part = made.extract(made.emplace(0, Allocation()).first);
  auto fitting = blocks.by_largest.lower_bound({rounded, nullptr});
  uint64_t charged = 0;
  if (fitting == blocks.by_largest.end()) {
    if (ledger.use().free_bytes < kGranularity_bytes) return MemoryStatus::kOutOfMemory;
    if (blocks.empty == nullptr) {
      Region* block = make_region(Region::Kind::kShared, device, layer, kGranularity_bytes);
      if (block == nullptr) return MemoryStatus::kNoAddressSpace;
      blocks.empty = block;
    }
    if (blocks.empty->free.largest() == 0) blocks.empty->free = FreeRanges(blocks.empty->base, kGranularity_bytes);
    fitting = blocks.by_largest.emplace(blocks.empty->free.largest(), blocks.empty).first;
    blocks.empty = nullptr;
    ledger.charge(layer, kGranularity_bytes);
    charged = kGranularity_bytes;
  }
  Region* block = fitting->second;
  Address base = 0;
  auto rank = blocks.by_largest.extract(fitting);
  // All sizes and addresses are multiples of the granule, so this takes the head of a free range, for which nothing is
  // allocated.
  block->free.take(rounded, kSmallGranule_bytes, &base);
  rank.value().first = block->free.largest();
  blocks.by_largest.insert(std::move(rank));
  *out = {base, bytes, charged, device, layer, AllocationKind::kDevice, next_id++, context, 0};
  part.key() = base;
  part.mapped() = *out;
  block->parts.insert(std::move(part));
  return MemoryStatus::kOk;
}

void Memory::Impl::free_shared(Region* block, std::map<Address, Allocation>::iterator part, Allocation* freed) {
  SharedBlocks& blocks = shared[static_cast<size_t>(block->device)][static_cast<size_t>(block->layer)];
  *freed = part->second;
  freed->charged_bytes = 0;
  const uint64_t rounded = (freed->bytes + kSmallGranule_bytes - 1) & ~(kSmallGranule_bytes - 1);
  forget(*block, freed->base, freed->bytes);
  auto node = blocks.by_largest.extract({block->free.largest(), block});
  block->free.give_back(freed->base, rounded);
  block->parts.erase(part);
  if (!block->parts.empty()) {
    node.value().first = block->free.largest();
    blocks.by_largest.insert(std::move(node));
    return;
  }
  freed->charged_bytes = kGranularity_bytes;
  ledgers[static_cast<size_t>(block->device)].release(block->layer, kGranularity_bytes);
  if (blocks.empty == nullptr && block->free.largest() == block->bytes) {
    shadow.release(block->base, block->base + block->bytes);
    blocks.empty = block;
  } else {
    destroy_region(block);
  }
}

Memory::Impl::Owner Memory::Impl::owner_at(Address address) const {
  const uint64_t offset = address - range_base;
  if (offset >= range_bytes) return {};
  return owners[filter.slot_at(offset)];
}

bool Memory::Impl::find(Address address, Allocation* out) const {
  const Owner owner = owner_at(address);
  if (const Region* region = owner.region) {
    if (region->kind == Region::Kind::kSingle) {
      *out = region->allocation;
      return address - region->base < region->allocation.bytes;
    }
    auto part = region->parts.upper_bound(address);
    if (part == region->parts.begin()) return false;
    *out = (--part)->second;
    return address - out->base < out->bytes;
  }
  if (const Reservation* reservation = owner.reservation) {
    auto found = reservation->mappings.upper_bound(address);
    if (found == reservation->mappings.begin()) return false;
    const auto& [base, mapping] = *--found;
    *out = {base,       mapping.bytes,   0, mapping.physical->device, Layer::kAllocations, AllocationKind::kPhysical,
            mapping.id, mapping.context, 0};
    return address - base < mapping.bytes;
  }
  auto entry = host.upper_bound(address);
  if (entry == host.begin()) return false;
  *out = (--entry)->second;
  return address - out->base < out->bytes;
}

bool Memory::Impl::resolve(Address address, Segment* segment) const {
  const Owner owner = owner_at(address);
  if (Region* region = owner.region) {
    if (region->kind == Region::Kind::kSingle) {
      const uint64_t offset = address - region->base;
      if (offset >= region->allocation.bytes) return false;
      *segment = {region, address, region->allocation.bytes - offset};
      return true;
    }
    auto part = region->parts.upper_bound(address);
    if (part == region->parts.begin()) return false;
    const Allocation& allocation = (--part)->second;
    const uint64_t offset = address - allocation.base;
    if (offset >= allocation.bytes) return false;
    *segment = {region, address, allocation.bytes - offset};
    return true;
  }
  if (owner.reservation == nullptr) return false;
  auto found = owner.reservation->mappings.upper_bound(address);
  if (found == owner.reservation->mappings.begin()) return false;
  const auto& [base, mapping] = *--found;
  const uint64_t offset = address - base;
  if (offset >= mapping.bytes) return false;
  *segment = {mapping.physical, mapping.physical->base + mapping.offset + offset, mapping.bytes - offset};
  return true;
}

uint64_t Memory::Impl::bytes_to_end(Address address) const {
  const Owner owner = owner_at(address);
  if (const Reservation* reservation = owner.reservation) {
    auto run = reservation->runs.upper_bound(address);
    if (run == reservation->runs.begin()) return 0;
    --run;
    return address < run->second ? run->second - address : 0;
  }
  if (owner.region != nullptr) {
    Segment segment;
    return resolve(address, &segment) ? segment.bytes : 0;
  }
  Allocation allocation;
  return find(address, &allocation) ? allocation.base + allocation.bytes - address : 0;
}

bool Memory::Impl::inside(Address address, uint64_t bytes) const {
  const Owner owner = owner_at(address);
  if (owner.region == nullptr && owner.reservation == nullptr) return false;
  const uint64_t rest = bytes_to_end(address);
  return rest != 0 && bytes <= rest;
}

}  // namespace maya::device
