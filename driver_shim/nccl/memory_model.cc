#include "driver_shim/nccl/memory_model.h"

#include <stdlib.h>
#include <string.h>

#include <algorithm>

namespace maya::nccl {
namespace {

constexpr uint64_t kGranule_bytes = 2 << 20;
constexpr uint64_t kLl_bytes = 8 * 512 * 8 * 16;
constexpr uint64_t kLl128_bytes = 120 * 640 * 8 * 8;

uint64_t whole_granules(uint64_t bytes) { return (bytes + kGranule_bytes - 1) / kGranule_bytes * kGranule_bytes; }

uint64_t number(const char* name, uint64_t otherwise) {
  const char* text = secure_getenv(name);
  char* end = nullptr;
  const unsigned long long value = text == nullptr ? 0 : strtoull(text, &end, 10);
  return text == nullptr || end == text || *end != 0 ? otherwise : value;
}

int channels_within(const MemorySettings& settings, int channels) {
  if (settings.max_channels > 0) channels = std::min(channels, settings.max_channels);
  return std::max(channels, settings.min_channels);
}

}  // namespace

MemorySettings memory_settings() {
  MemorySettings settings;
  settings.buffer_bytes = number("NCCL_BUFFSIZE", settings.buffer_bytes);
  settings.max_channels =
      static_cast<int>(std::min<uint64_t>(64, number("NCCL_MAX_CTAS", number("NCCL_MAX_NCHANNELS", 0))));
  settings.min_channels =
      static_cast<int>(std::min<uint64_t>(64, number("NCCL_MIN_CTAS", number("NCCL_MIN_NCHANNELS", 0))));
  settings.connect_at_once = number("NCCL_RUNTIME_CONNECT", 1) == 0;
  return settings;
}

int collective_channels(const Platform& platform, const MemorySettings& settings, int ranks, int nodes) {
  if (!platform.nvlink) return channels_within(settings, 4);
  if (nodes > 1) return channels_within(settings, 16);
  return channels_within(settings, platform.compute_major < 9 && ranks <= 4 ? 12 : 24);
}

int peer_channels(const Platform& platform, const MemorySettings& settings, int nodes) {
  return channels_within(settings, !platform.nvlink || nodes > 1 ? 2 : 32);
}

uint64_t sender_bytes(const MemorySettings&) { return 2 * kGranule_bytes; }

uint64_t receiver_bytes(const MemorySettings& settings) {
  return whole_granules(kLl_bytes + kLl128_bytes + settings.buffer_bytes);
}

uint64_t ring_bytes(const Platform& platform, const MemorySettings& settings, int ranks, int nodes) {
  if (ranks < 2) return 0;
  return static_cast<uint64_t>(collective_channels(platform, settings, ranks, nodes)) *
         (sender_bytes(settings) + receiver_bytes(settings));
}

uint64_t tree_bytes(const Platform& platform, const MemorySettings& settings, int ranks, int nodes) {
  return ranks < 3 ? 0 : ring_bytes(platform, settings, ranks, nodes);
}

uint64_t send_bytes(const Platform& platform, const MemorySettings& settings, int nodes) {
  return static_cast<uint64_t>(peer_channels(platform, settings, nodes)) * sender_bytes(settings);
}

uint64_t receive_bytes(const Platform& platform, const MemorySettings& settings, int nodes) {
  return static_cast<uint64_t>(peer_channels(platform, settings, nodes)) * receiver_bytes(settings);
}

}  // namespace maya::nccl
