// Work whose speed changes while it runs. Integer arithmetic: equal input gives equal output. Internal to the
// simulator.
#pragma once

#include <algorithm>
#include <cstdint>

#include "predictor/numbers.h"

namespace maya::predictor {

inline constexpr uint64_t kFullSpeed = 1 << 16;
// kLongest_ns at full speed fits into 64 bits.
static_assert(kLongest_ns < (uint64_t{1} << 63) / kFullSpeed);

// The speed that makes work take `factor` times as long; factors outside of 1 to 1000 are taken as these.
inline uint64_t speed_with(double factor) {
  return static_cast<uint64_t>(static_cast<double>(kFullSpeed) / std::clamp(factor, 1.0, 1000.0));
}

class Progress {
 public:
  void begin(uint64_t now_ns, uint64_t duration_ns, uint64_t speed) {
    left_ = std::min(duration_ns, kLongest_ns) * kFullSpeed;
    since_ns_ = now_ns;
    speed_ = std::max<uint64_t>(speed, 1);
  }
  // From now on.
  void set_speed(uint64_t now_ns, uint64_t speed) {
    const uint64_t elapsed_ns = now_ns - since_ns_;
    left_ = elapsed_ns > left_ / speed_ ? 0 : left_ - elapsed_ns * speed_;
    since_ns_ = now_ns;
    speed_ = std::max<uint64_t>(speed, 1);
  }
  uint64_t speed() const { return speed_; }
  uint64_t end_ns() const { return since_ns_ + (left_ + speed_ - 1) / speed_; }

 private:
  uint64_t left_ = 0;  // nanoseconds at full speed, times kFullSpeed
  uint64_t since_ns_ = 0;
  uint64_t speed_ = kFullSpeed;
};

}  // namespace maya::predictor
