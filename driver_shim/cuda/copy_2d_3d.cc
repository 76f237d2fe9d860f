// 2-D and 3-D copies. Each _ptds and _ptsz twin has its legacy form's body.
#include <cuda.h>

#include "driver_shim/common/api.h"
#include "driver_shim/cuda/stream_call.h"
#include "driver_shim/cuda/volume.h"

using namespace maya::cuda;

namespace {

// Sides of each parameter structure, by the common names of their members.
template <typename Parameters>
SideArguments source_2d(const Parameters& p) {
  return {p.srcMemoryType, p.srcHost, p.srcDevice, p.srcArray, p.srcXInBytes, p.srcY, 0, p.srcPitch, 0};
}
template <typename Parameters>
SideArguments destination_2d(const Parameters& p) {
  return {p.dstMemoryType, p.dstHost, p.dstDevice, p.dstArray, p.dstXInBytes, p.dstY, 0, p.dstPitch, 0};
}
template <typename Parameters>
SideArguments source_3d(const Parameters& p) {
  return {p.srcMemoryType, p.srcHost, p.srcDevice, p.srcArray, p.srcXInBytes, p.srcY, p.srcZ, p.srcPitch, p.srcHeight};
}
template <typename Parameters>
SideArguments destination_3d(const Parameters& p) {
  return {p.dstMemoryType, p.dstHost, p.dstDevice, p.dstArray, p.dstXInBytes, p.dstY, p.dstZ, p.dstPitch, p.dstHeight};
}

CUresult copy(Call& call, Stream& stream, const SideArguments& destination, const SideArguments& source,
              const Extent& extent, bool asynchronous) {
  if (extent.width_bytes == 0 || extent.rows == 0 || extent.slices == 0) return CUDA_SUCCESS;
  VolumeSide to, from;
  if (const CUresult status = resolve_side(call.memory(), destination, extent, &to); status != CUDA_SUCCESS)
    return status;
  if (const CUresult status = resolve_side(call.memory(), source, extent, &from); status != CUDA_SUCCESS) return status;
  return copy_volume(call.driver(), stream, to, from, extent, asynchronous);
}

CUresult copy_2d(const CUDA_MEMCPY2D* p, CUstream handle, bool asynchronous, bool per_thread) {
  return with_copy_stream(handle, per_thread, p != nullptr, [&](Call& call, Stream& stream) {
    return copy(call, stream, destination_2d(*p), source_2d(*p), {p->WidthInBytes, p->Height, 1}, asynchronous);
  });
}

CUresult copy_3d(const CUDA_MEMCPY3D* p, CUstream handle, bool asynchronous, bool per_thread) {
  return with_copy_stream(handle, per_thread, p != nullptr, [&](Call& call, Stream& stream) -> CUresult {
    if (p->srcLOD != 0 || p->dstLOD != 0 || p->reserved0 != nullptr || p->reserved1 != nullptr)
      return CUDA_ERROR_INVALID_VALUE;
    return copy(call, stream, destination_3d(*p), source_3d(*p), {p->WidthInBytes, p->Height, p->Depth}, asynchronous);
  });
}

CUresult copy_3d_peer(const CUDA_MEMCPY3D_PEER* p, CUstream handle, bool asynchronous, bool per_thread) {
  return with_copy_stream(handle, per_thread, p != nullptr, [&](Call& call, Stream& stream) -> CUresult {
    if (p->srcLOD != 0 || p->dstLOD != 0) return CUDA_ERROR_INVALID_VALUE;
    Context* live = nullptr;
    // Documented: contexts are ignored for arrays; and nothing else than device memory lies in one.
    if (p->dstMemoryType == CU_MEMORYTYPE_DEVICE)
      if (const CUresult status = call.driver().live_context(p->dstContext, &live); status != CUDA_SUCCESS)
        return status;
    if (p->srcMemoryType == CU_MEMORYTYPE_DEVICE)
      if (const CUresult status = call.driver().live_context(p->srcContext, &live); status != CUDA_SUCCESS)
        return status;
    return copy(call, stream, destination_3d(*p), source_3d(*p), {p->WidthInBytes, p->Height, p->Depth}, asynchronous);
  });
}

}  // namespace

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* p) { return copy_2d(p, nullptr, false, false); }
MAYA_API CUresult cuMemcpy2D_v2_ptds(const CUDA_MEMCPY2D* p) { return copy_2d(p, nullptr, false, true); }
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* p) { return copy_2d(p, nullptr, false, false); }
MAYA_API CUresult cuMemcpy2DUnaligned_v2_ptds(const CUDA_MEMCPY2D* p) { return copy_2d(p, nullptr, false, true); }
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* p, CUstream stream) { return copy_2d(p, stream, true, false); }
MAYA_API CUresult cuMemcpy2DAsync_v2_ptsz(const CUDA_MEMCPY2D* p, CUstream stream) {
  return copy_2d(p, stream, true, true);
}

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* p) { return copy_3d(p, nullptr, false, false); }
MAYA_API CUresult cuMemcpy3D_v2_ptds(const CUDA_MEMCPY3D* p) { return copy_3d(p, nullptr, false, true); }
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* p, CUstream stream) { return copy_3d(p, stream, true, false); }
MAYA_API CUresult cuMemcpy3DAsync_v2_ptsz(const CUDA_MEMCPY3D* p, CUstream stream) {
  return copy_3d(p, stream, true, true);
}

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* p) { return copy_3d_peer(p, nullptr, false, false); }
MAYA_API CUresult cuMemcpy3DPeer_ptds(const CUDA_MEMCPY3D_PEER* p) { return copy_3d_peer(p, nullptr, false, true); }
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* p, CUstream stream) {
  return copy_3d_peer(p, stream, true, false);
}
MAYA_API CUresult cuMemcpy3DPeerAsync_ptsz(const CUDA_MEMCPY3D_PEER* p, CUstream stream) {
  return copy_3d_peer(p, stream, true, true);
}
