// Stream management: creation, destruction, waiting, properties. Each _ptsz twin has its legacy form's body.
#include <cuda.h>

#include <algorithm>

#include "driver_shim/cuda/capture.h"
#include "driver_shim/cuda/gate.h"
#include "driver_shim/cuda/green_context.h"
#include "driver_shim/cuda/pending_work.h"
#include "driver_shim/cuda/profiler.h"
#include "driver_shim/cuda/recorder.h"
#include "driver_shim/cuda/stream_call.h"

using maya::cuda::Call;
using maya::cuda::Captures;
using maya::cuda::enter;
using maya::cuda::EventWaitNode;
using maya::cuda::Needs;
using maya::cuda::PendingWork;
using maya::cuda::Profiler;
using maya::cuda::Recorder;
using maya::cuda::Stream;
using maya::cuda::WhileCaptured;
using maya::cuda::with_stream;
using Scope = maya::trace::fields::SynchronizationScope;

namespace {

constexpr uint64_t kPoll_ns = 1000;  // what a poll that found work unfinished costs on the virtual clock

CUresult wait_for_event(CUstream handle, CUevent event_handle, unsigned int flags, bool per_thread) {
  // The external flag only means something while capturing.
  const bool valid = (flags & ~static_cast<unsigned int>(CU_EVENT_WAIT_EXTERNAL)) == 0;
  return with_stream(
      handle, per_thread, valid,
      [&](Call& call, Stream& stream) -> CUresult {
        const maya::cuda::Event* event = call.driver().events().get(event_handle);
        if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        const bool captured = event->captured.load(std::memory_order_acquire) != 0;
        // An event that was never recorded is no reason to wait, also in a capture.
        if (stream.capture() != nullptr && !captured && !event->recorded.load(std::memory_order_acquire))
          return CUDA_SUCCESS;
        if (stream.capture() != nullptr || captured)
          return stream.capture() != nullptr && (flags & CU_EVENT_WAIT_EXTERNAL) != 0
                     ? Captures::add(stream, EventWaitNode{event_handle})
                     : Captures::wait_event(stream, *event);
        // An event that was never recorded is no reason to wait.
        if (event->recorded.load(std::memory_order_acquire))
          stream.wait_until(event->time_ns.load(std::memory_order_relaxed));
        PendingWork::stream_waits(stream, event->id);
        if (Profiler::attached()) [[unlikely]]
          Profiler::tell_wait(maya::SynchronizationKind::kStreamWaitEvent, *stream.context(), &stream, event->id, 0);
        Recorder::get().event(maya::trace::fields::EventCallCall::kWait, event->id, stream.id(), false, 0, 0);
        return CUDA_SUCCESS;
      },
      WhileCaptured::kAllowed);
}

CUresult query(CUstream handle, bool per_thread) {
  return with_stream(handle, per_thread, true, [](Call& call, Stream& stream) {
    const bool ready = !PendingWork::stream_busy(stream) && stream.ready_ns() <= call.driver().virtual_now_ns();
    if (!ready) call.driver().poll_again(kPoll_ns);
    Recorder::get().synchronization(Scope::kStreamQuery, stream.id(), ready,
                                    static_cast<uint32_t>(stream.context()->device), 0);
    return ready ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

CUresult synchronize(CUstream handle, bool per_thread) {
  return with_stream(handle, per_thread, true, [](Call& call, Stream& stream) {
    uint64_t own_ns = PendingWork::wait_stream(stream);
    const uint64_t waited_ns = call.driver().wait_until(stream.ready_ns(), &own_ns);
    Recorder::get().synchronization(Scope::kStream, stream.id(), false, static_cast<uint32_t>(stream.context()->device),
                                    waited_ns, own_ns);
    Profiler::tell_wait(maya::SynchronizationKind::kStreamSynchronize, *stream.context(), &stream, 0, waited_ns);
    return CUDA_SUCCESS;
  });
}

template <typename Value, typename Get>
CUresult get_property(CUstream handle, Value* value, bool per_thread, Get&& get) {
  return with_stream(
      handle, per_thread, value != nullptr,
      [&](Call&, Stream& stream) {
        *value = get(stream);
        return CUDA_SUCCESS;
      },
      WhileCaptured::kAllowed);
}

// Ids are unique for the life of the process; the default stream's must not be zero.
unsigned long long public_id(const Stream& stream) { return stream.id() + 1ull; }
int priority_of(const Stream& stream) { return stream.priority(); }
unsigned int flags_of(const Stream& stream) { return stream.flags(); }
CUdevice device_of(const Stream& stream) { return stream.context()->device; }
CUcontext context_of(const Stream& stream) { return reinterpret_cast<CUcontext>(stream.context()); }

CUgreenCtx green_of_stream(const Stream& stream) {
  return reinterpret_cast<CUgreenCtx>(maya::cuda::green_of(*stream.context()));
}

CUresult get_both_contexts(CUstream handle, CUcontext* context, CUgreenCtx* green, bool per_thread) {
  return with_stream(
      handle, per_thread, context != nullptr,
      [&](Call&, Stream& stream) {
        *context = context_of(stream);
        if (green != nullptr) *green = green_of_stream(stream);
        return CUDA_SUCCESS;
      },
      WhileCaptured::kAllowed);
}

CUresult attach_memory(CUstream handle, CUdeviceptr address, unsigned int flags, bool per_thread) {
  const bool valid =
      address != 0 && (flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST || flags == CU_MEM_ATTACH_SINGLE);
  return with_stream(handle, per_thread, valid, [&](Call& call, Stream& stream) {
    maya::device::Allocation found;
    if (!call.memory().find(address, &found) || found.kind != maya::device::AllocationKind::kManaged)
      return CUDA_ERROR_INVALID_VALUE;
    // Only one of the two kinds of default stream may not be attached to.
    return flags == CU_MEM_ATTACH_SINGLE && stream.is_default() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  });
}

}  // namespace

CUresult cuStreamCreateWithPriority(CUstream* out, unsigned int flags, int priority) {
  return enter(Needs::kContext, [&](Call& call) {
    if (out == nullptr || (flags & ~static_cast<unsigned int>(CU_STREAM_NON_BLOCKING)) != 0)
      return CUDA_ERROR_INVALID_VALUE;
    int least = 0, greatest = 0;
    cuCtxGetStreamPriorityRange(&least, &greatest);
    Stream* made = call.driver().create_stream(call.context(), flags, std::clamp(priority, greatest, least));
    if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = reinterpret_cast<CUstream>(made);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamCreate(CUstream* out, unsigned int flags) { return cuStreamCreateWithPriority(out, flags, 0); }

CUresult cuStreamDestroy_v2(CUstream handle) {
  return enter(Needs::kInitialized, [&](Call& call) {
    return call.driver().destroy_stream(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult cuStreamDestroy(CUstream handle) { return cuStreamDestroy_v2(handle); }

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
  return wait_for_event(stream, event, flags, false);
}
CUresult cuStreamWaitEvent_ptsz(CUstream stream, CUevent event, unsigned int flags) {
  return wait_for_event(stream, event, flags, true);
}

CUresult cuStreamQuery(CUstream stream) { return query(stream, false); }
CUresult cuStreamQuery_ptsz(CUstream stream) { return query(stream, true); }

CUresult cuStreamSynchronize(CUstream stream) { return synchronize(stream, false); }
CUresult cuStreamSynchronize_ptsz(CUstream stream) { return synchronize(stream, true); }

CUresult cuStreamGetPriority(CUstream stream, int* priority) {
  return get_property(stream, priority, false, priority_of);
}
CUresult cuStreamGetPriority_ptsz(CUstream stream, int* priority) {
  return get_property(stream, priority, true, priority_of);
}

CUresult cuStreamGetFlags(CUstream stream, unsigned int* flags) { return get_property(stream, flags, false, flags_of); }
CUresult cuStreamGetFlags_ptsz(CUstream stream, unsigned int* flags) {
  return get_property(stream, flags, true, flags_of);
}

CUresult cuStreamGetId(CUstream stream, unsigned long long* id) { return get_property(stream, id, false, public_id); }
CUresult cuStreamGetId_ptsz(CUstream stream, unsigned long long* id) {
  return get_property(stream, id, true, public_id);
}

CUresult cuStreamGetDevice(CUstream stream, CUdevice* device) { return get_property(stream, device, false, device_of); }
CUresult cuStreamGetDevice_ptsz(CUstream stream, CUdevice* device) {
  return get_property(stream, device, true, device_of);
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  return get_property(stream, context, false, context_of);
}
CUresult cuStreamGetCtx_ptsz(CUstream stream, CUcontext* context) {
  return get_property(stream, context, true, context_of);
}

CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext* context, CUgreenCtx* green) {
  return get_both_contexts(stream, context, green, false);
}
CUresult cuStreamGetCtx_v2_ptsz(CUstream stream, CUcontext* context, CUgreenCtx* green) {
  return get_both_contexts(stream, context, green, true);
}

CUresult cuStreamGetGreenCtx(CUstream stream, CUgreenCtx* green) {
  return get_property(stream, green, false, green_of_stream);
}

CUresult cuStreamAttachMemAsync(CUstream stream, CUdeviceptr address, size_t, unsigned int flags) {
  return attach_memory(stream, address, flags, false);
}
CUresult cuStreamAttachMemAsync_ptsz(CUstream stream, CUdeviceptr address, size_t, unsigned int flags) {
  return attach_memory(stream, address, flags, true);
}
