// cublasCreate and the settings that live in a handle.
#include "driver_shim/cublas/handle.h"

#include <cstdlib>
#include <new>

#include "driver_shim/common/api.h"
#include "driver_shim/common/current_context.h"
#include "driver_shim/common/driver_access.h"
#include "driver_shim/cublas/types.h"

namespace maya::cublas {

uint64_t default_workspace_bytes(int compute_capability_major) {
  constexpr uint64_t kKiB = 1024;
  return compute_capability_major == 9 ? 32 * kKiB * kKiB : 2 * 4096 * kKiB + 8 * 16 * kKiB;
}

bool tf32_allowed(const cublasContext& handle) {
  if (handle.tf32_override >= 0) return handle.tf32_override != 0;
  // Flags above the modes' own bits (MATH_DISALLOW_REDUCED_PRECISION_REDUCTION) may be or-ed in.
  const int mode = handle.math_mode & 0xf;
  return mode == CUBLAS_TF32_TENSOR_OP_MATH || mode == CUBLAS_TENSOR_OP_MATH;
}

namespace {

int compute_capability_major() {
  CUdevice device = 0;
  int major = 0;
  if (MAYA_DRIVER(cuCtxGetDevice)(&device) != CUDA_SUCCESS) return 0;
  if (MAYA_DRIVER(cuDeviceGetAttribute)(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) != CUDA_SUCCESS)
    return 0;
  return major;
}

cublasStatus_t create(cublasHandle_t* handle) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = nullptr;
  const MayaTable* table = shim::driver();
  if (table == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  CUcontext context = nullptr;
  if (const CUresult status = shim::make_context_current(&context); status != CUDA_SUCCESS)
    return status == CUDA_ERROR_OUT_OF_MEMORY ? CUBLAS_STATUS_ALLOC_FAILED : CUBLAS_STATUS_NOT_INITIALIZED;
  auto* made = new (std::nothrow) cublasContext;
  if (made == nullptr) return CUBLAS_STATUS_ALLOC_FAILED;
  made->context = context;
  made->default_workspace_bytes = default_workspace_bytes(compute_capability_major());
  made->workspace_bytes = made->default_workspace_bytes;
  if (const char* text = std::getenv("NVIDIA_TF32_OVERRIDE"); text != nullptr && (*text == '0' || *text == '1'))
    made->tf32_override = *text - '0';
  const CUresult status = table->allocate(&made->default_workspace, made->default_workspace_bytes,
                                          ChargeLayer::kWorkspaces, "cublasCreate_v2");
  if (status != CUDA_SUCCESS) {
    delete made;
    return status == CUDA_ERROR_OUT_OF_MEMORY ? CUBLAS_STATUS_ALLOC_FAILED : CUBLAS_STATUS_NOT_INITIALIZED;
  }
  *handle = made;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t destroy(cublasHandle_t handle) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  // The workspace belongs to the context of the handle, which need not be the current one, nor alive any more when the
  // program ends.
  const auto push = MAYA_DRIVER(cuCtxPushCurrent_v2);
  if (handle->default_workspace != 0 && push != nullptr && push(handle->context) == CUDA_SUCCESS) {
    MAYA_DRIVER(cuMemFree_v2)(handle->default_workspace);
    CUcontext popped = nullptr;
    MAYA_DRIVER(cuCtxPopCurrent_v2)(&popped);
  }
  handle->magic = 0;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

// One setting of a handle, written or read.
template <typename Value>
cublasStatus_t get(cublasHandle_t handle, Value cublasContext::*member, Value* value) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (value == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *value = handle->*member;
  return CUBLAS_STATUS_SUCCESS;
}

template <typename Value>
cublasStatus_t set(cublasHandle_t handle, Value cublasContext::*member, Value value, bool valid) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!valid) return CUBLAS_STATUS_INVALID_VALUE;
  handle->*member = value;
  return CUBLAS_STATUS_SUCCESS;
}

bool valid_math_mode(cublasMath_t mode) {
  const int flags = CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
  switch (mode & ~flags) {
    case CUBLAS_DEFAULT_MATH:
    case CUBLAS_TENSOR_OP_MATH:
    case CUBLAS_PEDANTIC_MATH:
    case CUBLAS_TF32_TENSOR_OP_MATH:
    case CUBLAS_FP32_EMULATED_BF16X9_MATH:
    case CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH:
      return true;
    default:
      return false;
  }
}

}  // namespace
}  // namespace maya::cublas

using namespace maya::cublas;

MAYA_API cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) { return create(handle); }

MAYA_API cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) { return destroy(handle); }

MAYA_API cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->stream = stream;
  // "cublasSetStream() unconditionally resets the workspace back to the default workspace pool."
  handle->workspace_bytes = handle->default_workspace_bytes;
  return CUBLAS_STATUS_SUCCESS;
}

