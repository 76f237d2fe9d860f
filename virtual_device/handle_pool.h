// Type-stable storage for objects whose address is handed out as an opaque CUDA handle. Any bit pattern can be checked:
// a stale, null or garbage handle is found out by arithmetic, without a look-up table and without touching foreign
// memory. create/destroy take a lock; get() does not.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>

#include "virtual_device/leak_roots.h"

namespace maya::device {

template <typename T>
class HandlePool {
 public:
  explicit HandlePool(size_t capacity) : capacity_(capacity) {
    void* p = mmap(nullptr, capacity * sizeof(Slot), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    slots_ = p == MAP_FAILED ? nullptr : static_cast<Slot*>(p);
    if (slots_ == nullptr) capacity_ = 0;
    bytes_ = capacity_ * sizeof(Slot);
  }
  ~HandlePool() {
    for (size_t i = 0; i < used_; ++i)
      if (slots_[i].live.load(std::memory_order_relaxed)) object(i)->~T();
    roots_.clear(slots_, sizeof(Slot), capacity_);
    if (slots_ != nullptr) munmap(slots_, bytes_);
  }
  HandlePool(const HandlePool&) = delete;
  HandlePool& operator=(const HandlePool&) = delete;

  // False when its memory could not be reserved: then it stays empty.
  bool usable() const { return slots_ != nullptr; }

  // nullptr when full.
  template <typename... Arguments>
  T* create(Arguments&&... arguments) {
    size_t index;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (first_free_ != kNone) {
        index = first_free_;
        first_free_ = slots_[index].next_free;
      } else if (used_ < capacity_) {
        index = used_++;
        roots_.grow(slots_, sizeof(Slot), used_, capacity_);
      } else {
        return nullptr;
      }
    }
    try {
      T* made = new (slots_[index].storage) T(std::forward<Arguments>(arguments)...);
      slots_[index].live.store(true, std::memory_order_release);
      return made;
    } catch (...) {
      give_back(index);
      throw;
    }
  }

  // The object behind a handle, nullptr when the handle is not one of a live object of this pool.
  T* get(const void* handle) const {
    const uintptr_t offset = reinterpret_cast<uintptr_t>(handle) - reinterpret_cast<uintptr_t>(slots_);
    if (offset >= bytes_ || offset % sizeof(Slot) != 0) return nullptr;
    // The handle is the address of the slot.
    Slot* const slot = reinterpret_cast<Slot*>(const_cast<void*>(handle));
    return slot->live.load(std::memory_order_acquire) ? std::launder(reinterpret_cast<T*>(slot->storage)) : nullptr;
  }

  // False when the handle was not live (destroyed twice, garbage): of two racing calls exactly one wins.
  // Never throws.
  bool destroy(const void* handle) noexcept {
    T* found = get(handle);
    if (found == nullptr) return false;
    const size_t index = (reinterpret_cast<uintptr_t>(handle) - reinterpret_cast<uintptr_t>(slots_)) / sizeof(Slot);
    if (!slots_[index].live.exchange(false, std::memory_order_acq_rel)) return false;
    found->~T();
    give_back(index);
    return true;
  }

  // Calls visit(T*) for every live object. The caller keeps objects from being destroyed meanwhile.
  template <typename Visitor>
  void for_each(Visitor&& visit) const {
    size_t used;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      used = used_;
    }
    for (size_t i = 0; i < used; ++i)
      if (slots_[i].live.load(std::memory_order_acquire)) visit(object(i));
  }

 private:
  struct Slot {
    alignas(T) alignas(16) unsigned char storage[sizeof(T)];  // first: the object's address is the handle
    std::atomic<bool> live{false};
    size_t next_free;  // links the free slots
  };
  static constexpr size_t kNone = SIZE_MAX;
  void give_back(size_t index) noexcept {
    std::lock_guard<std::mutex> lock(mutex_);
    slots_[index].next_free = first_free_;
    first_free_ = index;
  }
  T* object(size_t index) const { return std::launder(reinterpret_cast<T*>(slots_[index].storage)); }

  size_t capacity_ = 0;
  size_t bytes_ = 0;
  Slot* slots_ = nullptr;
  size_t used_ = 0;
  size_t first_free_ = kNone;
  [[no_unique_address]] LeakRoots roots_;
  mutable std::mutex mutex_;
};

}  // namespace maya::device
