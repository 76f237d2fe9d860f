// The bytes of device memory: reads, writes, fills, copies, and what becomes unknown.
#include <algorithm>
#include <bit>
#include <cstring>

#include "virtual_device/memory.h"
#include "virtual_device/memory_state.h"

namespace maya::device {

void Memory::Impl::pieces_changed(Region& region, size_t before) noexcept {
  size_t now = region.known.pieces().size();
  if (now == before) return;
  if (before == 0) {
    try {
      for (const Region::View& view : region.views) view.reservation->known_mappings.insert(view.address);
    } catch (...) {
      // Known bytes that make_unknown() cannot find are worse than none.
      region.known.clear();
      now = 0;
    }
  }
  const int64_t difference = static_cast<int64_t>(now) - static_cast<int64_t>(before);
  if (region.slot != 0) filter.add(region.slot, difference);
  for (const Region::View& view : region.views) {
    filter.add(view.reservation->slot, difference);
    if (now == 0) view.reservation->known_mappings.erase(view.address);
  }
}

void Memory::Impl::release_pages(Region& region, Address home, uint64_t bytes) {
  Address begin = home;
  Address end = home + bytes;
  region.known.gap_around(region.base, region.base + region.bytes, &begin, &end);
  // Of the neighbourhood only the pages that the range shares with it.
  begin = std::max(begin, home & ~(Shadow::kPage_bytes - 1));
  end = std::min(end, (home + bytes + Shadow::kPage_bytes - 1) & ~(Shadow::kPage_bytes - 1));
  shadow.release(begin, end);
}

void Memory::Impl::forget(Region& region, Address home, uint64_t bytes) {
  uint64_t data_bytes = 0;
  {
    PieceCount count(*this, region);
    data_bytes = region.known.erase(home, home + bytes);
  }
  if (data_bytes >= kReleaseAtOnce_bytes) release_pages(region, home, bytes);
}

void Memory::Impl::store(Region& region, Address home, const void* source, uint64_t bytes) {
  if (bytes > budget_bytes || !shadow.touch(home, home + bytes)) {
    forget(region, home, bytes);
    dropped_bytes += bytes;
    return;
  }
  std::memcpy(shadow.at(home), source, bytes);
  {
    PieceCount count(*this, region);
    // A value that a program copies into a block that earlier tensors left known is no part of those.
    const bool apart = bytes <= kSeparateValue_bytes && home % kSeparateAlignment_bytes == 0;
    region.known.set_data(home, home + bytes, apart);
  }
  if (shadow.resident_bytes() > budget_bytes) enforce_budget();
}

void Memory::Impl::store_fill(Region& region, Address home, uint64_t bytes, uint32_t word) {
  forget(region, home, bytes);
  PieceCount count(*this, region);
  region.known.set_fill(home, home + bytes, word);
}

namespace {

// Zeros where there are none yet. Memory that nobody has written to gets pages of its own by a write, not by a look:
// what programs move out to the host, activations of many gigabytes, would otherwise take as much of this machine.
void write_zeros(unsigned char* to, uint64_t bytes) {
  constexpr uint64_t kPage_bytes = 4096;
  static constexpr unsigned char kZeros[kPage_bytes] = {};
  for (uint64_t done = 0; done < bytes; done += kPage_bytes) {
    const uint64_t part = std::min(kPage_bytes, bytes - done);
    if (std::memcmp(to + done, kZeros, part) != 0) std::memset(to + done, 0, part);
  }
}

}  // namespace

void Memory::Impl::load(const Region& region, Address home, void* destination, uint64_t bytes) const {
  auto* out = static_cast<unsigned char*>(destination);
  region.known.visit(home, home + bytes, [&](uint64_t begin, uint64_t end, const KnownBytes::Piece* piece) {
    unsigned char* to = out + (begin - home);
    if (piece == nullptr || (piece->fill && piece->word == 0))
      write_zeros(to, end - begin);
    else if (piece->fill)
      expand_fill(to, begin, end - begin, piece->word);
    else
      std::memcpy(to, shadow.at(begin), end - begin);
  });
}

void Memory::Impl::enforce_budget() {
  // Pages that hold nothing known any more cost nothing to give up.
  struct Data {
    Region* region;
    uint64_t begin, end;
  };
  std::vector<Data> data;
  for (const auto& [base, region] : regions) {
    uint64_t unused = region->base;
    for (const auto& [begin, piece] : region->known.pieces()) {
      if (piece.fill) continue;
      shadow.release(unused, begin);
      unused = piece.end;
      data.push_back({region.get(), begin, piece.end});
    }
    shadow.release(unused, region->base + region->bytes);
  }
  if (shadow.resident_bytes() <= budget_bytes) return;
  std::sort(data.begin(), data.end(), [](const Data& a, const Data& b) {
    return a.end - a.begin != b.end - b.begin ? a.end - a.begin > b.end - b.begin : a.begin < b.begin;
  });
  // A quarter is freed in one go, so that a program at the limit does not come here with every copy.
  const uint64_t enough = budget_bytes - budget_bytes / 4;
  for (const Data& range : data) {
    if (shadow.resident_bytes() <= enough) break;
    {
      PieceCount count(*this, *range.region);
      dropped_bytes += range.region->known.erase(range.begin, range.end);
    }
    release_pages(*range.region, range.begin, range.end - range.begin);
  }
}

MemoryStatus Memory::write(Address destination, const void* source, uint64_t bytes) {
  if (bytes == 0) return MemoryStatus::kOk;
  std::lock_guard<std::mutex> lock(impl_->mutex);
  if (!impl_->inside(destination, bytes)) return MemoryStatus::kInvalidValue;
  const auto* from = static_cast<const unsigned char*>(source);
  impl_->for_segments(destination, bytes, [&](Region& region, Address home, uint64_t offset, uint64_t part) {
    impl_->store(region, home, from + offset, part);
  });
  impl_->pass_on(destination, bytes);
  return MemoryStatus::kOk;
}

MemoryStatus Memory::read(void* destination, Address source, uint64_t bytes) const {
  if (bytes == 0) return MemoryStatus::kOk;
  settle(source, bytes);
  std::lock_guard<std::mutex> lock(impl_->mutex);
  if (!impl_->inside(source, bytes)) return MemoryStatus::kInvalidValue;
  impl_->take_over(source, bytes);
  auto* to = static_cast<unsigned char*>(destination);
  impl_->for_segments(source, bytes, [&](const Region& region, Address home, uint64_t offset, uint64_t part) {
    impl_->load(region, home, to + offset, part);
  });
  return MemoryStatus::kOk;
}

MemoryStatus Memory::read(void* destination, uint8_t* known, Address source, uint64_t bytes) const {
  if (bytes == 0) return MemoryStatus::kOk;
  settle(source, bytes);
  std::lock_guard<std::mutex> lock(impl_->mutex);
  if (!impl_->inside(source, bytes)) return MemoryStatus::kInvalidValue;
  impl_->take_over(source, bytes);
  auto* to = static_cast<unsigned char*>(destination);
  impl_->for_segments(source, bytes, [&](const Region& region, Address home, uint64_t offset, uint64_t part) {
    impl_->load(region, home, to + offset, part);
    region.known.visit(home, home + part, [&](Address begin, Address end, const KnownBytes::Piece* piece) {
      std::memset(known + offset + (begin - home), piece != nullptr ? 1 : 0, end - begin);
    });
  });
  return MemoryStatus::kOk;
}

MemoryStatus Memory::fill(Address destination, uint32_t value, uint32_t width_bytes, uint64_t count) {
  if (width_bytes != 1 && width_bytes != 2 && width_bytes != 4) return MemoryStatus::kInvalidValue;
  if (count == 0) return MemoryStatus::kOk;
  if (count > UINT64_MAX / width_bytes) return MemoryStatus::kInvalidValue;
  const uint64_t bytes = count * width_bytes;
  std::lock_guard<std::mutex> lock(impl_->mutex);
  if (!impl_->inside(destination, bytes)) return MemoryStatus::kInvalidValue;
  impl_->for_segments(destination, bytes, [&](Region& region, Address home, uint64_t offset, uint64_t part) {
    // Visible and home addresses differ by multiples of 2 MiB, so the pattern's anchor is the same.
    (void)offset;
    impl_->store_fill(region, home, part, fill_word(destination, value, width_bytes));
  });
  impl_->pass_on(destination, bytes);
  return MemoryStatus::kOk;
}

MemoryStatus Memory::copy(Address destination, Address source, uint64_t bytes) {
  if (bytes == 0) return MemoryStatus::kOk;
  settle(source, bytes);
  std::lock_guard<std::mutex> lock(impl_->mutex);
  if (!impl_->inside(destination, bytes) || !impl_->inside(source, bytes)) return MemoryStatus::kInvalidValue;
  impl_->take_over(source, bytes);

  struct Part {
    uint64_t offset, bytes;
    Address home;
    bool known, fill;
    uint32_t word;
  };
  std::vector<Part> parts;
  uint64_t data_bytes = 0;
  Address data_low = UINT64_MAX, data_high = 0;
  impl_->for_segments(source, bytes, [&](const Region& region, Address home, uint64_t offset, uint64_t length) {
    region.known.visit(home, home + length, [&](uint64_t begin, uint64_t end, const KnownBytes::Piece* piece) {
      const bool fill = piece != nullptr && piece->fill;
      parts.push_back({offset + (begin - home), end - begin, begin, piece != nullptr, fill, fill ? piece->word : 0});
      if (piece == nullptr || fill) return;
      data_bytes += end - begin;
      data_low = std::min(data_low, begin);
      data_high = std::max(data_high, end);
    });
  });
  // Where destination and source data may overlap, or the budget may take source pages while copying, the data is set
  // aside first.
  bool set_aside =
      impl_->shadow.resident_bytes() + data_bytes + parts.size() * Shadow::kPage_bytes * 2 > impl_->budget_bytes;
  impl_->for_segments(destination, bytes, [&](const Region&, Address home, uint64_t, uint64_t length) {
    set_aside = set_aside || (home < data_high && data_low < home + length);
  });
  std::vector<unsigned char> aside;
  if (set_aside && data_bytes <= impl_->budget_bytes) {
    aside.resize(data_bytes);
    uint64_t at = 0;
    for (const Part& part : parts) {
      if (!part.known || part.fill) continue;
      std::memcpy(aside.data() + at, impl_->shadow.at(part.home), part.bytes);
      at += part.bytes;
    }
  }
  uint64_t at = 0;
  for (const Part& part : parts) {
    const unsigned char* data = nullptr;
    if (part.known && !part.fill) {
      if (!set_aside) data = impl_->shadow.at(part.home);
      if (!aside.empty()) data = aside.data() + at;
      at += part.bytes;
    }
    impl_->for_segments(destination + part.offset, part.bytes,
                        [&](Region& region, Address home, uint64_t offset, uint64_t length) {
                          if (part.fill) {
                            const int turn = static_cast<int>((home - (part.home + offset)) & 3) * 8;
                            impl_->store_fill(region, home, length, std::rotl(part.word, turn));
                          } else if (data != nullptr) {
                            impl_->store(region, home, data + offset, length);
                          } else {
                            impl_->forget(region, home, length);
                            if (part.known) impl_->dropped_bytes += length;
                          }
                        });
  }
  impl_->pass_on(destination, bytes);
  return MemoryStatus::kOk;
}

void Memory::Impl::forget(Region& region, Address home, uint64_t bytes, bool spare_values) {
  if (!spare_values) return forget(region, home, bytes);
  std::vector<std::pair<Address, Address>> gone;
  Address value = 0;  // where the separate value begins that the previous part belongs to; 0: to none
  Address value_end = 0;
  region.known.visit(home, home + bytes, [&](Address begin, Address end, const KnownBytes::Piece* piece) {
    if (piece == nullptr) return;
    if (begin != value_end || value == 0) value = begin > home && begin % kSeparateAlignment_bytes == 0 ? begin : 0;
    if (value != 0 && end - value <= kSeparateValue_bytes) {
      value_end = end;
    } else {
      value = 0;
      gone.emplace_back(begin, end);
    }
  });
  for (const auto& [begin, end] : gone) forget(region, begin, end - begin);
}

void Memory::Impl::make_unknown(Address destination, uint64_t bytes, bool spare_values) {
  const Owner owner = owner_at(destination);
  if (owner.region != nullptr) {
    Segment segment;
    if (resolve(destination, &segment))
      forget(*segment.region, segment.home, std::min(bytes, segment.bytes), spare_values);
    return;
  }
  if (owner.reservation == nullptr) return;
  Reservation& reservation = *owner.reservation;
  bytes = std::min(bytes, bytes_to_end(destination));
  // Of a run of thousands of mappings only those with known bytes are visited.
  auto first = reservation.known_mappings.upper_bound(destination);
  if (first != reservation.known_mappings.begin()) --first;
  std::vector<Address> touched(first, reservation.known_mappings.lower_bound(destination + bytes));
  for (const Address base : touched) {
    const Mapping& mapping = reservation.mappings.at(base);
    const Address begin = std::max(base, destination);
    const Address end = std::min(base + mapping.bytes, destination + bytes);
    if (begin < end)
      forget(*mapping.physical, mapping.physical->base + mapping.offset + (begin - base), end - begin, spare_values);
  }
}

void Memory::make_unknown(Address destination, uint64_t bytes) {
  if (bytes == 0 || !maybe_known(destination)) return;
  std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->make_unknown(destination, bytes, false);
  impl_->pass_on(destination, impl_->window_part(destination, bytes));
}

void Memory::make_unknown_around_values(Address destination, uint64_t bytes) {
  if (bytes == 0 || !maybe_known(destination)) return;
  std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->take_over(destination, impl_->window_part(destination, bytes));
  impl_->make_unknown(destination, bytes, true);
  impl_->pass_on(destination, impl_->window_part(destination, bytes));
}

bool Memory::known(Address source, uint64_t bytes) const {
  if (bytes == 0) return true;
  if (!maybe_known(source)) return false;
  settle(source, bytes);
  std::lock_guard<std::mutex> lock(impl_->mutex);
  if (!impl_->inside(source, bytes)) return false;
  impl_->take_over(source, bytes);
  bool all = true;
  impl_->for_segments(source, bytes, [&](const Region& region, Address home, uint64_t, uint64_t part) {
    all = all && region.known.covers(home, home + part);
  });
  return all;
}

bool Memory::any_known(Address source, uint64_t bytes) const {
  if (bytes == 0 || !maybe_known(source)) return false;
  settle(source, bytes);
  std::lock_guard<std::mutex> lock(impl_->mutex);
  if (!impl_->inside(source, bytes)) return false;
  impl_->take_over(source, bytes);
  bool any = false;
  impl_->for_segments(source, bytes, [&](const Region& region, Address home, uint64_t, uint64_t part) {
    any = any || region.known.any(home, home + part);
  });
  return any;
}

}  // namespace maya::device