MAYA_API cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  return get(handle, &cublasContext::stream, stream);
}

MAYA_API cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes) {
  constexpr uintptr_t kAlignmentBytes = 256;
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (reinterpret_cast<uintptr_t>(workspace) % kAlignmentBytes != 0) return CUBLAS_STATUS_INVALID_VALUE;
  handle->workspace_bytes = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

MAYA_API cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  return set(handle, &cublasContext::pointer_mode, mode,
             mode == CUBLAS_POINTER_MODE_HOST || mode == CUBLAS_POINTER_MODE_DEVICE);
}

MAYA_API cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
  return get(handle, &cublasContext::pointer_mode, mode);
}

MAYA_API cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode) {
  return set(handle, &cublasContext::atomics_mode, mode,
             mode == CUBLAS_ATOMICS_NOT_ALLOWED || mode == CUBLAS_ATOMICS_ALLOWED);
}

MAYA_API cublasStatus_t cublasGetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t* mode) {
  return get(handle, &cublasContext::atomics_mode, mode);
}

MAYA_API cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  return set(handle, &cublasContext::math_mode, mode, valid_math_mode(mode));
}

MAYA_API cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  return get(handle, &cublasContext::math_mode, mode);
}

MAYA_API cublasStatus_t cublasSetSmCountTarget(cublasHandle_t handle, int count) {
  return set(handle, &cublasContext::sm_count_target, count, count >= 0);
}

MAYA_API cublasStatus_t cublasGetSmCountTarget(cublasHandle_t handle, int* count) {
  return get(handle, &cublasContext::sm_count_target, count);
}

MAYA_API cublasStatus_t cublasSetEmulationStrategy(cublasHandle_t handle, cublasEmulationStrategy_t strategy) {
  return set(handle, &cublasContext::emulation_strategy, strategy,
             strategy >= 0 && strategy <= CUBLAS_EMULATION_STRATEGY_EAGER);
}

MAYA_API cublasStatus_t cublasGetEmulationStrategy(cublasHandle_t handle, cublasEmulationStrategy_t* strategy) {
  return get(handle, &cublasContext::emulation_strategy, strategy);
}

MAYA_API cublasStatus_t cublasSetEmulationSpecialValuesSupport(cublasHandle_t handle,
                                                               cudaEmulationSpecialValuesSupport mask) {
  return set(handle, &cublasContext::special_values, mask, true);
}

MAYA_API cublasStatus_t cublasGetEmulationSpecialValuesSupport(cublasHandle_t handle,
                                                               cudaEmulationSpecialValuesSupport* mask) {
  return get(handle, &cublasContext::special_values, mask);
}

MAYA_API cublasStatus_t cublasSetFixedPointEmulationMantissaControl(cublasHandle_t handle,
                                                                    cudaEmulationMantissaControl control) {
  return set(handle, &cublasContext::mantissa_control, control,
             control == CUDA_EMULATION_MANTISSA_CONTROL_DYNAMIC || control == CUDA_EMULATION_MANTISSA_CONTROL_FIXED);
}

MAYA_API cublasStatus_t cublasGetFixedPointEmulationMantissaControl(cublasHandle_t handle,
                                                                    cudaEmulationMantissaControl* control) {
  return get(handle, &cublasContext::mantissa_control, control);
}

MAYA_API cublasStatus_t cublasSetFixedPointEmulationMaxMantissaBitCount(cublasHandle_t handle, int count) {
  return set(handle, &cublasContext::max_mantissa_bits, count, count >= 0);
}

MAYA_API cublasStatus_t cublasGetFixedPointEmulationMaxMantissaBitCount(cublasHandle_t handle, int* count) {
  return get(handle, &cublasContext::max_mantissa_bits, count);
}

MAYA_API cublasStatus_t cublasSetFixedPointEmulationMantissaBitOffset(cublasHandle_t handle, int offset) {
  return set(handle, &cublasContext::mantissa_bit_offset, offset, true);
}

MAYA_API cublasStatus_t cublasGetFixedPointEmulationMantissaBitOffset(cublasHandle_t handle, int* offset) {
  return get(handle, &cublasContext::mantissa_bit_offset, offset);
}

MAYA_API cublasStatus_t cublasSetFixedPointEmulationMantissaBitCountPointer(cublasHandle_t handle, int* count) {
  return set(handle, &cublasContext::mantissa_bit_count, count, true);
}

MAYA_API cublasStatus_t cublasGetFixedPointEmulationMantissaBitCountPointer(cublasHandle_t handle, int** count) {
  return get(handle, &cublasContext::mantissa_bit_count, count);
}
