// The clock of CUPTI's timestamps: CLOCK_REALTIME in nanoseconds, or what the client's callback returns, in the
// client's unit. Times of device work and of waits are of the host clock (profiler_hooks.h); they are converted when
// their buffer is delivered. Without a callback all timestamps count on, with the host clock, from what CLOCK_REALTIME
// was when recording began: the two run apart by some parts in a million, and work must not begin before its call.
// With one, by the straight line through two moments at which both clocks were read: when recording began and now.
// Thread safe.
#pragma once

#include "driver_shim/cupti/cupti_headers.h"

#include <cstdint>

namespace maya::cupti {

// Now, as records of API calls have it.
uint64_t timestamp();
// Now, on the host clock.
uint64_t host_now_ns();

void set_timestamp_callback(CUpti_TimestampCallbackFunc callback);
// Recording begins: reads both clocks.
void start_clock();

class Conversion {
 public:
  Conversion();  // reads both clocks
  uint64_t operator()(uint64_t host_ns) const {
    const double since = static_cast<double>(static_cast<int64_t>(host_ns - host_ns_));
    return exact_ ? stamp_ + (host_ns - host_ns_)
                  : stamp_ + static_cast<uint64_t>(static_cast<int64_t>(since * slope_));
  }

 private:
  uint64_t host_ns_, stamp_;
  double slope_ = 1;
  bool exact_ = true;
};

}  // namespace maya::cupti
