// What every runtime entry point is made of: the calling thread's state, and the step from a driver call to a runtime
// result.
//
// The runtime holds almost no state of its own: contexts, streams, events and memory live behind the driver. A body is
// one translation:
//
//   MAYA_API cudaError_t cudaEventDestroy(cudaEvent_t event) { return with_context(MAYA_DRIVER(cuEventDestroy_v2),
//   event); }
//
// The driver is asked first. Only when it answers that it is not initialised or that no context is current is the
// documented implicit step of the runtime taken (cuInit, primary context of the thread's device, cuCtxSetCurrent) and
// the call repeated once: a running program pays nothing.
//
// Thread safety: everything here may be called from any thread, from static constructors and destructors, and in a
// forked child (the driver then answers that it is not initialised). No global object has a destructor. No function
// throws.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstring>
#include <type_traits>

#include "driver_shim/common/driver_access.h"

// An exported body. The list of exported names is entries.txt.
#define MAYA_API extern "C" __attribute__((visibility("default")))

namespace maya::cudart {

// The CUDA release whose runtime this library stands for: cudaRuntimeGetVersion.
inline constexpr int kRuntimeVersion = CUDART_VERSION >= 13000 ? 13020 : 12090;
// Devices of one process, an upper bound for tables indexed by device ordinal.
inline constexpr int kMaxDevices = 256;

// A launch configuration between __cudaPushCallConfiguration and __cudaPopCallConfiguration.
struct CallConfiguration {
  dim3 grid, block;
  size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
};
struct OuterConfiguration {
  CallConfiguration configuration;
  OuterConfiguration* next;
};

// State of one host thread. Small: it lives in the static thread-local block, which programs that dlopen libraries have
// little of.
struct ThreadState {
  cudaError_t last_error = cudaSuccess;
  int device = 0;  // ordinal chosen by cudaSetDevice; a context made current through the driver takes precedence
  bool configured = false;
  CallConfiguration configuration;      // pushed and not yet popped, when configured
  OuterConfiguration* outer = nullptr;  // those pushed before it
};
extern constinit thread_local ThreadState thread_state __attribute__((tls_model("initial-exec")));

// Remembers `error` for cudaGetLastError and returns it. cudaErrorNotReady is not an error (CUDA programming guide,
// "Error Checking") and is not remembered.
cudaError_t fail(cudaError_t error) noexcept;

// Driver status to runtime status. Since CUDA 10.1 both enumerations share their numbers (driver_types.h, cuda.h).
inline cudaError_t to_runtime(CUresult status) noexcept { return static_cast<cudaError_t>(status); }
inline cudaError_t finish(CUresult status) noexcept {
  return status == CUDA_SUCCESS ? cudaSuccess : fail(to_runtime(status));
}

// True when the error leaves the context unusable: "the process must be terminated and relaunched" in driver_types.h.
bool is_sticky(cudaError_t error) noexcept;

// cuInit. A missing libcuda.so.1 gives the number of cudaErrorInsufficientDriver, which the driver itself has no name
// for.
CUresult initialize() noexcept;

// The primary context of a device, retained once for the process. CUDA_ERROR_INVALID_DEVICE for a bad ordinal.
CUresult primary_context(int device, CUcontext* context) noexcept;

// Makes the primary context of the device current to the calling thread.
CUresult bind_device(int device) noexcept;

// The device of the current context, or else the one chosen by cudaSetDevice. Needs an initialised driver.
CUresult current_device(int* device) noexcept;

// After cuDevicePrimaryCtxReset: the next call of any thread retains and binds anew.
void forget_primary_context(int device) noexcept;

// The implicit initialisation of the runtime after a driver call answered `status`. CUDA_SUCCESS: repeat the call once;
// anything else is the result.
CUresult prepare_context(CUresult status) noexcept;

inline bool needs_context(CUresult status) noexcept {
  return status == CUDA_ERROR_NOT_INITIALIZED || status == CUDA_ERROR_INVALID_CONTEXT ||
         status == CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

// A current context, made if there is none.
CUresult ensure_context() noexcept;

// `body` is a callable that returns CUresult and needs a current context; it may run twice.
template <typename Body>
inline CUresult attempt(Body&& body) noexcept {
  CUresult status = body();
  if (needs_context(status)) [[unlikely]] {
    status = prepare_context(status);
    if (status == CUDA_SUCCESS) status = body();
  }
  return status;
}

// A driver call that needs a current context.
template <typename... Parameters>
inline cudaError_t with_context(CUresult (*entry)(Parameters...),
                                std::type_identity_t<Parameters>... arguments) noexcept {
  if (entry == nullptr) [[unlikely]]
    return fail(cudaErrorInsufficientDriver);
  return finish(attempt([&] { return entry(arguments...); }));
}

// A driver call that needs an initialised driver only.
template <typename... Parameters>
inline CUresult initialized_call(CUresult (*entry)(Parameters...),
                                 std::type_identity_t<Parameters>... arguments) noexcept {
  if (entry == nullptr) [[unlikely]]
    return static_cast<CUresult>(cudaErrorInsufficientDriver);
  CUresult status = entry(arguments...);
  if (status == CUDA_ERROR_NOT_INITIALIZED) [[unlikely]] {
    status = initialize();
    if (status == CUDA_SUCCESS) status = entry(arguments...);
  }
  return status;
}
template <typename... Parameters>
inline cudaError_t with_driver(CUresult (*entry)(Parameters...),
                               std::type_identity_t<Parameters>... arguments) noexcept {
  return finish(initialized_call(entry, arguments...));
}

// The stream of a _ptsz entry point: the null stream is the thread's own.
inline cudaStream_t own_stream(cudaStream_t stream) noexcept {
  return stream == nullptr ? cudaStreamPerThread : stream;
}

inline CUdeviceptr device_address(const void* pointer) noexcept { return reinterpret_cast<CUdeviceptr>(pointer); }

// The number in an enumerator that the program stored: it may be none of the enumeration's, which C++ forbids to load
// as such.
template <typename Enumeration>
inline unsigned stored_value(const Enumeration& value) noexcept {
  static_assert(sizeof(Enumeration) == sizeof(unsigned));
  unsigned number;
  memcpy(&number, &value, sizeof number);
  return number;
}

// Reads a type of the runtime header as the driver's type of the same layout.
template <typename Driver, typename Runtime>
inline Driver* as_driver(Runtime* value) noexcept {
  static_assert(sizeof(std::remove_cv_t<Driver>) == sizeof(std::remove_cv_t<Runtime>));
  return reinterpret_cast<Driver*>(value);
}

}  // namespace maya::cudart
