// Memsets. They keep a value with its range and touch no host memory. As documented, all forms return before the device
// has done the work.
#include <cuda.h>

#include "driver_shim/common/api.h"
#include "driver_shim/cuda/capture.h"
#include "driver_shim/cuda/fill.h"
#include "driver_shim/cuda/profiler.h"
#include "driver_shim/cuda/recorder.h"
#include "driver_shim/cuda/stream_call.h"
#include "predictor/core/estimate.h"

using namespace maya::cuda;

namespace {

CUresult fill(const CUDA_MEMSET_NODE_PARAMS& request, CUstream handle, bool asynchronous, bool per_thread) {
  return with_stream(
      handle, per_thread, true,
      [&](Call& call, Stream& stream) -> CUresult {
        const uint64_t entry_ns = maya::trace::now_ns();
        const bool empty = request.width == 0 || request.height == 0;
        if (stream.capture() != nullptr) {
          if (!asynchronous) return Captures::refuse(stream);
          if (const CUresult status = check_fill(call.memory(), request); status != CUDA_SUCCESS) return status;
          return empty ? CUDA_SUCCESS : Captures::add(stream, FillNode{request});
        }
        if (const CUresult status = check_fill(call.memory(), request); status != CUDA_SUCCESS || empty) return status;
        size_t runs = 1;
        if (const CUresult status = fill_memory(call.memory(), request, &runs); status != CUDA_SUCCESS) return status;
        const uint64_t bytes = request.width * request.elementSize * request.height;
        uint64_t own_ns = maya::trace::now_ns() - entry_ns;
        const maya::Estimate estimate = call.driver().estimator(stream.context()->device).estimate_fill(bytes);
        const uint64_t end_ns =
            stream.enqueue(call.driver().to_virtual_ns(entry_ns), static_cast<uint64_t>(estimate.median_ns), 0);
        const bool waits = !asynchronous && !call.memory().in_device_range(request.dst);
        if (Profiler::attached()) [[unlikely]]
          Profiler::tell_fill({call.driver(), *stream.context(), stream.id(), end_ns,
                               static_cast<uint64_t>(estimate.median_ns), entry_ns, 0, 0, stream.priority()},
                              bytes, request.value, asynchronous);
        if (waits) call.driver().wait_until(end_ns, &own_ns);
        Recorder::get().fill(bytes, request.value, request.elementSize, !waits, runs, stream.id(), entry_ns, own_ns);
        return CUDA_SUCCESS;
      },
      WhileCaptured::kAllowed);
}

}  // namespace

// The six value forms, each synchronous and asynchronous, each with its twin.
#define MAYA_MEMSET(name, Value)                                                                            \
  CUresult name##_v2(CUdeviceptr destination, Value value, size_t count) {                                  \
    return fill({destination, 0, value, sizeof(Value), count, 1}, nullptr, false, false);                   \
  }                                                                                                         \
  MAYA_API CUresult name##_v2_ptds(CUdeviceptr destination, Value value, size_t count) {                    \
    return fill({destination, 0, value, sizeof(Value), count, 1}, nullptr, false, true);                    \
  }                                                                                                         \
  CUresult name##Async(CUdeviceptr destination, Value value, size_t count, CUstream stream) {               \
    return fill({destination, 0, value, sizeof(Value), count, 1}, stream, true, false);                     \
  }                                                                                                         \
  MAYA_API CUresult name##Async_ptsz(CUdeviceptr destination, Value value, size_t count, CUstream stream) { \
    return fill({destination, 0, value, sizeof(Value), count, 1}, stream, true, true);                      \
  }

#define MAYA_MEMSET_2D(name, Value)                                                                                   \
  CUresult name##_v2(CUdeviceptr destination, size_t pitch, Value value, size_t width, size_t height) {               \
    return fill({destination, pitch, value, sizeof(Value), width, height}, nullptr, false, false);                    \
  }                                                                                                                   \
  MAYA_API CUresult name##_v2_ptds(CUdeviceptr destination, size_t pitch, Value value, size_t width, size_t height) { \
    return fill({destination, pitch, value, sizeof(Value), width, height}, nullptr, false, true);                     \
  }                                                                                                                   \
  CUresult name##Async(CUdeviceptr destination, size_t pitch, Value value, size_t width, size_t height,               \
                       CUstream stream) {                                                                             \
    return fill({destination, pitch, value, sizeof(Value), width, height}, stream, true, false);                      \
  }                                                                                                                   \
  MAYA_API CUresult name##Async_ptsz(CUdeviceptr destination, size_t pitch, Value value, size_t width, size_t height, \
                                     CUstream stream) {                                                               \
    return fill({destination, pitch, value, sizeof(Value), width, height}, stream, true, true);                       \
  }

MAYA_MEMSET(cuMemsetD8, unsigned char)
MAYA_MEMSET(cuMemsetD16, unsigned short)
MAYA_MEMSET(cuMemsetD32, unsigned int)
MAYA_MEMSET_2D(cuMemsetD2D8, unsigned char)
MAYA_MEMSET_2D(cuMemsetD2D16, unsigned short)
MAYA_MEMSET_2D(cuMemsetD2D32, unsigned int)
