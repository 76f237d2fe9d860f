#include "driver_shim/cublas/types.h"

#include <cstring>

namespace maya::cublas {

DataType data_type(cudaDataType type) {
  switch (type) {
    case CUDA_R_16F:
    case CUDA_C_16F:
      return DataType::kFloat16;
    case CUDA_R_16BF:
    case CUDA_C_16BF:
      return DataType::kBfloat16;
    case CUDA_R_32F:
      return DataType::kFloat32;
    case CUDA_R_64F:
      return DataType::kFloat64;
    case CUDA_C_32F:
      return DataType::kComplex64;
    case CUDA_C_64F:
      return DataType::kComplex128;
    case CUDA_R_8I:
      return DataType::kInt8;
    case CUDA_R_8U:
    case CUDA_R_8F_UE8M0:
      return DataType::kUint8;
    case CUDA_R_16I:
      return DataType::kInt16;
    case CUDA_R_32I:
      return DataType::kInt32;
    case CUDA_R_64I:
      return DataType::kInt64;
    case CUDA_R_8F_E4M3:
      return DataType::kFloat8E4m3;
    case CUDA_R_8F_E5M2:
      return DataType::kFloat8E5m2;
    case CUDA_R_4F_E2M1:
      return DataType::kFloat4E2m1;
    default:
      return DataType::kNone;
  }
}

uint32_t storage_bits(cudaDataType type) {
  switch (type) {
    case CUDA_R_4I:
    case CUDA_R_4U:
    case CUDA_R_4F_E2M1:
      return 4;
    case CUDA_R_6F_E2M3:
    case CUDA_R_6F_E3M2:
      return 6;
    case CUDA_C_4I:
    case CUDA_C_4U:
    case CUDA_R_8I:
    case CUDA_R_8U:
    case CUDA_R_8F_E4M3:
    case CUDA_R_8F_E5M2:
    case CUDA_R_8F_UE8M0:
      return 8;
    case CUDA_R_16F:
    case CUDA_R_16BF:
    case CUDA_R_16I:
    case CUDA_R_16U:
    case CUDA_C_8I:
    case CUDA_C_8U:
      return 16;
    case CUDA_R_32F:
    case CUDA_R_32I:
    case CUDA_R_32U:
    case CUDA_C_16F:
    case CUDA_C_16BF:
    case CUDA_C_16I:
    case CUDA_C_16U:
      return 32;
    case CUDA_R_64F:
    case CUDA_R_64I:
    case CUDA_R_64U:
    case CUDA_C_32F:
    case CUDA_C_32I:
    case CUDA_C_32U:
      return 64;
    case CUDA_C_64F:
    case CUDA_C_64I:
    case CUDA_C_64U:
      return 128;
  }
  return 0;
}

DataType compute_data_type(cublasComputeType_t compute) {
  switch (compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_FAST_16F:
      return DataType::kFloat16;
    case CUBLAS_COMPUTE_32F_FAST_16BF:
      return DataType::kBfloat16;
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      return DataType::kTf32;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_EMULATED_16BFX9:
      return DataType::kFloat32;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
    case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT:
      return DataType::kFloat64;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return DataType::kInt32;
  }
  return DataType::kNone;
}

cublasComputeType_t default_compute_type(cudaDataType type) {
  switch (type) {
    case CUDA_R_16F:
      return CUBLAS_COMPUTE_16F;
    case CUDA_R_64F:
    case CUDA_C_64F:
      return CUBLAS_COMPUTE_64F;
    case CUDA_R_32I:
      return CUBLAS_COMPUTE_32I;
    default:
      return CUBLAS_COMPUTE_32F;
  }
}

cudaDataType scalar_type(cublasComputeType_t compute, cudaDataType c_type) {
  switch (compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return CUDA_R_16F;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
    case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT:
      return is_complex(c_type) ? CUDA_C_64F : CUDA_R_64F;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return CUDA_R_32I;
    default:
      return is_complex(c_type) ? CUDA_C_32F : CUDA_R_32F;
  }
}

bool supported_types(cublasComputeType_t compute, cudaDataType a, cudaDataType b, cudaDataType c) {
  if (a != b) return false;
  const bool single = (a == CUDA_R_32F && c == CUDA_R_32F) || (a == CUDA_C_32F && c == CUDA_C_32F);
  switch (compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return a == CUDA_R_16F && c == CUDA_R_16F;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return a == CUDA_R_8I && c == CUDA_R_32I;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
      return single || (a == CUDA_R_16BF && (c == CUDA_R_16BF || c == CUDA_R_32F)) ||
             (a == CUDA_R_16F && (c == CUDA_R_16F || c == CUDA_R_32F)) || (a == CUDA_R_8I && c == CUDA_R_32F) ||
             (a == CUDA_C_8I && c == CUDA_C_32F);
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
    case CUBLAS_COMPUTE_32F_EMULATED_16BFX9:
      return single;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
    case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT:
      return (a == CUDA_R_64F && c == CUDA_R_64F) || (a == CUDA_C_64F && c == CUDA_C_64F);
  }
  return false;
}

int64_t multiply_add_flops(cudaDataType type) { return is_complex(type) ? 8 : 2; }

namespace {

int class_of(double real, double imaginary) {
  if (imaginary != 0) return 2;
  return real == 0 ? 0 : real == 1 ? 1 : 2;
}

template <typename T>
T load(const void* scalar, int index = 0) {
  T value;
  std::memcpy(&value, static_cast<const char*>(scalar) + index * sizeof(T), sizeof value);
  return value;
}

}  // namespace

int scalar_class(const void* scalar, cudaDataType type) {
  if (scalar == nullptr) return 2;
  switch (type) {
    case CUDA_R_32F:
      return class_of(load<float>(scalar), 0);
    case CUDA_R_64F:
      return class_of(load<double>(scalar), 0);
    case CUDA_C_32F:
      return class_of(load<float>(scalar), load<float>(scalar, 1));
    case CUDA_C_64F:
      return class_of(load<double>(scalar), load<double>(scalar, 1));
    case CUDA_R_32I:
      return class_of(load<int32_t>(scalar), 0);
    // One in IEEE half precision is 0x3c00, in bfloat16 0x3f80; the sign bit of a zero does not matter.
    case CUDA_R_16F:
      return (load<uint16_t>(scalar) & 0x7fff) == 0 ? 0 : load<uint16_t>(scalar) == 0x3c00 ? 1 : 2;
    case CUDA_R_16BF:
      return (load<uint16_t>(scalar) & 0x7fff) == 0 ? 0 : load<uint16_t>(scalar) == 0x3f80 ? 1 : 2;
    default:
      return 2;
  }
}

cublasStatus_t status_of(CUresult result) {
  switch (result) {
    case CUDA_SUCCESS:
      return CUBLAS_STATUS_SUCCESS;
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_INVALID_CONTEXT:
      return CUBLAS_STATUS_NOT_INITIALIZED;
    case CUDA_ERROR_OUT_OF_MEMORY:
      return CUBLAS_STATUS_ALLOC_FAILED;
    case CUDA_ERROR_INVALID_VALUE:
      return CUBLAS_STATUS_INVALID_VALUE;
    default:
      return CUBLAS_STATUS_EXECUTION_FAILED;
  }
}

}  // namespace maya::cublas
