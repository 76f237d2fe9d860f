// BLAS level 1 with explicit types: cublasAxpyEx, cublasDotEx and their like, 32-bit and 64-bit sizes.
#include <cstring>

#include "driver_shim/common/api.h"
#include "driver_shim/cublas/handle.h"
#include "driver_shim/cublas/types.h"
#include "driver_shim/cublas/vector_call.h"

namespace maya::cublas {
namespace {

constexpr uint64_t kLargestScalarBytes = 16;

bool usable_type(cudaDataType type) { return data_type(type) != DataType::kNone; }

VectorCall level1(const char* api, cudaDataType type, int64_t n, int64_t incx, int64_t incy,
                  int64_t flops_per_element) {
  VectorCall call;
  call.api = api;
  call.type = type;
  call.elements = n;
  call.incx = incx, call.incy = incy;
  call.flops = n > 0 ? n * flops_per_element : 0;
  return call;
}

cublasStatus_t axpy(const char* api, cublasHandle_t handle, int64_t n, const void* alpha, Vector x, Vector y) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (alpha == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (!usable_type(x.type) || !usable_type(y.type)) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (n <= 0) return CUBLAS_STATUS_SUCCESS;
  return run(handle, level1(api, x.type, n, x.increment, y.increment, multiply_add_flops(x.type)), {x, y}, {y});
}

// copy and swap: neither computes.
cublasStatus_t move(const char* api, cublasHandle_t handle, int64_t n, Vector x, Vector y, bool both_ways) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!usable_type(x.type) || !usable_type(y.type)) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (n <= 0) return CUBLAS_STATUS_SUCCESS;
  const VectorCall call = level1(api, x.type, n, x.increment, y.increment, 0);
  return both_ways ? run(handle, call, {x, y}, {x, y}) : run(handle, call, {x}, {y});
}

cublasStatus_t scal(const char* api, cublasHandle_t handle, int64_t n, const void* alpha, Vector x) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (alpha == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (!usable_type(x.type)) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (n <= 0) return CUBLAS_STATUS_SUCCESS;
  return run(handle, level1(api, x.type, n, x.increment, 0, multiply_add_flops(x.type) / 2), {x}, {x});
}

cublasStatus_t dot(const char* api, cublasHandle_t handle, int64_t n, Vector x, Vector y, void* result,
                   cudaDataType result_type) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!usable_type(x.type) || !usable_type(y.type) || !usable_type(result_type)) return CUBLAS_STATUS_NOT_SUPPORTED;
  const char zero[kLargestScalarBytes] = {};
  return run_with_result(handle, level1(api, x.type, n, x.increment, y.increment, multiply_add_flops(x.type)), {x, y},
                         result, zero, storage_bytes(result_type, 1));
}

cublasStatus_t reduce(const char* api, cublasHandle_t handle, int64_t n, Vector x, void* result,
                      cudaDataType result_type) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!usable_type(x.type) || !usable_type(result_type)) return CUBLAS_STATUS_NOT_SUPPORTED;
  const char zero[kLargestScalarBytes] = {};
  return run_with_result(handle, level1(api, x.type, n, x.increment, 0, multiply_add_flops(x.type)), {x}, result, zero,
                         storage_bytes(result_type, 1));
}

// Counted from 1, as in level1.cc.
template <typename I>
cublasStatus_t extreme(const char* api, cublasHandle_t handle, int64_t n, Vector x, I* result) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!usable_type(x.type)) return CUBLAS_STATUS_NOT_SUPPORTED;
  const I first = n > 0 && x.increment > 0 ? 1 : 0;
  return run_with_result(handle, level1(api, x.type, n, x.increment, 0, 1), {x}, result, &first, sizeof first);
}

cublasStatus_t rotate(const char* api, cublasHandle_t handle, int64_t n, Vector x, Vector y, const void* parameter) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (parameter == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (!usable_type(x.type) || !usable_type(y.type)) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (n <= 0) return CUBLAS_STATUS_SUCCESS;
  return run(handle, level1(api, x.type, n, x.increment, y.increment, 3 * multiply_add_flops(x.type)), {x, y}, {x, y});
}

}  // namespace
}  // namespace maya::cublas

using namespace maya::cublas;

