// A list that is short nearly always: so long its elements lie in the object itself, and reading them costs no further
// cache line. Internal to the simulator.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace maya::predictor {

template <typename T, size_t kInside>
class ShortList {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return size_ <= kInside ? inside_ : outside_.data(); }
  T* end() { return begin() + size_; }
  const T* begin() const { return size_ <= kInside ? inside_ : outside_.data(); }
  const T* end() const { return begin() + size_; }
  T& operator[](size_t i) { return begin()[i]; }
  const T& front() const { return *begin(); }
  const T& back() const { return end()[-1]; }

  void push_back(const T& value) { insert(end(), value); }
  void pop_back() { erase(end() - 1); }

  void insert(const T* place, T value) {
    const ptrdiff_t at = place - begin();
    if (size_ == kInside) outside_.assign(inside_, inside_ + kInside);
    if (size_++ >= kInside) {
      outside_.insert(outside_.begin() + at, value);
      return;
    }
    std::copy_backward(inside_ + at, inside_ + size_ - 1, inside_ + size_);
    inside_[at] = value;
  }

  void erase(const T* place) {
    const ptrdiff_t at = place - begin();
    std::copy(begin() + at + 1, end(), begin() + at);
    if (size_ > kInside) outside_.pop_back();
    if (--size_ == kInside) std::copy_n(outside_.begin(), kInside, inside_);
  }

 private:
  size_t size_ = 0;
  T inside_[kInside] = {};
  std::vector<T> outside_;  // all elements, when they are more
};

}  // namespace maya::predictor
