// cuSOLVER: handles, streams, modes, parameter objects.
#include "driver_shim/common/api.h"
#include "driver_shim/cusolver/dense.h"

using namespace maya::cusolver;
using maya::shim::create;

namespace {

using SparseHandle = maya::shim::LibraryHandle<0x6d61796173707376>;

template <typename T>
int destroy_object(T* object) {
  if (object == nullptr) return kInvalidValue;
  delete object;
  return kSuccess;
}

int set_mode(DenseHandle* handle, int DenseHandle::*member, int mode, std::initializer_list<int> modes) {
  if (!usable(handle)) return kNotInitialized;
  for (const int known : modes) {
    if (mode != known) continue;
    handle->*member = mode;
    return kSuccess;
  }
  return kInvalidValue;
}

int get_mode(const DenseHandle* handle, int DenseHandle::*member, int* mode) {
  if (!usable(handle)) return kNotInitialized;
  if (mode == nullptr) return kInvalidValue;
  *mode = handle->*member;
  return kSuccess;
}

template <typename Value>
int set_info(JacobiInfo* info, Value JacobiInfo::*member, Value value) {
  if (info == nullptr) return kInvalidValue;
  info->*member = value;
  return kSuccess;
}

int get_residual(const DenseHandle* handle, const JacobiInfo* info, double* residual) {
  if (!usable(handle)) return kNotInitialized;
  if (info == nullptr || residual == nullptr) return kInvalidValue;
  *residual = 0;
  return kSuccess;
}

int get_sweeps(const DenseHandle* handle, const JacobiInfo* info, int* sweeps) {
  if (!usable(handle)) return kNotInitialized;
  if (info == nullptr || sweeps == nullptr) return kInvalidValue;
  *sweeps = static_cast<int>(kSweeps);
  return kSuccess;
}

}  // namespace

MAYA_API int cusolverDnCreate(DenseHandle** handle) { return create(handle); }

MAYA_API int cusolverDnDestroy(DenseHandle* handle) {
  if (!usable(handle)) return kNotInitialized;
  handle->magic = 0;
  delete handle;
  return kSuccess;
}

MAYA_API int cusolverDnSetStream(DenseHandle* handle, CUstream stream) {
  return maya::shim::set_stream(handle, stream);
}
MAYA_API int cusolverDnGetStream(DenseHandle* handle, CUstream* stream) {
  return maya::shim::get_stream(handle, stream);
}

MAYA_API int cusolverDnSetDeterministicMode(DenseHandle* handle, int mode) {
  return set_mode(handle, &DenseHandle::deterministic_mode, mode, {1, 2});
}
MAYA_API int cusolverDnGetDeterministicMode(DenseHandle* handle, int* mode) {
  return get_mode(handle, &DenseHandle::deterministic_mode, mode);
}
MAYA_API int cusolverDnSetMathMode(DenseHandle* handle, int mode) {
  return set_mode(handle, &DenseHandle::math_mode, mode, {1, 2, 4, 6});
}
MAYA_API int cusolverDnGetMathMode(DenseHandle* handle, int* mode) {
  return get_mode(handle, &DenseHandle::math_mode, mode);
}

MAYA_API int cusolverDnCreateParams(Parameters** parameters) { return create(parameters); }
MAYA_API int cusolverDnDestroyParams(Parameters* parameters) { return destroy_object(parameters); }
// Functions getrf (0), potrf (1), and those that follow; algorithms 0 to 2.
MAYA_API int cusolverDnSetAdvOptions(Parameters* parameters, int, int algorithm) {
  return parameters == nullptr || algorithm < 0 || algorithm > 2 ? kInvalidValue : kSuccess;
}

#define JACOBI_INFO(Name)                                                                                \
  MAYA_API int cusolverDnX##Name##SetTolerance(JacobiInfo* info, double tolerance) {                     \
    return set_info(info, &JacobiInfo::tolerance, tolerance);                                            \
  }                                                                                                      \
  MAYA_API int cusolverDnX##Name##SetMaxSweeps(JacobiInfo* info, int sweeps) {                           \
    return set_info(info, &JacobiInfo::maximum_sweeps, sweeps);                                          \
  }                                                                                                      \
  MAYA_API int cusolverDnX##Name##SetSortEig(JacobiInfo* info, int sorted) {                             \
    return set_info(info, &JacobiInfo::sorted, sorted);                                                  \
  }                                                                                                      \
  MAYA_API int cusolverDnX##Name##GetResidual(DenseHandle* handle, JacobiInfo* info, double* residual) { \
    return get_residual(handle, info, residual);                                                         \
  }                                                                                                      \
  MAYA_API int cusolverDnX##Name##GetSweeps(DenseHandle* handle, JacobiInfo* info, int* sweeps) {        \
    return get_sweeps(handle, info, sweeps);                                                             \
  }

JACOBI_INFO(syevj)
JACOBI_INFO(gesvdj)

MAYA_API int cusolverDnCreateSyevjInfo(JacobiInfo** info) { return create(info); }
MAYA_API int cusolverDnDestroySyevjInfo(JacobiInfo* info) { return destroy_object(info); }
MAYA_API int cusolverDnCreateGesvdjInfo(JacobiInfo** info) { return create(info); }
MAYA_API int cusolverDnDestroyGesvdjInfo(JacobiInfo* info) { return destroy_object(info); }

MAYA_API int cusolverSpCreate(SparseHandle** handle) { return create(handle); }
MAYA_API int cusolverSpDestroy(SparseHandle* handle) { return maya::shim::destroy(handle); }
MAYA_API int cusolverSpSetStream(SparseHandle* handle, CUstream stream) {
  return maya::shim::set_stream(handle, stream);
}
MAYA_API int cusolverSpGetStream(SparseHandle* handle, CUstream* stream) {
  return maya::shim::get_stream(handle, stream);
}
