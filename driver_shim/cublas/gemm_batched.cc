// Batches of equal matrix products: pointer arrays and strided, 32-bit and 64-bit sizes.
#include "driver_shim/common/api.h"
#include "driver_shim/cublas/gemm_call.h"
#include "driver_shim/cublas/types.h"

namespace maya::cublas {
namespace {

struct Sizes {
  cublasOperation_t transa, transb;
  int64_t m, n, k;
};

GemmCall make_call(const char* api, const Sizes& sizes, int64_t batch) {
  GemmCall call;
  call.api = api;
  call.transa = sizes.transa, call.transb = sizes.transb;
  call.m = sizes.m, call.n = sizes.n, call.k = sizes.k;
  call.batch = batch;
  return call;
}

template <typename T>
void set_scalars(GemmCall* call, const T* alpha, const T* beta) {
  call->alpha = alpha, call->beta = beta, call->alpha_type = call->beta_type = kCudaType<T>;
  call->compute = default_compute_type(kCudaType<T>);
}

void set_scalars(GemmCall* call, const void* alpha, const void* beta, cublasComputeType_t compute) {
  call->alpha = alpha, call->beta = beta, call->compute = compute;
  call->alpha_type = call->beta_type = scalar_type(compute, call->c.type);
}

}  // namespace
}  // namespace maya::cublas

using namespace maya::cublas;

#define GEMM_BATCHED(NAME, T, INT)                                                                                     \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, INT m,       \
                               INT n, INT k, const T* alpha, const T* const A[], INT lda, const T* const B[], INT ldb, \
                               const T* beta, T* const C[], INT ldc, INT batch) {                                      \
    GemmCall call = make_call(#NAME, {transa, transb, m, n, k}, batch);                                                \
    call.pointer_arrays = true;                                                                                        \
    call.a = {A, kCudaType<T>, lda}, call.b = {B, kCudaType<T>, ldb}, call.c = {C, kCudaType<T>, ldc};                 \
    set_scalars(&call, alpha, beta);                                                                                   \
    return run(handle, call);                                                                                          \
  }
#define GEMM_BATCHED_BOTH(NAME, T) GEMM_BATCHED(NAME, T, int) GEMM_BATCHED(NAME##_64, T, int64_t)

GEMM_BATCHED_BOTH(cublasHgemmBatched, __half)
GEMM_BATCHED_BOTH(cublasSgemmBatched, float)
GEMM_BATCHED_BOTH(cublasDgemmBatched, double)
GEMM_BATCHED_BOTH(cublasCgemmBatched, cuComplex)
GEMM_BATCHED_BOTH(cublasZgemmBatched, cuDoubleComplex)
GEMM_BATCHED_BOTH(cublasCgemm3mBatched, cuComplex)

#define GEMM_STRIDED(NAME, T, INT)                                                                                    \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, INT m,      \
                               INT n, INT k, const T* alpha, const T* A, INT lda, long long int stride_a, const T* B, \
                               INT ldb, long long int stride_b, const T* beta, T* C, INT ldc, long long int stride_c, \
                               INT batch) {                                                                           \
    GemmCall call = make_call(#NAME, {transa, transb, m, n, k}, batch);                                               \
    call.a = {A, kCudaType<T>, lda, stride_a}, call.b = {B, kCudaType<T>, ldb, stride_b},                             \
    call.c = {C, kCudaType<T>, ldc, stride_c};                                                                        \
    set_scalars(&call, alpha, beta);                                                                                  \
    return run(handle, call);                                                                                         \
  }
#define GEMM_STRIDED_BOTH(NAME, T) GEMM_STRIDED(NAME, T, int) GEMM_STRIDED(NAME##_64, T, int64_t)

GEMM_STRIDED_BOTH(cublasHgemmStridedBatched, __half)
GEMM_STRIDED_BOTH(cublasSgemmStridedBatched, float)
GEMM_STRIDED_BOTH(cublasDgemmStridedBatched, double)
GEMM_STRIDED_BOTH(cublasCgemmStridedBatched, cuComplex)
GEMM_STRIDED_BOTH(cublasZgemmStridedBatched, cuDoubleComplex)
GEMM_STRIDED_BOTH(cublasCgemm3mStridedBatched, cuComplex)

#define GEMM_BATCHED_EX(NAME, INT)                                                                                     \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, INT m,       \
                               INT n, INT k, const void* alpha, const void* const A[], cudaDataType a_type, INT lda,   \
                               const void* const B[], cudaDataType b_type, INT ldb, const void* beta, void* const C[], \
                               cudaDataType c_type, INT ldc, INT batch, cublasComputeType_t compute,                   \
                               cublasGemmAlgo_t) {                                                                     \
    GemmCall call = make_call(#NAME, {transa, transb, m, n, k}, batch);                                                \
    call.pointer_arrays = true;                                                                                        \
    call.a = {A, a_type, lda}, call.b = {B, b_type, ldb}, call.c = {C, c_type, ldc};                                   \
    set_scalars(&call, alpha, beta, compute);                                                                          \
    return run_checked_types(handle, call);                                                                            \
  }

GEMM_BATCHED_EX(cublasGemmBatchedEx, int)
GEMM_BATCHED_EX(cublasGemmBatchedEx_64, int64_t)

#define GEMM_STRIDED_EX(NAME, INT)                                                                                 \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, INT m,   \
                               INT n, INT k, const void* alpha, const void* A, cudaDataType a_type, INT lda,       \
                               long long int stride_a, const void* B, cudaDataType b_type, INT ldb,                \
                               long long int stride_b, const void* beta, void* C, cudaDataType c_type, INT ldc,    \
                               long long int stride_c, INT batch, cublasComputeType_t compute, cublasGemmAlgo_t) { \
    GemmCall call = make_call(#NAME, {transa, transb, m, n, k}, batch);                                            \
    call.a = {A, a_type, lda, stride_a}, call.b = {B, b_type, ldb, stride_b}, call.c = {C, c_type, ldc, stride_c}; \
    set_scalars(&call, alpha, beta, compute);                                                                      \
    return run_checked_types(handle, call);                                                                        \
  }

GEMM_STRIDED_EX(cublasGemmStridedBatchedEx, int)
GEMM_STRIDED_EX(cublasGemmStridedBatchedEx_64, int64_t)
