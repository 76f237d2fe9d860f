// What libcupti keeps of each host thread: the API call it is in, its external correlation ids, its last CUPTI error.
#pragma once

#include "driver_shim/cupti/cupti_headers.h"

#include <cstdint>
#include <vector>

namespace maya::cupti {

// External correlation kinds are numbered below this.
inline constexpr uint32_t kCorrelationKindCount = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2 + 1;

struct ThreadState {
  uint32_t depth = 0;        // API calls that the thread is in; calls made by calls and by callbacks are not reported
  uint32_t correlation = 0;  // of the outermost one
  bool worked = false;       // it put work on a device
  bool untold_runtime_call = false;  // it is a runtime call whose callback is not enabled
  CUptiResult last_error = CUPTI_SUCCESS;
  std::vector<uint64_t> external[kCorrelationKindCount];
};

// Of the calling thread; made at first use, also after the thread's own end has begun. Throws std::bad_alloc.
ThreadState& thread_state();

// As CUPTI numbers threads by cuptiSetThreadIdType: pthread_self cut to 32 bits, or gettid.
uint32_t thread_id();
CUpti_ActivityThreadIdType thread_id_type();
void set_thread_id_type(CUpti_ActivityThreadIdType type);

// Keeps what libcupti itself and callbacks do out of the profile.
class NotReported {
 public:
  explicit NotReported(ThreadState& thread) : thread_(thread) { ++thread_.depth; }
  ~NotReported() { --thread_.depth; }
  NotReported(const NotReported&) = delete;
  NotReported& operator=(const NotReported&) = delete;

 private:
  ThreadState& thread_;
};

// The result of every CUPTI call passes through here, for cuptiGetLastError.
CUptiResult finish(CUptiResult result) noexcept;

// A body that may allocate.
template <typename Body>
CUptiResult guarded(Body&& body) noexcept {
  try {
    return finish(body());
  } catch (...) {
    return finish(CUPTI_ERROR_OUT_OF_MEMORY);
  }
}

}  // namespace maya::cupti
