// A product of sizes that come from the program: it saturates instead of wrapping around, and of a negative size there
// is nothing.
#pragma once

#include <algorithm>
#include <cstdint>

namespace maya::device {

class Product {
 public:
  Product& times(int64_t factor) {
    const uint64_t positive = static_cast<uint64_t>(std::max<int64_t>(factor, 0));
    value_ = positive != 0 && value_ > kMost / positive ? kMost : value_ * positive;
    return *this;
  }
  uint64_t value() const { return value_; }

 private:
  static constexpr uint64_t kMost = uint64_t{1} << 48;
  uint64_t value_ = 1;
};

}  // namespace maya::device
