#include "driver_shim/cupti/thread_state.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace maya::cupti {
namespace {

thread_local ThreadState* own_state = nullptr;

struct Cleaner {
  ~Cleaner() {
    delete own_state;
    own_state = nullptr;
  }
};

constinit std::atomic<CUpti_ActivityThreadIdType> id_type{CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT};

}  // namespace

ThreadState& thread_state() {
  if (own_state == nullptr) {
    own_state = new ThreadState;
    thread_local Cleaner cleaner;
    static_cast<void>(cleaner);
  }
  return *own_state;
}

uint32_t thread_id() {
  if (thread_id_type() == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM) return static_cast<uint32_t>(syscall(SYS_gettid));
  return static_cast<uint32_t>(pthread_self());
}

CUpti_ActivityThreadIdType thread_id_type() { return id_type.load(std::memory_order_relaxed); }
void set_thread_id_type(CUpti_ActivityThreadIdType type) { id_type.store(type, std::memory_order_relaxed); }

CUptiResult finish(CUptiResult result) noexcept {
  if (result == CUPTI_SUCCESS) return result;
  try {
    thread_state().last_error = result;
  } catch (...) {
  }
  return result;
}

}  // namespace maya::cupti
