// Context management: flags, limits, cache and shared memory configuration.
#include <cuda.h>

#include "driver_shim/cuda/context_flags.h"
#include "driver_shim/cuda/device_attribute.h"
#include "driver_shim/cuda/gate.h"
#include "driver_shim/cuda/synchronize.h"

using maya::cuda::Call;
using maya::cuda::Context;
using maya::cuda::enter;
using maya::cuda::Needs;

namespace {

constexpr uint64_t kMostFetchGranularity_bytes = 128;
constexpr uint64_t kMostSyncDepth = 24;
constexpr uint64_t kMostStack_bytes =
    512 << 10;  // local memory per thread, CUDA programming guide, technical specifications

// CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH exists below compute capability 9.0 only.
bool limit_exists(const Call& call, CUlimit limit) {
  return limit != CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH || call.driver().profile(call.context().device).compute_major < 9;
}

}  // namespace

CUresult cuCtxGetFlags(unsigned int* flags) {
  return enter(Needs::kContext, [&](Call& call) {
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = call.context().flags.load(std::memory_order_relaxed);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSetFlags(unsigned int flags) {
  return enter(Needs::kContext, [&](Call& call) {
    if (!maya::cuda::valid_context_flags(flags)) return CUDA_ERROR_INVALID_VALUE;
    call.context().flags.store(flags, std::memory_order_relaxed);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) {
  return maya::cuda::with_context(handle, id != nullptr, [&](Call&, Context& context) {
    *id = context.id;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned int* version) {
  return maya::cuda::with_context(handle, version != nullptr, [&](Call&, Context& context) {
    *version = context.api_version;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  return enter(Needs::kContext, [&](Call& call) {
    switch (limit) {
      case CU_LIMIT_STACK_SIZE:
        if (value > kMostStack_bytes) return CUDA_ERROR_INVALID_VALUE;
        value = (value + 15) / 16 * 16;
        break;
      case CU_LIMIT_PRINTF_FIFO_SIZE:
      case CU_LIMIT_MALLOC_HEAP_SIZE:
      case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT:
        break;
      case CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH:
        if (!limit_exists(call, limit)) return CUDA_ERROR_UNSUPPORTED_LIMIT;
        if (value > kMostSyncDepth) return CUDA_ERROR_INVALID_VALUE;
        break;
      case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
        if (value > kMostFetchGranularity_bytes) value = kMostFetchGranularity_bytes;
        break;
      case CU_LIMIT_PERSISTING_L2_CACHE_SIZE: {
        int most = 0;
        maya::cuda::device_attribute(call.driver().profile(call.context().device), call.context().device,
                                     CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, &most);
        if (value > static_cast<size_t>(most)) value = static_cast<size_t>(most);
        break;
      }
      // The rest can only be read, and belongs to CUDA in Graphics.
      case CU_LIMIT_SHMEM_SIZE:
      case CU_LIMIT_CIG_ENABLED:
      case CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED:
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
      default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    call.context().limits[limit].store(value, std::memory_order_relaxed);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  return enter(Needs::kContext, [&](Call& call) {
    if (value == nullptr || limit < 0 || limit >= CU_LIMIT_MAX) return CUDA_ERROR_INVALID_VALUE;
    if (limit >= Context::kLimitCount || !limit_exists(call, limit)) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *value = call.context().limits[limit].load(std::memory_order_relaxed);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
  return enter(Needs::kContext, [&](Call& call) {
    if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *config = static_cast<CUfunc_cache>(call.context().cache_config.load(std::memory_order_relaxed));
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
  return enter(Needs::kContext, [&](Call& call) {
    if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
    call.context().cache_config.store(config, std::memory_order_relaxed);
    return CUDA_SUCCESS;
  });
}

// Devices since Maxwell have banks of four bytes that cannot be changed: setting has no effect.
CUresult cuCtxGetSharedMemConfig(CUsharedconfig* config) {
  return enter(Needs::kContext, [&](Call&) {
    if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig config) {
  return enter(Needs::kContext, [&](Call&) {
    return config < CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE || config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE
               ? CUDA_ERROR_INVALID_VALUE
               : CUDA_SUCCESS;
  });
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return enter(Needs::kContext, [&](Call&) {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = maya::cuda::kGreatestStreamPriority;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxResetPersistingL2Cache() {
  return enter(Needs::kContext, [](Call&) { return CUDA_SUCCESS; });
}

CUresult cuCtxGetExecAffinity(CUexecAffinityParam* parameter, CUexecAffinityType type) {
  return enter(Needs::kContext, [&](Call&) {
    if (parameter == nullptr || type != CU_EXEC_AFFINITY_TYPE_SM_COUNT) return CUDA_ERROR_INVALID_VALUE;
    return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  });
}
