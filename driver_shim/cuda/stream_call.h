// Calls that take a stream.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <utility>

#include "driver_shim/cuda/gate.h"

namespace maya::cuda {

inline bool is_special_stream(CUstream handle) {
  return handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD;
}

// The gate for calls on a stream: the stream behind `handle`, whose own context counts; the default streams are those
// of the current context. `per_thread` is true in the _ptsz twins. Throws std::bad_alloc.
inline CUresult pass_stream_gate(CUstream handle, bool per_thread, Driver** driver, ThreadState** thread,
                                 Stream** stream) {
  Context* context = nullptr;
  const bool special = is_special_stream(handle);
  if (const CUresult status = pass_gate(special ? Needs::kContext : Needs::kInitialized, driver, thread, &context);
      status != CUDA_SUCCESS)
    return status;
  *stream = special ? (*driver)->stream(handle, *context, per_thread) : (*driver)->streams().get(handle);
  if (*stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return static_cast<CUresult>((*stream)->context()->sticky_error.load(std::memory_order_relaxed));
}

// What a call does on a stream that is being captured into a graph, or on a legacy default stream that a capture has
// put out of use. kRefused: the documented error, and the capture is of no use any more. kAllowed: the body sees to it.
enum class WhileCaptured : uint8_t { kRefused, kAllowed };
CUresult refuse_captured(Stream& stream);  // Captures::refuse

// A body on a stream. `valid` covers the other arguments.
template <typename Body>
CUresult with_stream(CUstream handle, bool per_thread, bool valid, Body&& body,
                     WhileCaptured while_captured = WhileCaptured::kRefused) noexcept {
  try {
    Driver* driver = nullptr;
    ThreadState* thread = nullptr;
    Stream* stream = nullptr;
    if (const CUresult status = pass_stream_gate(handle, per_thread, &driver, &thread, &stream); status != CUDA_SUCCESS)
      return status;
    if (!valid) return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture() != nullptr && while_captured == WhileCaptured::kRefused)
      if (const CUresult status = refuse_captured(*stream); status != CUDA_SUCCESS) return status;
    Call call(driver, thread, stream->context());
    return body(call, *stream);
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (...) {
    return CUDA_ERROR_UNKNOWN;
  }
}

// A body that copies, by functions that know what to do on a stream that is being captured.
template <typename Body>
CUresult with_copy_stream(CUstream handle, bool per_thread, bool valid, Body&& body) noexcept {
  return with_stream(handle, per_thread, valid, std::forward<Body>(body), WhileCaptured::kAllowed);
}

// Called when a stream is destroyed.
void forget_stream_attributes(uint32_t stream_id);

}  // namespace maya::cuda
