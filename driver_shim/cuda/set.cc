// Memsets. They keep a value with its range and touch no host memory. As documented, all forms return before the device
// has done the work.
#include <cuda.h>

#include "driver_shim/common/api.h"
#include "driver_shim/cuda/allocation.h"
#include "driver_shim/cuda/recorder.h"
#include "driver_shim/cuda/stream_call.h"
#include "driver_shim/cuda/transfer.h"
#include "predictor/core/estimate.h"
#include "virtual_device/memory_known_bytes.h"

using namespace maya::cuda;

namespace {

struct Fill {
  CUdeviceptr destination;
  uint32_t value;
  uint32_t width_bytes;  // of the value: 1, 2 or 4
  size_t columns;        // values a row
  size_t rows;
  size_t pitch_bytes;  // between rows; 0 for one row
};

// Pinned and managed memory is the program's own.
void fill_host(uint64_t address, uint32_t value, uint32_t width_bytes, size_t count) {
  const uint32_t word = maya::device::fill_word(address, value, width_bytes);
  maya::device::expand_fill(reinterpret_cast<void*>(address), address, count * width_bytes, word);
}

CUresult fill(const Fill& request, CUstream handle, bool asynchronous, bool per_thread) {
  return with_stream(handle, per_thread, true, [&](Call& call, Stream& stream) -> CUresult {
    const uint64_t entry_ns = maya::trace::now_ns();
    if (request.destination % request.width_bytes != 0 || request.pitch_bytes % request.width_bytes != 0)
      return CUDA_ERROR_INVALID_VALUE;
    if (request.columns == 0 || request.rows == 0) return CUDA_SUCCESS;
    if (request.columns > SIZE_MAX / request.width_bytes) return CUDA_ERROR_INVALID_VALUE;
    const uint64_t row_bytes = request.columns * request.width_bytes;
    const bool flat = request.rows == 1 || request.pitch_bytes == row_bytes;
    if (request.rows > 1 && (request.pitch_bytes < row_bytes || request.rows > SIZE_MAX / request.pitch_bytes))
      return CUDA_ERROR_INVALID_VALUE;
    const uint64_t extent_bytes = (request.rows - 1) * request.pitch_bytes + row_bytes;
    if (!is_device_accessible(call.memory(), request.destination, extent_bytes)) return CUDA_ERROR_INVALID_VALUE;

    const bool on_device = call.memory().in_device_range(request.destination);
    const size_t runs = flat ? 1 : request.rows;
    const size_t run_columns = flat ? request.columns * request.rows : request.columns;
    for (size_t run = 0; run < runs; ++run) {
      const CUdeviceptr at = request.destination + run * request.pitch_bytes;
      if (!on_device) {
        fill_host(at, request.value, request.width_bytes, run_columns);
        continue;
      }
      const maya::device::MemoryStatus status = call.memory().fill(at, request.value, request.width_bytes, run_columns);
      if (status != maya::device::MemoryStatus::kOk) return memory_result(status);
    }
    const uint64_t bytes = row_bytes * request.rows;
    const uint64_t own_ns = maya::trace::now_ns() - entry_ns;
    const maya::Estimate estimate = call.driver().estimator(stream.context()->device).estimate_fill(bytes);
    const uint64_t end_ns =
        stream.enqueue(call.driver().to_virtual_ns(entry_ns), static_cast<uint64_t>(estimate.median_ns), 0);
    const bool waits = !asynchronous && !on_device;
    if (waits) call.driver().wait_until(end_ns);
    Recorder::get().fill(bytes, request.value, request.width_bytes, !waits, runs, stream.id(), entry_ns, own_ns);
    return CUDA_SUCCESS;
  });
}

}  // namespace

// The six value forms, each synchronous and asynchronous, each with its twin.
#define MAYA_MEMSET(name, Value)                                                                            \
  CUresult name##_v2(CUdeviceptr destination, Value value, size_t count) {                                  \
    return fill({destination, value, sizeof(Value), count, 1, 0}, nullptr, false, false);                   \
  }                                                                                                         \
  MAYA_API CUresult name##_v2_ptds(CUdeviceptr destination, Value value, size_t count) {                    \
    return fill({destination, value, sizeof(Value), count, 1, 0}, nullptr, false, true);                    \
  }                                                                                                         \
  CUresult name##Async(CUdeviceptr destination, Value value, size_t count, CUstream stream) {               \
    return fill({destination, value, sizeof(Value), count, 1, 0}, stream, true, false);                     \
  }                                                                                                         \
  MAYA_API CUresult name##Async_ptsz(CUdeviceptr destination, Value value, size_t count, CUstream stream) { \
    return fill({destination, value, sizeof(Value), count, 1, 0}, stream, true, true);                      \
  }

#define MAYA_MEMSET_2D(name, Value)                                                                                   \
  CUresult name##_v2(CUdeviceptr destination, size_t pitch, Value value, size_t width, size_t height) {               \
    return fill({destination, value, sizeof(Value), width, height, pitch}, nullptr, false, false);                    \
  }                                                                                                                   \
  MAYA_API CUresult name##_v2_ptds(CUdeviceptr destination, size_t pitch, Value value, size_t width, size_t height) { \
    return fill({destination, value, sizeof(Value), width, height, pitch}, nullptr, false, true);                     \
  }                                                                                                                   \
  CUresult name##Async(CUdeviceptr destination, size_t pitch, Value value, size_t width, size_t height,               \
                       CUstream stream) {                                                                             \
    return fill({destination, value, sizeof(Value), width, height, pitch}, stream, true, false);                      \
  }                                                                                                                   \
  MAYA_API CUresult name##Async_ptsz(CUdeviceptr destination, size_t pitch, Value value, size_t width, size_t height, \
                                     CUstream stream) {                                                               \
    return fill({destination, value, sizeof(Value), width, height, pitch}, stream, true, true);                       \
  }

MAYA_MEMSET(cuMemsetD8, unsigned char)
MAYA_MEMSET(cuMemsetD16, unsigned short)
MAYA_MEMSET(cuMemsetD32, unsigned int)
MAYA_MEMSET_2D(cuMemsetD2D8, unsigned char)
MAYA_MEMSET_2D(cuMemsetD2D16, unsigned short)
MAYA_MEMSET_2D(cuMemsetD2D32, unsigned int)
