// Device management: what a program can ask about a device before it has a context.
#include <cuda.h>
#include <strings.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "driver_shim/cuda/device_attribute.h"
#include "driver_shim/cuda/gate.h"
#include "virtual_device/identity.h"

using maya::cuda::Call;
using maya::cuda::enter;
using maya::cuda::Needs;
namespace device = maya::device;

namespace {

bool known(const Call& call, CUdevice device) { return device >= 0 && device < call.driver().device_count(); }

// A body that works on a valid device. `valid` covers the other arguments; they are looked at first.
template <typename Body>
CUresult with_device(CUdevice device, bool valid, Body&& body) {
  return enter(Needs::kInitialized, [&](Call& call) -> CUresult {
    if (!valid) return CUDA_ERROR_INVALID_VALUE;
    if (!known(call, device)) return CUDA_ERROR_INVALID_DEVICE;
    return body(call);
  });
}

CUresult copy_text(const std::string& text, char* out, int length) {
  const size_t most = static_cast<size_t>(length) - 1;
  const size_t copied = text.size() < most ? text.size() : most;
  memcpy(out, text.data(), copied);
  out[copied] = 0;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return with_device(ordinal, device != nullptr, [&](Call&) {
    *device = ordinal;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetCount(int* count) {
  return enter(Needs::kInitialized, [&](Call& call) {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = call.driver().device_count();
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return with_device(device, name != nullptr && length > 0,
                     [&](Call& call) { return copy_text(call.driver().profile(device).product_name, name, length); });
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) { return cuDeviceGetUuid_v2(uuid, device); }

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  return with_device(device, uuid != nullptr, [&](Call&) {
    unsigned char bytes[16];
    maya::device::device_uuid(maya::cuda::machine_device(device), bytes);
    memcpy(uuid->bytes, bytes, sizeof bytes);
    return CUDA_SUCCESS;
  });
}

// LUIDs exist on Windows only.
CUresult cuDeviceGetLuid(char* luid, unsigned int* node_mask, CUdevice device) {
  return with_device(device, luid != nullptr && node_mask != nullptr, [](Call&) { return CUDA_ERROR_NOT_SUPPORTED; });
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  return with_device(device, bytes != nullptr, [&](Call& call) {
    const uint64_t capacity = call.driver().capacity_bytes();
    // With MAYA_MEMORY=unlimited the device still says its own size.
    *bytes = capacity == UINT64_MAX ? call.driver().profile(device).total_memory_bytes : capacity;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceTotalMem(unsigned int* bytes, CUdevice device) {
  size_t whole = 0;
  if (const CUresult status = cuDeviceTotalMem_v2(bytes == nullptr ? nullptr : &whole, device); status != CUDA_SUCCESS)
    return status;
  *bytes = whole > UINT32_MAX ? UINT32_MAX : static_cast<unsigned int>(whole);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t* width, CUarray_format format, unsigned channels, CUdevice device) {
  const size_t element_bytes = maya::cuda::array_format_bytes(format) * channels;
  return with_device(device,
                     width != nullptr && element_bytes != 0 && (channels == 1 || channels == 2 || channels == 4),
                     [&](Call& call) {
                       int most = 0;
                       maya::cuda::device_attribute(call.driver().profile(device), device,
                                                    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH, &most);
                       *width = static_cast<size_t>(most);
                       return CUDA_SUCCESS;
                     });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return with_device(device, value != nullptr, [&](Call& call) {
    return maya::cuda::device_attribute(call.driver().profile(device), device, attribute, value)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuDeviceGetHostAtomicCapabilities(unsigned int* capabilities, const CUatomicOperation* operations,
                                           unsigned int count, CUdevice device) {
  return with_device(device, maya::cuda::valid_atomic_operations(capabilities, operations, count), [&](Call&) {
    for (unsigned int i = 0; i < count; ++i) capabilities[i] = 0;  // a PCIe host: no native atomics
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetNvSciSyncAttributes(void* attributes, CUdevice device, int) {
  return with_device(device, attributes != nullptr, [](Call&) { return CUDA_ERROR_NOT_SUPPORTED; });
}

CUresult cuDeviceGetExecAffinitySupport(int* supported, CUexecAffinityType type, CUdevice device) {
  return with_device(device, supported != nullptr && type == CU_EXEC_AFFINITY_TYPE_SM_COUNT, [&](Call&) {
    *supported = 0;  // only under MPS
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetProperties(CUdevprop* properties, CUdevice device) {
  return with_device(device, properties != nullptr, [&](Call& call) {
    const auto get = [&](CUdevice_attribute attribute) {
      int value = 0;
      maya::cuda::device_attribute(call.driver().profile(device), device, attribute, &value);
      return value;
    };
    properties->maxThreadsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    properties->maxThreadsDim[0] = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
    properties->maxThreadsDim[1] = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
    properties->maxThreadsDim[2] = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
    properties->maxGridSize[0] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
    properties->maxGridSize[1] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
    properties->maxGridSize[2] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
    properties->sharedMemPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    properties->totalConstantMemory = get(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
    properties->SIMDWidth = get(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    properties->memPitch = get(CU_DEVICE_ATTRIBUTE_MAX_PITCH);
    properties->regsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
    properties->clockRate = get(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
    properties->textureAlign = get(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  return with_device(device, major != nullptr && minor != nullptr, [&](Call& call) {
    *major = static_cast<int>(call.driver().profile(device).compute_major);
    *minor = static_cast<int>(call.driver().profile(device).compute_minor);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* bus_id) {
  return enter(Needs::kInitialized, [&](Call& call) {
    if (device == nullptr || bus_id == nullptr) return CUDA_ERROR_INVALID_VALUE;
    // [domain]:[bus]:[device].[function], [domain]:[bus]:[device] or [bus]:[device].[function], all hexadecimal
    unsigned int domain = 0, bus = 0, slot = 0, function = 0;
    if (sscanf(bus_id, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3) {
      domain = 0;
      if (sscanf(bus_id, "%x:%x.%x", &bus, &slot, &function) != 3) return CUDA_ERROR_INVALID_VALUE;
    }
    for (int ordinal = 0; ordinal < call.driver().device_count(); ++ordinal) {
      const maya::device::PciAddress address = maya::device::pci_address(maya::cuda::machine_device(ordinal));
      if (address.domain != domain || address.bus != bus || address.device != slot || function != 0) continue;
      *device = ordinal;
      return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_DEVICE;
  });
}

CUresult cuDeviceGetPCIBusId(char* bus_id, int length, CUdevice device) {
  constexpr int kWholeText_bytes = 13;  // "dddd:bb:dd.f" and the terminator
  return with_device(device, bus_id != nullptr && length >= kWholeText_bytes, [&](Call&) {
    return copy_text(maya::device::pci_bus_id(maya::cuda::machine_device(device), 4), bus_id, length);
  });
}

CUresult cuDeviceRegisterAsyncNotification(CUdevice device, CUasyncCallback callback, void*,
                                           CUasyncCallbackHandle* handle) {
  return with_device(device, callback != nullptr && handle != nullptr, [](Call&) { return CUDA_ERROR_NOT_SUPPORTED; });
}

CUresult cuDeviceUnregisterAsyncNotification(CUdevice device, CUasyncCallbackHandle handle) {
  return with_device(device, handle != nullptr, [](Call&) { return CUDA_ERROR_NOT_SUPPORTED; });
}

CUresult cuDeviceCanAccessPeer(int* access, CUdevice device, CUdevice peer) {
  return with_device(device, access != nullptr, [&](Call& call) {
    if (!known(call, peer)) return CUDA_ERROR_INVALID_DEVICE;
    *access = device != peer;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice source, CUdevice destination) {
  return with_device(source, value != nullptr, [&](Call& call) {
    if (!known(call, destination) || source == destination) return CUDA_ERROR_INVALID_DEVICE;
    const bool nvlink = call.driver().profile(source).nvlink_bandwidth > 0;
    switch (attribute) {
      case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
        *value = 0;
        return CUDA_SUCCESS;  // all pairs alike
      case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
      case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
        *value = 1;
        return CUDA_SUCCESS;
      case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
        *value = nvlink;
        return CUDA_SUCCESS;
      case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED:
        *value = 0;
        return CUDA_SUCCESS;
      default:
        return CUDA_ERROR_INVALID_VALUE;
    }
  });
}

CUresult cuDeviceGetP2PAtomicCapabilities(unsigned int* capabilities, const CUatomicOperation* operations,
                                          unsigned int count, CUdevice source, CUdevice destination) {
  return with_device(source, maya::cuda::valid_atomic_operations(capabilities, operations, count), [&](Call& call) {
    if (!known(call, destination) || source == destination) return CUDA_ERROR_INVALID_DEVICE;
    const unsigned int all = CU_ATOMIC_CAPABILITY_SIGNED | CU_ATOMIC_CAPABILITY_UNSIGNED |
                             CU_ATOMIC_CAPABILITY_REDUCTION | CU_ATOMIC_CAPABILITY_SCALAR_32 |
                             CU_ATOMIC_CAPABILITY_SCALAR_64;
    for (unsigned int i = 0; i < count; ++i)
      capabilities[i] = call.driver().profile(source).nvlink_bandwidth > 0 ? all : 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target, CUflushGPUDirectRDMAWritesScope scope) {
  return enter(Needs::kContext, [&](Call&) {
    const bool valid =
        target == CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX &&
        (scope == CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER || scope == CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES);
    return valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}
