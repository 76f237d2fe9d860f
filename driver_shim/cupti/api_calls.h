// Calls of the runtime and driver API while a profiler is attached: the wrappers that take the place of the entry
// points, and what each call leaves behind. A call gets a correlation id, calls back at its entry and exit where that
// is enabled, and leaves a CUpti_ActivityAPI record, preceded by a record for each external correlation kind that the
// thread has an id of. Calls made inside calls and inside callbacks are not reported.
#pragma once

#include "driver_shim/cupti/cupti_headers.h"

#include <cstdint>

#include "driver_shim/cupti/session.h"
#include "driver_shim/cupti/thread_state.h"

namespace maya::cupti {

class ApiCall {
 public:
  // `name` is the function's, `parameters` the structure of NVIDIA's meta headers or null.
  ApiCall(ThreadState& thread, Domain domain, uint32_t cbid, const char* name, const void* parameters,
          const char* symbol_name = nullptr);
  ApiCall(const ApiCall&) = delete;
  ApiCall& operator=(const ApiCall&) = delete;

  // The times of its record, where they are not those of enter() and exit().
  void set_start(uint64_t stamp) { start_ = stamp; }
  void enter();
  void exit(void* result);

  // A launch that a runtime call came down to, for clients that are called back for the driver's launches only
  // (Triton's Proton): entry and exit of cuLaunchKernel under the correlation id of the runtime call. No record.
  static void tell_driver_launch(ThreadState& thread, const void* parameters, const char* symbol_name);

 private:
  void call_back(CUpti_ApiCallbackSite site, void* result);

  ThreadState& thread_;
  const Domain domain_;
  const uint32_t cbid_;
  const bool calls_back_, records_;
  uint64_t start_ = 0;
  uint64_t correlation_data_ = 0;
  CUpti_CallbackData data_{};
};

// A wrapper for one entry point.
struct WrappedCall {
  const char* name;
  AnyFunction wrapper;
  AnyFunction* body;  // set before the wrapper is in use
};
// In order of name, from the headers (make_callback_tables.cc).
struct WrappedCalls {
  const WrappedCall* calls;
  uint32_t count;
};
WrappedCalls runtime_calls();
WrappedCalls driver_calls();

// The identifier of a callback id as the headers have it ("cudaLaunchKernel_v7000"), null: none.
const char* runtime_identifier(uint32_t cbid);
const char* driver_identifier(uint32_t cbid);

// The kernel that a launch function's parameters name; null for other functions and where it cannot be told.
const char* runtime_symbol(uint32_t cbid, const void* parameters);
const char* driver_symbol_name(uint32_t cbid, const void* parameters);

}  // namespace maya::cupti
