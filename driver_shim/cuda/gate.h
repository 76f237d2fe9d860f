// The one gate through which every driver entry point passes. It checks, in this order: forked child and initialised
// (NOT_INITIALIZED), current context (INVALID_CONTEXT, CONTEXT_IS_DESTROYED), sticky error of the context; and lets no
// exception out (OUT_OF_MEMORY for bad_alloc). The driver is never torn down, so no call returns DEINITIALIZED.
//
//   CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
//     return maya::cuda::enter(Needs::kContext, [&](Call& call) { ... call.context() ... });
//   }
#pragma once

#include <cuda.h>

#include <cstdint>
#include <new>

#include "driver_shim/cuda/driver.h"
#include "driver_shim/cuda/fork_guard.h"

namespace maya::cuda {

// kNothing: works in any state, also in a forked child, so the body may touch no lock of the driver.
enum class Needs : uint8_t { kNothing, kInitialized, kContext };

// What a body may use. With kContext, context() is the calling thread's current, live context. With kNothing, driver()
// and thread() may not be used.
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

// The error of a context that is not usable: destroyed, or with a sticky error. Kept out of line.
CUresult context_error(const Context* context) noexcept;

// The checks themselves. On CUDA_SUCCESS, what `needs` asks for is set. Throws std::bad_alloc.
inline CUresult pass_gate(Needs needs, Driver** driver, ThreadState** thread, Context** context) {
  if (needs == Needs::kNothing) return CUDA_SUCCESS;
  *driver = Driver::get();
  if (*driver == nullptr || in_forked_child()) return CUDA_ERROR_NOT_INITIALIZED;
  *thread = &thread_state();
  if (needs == Needs::kInitialized) return CUDA_SUCCESS;
  *context = (*thread)->current();
  if (*context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (!(*context)->alive.load(std::memory_order_acquire) ||
      (*context)->sticky_error.load(std::memory_order_relaxed) != 0)
    return context_error(*context);
  return CUDA_SUCCESS;
}

template <typename Body>
inline CUresult enter(Needs needs, Body&& body) noexcept {
  try {
    Driver* driver = nullptr;
    ThreadState* thread = nullptr;
    Context* context = nullptr;
    if (const CUresult status = pass_gate(needs, &driver, &thread, &context); status != CUDA_SUCCESS) return status;
    Call call(driver, thread, context);
    return body(call);
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (...) {
    return CUDA_ERROR_UNKNOWN;
  }
}

}  // namespace maya::cuda
