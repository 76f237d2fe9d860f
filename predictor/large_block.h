// Memory without content, in large pages where there is enough of it and the system has them: what is touched in no
// order costs a walk through the page tables each time otherwise.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>

namespace maya::predictor {

class LargeBlock {
 public:
  // Throws std::bad_alloc.
  explicit LargeBlock(size_t bytes) : mapped_bytes_(bytes + kPage_bytes) {
    mapped_ = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped_ == MAP_FAILED) throw std::bad_alloc();
    data_ = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(mapped_) + kPage_bytes - 1) & ~(kPage_bytes - 1));
    madvise(data_, bytes & ~(kPage_bytes - 1), MADV_HUGEPAGE);  // small pages do as well
  }
  ~LargeBlock() { munmap(mapped_, mapped_bytes_); }
  LargeBlock(const LargeBlock&) = delete;
  LargeBlock& operator=(const LargeBlock&) = delete;

  void* data() const { return data_; }

 private:
  static constexpr uintptr_t kPage_bytes = 2 << 20;
  size_t mapped_bytes_;
  void* mapped_;
  void* data_;
};

}  // namespace maya::predictor
