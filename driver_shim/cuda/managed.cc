// Unified Memory: managed allocations, advice and prefetching. Where pages are at a time is not modelled; what a
// program set is kept a whole allocation at a time and can be asked for.
#include <cuda.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "driver_shim/common/api.h"
#include "driver_shim/cuda/allocation.h"
#include "driver_shim/cuda/host_allocation.h"
#include "driver_shim/cuda/recorder.h"
#include "driver_shim/cuda/stream_call.h"

using namespace maya::cuda;

namespace {

using maya::device::Allocation;
using maya::device::AllocationKind;

struct Advice {
  bool read_mostly = false;
  CUmemLocation preferred{CU_MEM_LOCATION_TYPE_INVALID, {CU_DEVICE_INVALID}};
  CUmemLocation prefetched{CU_MEM_LOCATION_TYPE_INVALID, {CU_DEVICE_INVALID}};
  uint64_t accessed_by_devices = 0;  // one bit each
  bool accessed_by_host = false;
};

// By allocation id, which is never used twice, so nothing needs to be taken out when memory is freed.
std::mutex advice_mutex;
std::map<uint64_t, Advice>& all_advice() {
  static std::map<uint64_t, Advice>& advice = *new std::map<uint64_t, Advice>;
  return advice;
}

bool is_host(CUmemLocationType type) {
  return type == CU_MEM_LOCATION_TYPE_HOST || type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
         type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

// The forms before CUDA 12.2 name a device, or CU_DEVICE_CPU.
CUmemLocation location_of(CUdevice device) {
  return device == CU_DEVICE_CPU ? CUmemLocation{CU_MEM_LOCATION_TYPE_HOST, {0}}
                                 : CUmemLocation{CU_MEM_LOCATION_TYPE_DEVICE, {device}};
}

CUresult check_location(Call& call, const CUmemLocation& location) {
  if (is_host(location.type)) return CUDA_SUCCESS;
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
  return location.id >= 0 && location.id < call.driver().device_count() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

bool find_managed(Call& call, CUdeviceptr address, size_t bytes, Allocation* out) {
  return bytes != 0 && call.memory().find(address, out) && out->kind == AllocationKind::kManaged &&
         bytes <= out->base + out->bytes - address;
}

CUresult advise(CUdeviceptr address, size_t bytes, CUmem_advise advice, const CUmemLocation& location) {
  return enter(Needs::kContext, [&](Call& call) -> CUresult {
    Allocation found;
    if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
      return CUDA_ERROR_INVALID_VALUE;
    if (!find_managed(call, address, bytes, &found)) return CUDA_ERROR_INVALID_VALUE;
    const bool by_location = advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION ||
                             advice == CU_MEM_ADVISE_SET_ACCESSED_BY || advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
    if (by_location)
      if (const CUresult status = check_location(call, location); status != CUDA_SUCCESS) return status;
    const bool to_host = is_host(location.type);
    const bool access = advice == CU_MEM_ADVISE_SET_ACCESSED_BY;
    std::lock_guard<std::mutex> lock(advice_mutex);
    Advice& kept = all_advice()[found.id];
    switch (advice) {
      case CU_MEM_ADVISE_SET_READ_MOSTLY:
        kept.read_mostly = true;
        break;
      case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
        kept.read_mostly = false;
        break;
      case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
        kept.preferred = location;
        break;
      case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
        kept.preferred = Advice().preferred;
        break;
      case CU_MEM_ADVISE_SET_ACCESSED_BY:
      case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
        if (to_host)
          kept.accessed_by_host = access;
        else
          kept.accessed_by_devices = access ? kept.accessed_by_devices | 1ull << location.id
                                            : kept.accessed_by_devices & ~(1ull << location.id);
        break;
    }
    return CUDA_SUCCESS;
  });
}

CUresult prefetch_one(Call& call, CUdeviceptr address, size_t bytes, const CUmemLocation* location) {
  Allocation found;
  if (!find_managed(call, address, bytes, &found)) return CUDA_ERROR_INVALID_VALUE;
  if (location == nullptr) return CUDA_SUCCESS;
  if (const CUresult status = check_location(call, *location); status != CUDA_SUCCESS) return status;
  std::lock_guard<std::mutex> lock(advice_mutex);
  all_advice()[found.id].prefetched = *location;
  return CUDA_SUCCESS;
}

CUresult prefetch(CUdeviceptr address, size_t bytes, const CUmemLocation& location, unsigned int flags, CUstream stream,
                  bool per_thread) {
  return with_stream(stream, per_thread, flags == 0,
                     [&](Call& call, Stream&) { return prefetch_one(call, address, bytes, &location); });
}

// Prefetches and discards. Discarded bytes are indeterminate, so they may as well stay.
CUresult batch(CUdeviceptr* addresses, size_t* sizes, size_t count, CUmemLocation* locations, size_t* indices,
               size_t location_count, unsigned long long flags, CUstream stream, bool with_locations, bool per_thread) {
  bool valid = addresses != nullptr && sizes != nullptr && count != 0 && flags == 0 && stream != CU_STREAM_LEGACY &&
               (stream != nullptr || per_thread);
  if (with_locations) {
    valid = valid && locations != nullptr && indices != nullptr && location_count != 0 && location_count <= count &&
            indices[0] == 0;
    for (size_t i = 1; valid && i < location_count; ++i) valid = indices[i] > indices[i - 1] && indices[i] < count;
  }
  return with_stream(stream, per_thread, valid, [&](Call& call, Stream&) {
    size_t location = 0;
    for (size_t i = 0; i < count; ++i) {
      while (with_locations && location + 1 < location_count && indices[location + 1] <= i) ++location;
      const CUresult status =
          prefetch_one(call, addresses[i], sizes[i], with_locations ? &locations[location] : nullptr);
      if (status != CUDA_SUCCESS) return status;
    }
    return CUDA_SUCCESS;
  });
}

int ordinal_of(const CUmemLocation& location) {
  if (is_host(location.type)) return CU_DEVICE_CPU;
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : CU_DEVICE_INVALID;
}

CUresult put(void* out, size_t out_bytes, int value) {
  if (out_bytes != sizeof(value)) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(out, &value, sizeof(value));
  return CUDA_SUCCESS;
}

CUresult put_accessed_by(void* out, size_t out_bytes, const Advice& advice) {
  if (out_bytes == 0 || out_bytes % sizeof(int) != 0) return CUDA_ERROR_INVALID_VALUE;
  auto* to = static_cast<unsigned char*>(out);
  const size_t places = out_bytes / sizeof(int);
  size_t used = 0;
  const auto add = [&](int value) {
    if (used < places) std::memcpy(to + used++ * sizeof(int), &value, sizeof(int));
  };
  for (int device = 0; device < 64; ++device)
    if ((advice.accessed_by_devices >> device & 1) != 0) add(device);
  if (advice.accessed_by_host) add(CU_DEVICE_CPU);
  while (used < places) add(CU_DEVICE_INVALID);
  return CUDA_SUCCESS;
}

CUresult range_attribute(void* out, size_t out_bytes, CUmem_range_attribute attribute, const Advice& advice) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
      return put(out, out_bytes, advice.read_mostly ? 1 : 0);
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
      return put(out, out_bytes, ordinal_of(advice.preferred));
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
      return put_accessed_by(out, out_bytes, advice);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
      return put(out, out_bytes, ordinal_of(advice.prefetched));
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
      return put(out, out_bytes, advice.preferred.type);
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
      return put(out, out_bytes, advice.preferred.id);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
      return put(out, out_bytes, advice.prefetched.type);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
      return put(out, out_bytes, advice.prefetched.id);
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult range_attributes(void** out, const size_t* out_bytes, const CUmem_range_attribute* attributes, size_t count,
                          CUdeviceptr address, size_t bytes) {
  return enter(Needs::kContext, [&](Call& call) -> CUresult {
    Allocation found;
    if (out == nullptr || out_bytes == nullptr || attributes == nullptr || count == 0 ||
        !find_managed(call, address, bytes, &found))
      return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard<std::mutex> lock(advice_mutex);
    const auto kept = all_advice().find(found.id);
    const Advice advice = kept == all_advice().end() ? Advice() : kept->second;
    for (size_t i = 0; i < count; ++i)
      if (const CUresult status = range_attribute(out[i], out_bytes[i], attributes[i], advice); status != CUDA_SUCCESS)
        return status;
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUresult cuMemAllocManaged(CUdeviceptr* out, size_t bytes, unsigned int flags) {
  return enter(Needs::kContext, [&](Call& call) -> CUresult {
    if (out == nullptr || bytes == 0 || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
      return CUDA_ERROR_INVALID_VALUE;
    void* memory = nullptr;
    const CUresult status =
        allocate_host_memory(call.driver(), call.context(), bytes, AllocationKind::kManaged, flags, &memory);
    if (status == CUDA_SUCCESS) *out = reinterpret_cast<CUdeviceptr>(memory);
    return status;
  });
}

CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device) {
  return advise(address, bytes, advice, location_of(device));
}
MAYA_API CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation location) {
  return advise(address, bytes, advice, location);
}

CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream) {
  return prefetch(address, bytes, location_of(device), 0, stream, false);
}
CUresult cuMemPrefetchAsync_ptsz(CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream) {
  return prefetch(address, bytes, location_of(device), 0, stream, true);
}
CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned int flags,
                               CUstream stream) {
  return prefetch(address, bytes, location, flags, stream, false);
}
MAYA_API CUresult cuMemPrefetchAsync_v2_ptsz(CUdeviceptr address, size_t bytes, CUmemLocation location,
                                             unsigned int flags, CUstream stream) {
  return prefetch(address, bytes, location, flags, stream, true);
}

CUresult cuMemPrefetchBatchAsync(CUdeviceptr* addresses, size_t* sizes, size_t count, CUmemLocation* locations,
                                 size_t* indices, size_t location_count, unsigned long long flags, CUstream stream) {
  return batch(addresses, sizes, count, locations, indices, location_count, flags, stream, true, false);
}
MAYA_API CUresult cuMemPrefetchBatchAsync_ptsz(CUdeviceptr* addresses, size_t* sizes, size_t count,
                                               CUmemLocation* locations, size_t* indices, size_t location_count,
                                               unsigned long long flags, CUstream stream) {
  return batch(addresses, sizes, count, locations, indices, location_count, flags, stream, true, true);
}
CUresult cuMemDiscardBatchAsync(CUdeviceptr* addresses, size_t* sizes, size_t count, unsigned long long flags,
                                CUstream stream) {
  return batch(addresses, sizes, count, nullptr, nullptr, 0, flags, stream, false, false);
}
MAYA_API CUresult cuMemDiscardBatchAsync_ptsz(CUdeviceptr* addresses, size_t* sizes, size_t count,
                                              unsigned long long flags, CUstream stream) {
  return batch(addresses, sizes, count, nullptr, nullptr, 0, flags, stream, false, true);
}
CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr* addresses, size_t* sizes, size_t count,
                                           CUmemLocation* locations, size_t* indices, size_t location_count,
                                           unsigned long long flags, CUstream stream) {
  return batch(addresses, sizes, count, locations, indices, location_count, flags, stream, true, false);
}
MAYA_API CUresult cuMemDiscardAndPrefetchBatchAsync_ptsz(CUdeviceptr* addresses, size_t* sizes, size_t count,
                                                         CUmemLocation* locations, size_t* indices,
                                                         size_t location_count, unsigned long long flags,
                                                         CUstream stream) {
  return batch(addresses, sizes, count, locations, indices, location_count, flags, stream, true, true);
}

CUresult cuMemRangeGetAttribute(void* out, size_t out_bytes, CUmem_range_attribute attribute, CUdeviceptr address,
                                size_t bytes) {
  return range_attributes(&out, &out_bytes, &attribute, 1, address, bytes);
}
CUresult cuMemRangeGetAttributes(void** out, size_t* out_bytes, CUmem_range_attribute* attributes, size_t count,
                                 CUdeviceptr address, size_t bytes) {
  return range_attributes(out, out_bytes, attributes, count, address, bytes);
}
