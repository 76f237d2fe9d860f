// Texture and surface objects: descriptors translated, objects made by the driver.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "driver_shim/cudart/array_format.h"
#include "driver_shim/cudart/runtime.h"

using namespace maya::cudart;

namespace {

cudaError_t translate(const cudaResourceDesc& from, CUDA_RESOURCE_DESC* to) {
  *to = {};
  if (stored_value(from.resType) > cudaResourceTypePitch2D) return cudaErrorInvalidValue;
  to->resType = static_cast<CUresourcetype>(from.resType);
#if CUDART_VERSION >= 13000
  to->flags = from.flags;
#endif
  switch (from.resType) {
    case cudaResourceTypeArray:
      to->res.array.hArray = reinterpret_cast<CUarray>(from.res.array.array);
      return cudaSuccess;
    case cudaResourceTypeMipmappedArray:
      to->res.mipmap.hMipmappedArray = reinterpret_cast<CUmipmappedArray>(from.res.mipmap.mipmap);
      return cudaSuccess;
    case cudaResourceTypeLinear:
      to->res.linear.devPtr = device_address(from.res.linear.devPtr);
      to->res.linear.sizeInBytes = from.res.linear.sizeInBytes;
      return driver_format(from.res.linear.desc, &to->res.linear.format, &to->res.linear.numChannels)
                 ? cudaSuccess
                 : cudaErrorInvalidChannelDescriptor;
    case cudaResourceTypePitch2D:
      to->res.pitch2D.devPtr = device_address(from.res.pitch2D.devPtr);
      to->res.pitch2D.width = from.res.pitch2D.width;
      to->res.pitch2D.height = from.res.pitch2D.height;
      to->res.pitch2D.pitchInBytes = from.res.pitch2D.pitchInBytes;
      return driver_format(from.res.pitch2D.desc, &to->res.pitch2D.format, &to->res.pitch2D.numChannels)
                 ? cudaSuccess
                 : cudaErrorInvalidChannelDescriptor;
  }
  return cudaErrorInvalidValue;
}

// The runtime's struct has the driver's members in the driver's order; that of CUDA 12 ends before the reserved ones.
CUDA_RESOURCE_VIEW_DESC translate(const cudaResourceViewDesc& from) {
  CUDA_RESOURCE_VIEW_DESC to = {};
  static_assert(sizeof from <= sizeof to);
  memcpy(&to, &from, sizeof from);
  return to;
}

CUDA_TEXTURE_DESC translate(const cudaTextureDesc& from) {
  CUDA_TEXTURE_DESC to = {};
  for (int i = 0; i < 3; ++i) to.addressMode[i] = static_cast<CUaddress_mode>(from.addressMode[i]);
  to.filterMode = static_cast<CUfilter_mode>(from.filterMode);
  to.flags = (from.readMode == cudaReadModeElementType ? CU_TRSF_READ_AS_INTEGER : 0) |
             (from.normalizedCoords != 0 ? CU_TRSF_NORMALIZED_COORDINATES : 0) | (from.sRGB != 0 ? CU_TRSF_SRGB : 0) |
             (from.disableTrilinearOptimization != 0 ? CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION : 0) |
             (from.seamlessCubemap != 0 ? CU_TRSF_SEAMLESS_CUBEMAP : 0);
  to.maxAnisotropy = from.maxAnisotropy;
  to.mipmapFilterMode = static_cast<CUfilter_mode>(from.mipmapFilterMode);
  to.mipmapLevelBias = from.mipmapLevelBias;
  to.minMipmapLevelClamp = from.minMipmapLevelClamp;
  to.maxMipmapLevelClamp = from.maxMipmapLevelClamp;
  std::copy(std::begin(from.borderColor), std::end(from.borderColor), to.borderColor);
  return to;
}

cudaResourceDesc translate_back(const CUDA_RESOURCE_DESC& from) {
  cudaResourceDesc to = {};
  to.resType = static_cast<cudaResourceType>(from.resType);
#if CUDART_VERSION >= 13000
  to.flags = from.flags;
#endif
  switch (from.resType) {
    case CU_RESOURCE_TYPE_ARRAY:
      to.res.array.array = reinterpret_cast<cudaArray_t>(from.res.array.hArray);
      break;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
      to.res.mipmap.mipmap = reinterpret_cast<cudaMipmappedArray_t>(from.res.mipmap.hMipmappedArray);
      break;
    case CU_RESOURCE_TYPE_LINEAR:
      to.res.linear.devPtr = reinterpret_cast<void*>(from.res.linear.devPtr);
      to.res.linear.sizeInBytes = from.res.linear.sizeInBytes;
      to.res.linear.desc = channel_descriptor(from.res.linear.format, from.res.linear.numChannels);
      break;
    case CU_RESOURCE_TYPE_PITCH2D:
      to.res.pitch2D.devPtr = reinterpret_cast<void*>(from.res.pitch2D.devPtr);
      to.res.pitch2D.width = from.res.pitch2D.width;
      to.res.pitch2D.height = from.res.pitch2D.height;
      to.res.pitch2D.pitchInBytes = from.res.pitch2D.pitchInBytes;
      to.res.pitch2D.desc = channel_descriptor(from.res.pitch2D.format, from.res.pitch2D.numChannels);
      break;
  }
  return to;
}

cudaResourceViewDesc translate_back(const CUDA_RESOURCE_VIEW_DESC& from) {
  cudaResourceViewDesc to = {};
  static_assert(sizeof to <= sizeof from);
  memcpy(&to, &from, sizeof to);
  return to;
}

cudaTextureDesc translate_back(const CUDA_TEXTURE_DESC& from) {
  cudaTextureDesc to = {};
  const auto has = [&](unsigned flag) { return (from.flags & flag) != 0 ? 1 : 0; };
  for (int i = 0; i < 3; ++i) to.addressMode[i] = static_cast<cudaTextureAddressMode>(from.addressMode[i]);
  to.filterMode = static_cast<cudaTextureFilterMode>(from.filterMode);
  to.readMode = has(CU_TRSF_READ_AS_INTEGER) != 0 ? cudaReadModeElementType : cudaReadModeNormalizedFloat;
  to.normalizedCoords = has(CU_TRSF_NORMALIZED_COORDINATES);
  to.sRGB = has(CU_TRSF_SRGB);
  to.disableTrilinearOptimization = has(CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION);
  to.seamlessCubemap = has(CU_TRSF_SEAMLESS_CUBEMAP);
  to.maxAnisotropy = from.maxAnisotropy;
  to.mipmapFilterMode = static_cast<cudaTextureFilterMode>(from.mipmapFilterMode);
  to.mipmapLevelBias = from.mipmapLevelBias;
  to.minMipmapLevelClamp = from.minMipmapLevelClamp;
  to.maxMipmapLevelClamp = from.maxMipmapLevelClamp;
  std::copy(std::begin(from.borderColor), std::end(from.borderColor), to.borderColor);
  return to;
}

// A part of an object, as the driver has it and then as the runtime has it.
template <typename Driver, typename Runtime, typename Object>
cudaError_t get_part(CUresult (*entry)(Driver*, Object), Runtime* out, Object object) {
  if (out == nullptr) return fail(cudaErrorInvalidValue);
  Driver part = {};
  const cudaError_t status = with_context(entry, &part, object);
  if (status == cudaSuccess) *out = translate_back(part);
  return status;
}

}  // namespace

