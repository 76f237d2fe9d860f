// What the mathematics libraries beside cuBLAS have in common: a handle with a stream, and a pointer mode where the
// library knows one; versions. cuSPARSE, cuSOLVER and cuSPARSELt number these statuses alike. Their headers are not
// needed to build: handles are pointers to our own types, enumerations are int, as a program passes them.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <new>

namespace maya::shim {

enum Status : int {
  kSuccess = 0,
  kNotInitialized = 1,
  kAllocFailed = 2,
  kInvalidValue = 3,
  kExecutionFailed = 6,
  kInternalError = 7,
};

// What the driver's answer to a recorded operation is in these libraries' terms.
inline int status_of(CUresult result) {
  switch (result) {
    case CUDA_SUCCESS:
      return kSuccess;
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_INVALID_CONTEXT:
      return kNotInitialized;
    case CUDA_ERROR_OUT_OF_MEMORY:
      return kAllocFailed;
    default:
      return kExecutionFailed;
  }
}

// Values of libraryPropertyType (library_types.h).
enum Property : int { kMajorVersion = 0, kMinorVersion = 1, kPatchLevel = 2 };

struct Version {
  int major, minor, patch;
  int number() const { return major * 1000 + minor * 100 + patch; }
};

inline int get_property(const Version& version, int type, int* value) {
  if (value == nullptr || type < kMajorVersion || type > kPatchLevel) return kInvalidValue;
  *value = type == kMajorVersion ? version.major : type == kMinorVersion ? version.minor : version.patch;
  return kSuccess;
}

// `Tag` is a number of the library's own, so that handles of two libraries are told apart.
template <uint64_t Tag>
struct LibraryHandle {
  uint64_t magic = Tag;
  CUstream stream = nullptr;
  int pointer_mode = 0;  // 0 host, 1 device
};

template <typename T>
int create(T** handle) {
  if (handle == nullptr) return kInvalidValue;
  *handle = new (std::nothrow) T;
  return *handle == nullptr ? kAllocFailed : kSuccess;
}

template <uint64_t Tag>
bool usable(const LibraryHandle<Tag>* handle) {
  return handle != nullptr && handle->magic == Tag;
}

template <uint64_t Tag>
int destroy(LibraryHandle<Tag>* handle) {
  if (!usable(handle)) return kNotInitialized;
  handle->magic = 0;
  delete handle;
  return kSuccess;
}

template <uint64_t Tag>
int set_stream(LibraryHandle<Tag>* handle, CUstream stream) {
  if (!usable(handle)) return kNotInitialized;
  handle->stream = stream;
  return kSuccess;
}

template <uint64_t Tag>
int get_stream(const LibraryHandle<Tag>* handle, CUstream* stream) {
  if (!usable(handle)) return kNotInitialized;
  if (stream == nullptr) return kInvalidValue;
  *stream = handle->stream;
  return kSuccess;
}

}  // namespace maya::shim
