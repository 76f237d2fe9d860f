#include "virtual_device/stream.h"

#include <algorithm>

#include "virtual_device/context.h"

namespace maya::device {
namespace {

void raise_to(std::atomic<uint64_t>& value, uint64_t least) {
  uint64_t seen = value.load(std::memory_order_relaxed);
  while (seen < least && !value.compare_exchange_weak(seen, least, std::memory_order_relaxed)) {
  }
}

}  // namespace

uint64_t Stream::ready_ns() const {
  const uint64_t own = ready_ns_.load(std::memory_order_relaxed);
  if (!is_blocking()) return own;
  const std::atomic<uint64_t>& other = default_stream_ ? context_->blocking_ready_ns : context_->legacy_ready_ns;
  return std::max(own, other.load(std::memory_order_relaxed));
}

uint64_t Stream::enqueue(uint64_t earliest_ns, uint64_t duration_ns, uint64_t gap_ns) {
  uint64_t seen = ready_ns_.load(std::memory_order_relaxed);
  uint64_t end = 0;
  do {
    const uint64_t start = std::max(earliest_ns, std::max(seen, ready_ns()) + gap_ns);
    end = start + duration_ns;
  } while (!ready_ns_.compare_exchange_weak(seen, end, std::memory_order_relaxed));
  if (is_blocking()) {
    raise_to(context_->blocking_ready_ns, end);
    if (default_stream_) raise_to(context_->legacy_ready_ns, end);
  }
  raise_to(context_->all_ready_ns, end);
  return end;
}

void Stream::wait_until(uint64_t time_ns) { raise_to(ready_ns_, time_ns); }

}  // namespace maya::device
