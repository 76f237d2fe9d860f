// Bytes that several processes hold in common. A window's area has, one behind the other: the bytes, as whole pages;
// for each byte whether it is known; for each page whether any of it is. So nothing is touched where nothing is known.
#include <algorithm>
#include <cstring>

#include "virtual_device/memory.h"
#include "virtual_device/memory_state.h"

namespace maya::device {
namespace {

constexpr uint64_t kPage_bytes = 4096;

uint64_t pages_of(uint64_t bytes) { return (bytes + kPage_bytes - 1) / kPage_bytes; }

// Calls visit(page, begin, end) for the pages of [begin, end).
template <typename Visitor>
void for_pages(uint64_t begin, uint64_t end, Visitor&& visit) {
  while (begin < end) {
    const uint64_t page = begin / kPage_bytes;
    const uint64_t page_end = std::min(end, (page + 1) * kPage_bytes);
    visit(page, begin, page_end);
    begin = page_end;
  }
}

}  // namespace

uint64_t Memory::window_bytes(uint64_t bytes) { return pages_of(bytes) * (2 * kPage_bytes + 1); }

// Calls visit(window, base, begin, end): offsets in the window.
template <typename Visitor>
void Memory::Impl::for_windows(Address address, uint64_t bytes, Visitor&& visit) {
  if (windows.empty()) return;
  auto window = windows.upper_bound(address);
  if (window != windows.begin()) --window;
  for (; window != windows.end() && window->first < address + bytes; ++window) {
    const Address begin = std::max(window->first, address);
    const Address end = std::min(window->first + window->second.bytes, address + bytes);
    if (begin < end) visit(window->second, window->first, begin - window->first, end - window->first);
  }
}

void Memory::Impl::take_over(Address address, uint64_t bytes) {
  for_windows(address, bytes, [&](const Window& window, Address base, uint64_t first, uint64_t last) {
    const uint64_t pages = pages_of(window.bytes);
    const unsigned char* known = window.area + pages * kPage_bytes;
    const unsigned char* any_known = known + pages * kPage_bytes;
    const auto become = [&](uint64_t begin, uint64_t end, bool is_known) {
      for_segments(base + begin, end - begin, [&](Region& region, Address home, uint64_t offset, uint64_t part) {
        if (is_known)
          store(region, home, window.area + begin + offset, part);
        else
          forget(region, home, part);
      });
    };
    for_pages(first, last, [&](uint64_t page, uint64_t begin, uint64_t end) {
      if (any_known[page] == 0) return become(begin, end, false);
      while (begin < end) {
        const unsigned char state = known[begin];
        const unsigned char* other =
            std::find_if(known + begin, known + end, [&](unsigned char k) { return k != state; });
        become(begin, static_cast<uint64_t>(other - known), state != 0);
        begin = static_cast<uint64_t>(other - known);
      }
    });
  });
}

void Memory::Impl::pass_on(Address address, uint64_t bytes) {
  for_windows(address, bytes, [&](const Window& window, Address base, uint64_t first, uint64_t last) {
    const uint64_t pages = pages_of(window.bytes);
    unsigned char* known = window.area + pages * kPage_bytes;
    unsigned char* any_known = known + pages * kPage_bytes;
    const auto forget_in = [&](uint64_t begin, uint64_t end) {
      for_pages(begin, end, [&](uint64_t page, uint64_t from, uint64_t to) {
        if (any_known[page] != 0) std::memset(known + from, 0, to - from);
      });
    };
    for_segments(base + first, last - first, [&](Region& region, Address home, uint64_t offset, uint64_t part) {
      region.known.visit(home, home + part, [&](Address begin, Address end, const KnownBytes::Piece* piece) {
        const uint64_t at = first + offset + (begin - home);
        if (piece == nullptr || piece->expected != 0) return forget_in(at, at + (end - begin));
        load(region, begin, window.area + at, end - begin);
        std::memset(known + at, 1, end - begin);
        for_pages(at, at + (end - begin), [&](uint64_t page, uint64_t, uint64_t) { any_known[page] = 1; });
      });
    });
  });
}

void Memory::share(Address base, uint64_t bytes, unsigned char* area, bool first) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  const Region* region = impl_->owner_at(base).region;
  const uint32_t slot = region == nullptr ? 0 : region->slot;
  impl_->windows[base] = {bytes, area, slot};
  if (first) impl_->pass_on(base, bytes);
  // Another process may make bytes known at any time.
  if (slot != 0) impl_->filter.add(slot, 1);
}

void Memory::unshare(Address base) {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  const auto window = impl_->windows.find(base);
  if (window == impl_->windows.end()) return;
  if (window->second.slot != 0) impl_->filter.add(window->second.slot, -1);
  impl_->windows.erase(window);
}

}  // namespace maya::device
