// BLAS level 1: vector operations of the typed interface, 32-bit and 64-bit sizes. A length of zero or less does
// nothing, as documented.
#include "driver_shim/common/api.h"
#include "driver_shim/cublas/handle.h"
#include "driver_shim/cublas/types.h"
#include "driver_shim/cublas/vector_call.h"

namespace maya::cublas {
namespace {

template <typename T>
Vector vector(const T* address, int64_t n, int64_t increment) {
  return {address, kCudaType<T>, n, increment};
}

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

cublasStatus_t checked(cublasHandle_t handle, const void* scalar) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  return scalar == nullptr ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}

template <typename T>
cublasStatus_t axpy(const char* api, cublasHandle_t handle, int64_t n, const T* alpha, const T* x, int64_t incx, T* y,
                    int64_t incy) {
  if (const cublasStatus_t status = checked(handle, alpha); status != CUBLAS_STATUS_SUCCESS || n <= 0) return status;
  return run(handle, level1(api, kCudaType<T>, n, incx, incy, multiply_add_flops(kCudaType<T>)),
             {vector(x, n, incx), vector(y, n, incy)}, {vector(y, n, incy)});
}

template <typename T>
cublasStatus_t copy(const char* api, cublasHandle_t handle, int64_t n, const T* x, int64_t incx, T* y, int64_t incy) {
  if (const cublasStatus_t status = checked(handle, handle); status != CUBLAS_STATUS_SUCCESS || n <= 0) return status;
  return run(handle, level1(api, kCudaType<T>, n, incx, incy, 0), {vector(x, n, incx)}, {vector(y, n, incy)});
}

template <typename T>
cublasStatus_t swap(const char* api, cublasHandle_t handle, int64_t n, T* x, int64_t incx, T* y, int64_t incy) {
  if (const cublasStatus_t status = checked(handle, handle); status != CUBLAS_STATUS_SUCCESS || n <= 0) return status;
  return run(handle, level1(api, kCudaType<T>, n, incx, incy, 0), {vector(x, n, incx), vector(y, n, incy)},
             {vector(x, n, incx), vector(y, n, incy)});
}

template <typename T>
cublasStatus_t scal(const char* api, cublasHandle_t handle, int64_t n, const void* alpha, T* x, int64_t incx) {
  if (const cublasStatus_t status = checked(handle, alpha); status != CUBLAS_STATUS_SUCCESS || n <= 0) return status;
  return run(handle, level1(api, kCudaType<T>, n, incx, 0, multiply_add_flops(kCudaType<T>) / 2), {vector(x, n, incx)},
             {vector(x, n, incx)});
}

template <typename T>
cublasStatus_t dot(const char* api, cublasHandle_t handle, int64_t n, const T* x, int64_t incx, const T* y,
                   int64_t incy, T* result) {
  const T zero{};
  return run_with_result(handle, level1(api, kCudaType<T>, n, incx, incy, multiply_add_flops(kCudaType<T>)),
                         {vector(x, n, incx), vector(y, n, incy)}, result, &zero, sizeof zero);
}

// Norm and sum of absolute values.
template <typename T, typename R>
cublasStatus_t reduce(const char* api, cublasHandle_t handle, int64_t n, const T* x, int64_t incx, R* result) {
  const R zero{};
  return run_with_result(handle, level1(api, kCudaType<T>, n, incx, 0, multiply_add_flops(kCudaType<T>)),
                         {vector(x, n, incx)}, result, &zero, sizeof zero);
}

// Index of the largest or smallest element, counted from 1; 0 only for an empty vector. The element is not known: the
// first one is the answer, since a program uses the index.
template <typename T, typename I>
cublasStatus_t extreme(const char* api, cublasHandle_t handle, int64_t n, const T* x, int64_t incx, I* result) {
  const I first = n > 0 && incx > 0 ? 1 : 0;
  return run_with_result(handle, level1(api, kCudaType<T>, n, incx, 0, multiply_add_flops(kCudaType<T>) / 2),
                         {vector(x, n, incx)}, result, &first, sizeof first);
}

template <typename T>
cublasStatus_t rotate(const char* api, cublasHandle_t handle, int64_t n, T* x, int64_t incx, T* y, int64_t incy,
                      const void* first, const void* second) {
  if (const cublasStatus_t status = checked(handle, second == nullptr ? second : first);
      status != CUBLAS_STATUS_SUCCESS || n <= 0)
    return status;
  return run(handle, level1(api, kCudaType<T>, n, incx, incy, 3 * multiply_add_flops(kCudaType<T>)),
             {vector(x, n, incx), vector(y, n, incy)}, {vector(x, n, incx), vector(y, n, incy)});
}

}  // namespace
}  // namespace maya::cublas

using namespace maya::cublas;

#define AXPY(NAME, T, INT)                                                                                           \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, INT n, const T* alpha, const T* x, INT incx, T* y, INT incy) { \
    return axpy<T>(#NAME, handle, n, alpha, x, incx, y, incy);                                                       \
  }
