// Bytes that are still on their way from another process.
#include <algorithm>

#include "virtual_device/memory.h"
#include "virtual_device/memory_state.h"

namespace maya::device {

MemoryStatus Memory::read_known(void* destination, Address source, uint64_t bytes, Runs* runs) const {
  runs->clear();
  if (bytes == 0) return MemoryStatus::kOk;
  settle(source, bytes);
  std::lock_guard<std::mutex> lock(impl_->mutex);
  if (!impl_->inside(source, bytes)) return MemoryStatus::kInvalidValue;
  impl_->take_over(source, bytes);
  auto* to = static_cast<unsigned char*>(destination);
  impl_->for_segments(source, bytes, [&](const Region& region, Address home, uint64_t offset, uint64_t part) {
    impl_->load(region, home, to + offset, part);
    region.known.visit(home, home + part, [&](Address begin, Address end, const KnownBytes::Piece* piece) {
      if (piece == nullptr || piece->expected != 0) return;
      const uint64_t at = offset + (begin - home);
      if (!runs->empty() && runs->back().first + runs->back().second == at)
        runs->back().second += end - begin;
      else
        runs->emplace_back(at, end - begin);
    });
  });
  return MemoryStatus::kOk;
}

void Memory::expect(uint32_t tag, Address destination, uint64_t bytes) {
  if (bytes == 0) return;
  std::lock_guard<std::mutex> lock(impl_->mutex);
  if (!impl_->inside(destination, bytes)) return;
  auto& ranges = impl_->expected[tag];
  ranges.emplace_back(destination, bytes);
  expected_tags_.store(static_cast<uint32_t>(impl_->expected.size()), std::memory_order_release);
  impl_->for_segments(destination, bytes, [&](Region& region, Address home, uint64_t, uint64_t part) {
    impl_->forget(region, home, part);
    Impl::PieceCount count(*impl_, region);
    region.known.set_expected(home, home + part, tag);
  });
}

void Memory::arrive(uint32_t tag, Address destination, const void* source, uint64_t bytes) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  const auto* from = static_cast<const unsigned char*>(source);
  impl_->for_segments(destination, bytes, [&](Region& region, Address home, uint64_t offset, uint64_t part) {
    std::vector<std::pair<Address, Address>> wanted;
    region.known.visit(home, home + part, [&](Address begin, Address end, const KnownBytes::Piece* piece) {
      if (piece != nullptr && piece->expected == tag) wanted.emplace_back(begin, end);
    });
    for (const auto& [begin, end] : wanted) impl_->store(region, begin, from + offset + (begin - home), end - begin);
  });
  impl_->pass_on(destination, bytes);
}

void Memory::end_expecting(uint32_t tag) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  const auto found = impl_->expected.find(tag);
  if (found == impl_->expected.end()) return;
  for (const auto& [address, bytes] : found->second)
    impl_->for_segments(address, bytes, [&](Region& region, Address home, uint64_t, uint64_t part) {
      std::vector<std::pair<Address, Address>> gone;
      region.known.visit(home, home + part, [&](Address begin, Address end, const KnownBytes::Piece* piece) {
        if (piece != nullptr && piece->expected == tag) gone.emplace_back(begin, end);
      });
      for (const auto& [begin, end] : gone) impl_->forget(region, begin, end - begin);
    });
  impl_->expected.erase(found);
  expected_tags_.store(static_cast<uint32_t>(impl_->expected.size()), std::memory_order_release);
}

void Memory::settle_expected(Address source, uint64_t bytes) const {
  for (uint32_t settled = 0;;) {
    uint32_t tag = 0;
    {
      std::lock_guard<std::mutex> lock(impl_->mutex);
      if (!impl_->inside(source, bytes)) return;
      impl_->for_segments(source, bytes, [&](Region& region, Address home, uint64_t, uint64_t part) {
        std::vector<std::pair<Address, Address>> stale;
        region.known.visit(home, home + part, [&](Address begin, Address end, const KnownBytes::Piece* piece) {
          if (piece == nullptr || piece->expected == 0) return;
          // A tag that has ended, or could not: what was not found when it ended (memory mapped elsewhere since) is
          // unknown.
          if (piece->expected == settled || impl_->expected.count(piece->expected) == 0)
            stale.emplace_back(begin, end);
          else if (tag == 0)
            tag = piece->expected;
        });
        for (const auto& [begin, end] : stale) impl_->forget(region, begin, end - begin);
      });
    }
    if (tag == 0) return;
    if (const auto settle = settle_.load(std::memory_order_acquire); settle != nullptr) settle(tag);
    settled = tag;
  }
}

}  // namespace maya::device
