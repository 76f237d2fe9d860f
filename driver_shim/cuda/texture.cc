// Texture and surface objects. Kernels do not run, so an object is what it was made from.
#include <cuda.h>

#include "driver_shim/cuda/array.h"
#include "driver_shim/cuda/gate.h"
#include "driver_shim/cuda/transfer.h"
#include "virtual_device/handle_pool.h"

using namespace maya::cuda;

namespace {

constexpr size_t kMostObjects = 1 << 20;

struct Texture {
  const Context* context;
  CUDA_RESOURCE_DESC resource;
  CUDA_TEXTURE_DESC texture;
  CUDA_RESOURCE_VIEW_DESC view;
  bool has_view;
};
struct Surface {
  const Context* context;
  CUDA_RESOURCE_DESC resource;
};

maya::device::HandlePool<Texture>& textures() {
  static maya::device::HandlePool<Texture>& pool = *new maya::device::HandlePool<Texture>(kMostObjects);
  return pool;
}
maya::device::HandlePool<Surface>& surfaces() {
  static maya::device::HandlePool<Surface>& pool = *new maya::device::HandlePool<Surface>(kMostObjects);
  return pool;
}

void release_objects(Driver&, Context& context) {
  textures().for_each([&](Texture* object) {
    if (object->context == &context) textures().destroy(object);
  });
  surfaces().for_each([&](Surface* object) {
    if (object->context == &context) surfaces().destroy(object);
  });
}

[[maybe_unused]] const bool kHookAdded = (add_context_hook(release_objects), true);

CUresult check_linear(Call& call, CUdeviceptr address, CUarray_format format, unsigned int channels, uint64_t bytes) {
  const uint32_t channel = channel_bytes(format);
  if (channel == 0 || (channels != 1 && channels != 2 && channels != 4) || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  return is_device_accessible(call.memory(), address, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult check_resource(Call& call, const CUDA_RESOURCE_DESC& resource) {
  if (resource.flags != 0) return CUDA_ERROR_INVALID_VALUE;
  switch (resource.resType) {
    case CU_RESOURCE_TYPE_ARRAY:
      return array_of(resource.res.array.hArray) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
      return mipmapped_arrays().get(resource.res.mipmap.hMipmappedArray) != nullptr ? CUDA_SUCCESS
                                                                                    : CUDA_ERROR_INVALID_VALUE;
    case CU_RESOURCE_TYPE_LINEAR: {
      const auto& linear = resource.res.linear;
      return check_linear(call, linear.devPtr, linear.format, linear.numChannels, linear.sizeInBytes);
    }
    case CU_RESOURCE_TYPE_PITCH2D: {
      const auto& pitched = resource.res.pitch2D;
      const uint64_t row_bytes = pitched.width * channel_bytes(pitched.format) * pitched.numChannels;
      if (pitched.height == 0 || pitched.pitchInBytes < row_bytes ||
          pitched.height > SIZE_MAX / (pitched.pitchInBytes | 1))
        return CUDA_ERROR_INVALID_VALUE;
      return check_linear(call, pitched.devPtr, pitched.format, pitched.numChannels,
                          (pitched.height - 1) * pitched.pitchInBytes + row_bytes);
    }
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

template <typename Object, typename Value>
CUresult get_part(maya::device::HandlePool<Object>& pool, unsigned long long handle, Value* out, Value Object::*part) {
  return enter(Needs::kContext, [&](Call&) {
    const Object* object = pool.get(reinterpret_cast<const void*>(handle));
    if (out == nullptr || object == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = object->*part;
    return CUDA_SUCCESS;
  });
}

template <typename Object>
CUresult destroy(maya::device::HandlePool<Object>& pool, unsigned long long handle) {
  return enter(Needs::kContext, [&](Call&) {
    return pool.destroy(reinterpret_cast<const void*>(handle)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

}  // namespace

CUresult cuTexObjectCreate(CUtexObject* out, const CUDA_RESOURCE_DESC* resource, const CUDA_TEXTURE_DESC* texture,
                           const CUDA_RESOURCE_VIEW_DESC* view) {
  return enter(Needs::kContext, [&](Call& call) -> CUresult {
    if (out == nullptr || resource == nullptr || texture == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult status = check_resource(call, *resource); status != CUDA_SUCCESS) return status;
    // Documented: a view is only for arrays.
    const bool on_array =
        resource->resType == CU_RESOURCE_TYPE_ARRAY || resource->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    if (view != nullptr && !on_array) return CUDA_ERROR_INVALID_VALUE;
    Texture* made = textures().create(Texture{&call.context(), *resource, *texture,
                                              view != nullptr ? *view : CUDA_RESOURCE_VIEW_DESC{}, view != nullptr});
    if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = reinterpret_cast<CUtexObject>(made);
    return CUDA_SUCCESS;
  });
}

CUresult cuTexObjectDestroy(CUtexObject object) { return destroy(textures(), object); }

CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC* out, CUtexObject object) {
  return get_part(textures(), object, out, &Texture::resource);
}

CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC* out, CUtexObject object) {
  return get_part(textures(), object, out, &Texture::texture);
}

CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC* out, CUtexObject object) {
  return enter(Needs::kContext, [&](Call&) {
    const Texture* found = textures().get(reinterpret_cast<const void*>(object));
    // Documented: an object made without a view has none to return.
    if (out == nullptr || found == nullptr || !found->has_view) return CUDA_ERROR_INVALID_VALUE;
    *out = found->view;
    return CUDA_SUCCESS;
  });
}

CUresult cuSurfObjectCreate(CUsurfObject* out, const CUDA_RESOURCE_DESC* resource) {
  return enter(Needs::kContext, [&](Call& call) -> CUresult {
    // Documented: the resource must be a CUDA array.
    if (out == nullptr || resource == nullptr || resource->resType != CU_RESOURCE_TYPE_ARRAY)
      return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult status = check_resource(call, *resource); status != CUDA_SUCCESS) return status;
    Surface* made = surfaces().create(Surface{&call.context(), *resource});
    if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = reinterpret_cast<CUsurfObject>(made);
    return CUDA_SUCCESS;
  });
}

CUresult cuSurfObjectDestroy(CUsurfObject object) { return destroy(surfaces(), object); }

CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC* out, CUsurfObject object) {
  return get_part(surfaces(), object, out, &Surface::resource);
}