#define COPY(NAME, T, INT)                                                                           \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, INT n, const T* x, INT incx, T* y, INT incy) { \
    return copy<T>(#NAME, handle, n, x, incx, y, incy);                                              \
  }
#define SWAP(NAME, T, INT)                                                                     \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, INT n, T* x, INT incx, T* y, INT incy) { \
    return swap<T>(#NAME, handle, n, x, incx, y, incy);                                        \
  }
#define SCAL(NAME, S, T, INT)                                                                  \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, INT n, const S* alpha, T* x, INT incx) { \
    return scal<T>(#NAME, handle, n, alpha, x, incx);                                          \
  }
#define DOT(NAME, T, INT)                                                                                             \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, INT n, const T* x, INT incx, const T* y, INT incy, T* result) { \
    return dot<T>(#NAME, handle, n, x, incx, y, incy, result);                                                        \
  }
#define REDUCE(NAME, T, R, INT)                                                                 \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, INT n, const T* x, INT incx, R* result) { \
    return reduce<T, R>(#NAME, handle, n, x, incx, result);                                     \
  }
#define EXTREME(NAME, T, INT)                                                                     \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, INT n, const T* x, INT incx, INT* result) { \
    return extreme<T, INT>(#NAME, handle, n, x, incx, result);                                    \
  }
#define ROT(NAME, T, C, S, INT)                                                                                        \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, INT n, T* x, INT incx, T* y, INT incy, const C* c, const S* s) { \
    return rotate<T>(#NAME, handle, n, x, incx, y, incy, c, s);                                                        \
  }
#define ROTM(NAME, T, INT)                                                                                     \
  MAYA_API cublasStatus_t NAME(cublasHandle_t handle, INT n, T* x, INT incx, T* y, INT incy, const T* param) { \
    return rotate<T>(#NAME, handle, n, x, incx, y, incy, param, param);                                        \
  }

#define BOTH(KIND, NAME, ...) KIND(NAME, __VA_ARGS__, int) KIND(NAME##_64, __VA_ARGS__, int64_t)
#define ALL_TYPES(KIND, NAME)          \
  BOTH(KIND, cublasS##NAME, float)     \
  BOTH(KIND, cublasD##NAME, double)    \
  BOTH(KIND, cublasC##NAME, cuComplex) \
  BOTH(KIND, cublasZ##NAME, cuDoubleComplex)

ALL_TYPES(AXPY, axpy_v2)
ALL_TYPES(COPY, copy_v2)
ALL_TYPES(SWAP, swap_v2)

BOTH(SCAL, cublasSscal_v2, float, float)
BOTH(SCAL, cublasDscal_v2, double, double)
BOTH(SCAL, cublasCscal_v2, cuComplex, cuComplex)
BOTH(SCAL, cublasZscal_v2, cuDoubleComplex, cuDoubleComplex)
BOTH(SCAL, cublasCsscal_v2, float, cuComplex)
BOTH(SCAL, cublasZdscal_v2, double, cuDoubleComplex)

BOTH(DOT, cublasSdot_v2, float)
BOTH(DOT, cublasDdot_v2, double)
BOTH(DOT, cublasCdotu_v2, cuComplex)
BOTH(DOT, cublasCdotc_v2, cuComplex)
BOTH(DOT, cublasZdotu_v2, cuDoubleComplex)
BOTH(DOT, cublasZdotc_v2, cuDoubleComplex)

BOTH(REDUCE, cublasSnrm2_v2, float, float)
BOTH(REDUCE, cublasDnrm2_v2, double, double)
BOTH(REDUCE, cublasScnrm2_v2, cuComplex, float)
BOTH(REDUCE, cublasDznrm2_v2, cuDoubleComplex, double)
BOTH(REDUCE, cublasSasum_v2, float, float)
BOTH(REDUCE, cublasDasum_v2, double, double)
BOTH(REDUCE, cublasScasum_v2, cuComplex, float)
BOTH(REDUCE, cublasDzasum_v2, cuDoubleComplex, double)

BOTH(EXTREME, cublasIsamax_v2, float)
BOTH(EXTREME, cublasIdamax_v2, double)
BOTH(EXTREME, cublasIcamax_v2, cuComplex)
BOTH(EXTREME, cublasIzamax_v2, cuDoubleComplex)
BOTH(EXTREME, cublasIsamin_v2, float)
BOTH(EXTREME, cublasIdamin_v2, double)
BOTH(EXTREME, cublasIcamin_v2, cuComplex)
BOTH(EXTREME, cublasIzamin_v2, cuDoubleComplex)

BOTH(ROT, cublasSrot_v2, float, float, float)
BOTH(ROT, cublasDrot_v2, double, double, double)
BOTH(ROT, cublasCrot_v2, cuComplex, float, cuComplex)
BOTH(ROT, cublasCsrot_v2, cuComplex, float, float)
BOTH(ROT, cublasZrot_v2, cuDoubleComplex, double, cuDoubleComplex)
BOTH(ROT, cublasZdrot_v2, cuDoubleComplex, double, double)
BOTH(ROTM, cublasSrotm_v2, float)
BOTH(ROTM, cublasDrotm_v2, double)
