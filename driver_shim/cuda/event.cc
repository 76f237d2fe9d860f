// Event management.
#include <cuda.h>

#include "driver_shim/cuda/capture.h"
#include "driver_shim/cuda/pending_work.h"
#include "driver_shim/cuda/profiler.h"
#include "driver_shim/cuda/recorder.h"
#include "driver_shim/cuda/stream_call.h"

using maya::SynchronizationKind;
using maya::cuda::Call;
using maya::cuda::Captures;
using maya::cuda::enter;
using maya::cuda::Event;
using maya::cuda::EventRecordNode;
using maya::cuda::Needs;
using maya::cuda::PendingWork;
using maya::cuda::Profiler;
using maya::cuda::Recorder;
using maya::cuda::Stream;
using maya::cuda::WhileCaptured;
using maya::cuda::with_stream;
using Kind = maya::trace::fields::EventCallCall;

namespace {

constexpr uint64_t kPoll_ns = 1000;  // what a poll that found work unfinished costs on the virtual clock

template <typename Body>
CUresult with_event(CUevent handle, Body&& body) {
  return enter(Needs::kInitialized, [&](Call& call) -> CUresult {
    Event* event = call.driver().events().get(handle);
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (const uint32_t sticky = event->context->sticky_error.load(std::memory_order_relaxed); sticky != 0)
      return static_cast<CUresult>(sticky);
    return body(call, *event);
  });
}

bool is_complete(Call& call, const Event& event) {
  return !event.recorded.load(std::memory_order_acquire) ||
         (!PendingWork::event_busy(event.id) &&
          event.time_ns.load(std::memory_order_relaxed) <= call.driver().virtual_now_ns());
}

CUresult record(CUevent event_handle, CUstream stream_handle, unsigned int flags, bool per_thread) {
  const bool valid = (flags & ~static_cast<unsigned int>(CU_EVENT_RECORD_EXTERNAL)) == 0;
  return with_stream(
      stream_handle, per_thread, valid,
      [&](Call& call, Stream& stream) -> CUresult {
        Event* event = call.driver().events().get(event_handle);
        if (event == nullptr || event->context->root != stream.context()->root) return CUDA_ERROR_INVALID_HANDLE;
        if (stream.capture() != nullptr)
          return (flags & CU_EVENT_RECORD_EXTERNAL) != 0 ? Captures::add(stream, EventRecordNode{event_handle})
                                                         : Captures::record_event(stream, *event);
        event->captured.store(0, std::memory_order_relaxed);
        event->time_ns.store(stream.enqueue(call.driver().virtual_now_ns(), 0, 0), std::memory_order_relaxed);
        event->recorded.store(true, std::memory_order_release);
        PendingWork::event_recorded(event->id, stream);
        if (Profiler::attached()) [[unlikely]]
          Profiler::tell_event(stream, event->id, call.driver(), event->time_ns.load(std::memory_order_relaxed));
        Recorder::get().event(Kind::kRecord, event->id, stream.id(), false, 0, 0);
        return CUDA_SUCCESS;
      },
      WhileCaptured::kAllowed);
}

// Calls that ask whether an event has happened: not for one that was captured, nor beside a capture that forbids it.
CUresult check_capture(Call& call, const Event& event) {
  if (const CUresult status = Captures::refuse_event(event); status != CUDA_SUCCESS) return status;
  return maya::cuda::check_unsafe_call(call.thread());
}

}  // namespace

CUresult cuEventCreate(CUevent* out, unsigned int flags) {
  return enter(Needs::kContext, [&](Call& call) {
    constexpr unsigned int kAll = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    const bool untimed = (flags & CU_EVENT_DISABLE_TIMING) != 0;
    if (out == nullptr || (flags & ~kAll) != 0 || ((flags & CU_EVENT_INTERPROCESS) != 0 && !untimed))
      return CUDA_ERROR_INVALID_VALUE;
    Event* made = call.driver().events().create(&call.context(), call.driver().next_event_id(), flags);
    if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = reinterpret_cast<CUevent>(made);
    Recorder::get().event(Kind::kCreate, made->id, 0, false, 0, 0);
    return CUDA_SUCCESS;
  });
}

