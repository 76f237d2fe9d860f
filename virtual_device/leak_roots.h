// Memory that was mapped by hand and holds pointers into the heap, made known to LeakSanitizer, which would report what
// only such memory points to. Empty in builds without AddressSanitizer.
#pragma once

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MAYA_LEAK_ROOTS
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define MAYA_LEAK_ROOTS
#endif

#ifdef MAYA_LEAK_ROOTS
#include <sanitizer/lsan_interface.h>
#endif

namespace maya::device {

// The roots of an array that fills up from its start: LeakSanitizer reads every page of a root, so only the part that
// was used is one. The part grows by doubling, so roots stay few.
class LeakRoots {
 public:
  // Slots [0, used) of `slots` hold objects now.
  void grow([[maybe_unused]] const void* slots, [[maybe_unused]] size_t slot_bytes, [[maybe_unused]] size_t used,
            [[maybe_unused]] size_t capacity) {
#ifdef MAYA_LEAK_ROOTS
    while (rooted_ < used) {
      const size_t end = next(rooted_, capacity);
      __lsan_register_root_region(static_cast<const char*>(slots) + rooted_ * slot_bytes, (end - rooted_) * slot_bytes);
      rooted_ = end;
    }
#endif
  }
  // Before the memory is unmapped.
  void clear([[maybe_unused]] const void* slots, [[maybe_unused]] size_t slot_bytes, [[maybe_unused]] size_t capacity) {
#ifdef MAYA_LEAK_ROOTS
    for (size_t begin = 0; begin < rooted_;) {
      const size_t end = next(begin, capacity);
      __lsan_unregister_root_region(static_cast<const char*>(slots) + begin * slot_bytes, (end - begin) * slot_bytes);
      begin = end;
    }
    rooted_ = 0;
#endif
  }

#ifdef MAYA_LEAK_ROOTS
 private:
  static constexpr size_t kFirst = 64;
  static size_t next(size_t rooted, size_t capacity) {
    const size_t end = rooted == 0 ? kFirst : rooted * 2;
    return end < capacity ? end : capacity;
  }
  size_t rooted_ = 0;
#endif
};

}  // namespace maya::device
