#include "driver_shim/cuda/array.h"

#include <algorithm>
#include <bit>

#include "driver_shim/cuda/allocation.h"
#include "driver_shim/cuda/gate.h"

namespace maya::cuda {
namespace {

constexpr size_t kMostArrays = 1 << 20;
// Each level starts where a texture may start (CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT).
constexpr uint64_t kLevelAlignment_bytes = 512;
constexpr unsigned int kKnownFlags = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP |
                                     CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_DEPTH_TEXTURE |
                                     CUDA_ARRAY3D_COLOR_ATTACHMENT;
constexpr unsigned int kUnsupportedFlags =
    CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING | CUDA_ARRAY3D_VIDEO_ENCODE_DECODE;

// The handles go with their context; their memory is an allocation of it and goes too (allocation.cc).
void release_arrays(Driver&, Context& context) {
  arrays().for_each([&](Array* array) {
    if (array->context == &context) arrays().destroy(array);
  });
  mipmapped_arrays().for_each([&](MipmappedArray* array) {
    if (array->context == &context) mipmapped_arrays().destroy(array);
  });
}

[[maybe_unused]] const bool kHookAdded = (add_context_hook(release_arrays), true);

// The documented rules for shapes (cuArray3DCreate). On success *element_bytes and *bytes are set.
CUresult check_shape(const CUDA_ARRAY3D_DESCRIPTOR& shape, uint32_t* element_bytes, uint64_t* bytes) {
  if ((shape.Flags & kUnsupportedFlags) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  if ((shape.Flags & ~kKnownFlags) != 0 || shape.Width == 0) return CUDA_ERROR_INVALID_VALUE;
  const uint32_t channel = channel_bytes(shape.Format);
  if (channel == 0) return CUDA_ERROR_NOT_SUPPORTED;
  if (shape.NumChannels != 1 && shape.NumChannels != 2 && shape.NumChannels != 4) return CUDA_ERROR_INVALID_VALUE;
  const bool layered = (shape.Flags & CUDA_ARRAY3D_LAYERED) != 0;
  const bool cubemap = (shape.Flags & CUDA_ARRAY3D_CUBEMAP) != 0;
  if (cubemap &&
      (shape.Width != shape.Height || shape.Depth == 0 || shape.Depth % 6 != 0 || (!layered && shape.Depth != 6)))
    return CUDA_ERROR_INVALID_VALUE;
  if (layered && shape.Depth == 0) return CUDA_ERROR_INVALID_VALUE;
  if (!layered && shape.Height == 0 && shape.Depth != 0) return CUDA_ERROR_INVALID_VALUE;
  *element_bytes = channel * shape.NumChannels;
  // Far above every device's CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE* limit, and the product fits.
  constexpr size_t kLongestSide = 1 << 28;
  if (shape.Width > kLongestSide || shape.Height > kLongestSide || shape.Depth > kLongestSide)
    return CUDA_ERROR_INVALID_VALUE;
  const __uint128_t product = static_cast<__uint128_t>(shape.Width * *element_bytes) *
                              std::max<size_t>(shape.Height, 1) * std::max<size_t>(shape.Depth, 1);
  if (product > UINT64_MAX / 4) return CUDA_ERROR_OUT_OF_MEMORY;
  *bytes = static_cast<uint64_t>(product);
  return CUDA_SUCCESS;
}

CUresult create(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR& shape, const char* name) {
  return enter(Needs::kContext, [&](Call& call) -> CUresult {
    uint32_t element_bytes = 0;
    uint64_t bytes = 0;
    if (const CUresult status = check_shape(shape, &element_bytes, &bytes); status != CUDA_SUCCESS) return status;
    CUdeviceptr base = 0;
    if (const CUresult status =
            allocate_device_memory(call.driver(), call.context(), bytes, device::Layer::kAllocations, name, &base);
        status != CUDA_SUCCESS)
      return status;
    Array* made = arrays().create(&call.context(), shape, element_bytes, base, true);
    if (made == nullptr) {
      free_device_memory(call.driver(), base);
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = reinterpret_cast<CUarray>(made);
    return CUDA_SUCCESS;
  });
}

template <typename Body>
CUresult with_array(CUarray handle, bool valid, Body&& body) {
  return enter(Needs::kContext, [&](Call& call) -> CUresult {
    if (!valid) return CUDA_ERROR_INVALID_VALUE;
    Array* array = array_of(handle);
    return array == nullptr ? CUDA_ERROR_INVALID_HANDLE : body(call, *array);
  });
}

CUDA_ARRAY3D_DESCRIPTOR level_shape(const CUDA_ARRAY3D_DESCRIPTOR& shape, unsigned int level) {
  const auto halved = [&](size_t side) { return side == 0 ? 0 : std::max<size_t>(side >> level, 1); };
  CUDA_ARRAY3D_DESCRIPTOR result = shape;
  result.Width = halved(shape.Width);
  result.Height = halved(shape.Height);
  // Layers and faces are not scaled.
  if ((shape.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) == 0) result.Depth = halved(shape.Depth);
  return result;
}

// numMipmapLevels is documented to be clamped to [1, 1 + floor(log2(longest side))].
unsigned int clamped_levels(const CUDA_ARRAY3D_DESCRIPTOR& shape, unsigned int levels) {
  size_t longest = std::max(shape.Width, shape.Height);
  if ((shape.Flags & CUDA_ARRAY3D_LAYERED) == 0) longest = std::max(longest, shape.Depth);
  const auto most = static_cast<unsigned int>(std::bit_width(longest));
  return std::clamp(levels, 1u, most);
}

CUresult create_mipmapped(Call& call, CUmipmappedArray* out, const CUDA_ARRAY3D_DESCRIPTOR& shape,
                          unsigned int requested_levels) {
  uint32_t element_bytes = 0;
  uint64_t unused = 0;
  if (const CUresult status = check_shape(shape, &element_bytes, &unused); status != CUDA_SUCCESS) return status;
  const unsigned int levels = clamped_levels(shape, requested_levels);
  std::vector<uint64_t> offsets;
  uint64_t bytes = 0;
  for (unsigned int level = 0; level < levels; ++level) {
    uint64_t level_bytes = 0;
    check_shape(level_shape(shape, level), &element_bytes, &level_bytes);
    offsets.push_back(bytes);
    bytes += (level_bytes + kLevelAlignment_bytes - 1) & ~(kLevelAlignment_bytes - 1);
  }
  CUdeviceptr base = 0;
  const CUresult status = allocate_device_memory(call.driver(), call.context(), bytes, device::Layer::kAllocations,
                                                 "cuMipmappedArrayCreate", &base);
  if (status != CUDA_SUCCESS) return status;
  MipmappedArray* made = mipmapped_arrays().create(&call.context(), base);
  bool complete = made != nullptr;
  if (complete) made->levels.reserve(levels);
  for (unsigned int level = 0; complete && level < levels; ++level) {
    Array* part =
        arrays().create(&call.context(), level_shape(shape, level), element_bytes, base + offsets[level], false);
    complete = part != nullptr;
    if (complete) made->levels.push_back(reinterpret_cast<CUarray>(part));
  }
  if (!complete) {
    if (made != nullptr)
      for (const CUarray part : made->levels) arrays().destroy(part);
    mipmapped_arrays().destroy(made);
    free_device_memory(call.driver(), base);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *out = reinterpret_cast<CUmipmappedArray>(made);
  return CUDA_SUCCESS;
}

}  // namespace

device::HandlePool<Array>& arrays() {
  static device::HandlePool<Array>& pool = *new device::HandlePool<Array>(kMostArrays);
  return pool;
}

device::HandlePool<MipmappedArray>& mipmapped_arrays() {
  static device::HandlePool<MipmappedArray>& pool = *new device::HandlePool<MipmappedArray>(kMostArrays);
  return pool;
}

uint32_t channel_bytes(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
    case CU_AD_FORMAT_UNORM_INT8X1:
    case CU_AD_FORMAT_UNORM_INT8X2:
    case CU_AD_FORMAT_UNORM_INT8X4:
    case CU_AD_FORMAT_SNORM_INT8X1:
    case CU_AD_FORMAT_SNORM_INT8X2:
    case CU_AD_FORMAT_SNORM_INT8X4:
      return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
    case CU_AD_FORMAT_UNORM_INT16X1:
    case CU_AD_FORMAT_UNORM_INT16X2:
    case CU_AD_FORMAT_UNORM_INT16X4:
    case CU_AD_FORMAT_SNORM_INT16X1:
    case CU_AD_FORMAT_SNORM_INT16X2:
    case CU_AD_FORMAT_SNORM_INT16X4:
      return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return 4;
    default:
      return 0;
  }
}

}  // namespace maya::cuda

using namespace maya::cuda;

CUresult cuArrayCreate_v2(CUarray* out, const CUDA_ARRAY_DESCRIPTOR* shape) {
  if (out == nullptr || shape == nullptr) return enter(Needs::kContext, [](Call&) { return CUDA_ERROR_INVALID_VALUE; });
  return create(out, {shape->Width, shape->Height, 0, shape->Format, shape->NumChannels, 0}, "cuArrayCreate");
}

CUresult cuArray3DCreate_v2(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR* shape) {
  if (out == nullptr || shape == nullptr) return enter(Needs::kContext, [](Call&) { return CUDA_ERROR_INVALID_VALUE; });
  return create(out, *shape, "cuArray3DCreate");
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* out, CUarray handle) {
  return with_array(handle, out != nullptr, [&](Call&, Array& array) {
    *out = {array.descriptor.Width, array.descriptor.Height, array.descriptor.Format, array.descriptor.NumChannels};
    return CUDA_SUCCESS;
  });
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* out, CUarray handle) {
  return with_array(handle, out != nullptr, [&](Call&, Array& array) {
    *out = array.descriptor;
    return CUDA_SUCCESS;
  });
}

CUresult cuArrayDestroy(CUarray handle) {
  return with_array(handle, true, [&](Call& call, Array& array) {
    if (!array.owns_memory) return CUDA_ERROR_INVALID_HANDLE;
    const CUdeviceptr base = array.base;
    if (!arrays().destroy(handle)) return CUDA_ERROR_INVALID_HANDLE;
    free_device_memory(call.driver(), base);
    return CUDA_SUCCESS;
  });
}

// Sparse arrays, arrays with deferred mapping and multi-planar ones are not made here, so no array has what these three
// ask for.
CUresult cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES* out, CUarray handle) {
  return with_array(handle, out != nullptr, [](Call&, Array&) { return CUDA_ERROR_INVALID_VALUE; });
}

CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* out, CUarray handle, CUdevice) {
  return with_array(handle, out != nullptr, [](Call&, Array&) { return CUDA_ERROR_INVALID_VALUE; });
}

