// cuSOLVER: handles, streams, versions, parameter objects. Solvers are not supported.
#include "driver_shim/common/api.h"
#include "driver_shim/stubs/library_handle.h"

using namespace maya::stubs;

namespace {

#if defined(MAYA_CUDA_MAJOR) && MAYA_CUDA_MAJOR == 12
constexpr Version kVersion{11, 7, 5};
#else
constexpr Version kVersion{12, 2, 0};
#endif
using DenseHandle = LibraryHandle<0x6d617961646e736f>;
using SparseHandle = LibraryHandle<0x6d61796173707376>;

// Holds nothing: the calls that would read it are not supported.
struct Parameters {};

int destroy_parameters(Parameters* parameters) {
  delete parameters;
  return kSuccess;
}

}  // namespace

MAYA_API int cusolverGetVersion(int* version) {
  if (version == nullptr) return kInvalidValue;
  *version = kVersion.number();
  return kSuccess;
}

MAYA_API int cusolverGetProperty(int type, int* value) { return get_property(kVersion, type, value); }

MAYA_API int cusolverDnCreate(DenseHandle** handle) { return create(handle); }
MAYA_API int cusolverDnDestroy(DenseHandle* handle) { return destroy(handle); }
MAYA_API int cusolverDnSetStream(DenseHandle* handle, CUstream stream) { return set_stream(handle, stream); }
MAYA_API int cusolverDnGetStream(DenseHandle* handle, CUstream* stream) { return get_stream(handle, stream); }
MAYA_API int cusolverDnCreateParams(Parameters** parameters) { return create(parameters); }
MAYA_API int cusolverDnDestroyParams(Parameters* parameters) { return destroy_parameters(parameters); }
MAYA_API int cusolverDnCreateSyevjInfo(Parameters** info) { return create(info); }
MAYA_API int cusolverDnDestroySyevjInfo(Parameters* info) { return destroy_parameters(info); }
MAYA_API int cusolverDnCreateGesvdjInfo(Parameters** info) { return create(info); }
MAYA_API int cusolverDnDestroyGesvdjInfo(Parameters* info) { return destroy_parameters(info); }

MAYA_API int cusolverSpCreate(SparseHandle** handle) { return create(handle); }
MAYA_API int cusolverSpDestroy(SparseHandle* handle) { return destroy(handle); }
MAYA_API int cusolverSpSetStream(SparseHandle* handle, CUstream stream) { return set_stream(handle, stream); }
MAYA_API int cusolverSpGetStream(SparseHandle* handle, CUstream* stream) { return get_stream(handle, stream); }
