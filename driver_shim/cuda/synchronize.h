// Waiting on virtual time, and calls that name a context or take the current one.
#pragma once

#include <cuda.h>

#include "driver_shim/cuda/gate.h"

namespace maya::cuda {

// Lets the host wait for all work of the context, and records it.
void synchronize_context(Driver& driver, const Context& context);

// A body on the context behind `handle`, or on the current one when it is null. `valid` covers the other arguments.
template <typename Body>
CUresult with_context(CUcontext handle, bool valid, Body&& body) noexcept {
  return enter(handle == nullptr ? Needs::kContext : Needs::kInitialized, [&](Call& call) -> CUresult {
    Context* context = handle == nullptr ? &call.context() : nullptr;
    if (handle != nullptr)
      if (const CUresult status = call.driver().live_context(handle, &context); status != CUDA_SUCCESS) return status;
    if (const uint32_t sticky = context->sticky_error.load(std::memory_order_relaxed); sticky != 0)
      return static_cast<CUresult>(sticky);
    if (!valid) return CUDA_ERROR_INVALID_VALUE;
    return body(call, *context);
  });
}

}  // namespace maya::cuda
