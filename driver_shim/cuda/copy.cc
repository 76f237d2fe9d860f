// Linear copies. Each _ptds and _ptsz twin has its legacy form's body, on the calling thread's own default stream.
#include <cuda.h>

#include "driver_shim/common/api.h"
#include "driver_shim/cuda/stream_call.h"
#include "driver_shim/cuda/transfer.h"

using namespace maya::cuda;

namespace {

CUresult unified(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream handle, bool asynchronous,
                 bool per_thread) {
  return with_copy_stream(handle, per_thread, true, [&](Call& call, Stream& stream) {
    return copy_linear(call.driver(), stream, unified_place(call.memory(), destination),
                       unified_place(call.memory(), source), bytes, asynchronous);
  });
}

CUresult to_device(CUdeviceptr destination, const void* source, size_t bytes, CUstream handle, bool asynchronous,
                   bool per_thread) {
  return with_copy_stream(handle, per_thread, true, [&](Call& call, Stream& stream) -> CUresult {
    if (!is_device_accessible(call.memory(), destination, bytes)) return CUDA_ERROR_INVALID_VALUE;
    return copy_linear(call.driver(), stream, unified_place(call.memory(), destination), host_place(source), bytes,
                       asynchronous);
  });
}

CUresult to_host(void* destination, CUdeviceptr source, size_t bytes, CUstream handle, bool asynchronous,
                 bool per_thread) {
  return with_copy_stream(handle, per_thread, true, [&](Call& call, Stream& stream) -> CUresult {
    if (!is_device_accessible(call.memory(), source, bytes)) return CUDA_ERROR_INVALID_VALUE;
    return copy_linear(call.driver(), stream, host_place(destination), unified_place(call.memory(), source), bytes,
                       asynchronous);
  });
}

CUresult on_device(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream handle, bool asynchronous,
                   bool per_thread) {
  return with_copy_stream(handle, per_thread, true, [&](Call& call, Stream& stream) -> CUresult {
    if (!is_device_accessible(call.memory(), destination, bytes) || !is_device_accessible(call.memory(), source, bytes))
      return CUDA_ERROR_INVALID_VALUE;
    return copy_linear(call.driver(), stream, unified_place(call.memory(), destination),
                       unified_place(call.memory(), source), bytes, asynchronous);
  });
}

CUresult between_peers(CUdeviceptr destination, CUcontext destination_context, CUdeviceptr source,
                       CUcontext source_context, size_t bytes, CUstream handle, bool asynchronous, bool per_thread) {
  return with_copy_stream(handle, per_thread, true, [&](Call& call, Stream& stream) -> CUresult {
    for (const CUcontext context : {destination_context, source_context}) {
      Context* live = nullptr;
      if (const CUresult status = call.driver().live_context(context, &live); status != CUDA_SUCCESS) return status;
    }
    if (!is_device_accessible(call.memory(), destination, bytes) || !is_device_accessible(call.memory(), source, bytes))
      return CUDA_ERROR_INVALID_VALUE;
    return copy_linear(call.driver(), stream, unified_place(call.memory(), destination),
                       unified_place(call.memory(), source), bytes, asynchronous, true);
  });
}

}  // namespace

CUresult cuMemcpy(CUdeviceptr destination, CUdeviceptr source, size_t bytes) {
  return unified(destination, source, bytes, nullptr, false, false);
}
MAYA_API CUresult cuMemcpy_ptds(CUdeviceptr destination, CUdeviceptr source, size_t bytes) {
  return unified(destination, source, bytes, nullptr, false, true);
}
CUresult cuMemcpyAsync(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream) {
  return unified(destination, source, bytes, stream, true, false);
}
MAYA_API CUresult cuMemcpyAsync_ptsz(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream) {
  return unified(destination, source, bytes, stream, true, true);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr destination, const void* source, size_t bytes) {
  return to_device(destination, source, bytes, nullptr, false, false);
}
MAYA_API CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr destination, const void* source, size_t bytes) {
  return to_device(destination, source, bytes, nullptr, false, true);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr destination, const void* source, size_t bytes, CUstream stream) {
  return to_device(destination, source, bytes, stream, true, false);
}
MAYA_API CUresult cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr destination, const void* source, size_t bytes,
                                            CUstream stream) {
  return to_device(destination, source, bytes, stream, true, true);
}

CUresult cuMemcpyDtoH_v2(void* destination, CUdeviceptr source, size_t bytes) {
  return to_host(destination, source, bytes, nullptr, false, false);
}
MAYA_API CUresult cuMemcpyDtoH_v2_ptds(void* destination, CUdeviceptr source, size_t bytes) {
  return to_host(destination, source, bytes, nullptr, false, true);
}
CUresult cuMemcpyDtoHAsync_v2(void* destination, CUdeviceptr source, size_t bytes, CUstream stream) {
  return to_host(destination, source, bytes, stream, true, false);
}
MAYA_API CUresult cuMemcpyDtoHAsync_v2_ptsz(void* destination, CUdeviceptr source, size_t bytes, CUstream stream) {
  return to_host(destination, source, bytes, stream, true, true);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr destination, CUdeviceptr source, size_t bytes) {
  return on_device(destination, source, bytes, nullptr, false, false);
}
MAYA_API CUresult cuMemcpyDtoD_v2_ptds(CUdeviceptr destination, CUdeviceptr source, size_t bytes) {
  return on_device(destination, source, bytes, nullptr, false, true);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream) {
  return on_device(destination, source, bytes, stream, true, false);
}
MAYA_API CUresult cuMemcpyDtoDAsync_v2_ptsz(CUdeviceptr destination, CUdeviceptr source, size_t bytes,
                                            CUstream stream) {
  return on_device(destination, source, bytes, stream, true, true);
}

CUresult cuMemcpyPeer(CUdeviceptr destination, CUcontext destination_context, CUdeviceptr source,
                      CUcontext source_context, size_t bytes) {
  return between_peers(destination, destination_context, source, source_context, bytes, nullptr, false, false);
}
MAYA_API CUresult cuMemcpyPeer_ptds(CUdeviceptr destination, CUcontext destination_context, CUdeviceptr source,
                                    CUcontext source_context, size_t bytes) {
  return between_peers(destination, destination_context, source, source_context, bytes, nullptr, false, true);
}
CUresult cuMemcpyPeerAsync(CUdeviceptr destination, CUcontext destination_context, CUdeviceptr source,
                           CUcontext source_context, size_t bytes, CUstream stream) {
  return between_peers(destination, destination_context, source, source_context, bytes, stream, true, false);
}
MAYA_API CUresult cuMemcpyPeerAsync_ptsz(CUdeviceptr destination, CUcontext destination_context, CUdeviceptr source,
                                         CUcontext source_context, size_t bytes, CUstream stream) {
  return between_peers(destination, destination_context, source, source_context, bytes, stream, true, true);
}
