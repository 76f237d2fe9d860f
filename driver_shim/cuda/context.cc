// Context management: the stack of current contexts, creation and destruction.
#include <cuda.h>

#include <algorithm>

#include "driver_shim/cuda/capture.h"
#include "driver_shim/cuda/context_flags.h"
#include "driver_shim/cuda/gate.h"
#include "driver_shim/cuda/green_context.h"
#include "driver_shim/cuda/recorder.h"
#include "driver_shim/cuda/synchronize.h"

using maya::cuda::Call;
using maya::cuda::Context;
using maya::cuda::enter;
using maya::cuda::Needs;

namespace {

CUresult create(CUcontext* out, unsigned int flags, CUdevice device) {
  return enter(Needs::kInitialized, [&](Call& call) -> CUresult {
    if (out == nullptr || !maya::cuda::valid_context_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
    if (device < 0 || device >= call.driver().device_count()) return CUDA_ERROR_INVALID_DEVICE;
    call.thread().contexts.reserve(call.thread().contexts.size() + 1);
    Context* made = nullptr;
    const CUresult status = call.driver().create_context(device, flags, &made);
    if (status != CUDA_SUCCESS) return status;
    call.thread().contexts.push_back(made);
    *out = reinterpret_cast<CUcontext>(made);
    return CUDA_SUCCESS;
  });
}

CUresult destroy(Call& call, Context& context) {
  // Primary contexts end by cuDevicePrimaryCtxRelease, green ones by cuGreenCtxDestroy.
  if (context.primary || context.green != nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const CUresult status = call.driver().destroy_context(context);
  if (call.thread().current() == &context) call.thread().contexts.pop_back();
  return status;
}

}  // namespace

namespace maya::cuda {

CUresult record_all(Call& call, Context& context, CUevent handle) {
  Event* event = call.driver().events().get(handle);
  if (event == nullptr || event->context->root != context.root) return CUDA_ERROR_INVALID_HANDLE;
  event->time_ns.store(std::max(context.all_ready_ns(), call.driver().virtual_now_ns()), std::memory_order_relaxed);
  event->recorded.store(true, std::memory_order_release);
  Recorder::get().event(trace::fields::EventCallCall::kRecord, event->id,
                        context.default_stream.load(std::memory_order_acquire)->id(), false, 0, 0);
  return CUDA_SUCCESS;
}

CUresult let_all_wait(Call& call, Context& context, CUevent handle) {
  const Event* event = call.driver().events().get(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (!event->recorded.load(std::memory_order_acquire)) return CUDA_SUCCESS;
  const uint64_t time_ns = event->time_ns.load(std::memory_order_relaxed);
  call.driver().streams().for_each([&](Stream* stream) {
    if (stream->context() != &context) return;
    stream->wait_until(time_ns);
    Recorder::get().event(trace::fields::EventCallCall::kWait, event->id, stream->id(), false, 0, 0);
  });
  return CUDA_SUCCESS;
}

}  // namespace maya::cuda

CUresult cuCtxCreate(CUcontext* context, unsigned int flags, CUdevice device) { return create(context, flags, device); }

CUresult cuCtxCreate_v2(CUcontext* context, unsigned int flags, CUdevice device) {
  return create(context, flags, device);
}

// Execution affinity needs MPS, which is not emulated: cuDeviceGetExecAffinitySupport says so.
CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam* parameters, int count, unsigned int flags,
                        CUdevice device) {
  if (count != 0 || parameters != nullptr)
    return enter(Needs::kInitialized, [&](Call&) {
      return count < 0 || (count != 0) != (parameters != nullptr) ? CUDA_ERROR_INVALID_VALUE
                                                                  : CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    });
  return create(context, flags, device);
}

CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* parameters, unsigned int flags, CUdevice device) {
  if (parameters == nullptr) return create(context, flags, device);
  if (parameters->cigParams != nullptr)
    return enter(Needs::kInitialized, [](Call&) { return CUDA_ERROR_NOT_SUPPORTED; });
  return cuCtxCreate_v3(context, parameters->execAffinityParams, parameters->numExecAffinityParams, flags, device);
}

CUresult cuCtxDestroy_v2(CUcontext handle) {
  return enter(Needs::kInitialized, [&](Call& call) {
    Context* context = nullptr;
    const CUresult status = call.driver().live_context(handle, &context);
    return status != CUDA_SUCCESS ? status : destroy(call, *context);
  });
}

CUresult cuCtxDestroy(CUcontext handle) { return cuCtxDestroy_v2(handle); }

CUresult cuCtxAttach(CUcontext* out, unsigned int flags) {
  return enter(Needs::kContext, [&](Call& call) {
    if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    call.context().usage.fetch_add(1, std::memory_order_relaxed);
    *out = reinterpret_cast<CUcontext>(&call.context());
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxDetach(CUcontext handle) {
  return enter(Needs::kContext, [&](Call& call) {
    if (reinterpret_cast<CUcontext>(&call.context()) != handle) return CUDA_ERROR_INVALID_CONTEXT;
    if (call.context().usage.fetch_sub(1, std::memory_order_relaxed) > 1) return CUDA_SUCCESS;
    return destroy(call, call.context());
  });
}

CUresult cuCtxPushCurrent_v2(CUcontext handle) {
  return enter(Needs::kInitialized, [&](Call& call) {
    Context* context = nullptr;
    const CUresult status = call.driver().live_context(handle, &context);
    if (status == CUDA_SUCCESS) call.thread().contexts.push_back(context);
    return status;
  });
}

CUresult cuCtxPushCurrent(CUcontext handle) { return cuCtxPushCurrent_v2(handle); }

CUresult cuCtxPopCurrent_v2(CUcontext* out) {
  return enter(Needs::kInitialized, [&](Call& call) {
    Context* context = call.thread().current();
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    call.thread().contexts.pop_back();
    if (out != nullptr) *out = reinterpret_cast<CUcontext>(context);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxPopCurrent(CUcontext* out) { return cuCtxPopCurrent_v2(out); }

CUresult cuCtxSetCurrent(CUcontext handle) {
  return enter(Needs::kInitialized, [&](Call& call) {
    Context* context = nullptr;
    if (handle != nullptr)
      if (const CUresult status = call.driver().live_context(handle, &context); status != CUDA_SUCCESS) return status;
    call.thread().set_current(context);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetCurrent(CUcontext* out) {
  return enter(Needs::kInitialized, [&](Call& call) {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = reinterpret_cast<CUcontext>(call.thread().current());
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetDevice(CUdevice* device) {
  return enter(Needs::kContext, [&](Call& call) {
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *device = call.context().device;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext handle) {
  return maya::cuda::with_context(handle, device != nullptr, [&](Call&, Context& context) {
    *device = context.device;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSynchronize() { return cuCtxSynchronize_v2(nullptr); }

CUresult cuCtxSynchronize_v2(CUcontext handle) {
  return maya::cuda::with_context(handle, true, [](Call& call, Context& context) -> CUresult {
    if (const CUresult status = maya::cuda::Captures::refuse_context(context); status != CUDA_SUCCESS) return status;
    maya::cuda::synchronize_context(call.driver(), context);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxRecordEvent(CUcontext handle, CUevent event) {
  return maya::cuda::with_context(
      handle, true, [&](Call& call, Context& context) { return maya::cuda::record_all(call, context, event); });
}

CUresult cuCtxWaitEvent(CUcontext handle, CUevent event) {
  return maya::cuda::with_context(
      handle, true, [&](Call& call, Context& context) { return maya::cuda::let_all_wait(call, context, event); });
}

CUresult cuCtxEnablePeerAccess(CUcontext handle, unsigned int flags) {
  return enter(Needs::kContext, [&](Call& call) {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    Context* peer = nullptr;
    if (call.driver().live_context(handle, &peer) != CUDA_SUCCESS || peer->root == call.context().root)
      return CUDA_ERROR_INVALID_CONTEXT;
    if (peer->device == call.context().device) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    return call.driver().enable_peer(call.context(), *peer) ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  });
}

CUresult cuCtxDisablePeerAccess(CUcontext handle) {
  return enter(Needs::kContext, [&](Call& call) {
    Context* peer = nullptr;
    if (call.driver().live_context(handle, &peer) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_CONTEXT;
    return call.driver().disable_peer(call.context(), *peer) ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
  });
}
