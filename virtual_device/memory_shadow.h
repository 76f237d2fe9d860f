// Host memory behind known device bytes: a second reserved range, one byte for one byte of the device range, at a
// constant distance. Pages exist only where they were touched; resident pages are counted exactly. Not thread safe.
#pragma once

#include <bitset>
#include <cstdint>
#include <map>

namespace maya::device {

class Shadow {
 public:
  Shadow() = default;
  ~Shadow();
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;

  static constexpr uint64_t kPage_bytes = 4096;
  static constexpr uint64_t kGranule_bytes = 2ull << 20;

  // Host memory for the device range [device_base, device_base + bytes). False when the system refuses.
  bool reserve(uint64_t device_base, uint64_t bytes);

  unsigned char* at(uint64_t device_address) const {
    return reinterpret_cast<unsigned char*>(device_address + distance_);
  }
  // To be called before bytes of [begin, end) are written. False when the system gives no memory (only where it does
  // strict accounting).
  bool touch(uint64_t begin, uint64_t end);
  // Gives back the pages that lie wholly inside [begin, end); they read as zero afterwards.
  void release(uint64_t begin, uint64_t end);

  uint64_t resident_bytes() const { return resident_pages_ * kPage_bytes; }

 private:
  static constexpr uint64_t kPages = kGranule_bytes / kPage_bytes;
  struct Granule {
    std::bitset<kPages> resident;
  };

  uint64_t base_ = 0;  // device address
  uint64_t bytes_ = 0;
  uint64_t distance_ = 0;  // host address - device address
  bool commit_ = false;    // strict accounting: pages must be made accessible granule by granule
  uint64_t resident_pages_ = 0;
  std::map<uint64_t, Granule> granules_;  // by index from base_; only those with resident pages, or made accessible
};

}  // namespace maya::device
