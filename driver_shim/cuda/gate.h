// The one gate through which every driver entry point passes. It checks, in this order: forked child (NOT_INITIALIZED), torn down
// (DEINITIALIZED), initialised, current context, sticky error of the context; counts the call; and lets no exception out (OUT_OF_MEMORY for bad_alloc).
//
//   CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
//     return maya::cuda::enter(Needs::kContext, [&](Call& call) { ... call.context() ... });
//   }
#pragma once

#include <cuda.h>

#include <cstdint>
#include <new>

#include "driver_shim/cuda/driver.h"

namespace maya::cuda {

enum class Needs : uint8_t { kNothing, kInitialized, kContext };

// What a body may use. With kContext, context() is the calling thread's current, live context.
class Call {
 public:
  Call(Driver* driver, ThreadState* thread, Context* context) : driver_(driver), thread_(thread), context_(context) {}
  Driver& driver() const { return *driver_; }
  ThreadState& thread() const { return *thread_; }
  Context& context() const { return *context_; }
  device::Memory& memory() const { return driver_->memory(); }

 private:
  Driver* driver_;
  ThreadState* thread_;
  Context* context_;
};

// Not inlined in full: the checks. Returns CUDA_SUCCESS and fills *call's parts, or the documented error.
CUresult check_entry(Needs needs, Driver** driver, ThreadState** thread, Context** context) noexcept;

template <typename Body>
inline CUresult enter(Needs needs, Body&& body) noexcept {
  Driver* driver = nullptr;
  ThreadState* thread = nullptr;
  Context* context = nullptr;
  if (const CUresult status = check_entry(needs, &driver, &thread, &context); status != CUDA_SUCCESS) return status;
  try {
    Call call(driver, thread, context);
    return body(call);
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (...) {
    return CUDA_ERROR_UNKNOWN;
  }
}

}  // namespace maya::cuda
