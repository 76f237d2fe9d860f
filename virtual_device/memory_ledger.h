// What is used of one device's memory, by layer. Not thread safe.
#pragma once

#include <atomic>
#include <cstdint>

#include "virtual_device/memory.h"

namespace maya::device {

class Ledger {
 public:
  // `published` (may be null) follows the bytes used, for readers that take no lock.
  Ledger(uint64_t capacity_bytes, std::atomic<uint64_t>* published)
      : capacity_bytes_(capacity_bytes), published_(published) {}

  // False, and nothing changes, when less than `bytes` are free. Unlimited capacity (UINT64_MAX) never refuses.
  bool charge(Layer layer, uint64_t bytes) {
    if (bytes > capacity_bytes_ - used_bytes_) return false;
    used_bytes_ += bytes;
    layer_bytes_[static_cast<int>(layer)] += bytes;
    publish();
    return true;
  }
  // Never gives back more than was charged to the layer.
  void release(Layer layer, uint64_t bytes) {
    uint64_t& held = layer_bytes_[static_cast<int>(layer)];
    if (bytes > held) bytes = held;
    held -= bytes;
    used_bytes_ -= bytes;
    publish();
  }
  DeviceMemoryUse use() const {
    DeviceMemoryUse use;
    use.capacity_bytes = capacity_bytes_;
    use.free_bytes = capacity_bytes_ - used_bytes_;
    for (int i = 0; i < kLayerCount; ++i) use.layer_bytes[i] = layer_bytes_[i];
    return use;
  }

 private:
  void publish() {
    if (published_ != nullptr) published_->store(used_bytes_, std::memory_order_relaxed);
  }

  uint64_t capacity_bytes_;
  std::atomic<uint64_t>* published_;
  uint64_t used_bytes_ = 0;
  uint64_t layer_bytes_[kLayerCount] = {};
};

}  // namespace maya::device
