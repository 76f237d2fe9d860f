// cuSPARSE: handles, streams, versions, error texts, descriptors of the typed routines.
#include <cstdio>

#include "driver_shim/common/api.h"
#include "driver_shim/cusparse/handle.h"

using namespace maya::cusparse;
using maya::shim::create;
using maya::shim::destroy;
using maya::shim::get_property;
using maya::shim::get_stream;
using maya::shim::set_stream;

namespace {

constexpr maya::shim::Version kVersion{12, 7, 10};

struct StatusText {
  const char* name;
  const char* text;
};

constexpr StatusText kStatuses[] = {
    {"CUSPARSE_STATUS_SUCCESS", "success"},
    {"CUSPARSE_STATUS_NOT_INITIALIZED", "initialization error"},
    {"CUSPARSE_STATUS_ALLOC_FAILED", "out of memory"},
    {"CUSPARSE_STATUS_INVALID_VALUE", "invalid value"},
    {"CUSPARSE_STATUS_ARCH_MISMATCH", "architecture mismatch"},
    {"CUSPARSE_STATUS_MAPPING_ERROR", "texture mapping error"},
    {"CUSPARSE_STATUS_EXECUTION_FAILED", "kernel launch failure"},
    {"CUSPARSE_STATUS_INTERNAL_ERROR", "internal error"},
    {"CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED", "matrix type not supported"},
    {"CUSPARSE_STATUS_ZERO_PIVOT", "zero pivot"},
    {"CUSPARSE_STATUS_NOT_SUPPORTED", "operation not supported"},
    {"CUSPARSE_STATUS_INSUFFICIENT_RESOURCES", "insufficient resources"},
};

const StatusText* find(int status) {
  constexpr int kCount = sizeof kStatuses / sizeof kStatuses[0];
  return status < 0 || status >= kCount ? nullptr : &kStatuses[status];
}

int set(MatrixDescriptor* descriptor, int MatrixDescriptor::*member, int value, int largest) {
  if (descriptor == nullptr || value < 0 || value > largest) return kInvalidValue;
  descriptor->*member = value;
  return kSuccess;
}

int get(const MatrixDescriptor* descriptor, int MatrixDescriptor::*member) {
  return descriptor == nullptr ? 0 : descriptor->*member;
}

}  // namespace

MAYA_API int cusparseCreate(Handle** handle) { return create(handle); }
MAYA_API int cusparseDestroy(Handle* handle) { return destroy(handle); }
MAYA_API int cusparseSetStream(Handle* handle, CUstream stream) { return set_stream(handle, stream); }
MAYA_API int cusparseGetStream(Handle* handle, CUstream* stream) { return get_stream(handle, stream); }

MAYA_API int cusparseGetVersion(Handle* handle, int* version) {
  if (!usable(handle)) return kNotInitialized;
  if (version == nullptr) return kInvalidValue;
  *version = kVersion.number();
  return kSuccess;
}

MAYA_API int cusparseGetProperty(int type, int* value) { return get_property(kVersion, type, value); }

MAYA_API int cusparseSetPointerMode(Handle* handle, int mode) {
  if (!usable(handle)) return kNotInitialized;
  if (mode != 0 && mode != 1) return kInvalidValue;
  handle->pointer_mode = mode;
  return kSuccess;
}

MAYA_API int cusparseGetPointerMode(Handle* handle, int* mode) {
  if (!usable(handle)) return kNotInitialized;
  if (mode == nullptr) return kInvalidValue;
  *mode = handle->pointer_mode;
  return kSuccess;
}

MAYA_API const char* cusparseGetErrorName(int status) {
  return find(status) == nullptr ? "unrecognized error code" : find(status)->name;
}
MAYA_API const char* cusparseGetErrorString(int status) {
  return find(status) == nullptr ? "unrecognized error code" : find(status)->text;
}

MAYA_API int cusparseCreateMatDescr(MatrixDescriptor** descriptor) { return create(descriptor); }
MAYA_API int cusparseDestroyMatDescr(MatrixDescriptor* descriptor) {
  delete descriptor;
  return kSuccess;
}
MAYA_API int cusparseSetMatType(MatrixDescriptor* descriptor, int type) {
  return set(descriptor, &MatrixDescriptor::type, type, 3);
}
MAYA_API int cusparseGetMatType(const MatrixDescriptor* descriptor) { return get(descriptor, &MatrixDescriptor::type); }
MAYA_API int cusparseSetMatFillMode(MatrixDescriptor* descriptor, int mode) {
  return set(descriptor, &MatrixDescriptor::fill_mode, mode, 1);
}
MAYA_API int cusparseGetMatFillMode(const MatrixDescriptor* descriptor) {
  return get(descriptor, &MatrixDescriptor::fill_mode);
}
MAYA_API int cusparseSetMatDiagType(MatrixDescriptor* descriptor, int type) {
  return set(descriptor, &MatrixDescriptor::diagonal, type, 1);
}
MAYA_API int cusparseGetMatDiagType(const MatrixDescriptor* descriptor) {
  return get(descriptor, &MatrixDescriptor::diagonal);
}
MAYA_API int cusparseSetMatIndexBase(MatrixDescriptor* descriptor, int base) {
  return set(descriptor, &MatrixDescriptor::index_base, base, 1);
}
MAYA_API int cusparseGetMatIndexBase(const MatrixDescriptor* descriptor) {
  return get(descriptor, &MatrixDescriptor::index_base);
}

MAYA_API int cusparseLoggerSetCallback(void (*)(int, const char*, const char*)) { return kSuccess; }
MAYA_API int cusparseLoggerSetFile(FILE*) { return kSuccess; }
MAYA_API int cusparseLoggerOpenFile(const char*) { return kSuccess; }
MAYA_API int cusparseLoggerSetLevel(int) { return kSuccess; }
MAYA_API int cusparseLoggerSetMask(int) { return kSuccess; }
MAYA_API int cusparseLoggerForceDisable() { return kSuccess; }
