// cuBLAS' types in terms of the trace's DataType, for cublas and cublasLt.
#pragma once

#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <library_types.h>

#include <cstdint>

#include "driver_shim/common/sizes.h"
#include "predictor/core/operation.h"

namespace maya::cublas {

// kNone for types that the trace does not know (4-bit integers, 6-bit floats, integer complex types).
DataType data_type(cudaDataType type);
// Bits of one element as stored in memory; 0 for a value that is no cudaDataType.
uint32_t storage_bits(cudaDataType type);
inline uint64_t storage_bytes(cudaDataType type, uint64_t elements) {
  constexpr uint64_t kBitsPerByte = 8;
  uint64_t bits = 0;
  if (__builtin_mul_overflow(elements, uint64_t{storage_bits(type)}, &bits))
    return shim::times(elements, (storage_bits(type) + kBitsPerByte - 1) / kBitsPerByte);
  return bits / kBitsPerByte + (bits % kBitsPerByte != 0 ? 1 : 0);
}

template <typename T>
inline constexpr cudaDataType kCudaType = CUDA_R_32F;
template <>
inline constexpr cudaDataType kCudaType<double> = CUDA_R_64F;
template <>
inline constexpr cudaDataType kCudaType<__half> = CUDA_R_16F;
template <>
inline constexpr cudaDataType kCudaType<__nv_bfloat16> = CUDA_R_16BF;
template <>
inline constexpr cudaDataType kCudaType<cuComplex> = CUDA_C_32F;
template <>
inline constexpr cudaDataType kCudaType<cuDoubleComplex> = CUDA_C_64F;

inline bool is_complex(cudaDataType type) {
  return type == CUDA_C_16F || type == CUDA_C_16BF || type == CUDA_C_32F || type == CUDA_C_64F || type == CUDA_C_8I;
}

// The type in which products are formed and summed (CUBLAS_COMPUTE_32F_FAST_TF32: kTf32).
DataType compute_data_type(cublasComputeType_t compute);

// The compute type of the typed calls (cublasSgemm, cublasHgemm...).
cublasComputeType_t default_compute_type(cudaDataType type);

// The type of alpha and beta that belongs to a compute type and a C matrix (cuBLAS documentation, table of
// cublasGemmEx).
cudaDataType scalar_type(cublasComputeType_t compute, cudaDataType c_type);

// Whether cublasGemmEx and its batched forms take this combination (the same table). 8-bit floats are cublasLt's alone.
bool supported_types(cublasComputeType_t compute, cudaDataType a_type, cudaDataType b_type, cudaDataType c_type);

// Real operations of one multiplication and addition: a complex multiplication is 6, an addition 2.
int64_t multiply_add_flops(cudaDataType type);

inline bool valid_operation(cublasOperation_t operation) {
  return operation == CUBLAS_OP_N || operation == CUBLAS_OP_T || operation == CUBLAS_OP_C;
}

// The value of the trace's kAlpha and kBeta: 0 zero, 1 one, 2 anything else or not readable. `scalar` is in host
// memory.
int scalar_class(const void* scalar, cudaDataType type);

// What the driver's answer is in cuBLAS' terms.
cublasStatus_t status_of(CUresult result);

}  // namespace maya::cublas