CUresult cuArrayGetPlane(CUarray* out, CUarray handle, unsigned int) {
  return with_array(handle, out != nullptr, [](Call&, Array&) { return CUDA_ERROR_INVALID_VALUE; });
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray* out, const CUDA_ARRAY3D_DESCRIPTOR* shape, unsigned int levels) {
  return enter(Needs::kContext, [&](Call& call) -> CUresult {
    if (out == nullptr || shape == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return create_mipmapped(call, out, *shape, levels);
  });
}

CUresult cuMipmappedArrayGetLevel(CUarray* out, CUmipmappedArray handle, unsigned int level) {
  return enter(Needs::kContext, [&](Call&) {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const MipmappedArray* array = mipmapped_arrays().get(handle);
    if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (level >= array->levels.size()) return CUDA_ERROR_INVALID_VALUE;
    *out = array->levels[level];
    return CUDA_SUCCESS;
  });
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray handle) {
  return enter(Needs::kContext, [&](Call& call) {
    MipmappedArray* array = mipmapped_arrays().get(handle);
    if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const std::vector<CUarray> levels = array->levels;
    const CUdeviceptr base = array->base;
    if (!mipmapped_arrays().destroy(handle)) return CUDA_ERROR_INVALID_HANDLE;
    for (const CUarray level : levels) arrays().destroy(level);
    free_device_memory(call.driver(), base);
    return CUDA_SUCCESS;
  });
}

CUresult cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES* out, CUmipmappedArray handle) {
  return enter(Needs::kContext, [&](Call&) {
    return out != nullptr && mipmapped_arrays().get(handle) == nullptr ? CUDA_ERROR_INVALID_HANDLE
                                                                       : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* out, CUmipmappedArray handle, CUdevice) {
  return enter(Needs::kContext, [&](Call&) {
    return out != nullptr && mipmapped_arrays().get(handle) == nullptr ? CUDA_ERROR_INVALID_HANDLE
                                                                       : CUDA_ERROR_INVALID_VALUE;
  });
}
