// cublas<t>rotg, cublas<t>rotmg and their forms with explicit types. Host pointer mode computes; device pointer mode is
// recorded.
#include "driver_shim/common/api.h"
#include "driver_shim/cublas/givens.h"
#include "driver_shim/cublas/handle.h"
#include "driver_shim/cublas/types.h"
#include "driver_shim/cublas/vector_call.h"

namespace maya::cublas {
namespace {

cublasStatus_t record_scalars(const char* api, cublasHandle_t handle, std::initializer_list<Vector> written) {
  VectorCall call;
  call.api = api;
  call.type = written.begin()->type;
  call.elements = 1;
  return run(handle, call, {}, written);
}

bool host_mode(cublasHandle_t handle) { return handle->pointer_mode == CUBLAS_POINTER_MODE_HOST; }

template <typename R>
cublasStatus_t rotg(const char* api, cublasHandle_t handle, R* a, R* b, R* c, R* s) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (a == nullptr || b == nullptr || c == nullptr || s == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (!host_mode(handle)) {
    const cudaDataType type = kCudaType<R>;
    return record_scalars(api, handle, {{a, type, 1, 1}, {b, type, 1, 1}, {c, type, 1, 1}, {s, type, 1, 1}});
  }
  make_rotation(a, b, c, s);
  return CUBLAS_STATUS_SUCCESS;
}

// cuComplex has the layout of std::complex.
template <typename R, typename C>
cublasStatus_t complex_rotg(const char* api, cublasHandle_t handle, C* a, C* b, R* c, C* s) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (a == nullptr || b == nullptr || c == nullptr || s == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (!host_mode(handle))
    return record_scalars(api, handle, {{a, kCudaType<C>, 1, 1}, {c, kCudaType<R>, 1, 1}, {s, kCudaType<C>, 1, 1}});
  make_rotation(reinterpret_cast<std::complex<R>*>(a), reinterpret_cast<const std::complex<R>*>(b), c,
                reinterpret_cast<std::complex<R>*>(s));
  return CUBLAS_STATUS_SUCCESS;
}

template <typename R>
cublasStatus_t rotmg(const char* api, cublasHandle_t handle, R* d1, R* d2, R* x1, const R* y1, R* param) {
  constexpr int kParameters = 5;
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (d1 == nullptr || d2 == nullptr || x1 == nullptr || y1 == nullptr || param == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!host_mode(handle)) {
    const cudaDataType type = kCudaType<R>;
    return record_scalars(api, handle,
                          {{d1, type, 1, 1}, {d2, type, 1, 1}, {x1, type, 1, 1}, {param, type, kParameters, 1}});
  }
  make_modified_rotation(d1, d2, x1, *y1, param);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace
}  // namespace maya::cublas

using namespace maya::cublas;

MAYA_API cublasStatus_t cublasSrotg_v2(cublasHandle_t handle, float* a, float* b, float* c, float* s) {
  return rotg("cublasSrotg_v2", handle, a, b, c, s);
}

MAYA_API cublasStatus_t cublasDrotg_v2(cublasHandle_t handle, double* a, double* b, double* c, double* s) {
  return rotg("cublasDrotg_v2", handle, a, b, c, s);
}

MAYA_API cublasStatus_t cublasCrotg_v2(cublasHandle_t handle, cuComplex* a, cuComplex* b, float* c, cuComplex* s) {
  return complex_rotg("cublasCrotg_v2", handle, a, b, c, s);
}

MAYA_API cublasStatus_t cublasZrotg_v2(cublasHandle_t handle, cuDoubleComplex* a, cuDoubleComplex* b, double* c,
                                       cuDoubleComplex* s) {
  return complex_rotg("cublasZrotg_v2", handle, a, b, c, s);
}

MAYA_API cublasStatus_t cublasSrotmg_v2(cublasHandle_t handle, float* d1, float* d2, float* x1, const float* y1,
                                        float* param) {
  return rotmg("cublasSrotmg_v2", handle, d1, d2, x1, y1, param);
}

MAYA_API cublasStatus_t cublasDrotmg_v2(cublasHandle_t handle, double* d1, double* d2, double* x1, const double* y1,
                                        double* param) {
  return rotmg("cublasDrotmg_v2", handle, d1, d2, x1, y1, param);
}

MAYA_API cublasStatus_t cublasRotgEx(cublasHandle_t handle, void* a, void* b, cudaDataType ab_type, void* c, void* s,
                                     cudaDataType cs_type, cudaDataType) {
  if (ab_type == CUDA_R_32F && cs_type == CUDA_R_32F)
    return rotg("cublasRotgEx", handle, static_cast<float*>(a), static_cast<float*>(b), static_cast<float*>(c),
                static_cast<float*>(s));
  if (ab_type == CUDA_R_64F && cs_type == CUDA_R_64F)
    return rotg("cublasRotgEx", handle, static_cast<double*>(a), static_cast<double*>(b), static_cast<double*>(c),
                static_cast<double*>(s));
  if (ab_type == CUDA_C_32F && cs_type == CUDA_C_32F)
    return complex_rotg("cublasRotgEx", handle, static_cast<cuComplex*>(a), static_cast<cuComplex*>(b),
                        static_cast<float*>(c), static_cast<cuComplex*>(s));
  if (ab_type == CUDA_C_64F && cs_type == CUDA_C_64F)
    return complex_rotg("cublasRotgEx", handle, static_cast<cuDoubleComplex*>(a), static_cast<cuDoubleComplex*>(b),
                        static_cast<double*>(c), static_cast<cuDoubleComplex*>(s));
  return usable(handle) ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_NOT_INITIALIZED;
}

MAYA_API cublasStatus_t cublasRotmgEx(cublasHandle_t handle, void* d1, cudaDataType d1_type, void* d2,
                                      cudaDataType d2_type, void* x1, cudaDataType x1_type, const void* y1,
                                      cudaDataType y1_type, void* param, cudaDataType param_type, cudaDataType) {
  const bool same = d1_type == d2_type && d1_type == x1_type && d1_type == y1_type && d1_type == param_type;
  if (same && d1_type == CUDA_R_32F)
    return rotmg("cublasRotmgEx", handle, static_cast<float*>(d1), static_cast<float*>(d2), static_cast<float*>(x1),
                 static_cast<const float*>(y1), static_cast<float*>(param));
  if (same && d1_type == CUDA_R_64F)
    return rotmg("cublasRotmgEx", handle, static_cast<double*>(d1), static_cast<double*>(d2), static_cast<double*>(x1),
                 static_cast<const double*>(y1), static_cast<double*>(param));
  return usable(handle) ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_NOT_INITIALIZED;
}
