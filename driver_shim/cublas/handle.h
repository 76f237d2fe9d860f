// What stands behind a cublasHandle_t. As in cuBLAS, one handle is used by one thread at a time; two handles are
// independent.
#pragma once

#include <cublas_v2.h>
#include <cuda.h>

#include <cstdint>

struct cublasContext {
  static constexpr uint64_t kMagic =
      0x6d61796163626c73;  // told apart from a destroyed handle or a pointer to something else

  uint64_t magic = kMagic;
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasAtomicsMode_t atomics_mode = CUBLAS_ATOMICS_NOT_ALLOWED;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
  int tf32_override = -1;  // NVIDIA_TF32_OVERRIDE: 0 forbids TF32, -1 not set
  int sm_count_target = 0;
  cublasEmulationStrategy_t emulation_strategy = CUBLAS_EMULATION_STRATEGY_DEFAULT;
  cudaEmulationSpecialValuesSupport special_values = CUDA_EMULATION_SPECIAL_VALUES_SUPPORT_DEFAULT;
  cudaEmulationMantissaControl mantissa_control = CUDA_EMULATION_MANTISSA_CONTROL_DYNAMIC;
  int max_mantissa_bits = 0;
  int mantissa_bit_offset = 0;
  int* mantissa_bit_count = nullptr;

  CUcontext context = nullptr;
  CUdeviceptr default_workspace = 0;  // charged to the workspaces layer when the handle is created
  uint64_t default_workspace_bytes = 0;
  uint64_t workspace_bytes = 0;  // of the workspace in use: the default one or the user's

  bool alive() const { return magic == kMagic; }
  CUstream cu_stream() const { return reinterpret_cast<CUstream>(stream); }
};

namespace maya::cublas {

// Bytes of the default workspace pool, by compute capability (cuBLAS documentation, "cublasSetWorkspace": 32 MiB on
// Hopper, 4 MiB recommended elsewhere; the pool elsewhere is two blocks of 4096 KiB and eight of 16 KiB, as the
// documented default of CUBLAS_WORKSPACE_CONFIG writes it).
uint64_t default_workspace_bytes(int compute_capability_major);

inline bool usable(cublasHandle_t handle) { return handle != nullptr && handle->alive(); }

// The type in which the products of a call with single precision operands are formed under the handle's math mode.
bool tf32_allowed(const cublasContext& handle);

}  // namespace maya::cublas
