// Host functions and callbacks in stream order. All earlier work of a stream has had its effects when a call returns
// (work that other processes take part in is waited for), so the function runs at once, on the calling thread; its
// measured time is put on the stream's virtual clock.
#include <cuda.h>

#include "driver_shim/cuda/capture.h"
#include "driver_shim/cuda/pending_work.h"
#include "driver_shim/cuda/recorder.h"
#include "driver_shim/cuda/stream_call.h"

using maya::cuda::Call;
using maya::cuda::Captures;
using maya::cuda::HostNode;
using maya::cuda::Recorder;
using maya::cuda::Stream;
using maya::cuda::WhileCaptured;
using maya::cuda::with_stream;

namespace {

template <typename Function>
CUresult run(CUstream handle, bool per_thread, bool valid, Function&& function) {
  return with_stream(handle, per_thread, valid, [&](Call& call, Stream& stream) {
    const uint32_t stream_id = stream.id();
    maya::cuda::PendingWork::wait_stream(stream);
    const uint64_t start_ns = maya::trace::now_ns();
    function();
    const uint64_t measured_ns = maya::trace::now_ns() - start_ns;
    // The function may have destroyed the stream.
    if (Stream* still = handle != nullptr ? call.driver().streams().get(&stream) : &stream; still != nullptr)
      still->enqueue_host_work(call.driver().to_virtual_ns(start_ns), measured_ns, 0);
    Recorder::get().host_function(stream_id, measured_ns);
    return CUDA_SUCCESS;
  });
}

// Callbacks cannot be captured, host functions can.
CUresult launch(CUstream handle, bool per_thread, CUhostFn function, void* data) {
  bool captured = false;
  const CUresult status = with_stream(
      handle, per_thread, function != nullptr,
      [&](Call&, Stream& stream) -> CUresult {
        captured = stream.capture() != nullptr;
        return captured ? Captures::add(stream, HostNode{{function, data}}) : CUDA_SUCCESS;
      },
      WhileCaptured::kAllowed);
  if (captured || status != CUDA_SUCCESS) return status;
  return run(handle, per_thread, true, [&] { function(data); });
}

}  // namespace

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  return launch(stream, false, function, data);
}
CUresult cuLaunchHostFunc_ptsz(CUstream stream, CUhostFn function, void* data) {
  return launch(stream, true, function, data);
}

CUresult cuLaunchHostFunc_v2(CUstream stream, CUhostFn function, void* data, unsigned int) {
  return launch(stream, false, function, data);
}
CUresult cuLaunchHostFunc_v2_ptsz(CUstream stream, CUhostFn function, void* data, unsigned int) {
  return launch(stream, true, function, data);
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void* data, unsigned int flags) {
  return run(stream, false, callback != nullptr && flags == 0, [&] { callback(stream, CUDA_SUCCESS, data); });
}
CUresult cuStreamAddCallback_ptsz(CUstream stream, CUstreamCallback callback, void* data, unsigned int flags) {
  return run(stream, true, callback != nullptr && flags == 0, [&] { callback(stream, CUDA_SUCCESS, data); });
}