#define LEVEL1_EX(SUFFIX, INT)                                                                                         \
  MAYA_API cublasStatus_t cublasAxpyEx##SUFFIX(cublasHandle_t handle, INT n, const void* alpha, cudaDataType,          \
                                               const void* x, cudaDataType x_type, INT incx, void* y,                  \
                                               cudaDataType y_type, INT incy, cudaDataType) {                          \
    return axpy("cublasAxpyEx" #SUFFIX, handle, n, alpha, {x, x_type, n, incx}, {y, y_type, n, incy});                 \
  }                                                                                                                    \
  MAYA_API cublasStatus_t cublasCopyEx##SUFFIX(cublasHandle_t handle, INT n, const void* x, cudaDataType x_type,       \
                                               INT incx, void* y, cudaDataType y_type, INT incy) {                     \
    return move("cublasCopyEx" #SUFFIX, handle, n, {x, x_type, n, incx}, {y, y_type, n, incy}, false);                 \
  }                                                                                                                    \
  MAYA_API cublasStatus_t cublasSwapEx##SUFFIX(cublasHandle_t handle, INT n, void* x, cudaDataType x_type, INT incx,   \
                                               void* y, cudaDataType y_type, INT incy) {                               \
    return move("cublasSwapEx" #SUFFIX, handle, n, {x, x_type, n, incx}, {y, y_type, n, incy}, true);                  \
  }                                                                                                                    \
  MAYA_API cublasStatus_t cublasScalEx##SUFFIX(cublasHandle_t handle, INT n, const void* alpha, cudaDataType, void* x, \
                                               cudaDataType x_type, INT incx, cudaDataType) {                          \
    return scal("cublasScalEx" #SUFFIX, handle, n, alpha, {x, x_type, n, incx});                                       \
  }                                                                                                                    \
  MAYA_API cublasStatus_t cublasDotEx##SUFFIX(cublasHandle_t handle, INT n, const void* x, cudaDataType x_type,        \
                                              INT incx, const void* y, cudaDataType y_type, INT incy, void* result,    \
                                              cudaDataType result_type, cudaDataType) {                                \
    return dot("cublasDotEx" #SUFFIX, handle, n, {x, x_type, n, incx}, {y, y_type, n, incy}, result, result_type);     \
  }                                                                                                                    \
  MAYA_API cublasStatus_t cublasDotcEx##SUFFIX(cublasHandle_t handle, INT n, const void* x, cudaDataType x_type,       \
                                               INT incx, const void* y, cudaDataType y_type, INT incy, void* result,   \
                                               cudaDataType result_type, cudaDataType) {                               \
    return dot("cublasDotcEx" #SUFFIX, handle, n, {x, x_type, n, incx}, {y, y_type, n, incy}, result, result_type);    \
  }                                                                                                                    \
  MAYA_API cublasStatus_t cublasNrm2Ex##SUFFIX(cublasHandle_t handle, INT n, const void* x, cudaDataType x_type,       \
                                               INT incx, void* result, cudaDataType result_type, cudaDataType) {       \
    return reduce("cublasNrm2Ex" #SUFFIX, handle, n, {x, x_type, n, incx}, result, result_type);                       \
  }                                                                                                                    \
  MAYA_API cublasStatus_t cublasAsumEx##SUFFIX(cublasHandle_t handle, INT n, const void* x, cudaDataType x_type,       \
                                               INT incx, void* result, cudaDataType result_type, cudaDataType) {       \
    return reduce("cublasAsumEx" #SUFFIX, handle, n, {x, x_type, n, incx}, result, result_type);                       \
  }                                                                                                                    \
  MAYA_API cublasStatus_t cublasIamaxEx##SUFFIX(cublasHandle_t handle, INT n, const void* x, cudaDataType x_type,      \
                                                INT incx, INT* result) {                                               \
    return extreme<INT>("cublasIamaxEx" #SUFFIX, handle, n, {x, x_type, n, incx}, result);                             \
  }                                                                                                                    \
  MAYA_API cublasStatus_t cublasIaminEx##SUFFIX(cublasHandle_t handle, INT n, const void* x, cudaDataType x_type,      \
                                                INT incx, INT* result) {                                               \
    return extreme<INT>("cublasIaminEx" #SUFFIX, handle, n, {x, x_type, n, incx}, result);                             \
  }                                                                                                                    \
  MAYA_API cublasStatus_t cublasRotEx##SUFFIX(cublasHandle_t handle, INT n, void* x, cudaDataType x_type, INT incx,    \
                                              void* y, cudaDataType y_type, INT incy, const void* c, const void* s,    \
                                              cudaDataType, cudaDataType) {                                            \
    return rotate("cublasRotEx" #SUFFIX, handle, n, {x, x_type, n, incx}, {y, y_type, n, incy}, s == nullptr ? s : c); \
  }                                                                                                                    \
  MAYA_API cublasStatus_t cublasRotmEx##SUFFIX(cublasHandle_t handle, INT n, void* x, cudaDataType x_type, INT incx,   \
                                               void* y, cudaDataType y_type, INT incy, const void* param,              \
                                               cudaDataType, cudaDataType) {                                           \
    return rotate("cublasRotmEx" #SUFFIX, handle, n, {x, x_type, n, incx}, {y, y_type, n, incy}, param);               \
  }

LEVEL1_EX(, int)
LEVEL1_EX(_64, int64_t)
