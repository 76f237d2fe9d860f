// What stands behind a cudnnHandle_t, and the message that explains the last failure. A handle is used by one thread at
// a time.
#pragma once

#include <cuda.h>
#include <cudnn.h>

#include <cstdint>
#include <new>

struct cudnnContext {
  static constexpr uint64_t kMagic = 0x6d61796163646e6e;

  uint64_t magic = kMagic;
  cudaStream_t stream = nullptr;

  CUstream cu_stream() const { return reinterpret_cast<CUstream>(stream); }
};

namespace maya::cudnn {

inline bool usable(cudnnHandle_t handle) { return handle != nullptr && handle->magic == cudnnContext::kMagic; }

// Remembers `text` for cudnnGetLastErrorString of this thread and returns `status`. `text` is a literal.
cudnnStatus_t fail(cudnnStatus_t status, const char* text);
inline cudnnStatus_t null_pointer() { return fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "a required pointer is null"); }
inline cudnnStatus_t bad_parameter(const char* text) { return fail(CUDNN_STATUS_BAD_PARAM, text); }

// What the driver's answer is in cuDNN's terms.
cudnnStatus_t status_of(CUresult result);

// cudnnCreate...Descriptor and cudnnDestroy...Descriptor: a default-made object on the heap.
template <typename T>
cudnnStatus_t create(T** descriptor) {
  if (descriptor == nullptr) return null_pointer();
  *descriptor = new (std::nothrow) T;
  return *descriptor != nullptr
             ? CUDNN_STATUS_SUCCESS
             : fail(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no host memory for a descriptor");
}

template <typename T>
cudnnStatus_t destroy(T* descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}

// Getters: null destinations are left out.
template <typename T, typename U>
void give(T* destination, const U& value) {
  if (destination != nullptr) *destination = static_cast<T>(value);
}

}  // namespace maya::cudnn