CUresult cuEventRecord(CUevent event, CUstream stream) { return record(event, stream, 0, false); }
CUresult cuEventRecord_ptsz(CUevent event, CUstream stream) { return record(event, stream, 0, true); }
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags) {
  return record(event, stream, flags, false);
}
CUresult cuEventRecordWithFlags_ptsz(CUevent event, CUstream stream, unsigned int flags) {
  return record(event, stream, flags, true);
}

CUresult cuEventQuery(CUevent handle) {
  return with_event(handle, [](Call& call, Event& event) -> CUresult {
    if (const CUresult status = check_capture(call, event); status != CUDA_SUCCESS) return status;
    const bool ready = is_complete(call, event);
    if (!ready) call.driver().poll_again(kPoll_ns);
    Recorder::get().event(Kind::kQuery, event.id, 0, ready, 0, 0);
    return ready ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

CUresult cuEventSynchronize(CUevent handle) {
  return with_event(handle, [](Call& call, Event& event) -> CUresult {
    if (const CUresult status = check_capture(call, event); status != CUDA_SUCCESS) return status;
    uint64_t own_ns = PendingWork::wait_event(event.id);
    const uint64_t waited_ns = event.recorded.load(std::memory_order_acquire)
                                   ? call.driver().wait_until(event.time_ns.load(std::memory_order_relaxed), &own_ns)
                                   : 0;
    Recorder::get().event(Kind::kSynchronize, event.id, 0, false, 0, waited_ns, own_ns);
    Profiler::tell_wait(SynchronizationKind::kEventSynchronize, *event.context, nullptr, event.id, waited_ns);
    return CUDA_SUCCESS;
  });
}

CUresult cuEventDestroy_v2(CUevent handle) {
  return enter(Needs::kInitialized, [&](Call& call) {
    const Event* event = call.driver().events().get(handle);
    const uint32_t id = event == nullptr ? 0 : event->id;
    if (!call.driver().events().destroy(handle)) return CUDA_ERROR_INVALID_HANDLE;
    PendingWork::event_destroyed(id);
    Recorder::get().event(Kind::kDestroy, id, 0, false, 0, 0);
    return CUDA_SUCCESS;
  });
}

CUresult cuEventDestroy(CUevent handle) { return cuEventDestroy_v2(handle); }

CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start_handle, CUevent end_handle) {
  return enter(Needs::kInitialized, [&](Call& call) {
    if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Event* start = call.driver().events().get(start_handle);
    const Event* end = call.driver().events().get(end_handle);
    for (const Event* event : {start, end})
      if (event != nullptr && event->captured.load(std::memory_order_relaxed) != 0) return CUDA_ERROR_CAPTURED_EVENT;
    if (start == nullptr || end == nullptr || ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) != 0 ||
        !start->recorded.load(std::memory_order_acquire) || !end->recorded.load(std::memory_order_acquire))
      return CUDA_ERROR_INVALID_HANDLE;
    // "cudaEventElapsedTime() will fail if the two input events are associated to different devices" (CUDA C++
    // programming guide, stream and event behavior of multi-device systems).
    if (start->context->device != end->context->device) return CUDA_ERROR_INVALID_HANDLE;
    if (!is_complete(call, *start) || !is_complete(call, *end)) {
      call.driver().poll_again(kPoll_ns);
      return CUDA_ERROR_NOT_READY;
    }
    const auto from_ns = static_cast<int64_t>(start->time_ns.load(std::memory_order_relaxed));
    const auto to_ns = static_cast<int64_t>(end->time_ns.load(std::memory_order_relaxed));
    *milliseconds = static_cast<float>(static_cast<double>(to_ns - from_ns) * 1e-6);
    Recorder::get().event(Kind::kElapsed, start->id, 0, false, end->id, 0);
    return CUDA_SUCCESS;
  });
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return cuEventElapsedTime_v2(milliseconds, start, end);
}
