// CUDA arrays: allocation, description, release.
#include "driver_shim/cudart/array_format.h"
#include "driver_shim/cudart/runtime.h"

namespace maya::cudart {

namespace {

struct FormatRow {
  CUarray_format format;
  cudaChannelFormatKind kind;
  int bits;
};
constexpr FormatRow kFormats[] = {
    {CU_AD_FORMAT_UNSIGNED_INT8, cudaChannelFormatKindUnsigned, 8},
    {CU_AD_FORMAT_UNSIGNED_INT16, cudaChannelFormatKindUnsigned, 16},
    {CU_AD_FORMAT_UNSIGNED_INT32, cudaChannelFormatKindUnsigned, 32},
    {CU_AD_FORMAT_SIGNED_INT8, cudaChannelFormatKindSigned, 8},
    {CU_AD_FORMAT_SIGNED_INT16, cudaChannelFormatKindSigned, 16},
    {CU_AD_FORMAT_SIGNED_INT32, cudaChannelFormatKindSigned, 32},
    {CU_AD_FORMAT_HALF, cudaChannelFormatKindFloat, 16},
    {CU_AD_FORMAT_FLOAT, cudaChannelFormatKindFloat, 32},
};

}  // namespace

bool driver_format(const cudaChannelFormatDesc& descriptor, CUarray_format* format, unsigned* channels) noexcept {
  const int bits[4] = {descriptor.x, descriptor.y, descriptor.z, descriptor.w};
  *channels = 0;
  while (*channels < 4 && bits[*channels] != 0) ++*channels;
  if (*channels != 1 && *channels != 2 && *channels != 4) return false;
  for (unsigned i = 0; i < 4; ++i)
    if (bits[i] != (i < *channels ? bits[0] : 0)) return false;
  for (const FormatRow& row : kFormats) {
    if (row.kind != descriptor.f || row.bits != bits[0]) continue;
    *format = row.format;
    return true;
  }
  return false;
}

cudaChannelFormatDesc channel_descriptor(CUarray_format format, unsigned channels) noexcept {
  for (const FormatRow& row : kFormats)
    if (row.format == format)
      return {row.bits, channels > 1 ? row.bits : 0, channels > 2 ? row.bits : 0, channels > 3 ? row.bits : 0,
              row.kind};
  return {0, 0, 0, 0, cudaChannelFormatKindNone};
}

namespace {

CUresult describe(cudaArray_const_t array, CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  return initialized_call(MAYA_DRIVER(cuArray3DGetDescriptor_v2), descriptor,
                          reinterpret_cast<CUarray>(const_cast<cudaArray_t>(array)));
}

// cudaMallocArray and cudaMalloc3DArray. Sizes are elements; flags have the driver's values.
cudaError_t allocate_array(cudaArray_t* array, const cudaChannelFormatDesc* format, const cudaExtent& extent,
                           unsigned flags) {
  if (array == nullptr || format == nullptr) return fail(cudaErrorInvalidValue);
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  if (!driver_format(*format, &descriptor.Format, &descriptor.NumChannels))
    return fail(cudaErrorInvalidChannelDescriptor);
  descriptor.Width = extent.width;
  descriptor.Height = extent.height;
  descriptor.Depth = extent.depth;
  descriptor.Flags = flags;
  return with_context(MAYA_DRIVER(cuArray3DCreate_v2), reinterpret_cast<CUarray*>(array), &descriptor);
}

CUarray driver_array(cudaArray_const_t array) { return reinterpret_cast<CUarray>(const_cast<cudaArray_t>(array)); }
CUmipmappedArray driver_mipmap(cudaMipmappedArray_const_t array) {
  return reinterpret_cast<CUmipmappedArray>(const_cast<cudaMipmappedArray_t>(array));
}

}  // namespace

CUresult array_element_bytes(cudaArray_const_t array, size_t* bytes) noexcept {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  if (const CUresult status = describe(array, &descriptor); status != CUDA_SUCCESS) return status;
  const cudaChannelFormatDesc format = channel_descriptor(descriptor.Format, descriptor.NumChannels);
  *bytes = static_cast<size_t>(format.x + format.y + format.z + format.w) / 8;
  return *bytes == 0 ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

}  // namespace maya::cudart

using namespace maya::cudart;

MAYA_API cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

MAYA_API cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* format, size_t width,
                                     size_t height, unsigned flags) {
  return allocate_array(array, format, {width, height, 0}, flags);
}
MAYA_API cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* format, cudaExtent extent,
                                       unsigned flags) {
  return allocate_array(array, format, extent, flags);
}
MAYA_API cudaError_t cudaFreeArray(cudaArray_t array) {
  if (array == nullptr) return finish(ensure_context());
  return with_context(MAYA_DRIVER(cuArrayDestroy), driver_array(array));
}

