// Calls that take a stream.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "driver_shim/cuda/gate.h"

namespace maya::cuda {

inline bool is_special_stream(CUstream handle) {
  return handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD;
}

// A body on the stream behind `handle`, in the stream's own context; the default streams are those of the current
// context. `per_thread` is true in the _ptsz twins. `valid` covers the other arguments.
template <typename Body>
CUresult with_stream(CUstream handle, bool per_thread, bool valid, Body&& body) noexcept {
  return enter(is_special_stream(handle) ? Needs::kContext : Needs::kInitialized, [&](Call& call) -> CUresult {
    Stream* stream = is_special_stream(handle) ? call.driver().stream(handle, call.context(), per_thread)
                                               : call.driver().streams().get(handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (const uint32_t sticky = stream->context()->sticky_error.load(std::memory_order_relaxed); sticky != 0)
      return static_cast<CUresult>(sticky);
    if (!valid) return CUDA_ERROR_INVALID_VALUE;
    return body(call, *stream);
  });
}

// Called when a stream is destroyed.
void forget_stream_attributes(uint32_t stream_id);

}  // namespace maya::cuda
