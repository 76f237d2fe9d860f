// CUkernel functions (library management of the CUDA driver API), and what they share with the CUfunction group.
#include "driver_shim/cuda/kernel.h"

#include <algorithm>

#include "driver_shim/cuda/gate.h"
#include "driver_shim/cuda/loaded_image.h"

namespace maya::cuda {

namespace {

constexpr int kMaximumNonPortableCluster = 16;

int default_dynamic_shared(const device::KernelInfo& info) {
  constexpr uint32_t kDefaultShared_bytes = 48 << 10;
  return static_cast<int>(kDefaultShared_bytes - std::min(kDefaultShared_bytes, info.static_shared_bytes));
}

std::span<const device::ScalarSlot> first_scalars(const device::KernelBehavior& behavior) {
  const std::span<const device::ScalarSlot> all(device::shape_scalars(behavior));
  return all.first(std::min<size_t>(all.size(), kMostScalars));
}

uint32_t next_stamp() {
  static constinit std::atomic<uint32_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

constinit std::atomic<const device::HandlePool<Kernel>*> known_kernels{nullptr};

void Kernel::renew_stamp() { stamp.store(next_stamp(), std::memory_order_relaxed); }

Kernel::Kernel(const device::KernelInfo& kernel_info, uint64_t section_bytes, LoadedImage* owner)
    : info(kernel_info),
      behavior(device::classify(info)),
      image(owner),
      code_bytes(section_bytes),
      shape_scalars(first_scalars(*behavior)),
      pointers(device::watched_pointers(*behavior)),
      key_scalars(static_cast<uint32_t>(shape_scalars.size())),
      stamp(next_stamp()),
      max_dynamic_shared_bytes(default_dynamic_shared(info)),
      required_cluster{static_cast<int32_t>(info.required_cluster[0]), static_cast<int32_t>(info.required_cluster[1]),
                       static_cast<int32_t>(info.required_cluster[2])} {}

CUresult load_kernel_slow(Kernel& kernel, Driver& driver, Context& context) {
  return kernel.image->load(driver, context, kernel);
}

CUresult kernel_attribute(const Kernel& kernel, const device::DeviceProfile& profile, CUfunction_attribute attribute,
                          int* value) {
  const device::KernelInfo& info = kernel.info;
  const auto device_architecture = static_cast<int>(profile.compute_major * 10 + profile.compute_minor);
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = static_cast<int>(std::min(info.max_threads, profile.threads_per_block));
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *value = static_cast<int>(info.static_shared_bytes);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      *value = static_cast<int>(info.constant_bytes);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      *value = static_cast<int>(info.local_bytes);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *value = static_cast<int>(info.registers);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      *value = static_cast<int>(info.ptx_version);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      // Text is compiled for the device; a cubin keeps the architecture it was made for.
      *value = kernel.code_bytes == 0 ? device_architecture : static_cast<int>(info.architecture);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
      *value = 0;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = kernel.max_dynamic_shared_bytes.load(std::memory_order_relaxed);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *value = kernel.preferred_shared_carveout.load(std::memory_order_relaxed);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
      *value = 0;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      *value =
          kernel.required_cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH].load(std::memory_order_relaxed);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      *value = kernel.non_portable_cluster_allowed.load(std::memory_order_relaxed);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      *value = kernel.cluster_scheduling_policy.load(std::memory_order_relaxed);
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult set_kernel_attribute(Kernel& kernel, const device::DeviceProfile& profile, CUfunction_attribute attribute,
                              int value) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      if (value < 0 ||
          static_cast<uint64_t>(value) + kernel.info.static_shared_bytes > profile.shared_bytes_per_block_optin)
        return CUDA_ERROR_INVALID_VALUE;
      kernel.max_dynamic_shared_bytes.store(value, std::memory_order_relaxed);
      kernel.renew_stamp();
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
      kernel.preferred_shared_carveout.store(value, std::memory_order_relaxed);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      if (value < 0 || value > kMaximumNonPortableCluster) return CUDA_ERROR_INVALID_VALUE;
      if (kernel.info.required_cluster[0] != 0) return CUDA_ERROR_NOT_PERMITTED;
      kernel.required_cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH].store(value,
                                                                                          std::memory_order_relaxed);
      kernel.renew_stamp();
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      if (value != 0 && value != 1) return CUDA_ERROR_INVALID_VALUE;
      kernel.non_portable_cluster_allowed.store(value, std::memory_order_relaxed);
      kernel.renew_stamp();
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      if (value < CU_CLUSTER_SCHEDULING_POLICY_DEFAULT || value > CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING)
        return CUDA_ERROR_INVALID_VALUE;
      kernel.cluster_scheduling_policy.store(value, std::memory_order_relaxed);
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult kernel_parameter(const Kernel& kernel, size_t index, size_t* offset, size_t* size) {
  if (offset == nullptr || index >= kernel.info.parameters.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = kernel.info.parameters[index].offset;
  if (size != nullptr) *size = kernel.info.parameters[index].size;
  return CUDA_SUCCESS;
}

device::BlockNeeds block_needs(const Kernel& kernel, uint32_t threads, uint64_t dynamic_shared_bytes) {
  device::BlockNeeds needs;
  needs.threads = threads;
  needs.registers = kernel.info.registers;
  needs.static_shared_bytes = kernel.info.static_shared_bytes;
  needs.dynamic_shared_bytes = dynamic_shared_bytes;
  needs.max_threads = kernel.info.max_threads;
  needs.max_dynamic_shared_bytes = kernel.max_dynamic_shared_bytes.load(std::memory_order_relaxed);
  needs.carveout_percent = kernel.preferred_shared_carveout.load(std::memory_order_relaxed);
  return needs;
}

namespace {

// The kernel behind the handle and a valid device; the documented error otherwise.
template <typename Body>
CUresult with_kernel(CUkernel handle, Body&& body) {
  return enter(Needs::kInitialized, [&](Call& call) {
    Kernel* kernel = resolve_kernel(handle);
    return kernel == nullptr ? CUDA_ERROR_INVALID_HANDLE : body(call, *kernel);
  });
}

bool valid_device(Call& call, CUdevice device) { return device >= 0 && device < call.driver().device_count(); }

}  // namespace

}  // namespace maya::cuda

using maya::cuda::Call;
using maya::cuda::Kernel;

CUresult cuKernelGetFunction(CUfunction* function, CUkernel handle) {
  return maya::cuda::enter(maya::cuda::Needs::kContext, [&](Call& call) {
    if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Kernel* kernel = maya::cuda::resolve_kernel(handle);
    if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const CUresult status = maya::cuda::load_kernel(*kernel, call.driver(), call.context());
    if (status == CUDA_SUCCESS) *function = reinterpret_cast<CUfunction>(kernel);
    return status;
  });
}

CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel handle) {
  return maya::cuda::with_kernel(handle, [&](Call&, Kernel& kernel) {
    if (library == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (kernel.image->library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    *library = reinterpret_cast<CUlibrary>(kernel.image->library);
    return CUDA_SUCCESS;
  });
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel handle, CUdevice device) {
  return maya::cuda::with_kernel(handle, [&](Call& call, Kernel& kernel) {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!maya::cuda::valid_device(call, device)) return CUDA_ERROR_INVALID_DEVICE;
    return maya::cuda::kernel_attribute(kernel, call.driver().profile(device), attribute, value);
  });
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle, CUdevice device) {
  return maya::cuda::with_kernel(handle, [&](Call& call, Kernel& kernel) {
    if (!maya::cuda::valid_device(call, device)) return CUDA_ERROR_INVALID_DEVICE;
    return maya::cuda::set_kernel_attribute(kernel, call.driver().profile(device), attribute, value);
  });
}

CUresult cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache config, CUdevice device) {
  return maya::cuda::with_kernel(handle, [&](Call& call, Kernel& kernel) {
    if (!maya::cuda::valid_device(call, device)) return CUDA_ERROR_INVALID_DEVICE;
    if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
    kernel.cache_preference.store(config, std::memory_order_relaxed);
    return CUDA_SUCCESS;
  });
}

CUresult cuKernelGetName(const char** name, CUkernel handle) {
  // Documented for a null name and a null kernel alike.
  if (name == nullptr || handle == nullptr)
    return maya::cuda::enter(maya::cuda::Needs::kInitialized, [](Call&) { return CUDA_ERROR_INVALID_VALUE; });
  return maya::cuda::with_kernel(handle, [&](Call&, Kernel& kernel) {
    *name = kernel.info.name.c_str();
    return CUDA_SUCCESS;
  });
}

// A kernel is looked into in a context; without one there is nothing to look into.
CUresult cuKernelGetParamInfo(CUkernel handle, size_t index, size_t* offset, size_t* size) {
  return maya::cuda::with_kernel(handle, [&](Call& call, Kernel& kernel) {
    return call.thread().current() == nullptr ? CUDA_ERROR_INVALID_CONTEXT
                                              : maya::cuda::kernel_parameter(kernel, index, offset, size);
  });
}

CUresult cuKernelGetParamCount(CUkernel handle, size_t* count) {
  return maya::cuda::with_kernel(handle, [&](Call& call, Kernel& kernel) {
    if (call.thread().current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = kernel.info.parameters.size();
    return CUDA_SUCCESS;
  });
}