MAYA_API cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object, const cudaResourceDesc* resource,
                                             const cudaTextureDesc* texture, const cudaResourceViewDesc* view) {
  if (object == nullptr || resource == nullptr || texture == nullptr) return fail(cudaErrorInvalidValue);
  CUDA_RESOURCE_DESC driver_resource;
  if (const cudaError_t status = translate(*resource, &driver_resource); status != cudaSuccess) return fail(status);
  const CUDA_TEXTURE_DESC driver_texture = translate(*texture);
  CUDA_RESOURCE_VIEW_DESC driver_view = {};
  if (view != nullptr) driver_view = translate(*view);
  return with_context(MAYA_DRIVER(cuTexObjectCreate), object, &driver_resource, &driver_texture,
                      view != nullptr ? &driver_view : nullptr);
}
MAYA_API cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object) {
  return with_context(MAYA_DRIVER(cuTexObjectDestroy), object);
}

MAYA_API cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* out, cudaTextureObject_t object) {
  return get_part(MAYA_DRIVER(cuTexObjectGetResourceDesc), out, object);
}
MAYA_API cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* out, cudaTextureObject_t object) {
  return get_part(MAYA_DRIVER(cuTexObjectGetTextureDesc), out, object);
}
MAYA_API cudaError_t cudaGetTextureObjectResourceViewDesc(cudaResourceViewDesc* out, cudaTextureObject_t object) {
  return get_part(MAYA_DRIVER(cuTexObjectGetResourceViewDesc), out, object);
}

MAYA_API cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* object, const cudaResourceDesc* resource) {
  if (object == nullptr || resource == nullptr) return fail(cudaErrorInvalidValue);
  if (stored_value(resource->resType) != cudaResourceTypeArray)
    return fail(cudaErrorInvalidValue);  // surfaces are over arrays only, as documented
  CUDA_RESOURCE_DESC driver_resource;
  if (const cudaError_t status = translate(*resource, &driver_resource); status != cudaSuccess) return fail(status);
  return with_context(MAYA_DRIVER(cuSurfObjectCreate), object, &driver_resource);
}
MAYA_API cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object) {
  return with_context(MAYA_DRIVER(cuSurfObjectDestroy), object);
}

MAYA_API cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc* out, cudaSurfaceObject_t object) {
  return get_part(MAYA_DRIVER(cuSurfObjectGetResourceDesc), out, object);
}

MAYA_API cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t* elements, const cudaChannelFormatDesc* format,
                                                          int device) {
  if (elements == nullptr || format == nullptr) return fail(cudaErrorInvalidValue);
  CUarray_format driver_array_format;
  unsigned channels = 0;
  if (!driver_format(*format, &driver_array_format, &channels)) return fail(cudaErrorInvalidChannelDescriptor);
  return with_driver(MAYA_DRIVER(cuDeviceGetTexture1DLinearMaxWidth), elements, driver_array_format, channels, device);
}
