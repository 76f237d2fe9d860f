// What is used of one device's memory, by layer. Not thread safe.
#pragma once

#include <cstdint>

#include "virtual_device/memory.h"

namespace maya::device {

class Ledger {
 public:
  explicit Ledger(uint64_t capacity_bytes) : capacity_bytes_(capacity_bytes) {}

  // False, and nothing changes, when less than `bytes` are free. Unlimited capacity (UINT64_MAX) never refuses.
  bool charge(Layer layer, uint64_t bytes) {
    if (bytes > capacity_bytes_ - used_bytes_) return false;
    used_bytes_ += bytes;
    layer_bytes_[static_cast<int>(layer)] += bytes;
    return true;
  }
  // Never gives back more than was charged to the layer.
  void release(Layer layer, uint64_t bytes) {
    uint64_t& held = layer_bytes_[static_cast<int>(layer)];
    if (bytes > held) bytes = held;
    held -= bytes;
    used_bytes_ -= bytes;
  }
  DeviceMemoryUse use() const {
    DeviceMemoryUse use;
    use.capacity_bytes = capacity_bytes_;
    use.free_bytes = capacity_bytes_ - used_bytes_;
    for (int i = 0; i < kLayerCount; ++i) use.layer_bytes[i] = layer_bytes_[i];
    return use;
  }

 private:
  uint64_t capacity_bytes_;
  uint64_t used_bytes_ = 0;
  uint64_t layer_bytes_[kLayerCount] = {};
};

}  // namespace maya::device
