// Error log management. The driver keeps no log of its own (its lines go to standard error), so callbacks are never
// called and every dump is empty.
#include <cuda.h>
#include <fcntl.h>
#include <unistd.h>

#include <mutex>
#include <set>

#include "driver_shim/cuda/gate.h"

using maya::cuda::Call;
using maya::cuda::enter;
using maya::cuda::Needs;

namespace {

struct Registrations {
  std::mutex mutex;
  std::set<CUlogsCallbackHandle> live;
  uintptr_t next = 1;
};

Registrations& registrations() {
  static Registrations& made = *new Registrations;
  return made;
}

}  // namespace

CUresult cuLogsRegisterCallback(CUlogsCallback callback, void*, CUlogsCallbackHandle* out) {
  return enter(Needs::kInitialized, [&](Call&) {
    if (callback == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard<std::mutex> lock(registrations().mutex);
    const auto handle = reinterpret_cast<CUlogsCallbackHandle>(registrations().next++);
    registrations().live.insert(handle);
    if (out != nullptr) *out = handle;
    return CUDA_SUCCESS;
  });
}

CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle handle) {
  return enter(Needs::kInitialized, [&](Call&) {
    std::lock_guard<std::mutex> lock(registrations().mutex);
    return registrations().live.erase(handle) != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuLogsCurrent(CUlogIterator* iterator, unsigned int flags) {
  return enter(Needs::kInitialized, [&](Call&) {
    if (iterator == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    *iterator = 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuLogsDumpToFile(CUlogIterator*, const char* path, unsigned int flags) {
  return enter(Needs::kInitialized, [&](Call&) {
    if (path == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) return CUDA_ERROR_INVALID_VALUE;
    close(file);
    return CUDA_SUCCESS;
  });
}

CUresult cuLogsDumpToMemory(CUlogIterator*, char* buffer, size_t* size, unsigned int flags) {
  return enter(Needs::kInitialized, [&](Call&) {
    if (buffer == nullptr || size == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (*size != 0) buffer[0] = 0;
    *size = 0;
    return CUDA_SUCCESS;
  });
}
