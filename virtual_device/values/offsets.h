// PyTorch's OffsetCalculator (public header ATen/cuda/detail/OffsetCalculator.cuh): from a linear index to byte offsets
// of several tensors.
//
//   u32 dims; { u32 divisor, magic, shift } sizes[25]; u32 strides[25][tensors]
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace maya::device {

inline constexpr uint32_t kOffsetDimensions = 25;
constexpr uint32_t offset_calculator_bytes(uint32_t tensors) { return 4 + kOffsetDimensions * (12 + 4 * tensors); }

class Offsets {
 public:
  // `bytes` holds an OffsetCalculator of `tensors` tensors. valid() is false when its numbers make no sense.
  Offsets(const uint8_t* bytes, uint32_t tensors) {
    uint32_t dims = 0;
    std::memcpy(&dims, bytes, sizeof(dims));
    if (dims > kOffsetDimensions) return;
    valid_ = true;
    sizes_.resize(dims);
    strides_.resize(static_cast<size_t>(dims) * tensors);
    tensors_ = tensors;
    for (uint32_t d = 0; d < dims; ++d) {
      std::memcpy(&sizes_[d], bytes + 4 + 12 * d, sizeof(uint32_t));
      if (sizes_[d] == 0) valid_ = false;
      for (uint32_t t = 0; t < tensors; ++t)
        std::memcpy(&strides_[d * tensors + t], bytes + 4 + kOffsetDimensions * 12 + 4 * (d * tensors + t),
                    sizeof(uint32_t));
    }
  }
  bool valid() const { return valid_; }

  // Byte offset of element `index` in `tensor`.
  uint64_t at(uint64_t index, uint32_t tensor) const {
    uint64_t offset = 0;
    for (size_t d = 0; d < sizes_.size(); ++d) {
      offset += index % sizes_[d] * strides_[d * tensors_ + tensor];
      index /= sizes_[d];
    }
    return offset;
  }

  // at() of one index after another.
  class Walk {
   public:
    explicit Walk(const Offsets& offsets)
        : offsets_(offsets), index_(offsets.sizes_.size(), 0), at_(offsets.tensors_, 0) {}
    uint64_t at(uint32_t tensor) const { return at_[tensor]; }
    void next() {
      for (size_t d = 0; d < index_.size(); ++d) {
        const uint32_t* strides = offsets_.strides_.data() + d * offsets_.tensors_;
        const bool wraps = ++index_[d] == offsets_.sizes_[d];
        const uint64_t back = wraps ? uint64_t{offsets_.sizes_[d] - 1} : 0;
        for (size_t t = 0; t < at_.size(); ++t) at_[t] = wraps ? at_[t] - back * strides[t] : at_[t] + strides[t];
        if (!wraps) return;
        index_[d] = 0;
      }
    }

   private:
    const Offsets& offsets_;
    std::vector<uint32_t> index_;
    std::vector<uint64_t> at_;
  };

  // As at(), for strides that are signed.
  int64_t signed_at(uint64_t index, uint32_t tensor) const {
    int64_t offset = 0;
    for (size_t d = 0; d < sizes_.size(); ++d) {
      offset += static_cast<int64_t>(index % sizes_[d]) * static_cast<int32_t>(strides_[d * tensors_ + tensor]);
      index /= sizes_[d];
    }
    return offset;
  }

  // Bytes from the first to behind the last of `count` elements of `element` bytes.
  uint64_t span(uint64_t count, uint32_t tensor, uint64_t element) const {
    uint64_t last = 0, elements = 1;
    for (size_t d = 0; d < sizes_.size() && elements < count; ++d) {
      last += uint64_t{sizes_[d] - 1} * strides_[d * tensors_ + tensor];
      elements *= sizes_[d];
    }
    return count == 0 ? 0 : last + element;
  }

  // True when two tensors have their elements at the same offsets.
  bool alike(uint32_t a, uint32_t b) const {
    for (size_t d = 0; d < sizes_.size(); ++d)
      if (strides_[d * tensors_ + a] != strides_[d * tensors_ + b]) return false;
    return true;
  }

  // True when elements lie one behind the other.
  bool dense(uint32_t tensor, uint64_t element) const {
    uint64_t expected = element;
    for (size_t d = 0; d < sizes_.size(); ++d) {
      if (sizes_[d] == 1) continue;
      if (strides_[d * tensors_ + tensor] != expected) return false;
      expected *= sizes_[d];
    }
    return true;
  }

 private:
  bool valid_ = false;
  uint32_t tensors_ = 0;
  std::vector<uint32_t> sizes_;
  std::vector<uint32_t> strides_;
};

}  // namespace maya::device