MAYA_API cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t* array, const cudaChannelFormatDesc* format,
                                              cudaExtent extent, unsigned levels, unsigned flags) {
  if (array == nullptr || format == nullptr) return fail(cudaErrorInvalidValue);
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  if (!driver_format(*format, &descriptor.Format, &descriptor.NumChannels))
    return fail(cudaErrorInvalidChannelDescriptor);
  descriptor.Width = extent.width;
  descriptor.Height = extent.height;
  descriptor.Depth = extent.depth;
  descriptor.Flags = flags;
  return with_context(MAYA_DRIVER(cuMipmappedArrayCreate), reinterpret_cast<CUmipmappedArray*>(array), &descriptor,
                      levels);
}
MAYA_API cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array) {
  if (array == nullptr) return finish(ensure_context());
  return with_context(MAYA_DRIVER(cuMipmappedArrayDestroy), driver_mipmap(array));
}
MAYA_API cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t* level_array, cudaMipmappedArray_const_t array,
                                                unsigned level) {
  return with_context(MAYA_DRIVER(cuMipmappedArrayGetLevel), reinterpret_cast<CUarray*>(level_array),
                      driver_mipmap(array), level);
}

MAYA_API cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* format, cudaArray_const_t array) {
  if (format == nullptr) return fail(cudaErrorInvalidValue);
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  const CUresult status = attempt([&] { return describe(array, &descriptor); });
  if (status == CUDA_SUCCESS) *format = channel_descriptor(descriptor.Format, descriptor.NumChannels);
  return finish(status);
}
MAYA_API cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent, unsigned* flags,
                                      cudaArray_t array) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  const CUresult status = attempt([&] { return describe(array, &descriptor); });
  if (status != CUDA_SUCCESS) return finish(status);
  if (format != nullptr) *format = channel_descriptor(descriptor.Format, descriptor.NumChannels);
  if (extent != nullptr) *extent = {descriptor.Width, descriptor.Height, descriptor.Depth};
  if (flags != nullptr) *flags = descriptor.Flags;
  return cudaSuccess;
}
MAYA_API cudaError_t cudaArrayGetPlane(cudaArray_t* plane_array, cudaArray_t array, unsigned plane) {
  return with_context(MAYA_DRIVER(cuArrayGetPlane), reinterpret_cast<CUarray*>(plane_array), driver_array(array),
                      plane);
}

MAYA_API cudaError_t cudaArrayGetMemoryRequirements(cudaArrayMemoryRequirements* requirements, cudaArray_t array,
                                                    int device) {
  return with_context(MAYA_DRIVER(cuArrayGetMemoryRequirements),
                      as_driver<CUDA_ARRAY_MEMORY_REQUIREMENTS>(requirements), driver_array(array), device);
}
MAYA_API cudaError_t cudaMipmappedArrayGetMemoryRequirements(cudaArrayMemoryRequirements* requirements,
                                                             cudaMipmappedArray_t array, int device) {
  return with_context(MAYA_DRIVER(cuMipmappedArrayGetMemoryRequirements),
                      as_driver<CUDA_ARRAY_MEMORY_REQUIREMENTS>(requirements), driver_mipmap(array), device);
}
MAYA_API cudaError_t cudaArrayGetSparseProperties(cudaArraySparseProperties* properties, cudaArray_t array) {
  return with_context(MAYA_DRIVER(cuArrayGetSparseProperties), as_driver<CUDA_ARRAY_SPARSE_PROPERTIES>(properties),
                      driver_array(array));
}
MAYA_API cudaError_t cudaMipmappedArrayGetSparseProperties(cudaArraySparseProperties* properties,
                                                           cudaMipmappedArray_t array) {
  return with_context(MAYA_DRIVER(cuMipmappedArrayGetSparseProperties),
                      as_driver<CUDA_ARRAY_SPARSE_PROPERTIES>(properties), driver_mipmap(array));
}
