// Single matrix products: cublas<t>gemm, cublas<t>gemm3m and the forms with explicit types, 32-bit and 64-bit sizes.
#include "driver_shim/common/api.h"
#include "driver_shim/cublas/gemm_call.h"
#include "driver_shim/cublas/types.h"

namespace maya::cublas {
namespace {

template <typename T>
cublasStatus_t gemm(const char* api, cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                    int64_t m, int64_t n, int64_t k, const T* alpha, const T* a, int64_t lda, const T* b, int64_t ldb,
                    const T* beta, T* c, int64_t ldc) {
  GemmCall call;
  call.api = api;
  call.transa = transa, call.transb = transb;
  call.m = m, call.n = n, call.k = k;
  call.a = {a, kCudaType<T>, lda}, call.b = {b, kCudaType<T>, ldb}, call.c = {c, kCudaType<T>, ldc};
  call.alpha = alpha, call.beta = beta, call.alpha_type = call.beta_type = kCudaType<T>;
  call.compute = default_compute_type(kCudaType<T>);
  return run(handle, call);
}

// cublasGemmEx, and cublasSgemmEx and cublasCgemmEx, whose compute type is fixed.
cublasStatus_t gemm_ex(const char* api, cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                       int64_t m, int64_t n, int64_t k, const void* alpha, const void* a, cudaDataType a_type,
                       int64_t lda, const void* b, cudaDataType b_type, int64_t ldb, const void* beta, void* c,
                       cudaDataType c_type, int64_t ldc, cublasComputeType_t compute) {
  GemmCall call;
  call.api = api;
  call.transa = transa, call.transb = transb;
  call.m = m, call.n = n, call.k = k;
  call.a = {a, a_type, lda}, call.b = {b, b_type, ldb}, call.c = {c, c_type, ldc};
  call.alpha = alpha, call.beta = beta, call.alpha_type = call.beta_type = scalar_type(compute, c_type);
  call.compute = compute;
  return run_checked_types(handle, call);
}

}  // namespace
}  // namespace maya::cublas

using namespace maya::cublas;

#define GEMM(NAME, T, INT)                                                                                            \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, INT m,      \
                               INT n, INT k, const T* alpha, const T* A, INT lda, const T* B, INT ldb, const T* beta, \
                               T* C, INT ldc) {                                                                       \
    return gemm<T>(#NAME, handle, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);                      \
  }
#define GEMM_BOTH(NAME, T) GEMM(NAME, T, int) GEMM(NAME##_64, T, int64_t)

GEMM_BOTH(cublasSgemm_v2, float)
GEMM_BOTH(cublasDgemm_v2, double)
GEMM_BOTH(cublasCgemm_v2, cuComplex)
GEMM_BOTH(cublasZgemm_v2, cuDoubleComplex)
GEMM_BOTH(cublasHgemm, __half)
GEMM_BOTH(cublasCgemm3m, cuComplex)
GEMM_BOTH(cublasZgemm3m, cuDoubleComplex)

#define GEMM_TYPED(NAME, T, INT)                                                                                   \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, INT m,   \
                               INT n, INT k, const T* alpha, const void* A, cudaDataType a_type, INT lda,          \
                               const void* B, cudaDataType b_type, INT ldb, const T* beta, void* C,                \
                               cudaDataType c_type, INT ldc) {                                                     \
    return gemm_ex(#NAME, handle, transa, transb, m, n, k, alpha, A, a_type, lda, B, b_type, ldb, beta, C, c_type, \
                   ldc, CUBLAS_COMPUTE_32F);                                                                       \
  }
#define GEMM_TYPED_BOTH(NAME, T) GEMM_TYPED(NAME, T, int) GEMM_TYPED(NAME##_64, T, int64_t)

GEMM_TYPED_BOTH(cublasSgemmEx, float)
GEMM_TYPED_BOTH(cublasCgemmEx, cuComplex)
GEMM_TYPED_BOTH(cublasCgemm3mEx, cuComplex)

#define GEMM_EX(NAME, INT)                                                                                         \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, INT m,   \
                               INT n, INT k, const void* alpha, const void* A, cudaDataType a_type, INT lda,       \
                               const void* B, cudaDataType b_type, INT ldb, const void* beta, void* C,             \
                               cudaDataType c_type, INT ldc, cublasComputeType_t compute, cublasGemmAlgo_t) {      \
    return gemm_ex(#NAME, handle, transa, transb, m, n, k, alpha, A, a_type, lda, B, b_type, ldb, beta, C, c_type, \
                   ldc, compute);                                                                                  \
  }

GEMM_EX(cublasGemmEx, int)
GEMM_EX(cublasGemmEx_64, int64_t)
