// PyTorch's TensorInfo<T, I> (public header ATen/cuda/detail/TensorInfo.cuh): T* data; I sizes[25], strides[25]; int
// dims. Index types have 32 or 64 bits.
#pragma once

#include <cstdint>
#include <cstring>

#include "virtual_device/values/offsets.h"

namespace maya::device {

class TensorInfoView {
 public:
  static constexpr uint32_t kDimensions = 25;
  // Size of the structure; 0 for an index type that is neither.
  static constexpr uint32_t bytes(uint32_t index_bytes) { return index_bytes == 4 ? 216 : index_bytes == 8 ? 416 : 0; }

  TensorInfoView(const uint8_t* bytes, uint32_t index_bytes) : bytes_(bytes), index_bytes_(index_bytes) {
    std::memcpy(&data_, bytes, sizeof(data_));
    std::memcpy(&dims_, bytes + 8 + 2 * kDimensions * index_bytes, sizeof(dims_));
  }

  // False when the numbers make no sense.
  bool valid() const {
    if (dims_ < 0 || dims_ > static_cast<int32_t>(kDimensions)) return false;
    for (int32_t d = 0; d < dims_; ++d)
      if (size(d) < 0) return false;
    return true;
  }
  uint64_t data() const { return data_; }
  int32_t dims() const { return dims_; }
  int64_t size(int32_t dimension) const { return at(dimension); }
  int64_t stride(int32_t dimension) const { return at(static_cast<int32_t>(kDimensions) + dimension); }

  // Product of the sizes, at most `most` + 1.
  uint64_t elements(uint64_t most) const {
    uint64_t count = 1;
    for (int32_t d = 0; d < dims_; ++d) {
      count *= static_cast<uint64_t>(size(d));
      if (count > most) return most + 1;
    }
    return count;
  }

  // Offset, in elements, of a linear index; the last dimension runs fastest. No size may be 0.
  int64_t offset(uint64_t index) const {
    int64_t result = 0;
    for (int32_t d = dims_ - 1; d > 0; --d) {
      const auto extent = static_cast<uint64_t>(size(d));
      result += static_cast<int64_t>(index % extent) * stride(d);
      index /= extent;
    }
    return dims_ > 0 ? result + static_cast<int64_t>(index) * stride(0) : result;
  }

 private:
  int64_t at(int32_t entry) const {
    const uint8_t* where = bytes_ + 8 + static_cast<uint32_t>(entry) * index_bytes_;
    if (index_bytes_ == 4) {
      int32_t value;
      std::memcpy(&value, where, sizeof(value));
      return value;
    }
    int64_t value;
    std::memcpy(&value, where, sizeof(value));
    return value;
  }

  const uint8_t* bytes_;
  uint32_t index_bytes_;
  uint64_t data_ = 0;
  int32_t dims_ = 0;
};

}  // namespace maya::device
