// Green contexts: creation, destruction, their streams and events.
#include "driver_shim/cuda/green_context.h"

#include <algorithm>

#include "driver_shim/common/api.h"
#include "driver_shim/cuda/capture.h"
#include "driver_shim/cuda/context_flags.h"
#include "driver_shim/cuda/recorder.h"
#include "driver_shim/cuda/stream_call.h"
#include "virtual_device/handle_pool.h"

namespace maya::cuda {
namespace {

constexpr size_t kMostGreenContexts = 1 << 16;

// Destroyed ones stay: their contexts do too (virtual_device/context.h).
device::HandlePool<GreenContext>& green_contexts() {
  static auto& made = *new device::HandlePool<GreenContext>(kMostGreenContexts);
  return made;
}

template <typename Body>
CUresult with_green(CUgreenCtx handle, bool valid, Body&& body) {
  return enter(Needs::kInitialized, [&](Call& call) -> CUresult {
    GreenContext* green = green_contexts().get(handle);
    if (green == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (!green->context->alive.load(std::memory_order_acquire)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (!valid) return CUDA_ERROR_INVALID_VALUE;
    return body(call, *green);
  });
}

CUresult create(Call& call, CUgreenCtx* out, const ResourceDescriptor& descriptor, int device) {
  Driver& driver = call.driver();
  Context* primary = nullptr;
  if (const CUresult status = driver.retain_primary(device, &primary); status != CUDA_SUCCESS) return status;
  Context* part = nullptr;
  CUresult status = driver.create_part(*primary, &part);
  GreenContext* made = status == CUDA_SUCCESS ? green_contexts().create(part, descriptor.resources) : nullptr;
  if (status == CUDA_SUCCESS && made == nullptr) {
    driver.destroy_part(*part);
    status = CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (status != CUDA_SUCCESS) {
    driver.release_primary(device);
    return status;
  }
  part->green = made;
  static std::atomic<bool> noticed{false};
  if (!noticed.exchange(true))
    Recorder::get().notice(1, "kernels of green contexts are timed as if they had the whole device");
  *out = reinterpret_cast<CUgreenCtx>(made);
  return CUDA_SUCCESS;
}

CUresult destroy(Call& call, GreenContext& green) {
  Context& part = *green.context;
  // "Additionally, the API will invalidate all active captures on these streams."
  Captures::refuse_context(part);
  if (const CUresult status = call.driver().destroy_part(part); status != CUDA_SUCCESS) return status;
  return call.driver().release_primary(part.device);
}

CUresult stream_resource(CUstream handle, CUdevResource* out, CUdevResourceType type, bool per_thread) {
  return with_stream(
      handle, per_thread, out != nullptr,
      [&](Call& call, Stream& stream) -> CUresult {
        // Documented: not the workqueues.
        if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
        return get_resource(call, stream.context()->device, green_of(*stream.context()), type, out);
      },
      WhileCaptured::kAllowed);
}

}  // namespace
}  // namespace maya::cuda

using namespace maya::cuda;

CUresult cuGreenCtxCreate(CUgreenCtx* out, CUdevResourceDesc handle, CUdevice device, unsigned int flags) {
  return enter(Needs::kInitialized, [&](Call& call) -> CUresult {
    const ResourceDescriptor* descriptor = descriptor_of(handle);
    if (out == nullptr || descriptor == nullptr || flags != CU_GREEN_CTX_DEFAULT_STREAM)
      return CUDA_ERROR_INVALID_VALUE;
    if (device < 0 || device >= call.driver().device_count()) return CUDA_ERROR_INVALID_DEVICE;
    if (device_of(descriptor->resources.front()) != device) return CUDA_ERROR_INVALID_VALUE;
    return create(call, out, *descriptor, device);
  });
}

CUresult cuGreenCtxDestroy(CUgreenCtx handle) {
  return with_green(handle, true, [](Call& call, GreenContext& green) { return destroy(call, green); });
}

CUresult cuCtxFromGreenCtx(CUcontext* out, CUgreenCtx handle) {
  return with_green(handle, out != nullptr, [&](Call&, GreenContext& green) {
    *out = reinterpret_cast<CUcontext>(green.context);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetDevResource(CUcontext handle, CUdevResource* out, CUdevResourceType type) {
  return enter(Needs::kInitialized, [&](Call& call) -> CUresult {
    Context* context = nullptr;
    if (const CUresult status = call.driver().live_context(handle, &context); status != CUDA_SUCCESS) return status;
    return get_resource(call, context->device, green_of(*context), type, out);
  });
}

CUresult cuGreenCtxGetDevResource(CUgreenCtx handle, CUdevResource* out, CUdevResourceType type) {
  return with_green(handle, true, [&](Call& call, GreenContext& green) {
    return get_resource(call, green.context->device, &green, type, out);
  });
}

CUresult cuGreenCtxRecordEvent(CUgreenCtx handle, CUevent event) {
  return with_green(handle, true, [&](Call& call, GreenContext& green) -> CUresult {
    if (const CUresult status = Captures::refuse_context(*green.context); status != CUDA_SUCCESS) return status;
    return record_all(call, *green.context, event);
  });
}

CUresult cuGreenCtxWaitEvent(CUgreenCtx handle, CUevent event) {
  return with_green(handle, true, [&](Call& call, GreenContext& green) -> CUresult {
    if (const CUresult status = Captures::refuse_context(*green.context); status != CUDA_SUCCESS) return status;
    return let_all_wait(call, *green.context, event);
  });
}

CUresult cuGreenCtxStreamCreate(CUstream* out, CUgreenCtx handle, unsigned int flags, int priority) {
  const bool valid = out != nullptr && flags == CU_STREAM_NON_BLOCKING;
  return with_green(handle, valid, [&](Call& call, GreenContext& green) {
    Stream* made = call.driver().create_stream(*green.context, flags, std::clamp(priority, kGreatestStreamPriority, 0));
    if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = reinterpret_cast<CUstream>(made);
    return CUDA_SUCCESS;
  });
}

CUresult cuGreenCtxGetId(CUgreenCtx handle, unsigned long long* id) {
  // Null: the green context that is current.
  if (handle == nullptr)
    return enter(Needs::kContext, [&](Call& call) -> CUresult {
      if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
      if (call.context().green == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
      *id = call.context().id;
      return CUDA_SUCCESS;
    });
  return with_green(handle, id != nullptr, [&](Call&, GreenContext& green) {
    *id = green.context->id;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetDevResource(CUstream stream, CUdevResource* out, CUdevResourceType type) {
  return stream_resource(stream, out, type, false);
}
MAYA_API CUresult cuStreamGetDevResource_ptsz(CUstream stream, CUdevResource* out, CUdevResourceType type) {
  return stream_resource(stream, out, type, true);
}
