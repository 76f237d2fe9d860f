// cudaGetLastError and the names and texts of errors. The texts are those that NVIDIA's runtime gives: programs and log
// scanners search for them.
#include "driver_shim/cudart/runtime.h"

using namespace maya::cudart;

namespace {

struct ErrorText {
  cudaError_t error;
  const char* name;
  const char* text;
};

#define MAYA_ERROR(name, text) \
  { name, #name, text }
// In order of value.
constexpr ErrorText kErrorTexts[] = {
    MAYA_ERROR(cudaSuccess, "no error"),
    MAYA_ERROR(cudaErrorInvalidValue, "invalid argument"),
    MAYA_ERROR(cudaErrorMemoryAllocation, "out of memory"),
    MAYA_ERROR(cudaErrorInitializationError, "initialization error"),
    MAYA_ERROR(cudaErrorCudartUnloading, "driver shutting down"),
    MAYA_ERROR(cudaErrorProfilerDisabled, "profiler disabled while using external profiling tool"),
    MAYA_ERROR(cudaErrorProfilerNotInitialized, "profiler not initialized: call cudaProfilerInitialize()"),
    MAYA_ERROR(cudaErrorProfilerAlreadyStarted, "profiler already started"),
    MAYA_ERROR(cudaErrorProfilerAlreadyStopped, "profiler already stopped"),
    MAYA_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
#if CUDART_VERSION >= 13000
    MAYA_ERROR(cudaErrorVersionTranslation,
               "Driver is newer than runtime and returned parameters the runtime cannot process"),
#endif
    MAYA_ERROR(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    MAYA_ERROR(cudaErrorInvalidSymbol, "invalid device symbol"),
    MAYA_ERROR(cudaErrorInvalidHostPointer, "invalid host pointer"),
    MAYA_ERROR(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    MAYA_ERROR(cudaErrorInvalidTexture, "invalid texture reference"),
    MAYA_ERROR(cudaErrorInvalidTextureBinding, "texture is not bound to a pointer"),
    MAYA_ERROR(cudaErrorInvalidChannelDescriptor, "invalid channel descriptor"),
    MAYA_ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    MAYA_ERROR(cudaErrorAddressOfConstant, "invalid address of constant"),
    MAYA_ERROR(cudaErrorTextureFetchFailed, "fetch from texture failed"),
    MAYA_ERROR(cudaErrorTextureNotBound, "cannot fetch from a texture that is not bound"),
    MAYA_ERROR(cudaErrorSynchronizationError, "incorrect use of __syncthreads()"),
    MAYA_ERROR(cudaErrorInvalidFilterSetting, "linear filtering not supported for non-float type"),
    MAYA_ERROR(cudaErrorInvalidNormSetting, "read as normalized float not supported for data type"),
    MAYA_ERROR(cudaErrorMixedDeviceExecution, "device emulation mode and device execution mode cannot be mixed"),
    MAYA_ERROR(cudaErrorNotYetImplemented, "feature not yet implemented"),
    MAYA_ERROR(cudaErrorMemoryValueTooLarge, "memory size or pointer value too large to fit in 32 bit"),
    MAYA_ERROR(cudaErrorStubLibrary, "CUDA driver is a stub library"),
    MAYA_ERROR(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version"),
    MAYA_ERROR(cudaErrorCallRequiresNewerDriver, "API call is not supported in the installed CUDA driver"),
    MAYA_ERROR(cudaErrorInvalidSurface, "invalid surface reference"),
    MAYA_ERROR(cudaErrorDuplicateVariableName, "duplicate global variable looked up by string name"),
    MAYA_ERROR(cudaErrorDuplicateTextureName, "duplicate texture looked up by string name"),
    MAYA_ERROR(cudaErrorDuplicateSurfaceName, "duplicate surface looked up by string name"),
    MAYA_ERROR(cudaErrorDevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable"),
    MAYA_ERROR(cudaErrorIncompatibleDriverContext, "incompatible driver context"),
    MAYA_ERROR(cudaErrorMissingConfiguration, "__global__ function call is not configured"),
    MAYA_ERROR(cudaErrorPriorLaunchFailure, "unspecified launch failure in prior launch"),
    MAYA_ERROR(cudaErrorLaunchMaxDepthExceeded, "launch would exceed maximum depth of nested launches"),
    MAYA_ERROR(cudaErrorLaunchFileScopedTex,
               "launch failed because kernel uses unsupported, file-scoped textures (texture objects are supported)"),
    MAYA_ERROR(cudaErrorLaunchFileScopedSurf,
               "launch failed because kernel uses unsupported, file-scoped surfaces (surface objects are supported)"),
    MAYA_ERROR(cudaErrorSyncDepthExceeded,
               "cudaDeviceSynchronize failed because caller's grid depth exceeds cudaLimitDevRuntimeSyncDepth"),
    MAYA_ERROR(cudaErrorLaunchPendingCountExceeded,
               "launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount"),
    MAYA_ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    MAYA_ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    MAYA_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    MAYA_ERROR(cudaErrorDeviceNotLicensed, "device doesn't have valid Grid license"),
    MAYA_ERROR(cudaErrorSoftwareValidityNotEstablished, "integrity checks failed"),
    MAYA_ERROR(cudaErrorStartupFailure, "startup failure in cuda runtime"),
    MAYA_ERROR(cudaErrorInvalidKernelImage, "device kernel image is invalid"),
    MAYA_ERROR(cudaErrorDeviceUninitialized, "invalid device context"),
    MAYA_ERROR(cudaErrorMapBufferObjectFailed, "mapping of buffer object failed"),
    MAYA_ERROR(cudaErrorUnmapBufferObjectFailed, "unmapping of buffer object failed"),
    MAYA_ERROR(cudaErrorArrayIsMapped, "array is mapped"),
    MAYA_ERROR(cudaErrorAlreadyMapped, "resource already mapped"),
    MAYA_ERROR(cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device"),
    MAYA_ERROR(cudaErrorAlreadyAcquired, "resource already acquired"),
    MAYA_ERROR(cudaErrorNotMapped, "resource not mapped"),
    MAYA_ERROR(cudaErrorNotMappedAsArray, "resource not mapped as array"),
    MAYA_ERROR(cudaErrorNotMappedAsPointer, "resource not mapped as pointer"),
    MAYA_ERROR(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered"),
    MAYA_ERROR(cudaErrorUnsupportedLimit, "limit is not supported on this architecture"),
    MAYA_ERROR(cudaErrorDeviceAlreadyInUse, "exclusive-thread device already in use by a different thread"),
    MAYA_ERROR(cudaErrorPeerAccessUnsupported, "peer access is not supported between these two devices"),
    MAYA_ERROR(cudaErrorInvalidPtx, "a PTX JIT compilation failed"),
    MAYA_ERROR(cudaErrorInvalidGraphicsContext, "invalid OpenGL or DirectX context"),
    MAYA_ERROR(cudaErrorNvlinkUncorrectable, "uncorrectable NVLink error detected during the execution"),
    MAYA_ERROR(cudaErrorJitCompilerNotFound, "PTX JIT compiler library not found"),
    MAYA_ERROR(cudaErrorUnsupportedPtxVersion, "the provided PTX was compiled with an unsupported toolchain."),
    MAYA_ERROR(cudaErrorJitCompilationDisabled, "PTX JIT compilation was disabled"),
    MAYA_ERROR(cudaErrorUnsupportedExecAffinity, "the provided execution affinity is not supported"),
    MAYA_ERROR(cudaErrorUnsupportedDevSideSync, "the provided PTX contains unsupported call to cudaDeviceSynchronize"),
    MAYA_ERROR(cudaErrorContained, "Invalid access of peer GPU memory over nvlink or a hardware error"),
    MAYA_ERROR(cudaErrorInvalidSource, "device kernel image is invalid"),
    MAYA_ERROR(cudaErrorFileNotFound, "file not found"),
    MAYA_ERROR(cudaErrorSharedObjectSymbolNotFound, "shared object symbol not found"),
    MAYA_ERROR(cudaErrorSharedObjectInitFailed, "shared object initialization failed"),
    MAYA_ERROR(cudaErrorOperatingSystem, "OS call failed or operation not supported on this OS"),
    MAYA_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    MAYA_ERROR(cudaErrorIllegalState, "the operation cannot be performed in the present state"),
    MAYA_ERROR(cudaErrorLossyQuery, "attempted introspection would be semantically lossy"),
    MAYA_ERROR(cudaErrorSymbolNotFound, "named symbol not found"),
    MAYA_ERROR(cudaErrorNotReady, "device not ready"),
    MAYA_ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    MAYA_ERROR(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    MAYA_ERROR(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    MAYA_ERROR(cudaErrorLaunchIncompatibleTexturing, "launch uses incompatible texturing mode"),
    MAYA_ERROR(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    MAYA_ERROR(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    MAYA_ERROR(cudaErrorSetOnActiveProcess, "cannot set while device is active in this process"),
    MAYA_ERROR(cudaErrorContextIsDestroyed, "context is destroyed"),
    MAYA_ERROR(cudaErrorAssert, "device-side assert triggered"),
    MAYA_ERROR(cudaErrorTooManyPeers, "peer mapping resources exhausted"),
    MAYA_ERROR(cudaErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped"),
    MAYA_ERROR(cudaErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region"),
    MAYA_ERROR(cudaErrorHardwareStackError, "hardware stack error"),
    MAYA_ERROR(cudaErrorIllegalInstruction, "an illegal instruction was encountered"),
    MAYA_ERROR(cudaErrorMisalignedAddress, "misaligned address"),
    MAYA_ERROR(cudaErrorInvalidAddressSpace, "operation not supported on global/shared address space"),
    MAYA_ERROR(cudaErrorInvalidPc, "invalid program counter"),
    MAYA_ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    MAYA_ERROR(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    MAYA_ERROR(cudaErrorTensorMemoryLeak, "tensor memory not completely freed"),
    MAYA_ERROR(cudaErrorNotPermitted, "operation not permitted"),
    MAYA_ERROR(cudaErrorNotSupported, "operation not supported"),
    MAYA_ERROR(cudaErrorSystemNotReady, "system not yet initialized"),
    MAYA_ERROR(cudaErrorSystemDriverMismatch, "system has unsupported display driver / cuda driver combination"),
    MAYA_ERROR(cudaErrorCompatNotSupportedOnDevice, "forward compatibility was attempted on non supported HW"),
    MAYA_ERROR(cudaErrorMpsConnectionFailed,
               "MPS client failed to connect to the MPS control daemon or the MPS server"),
    MAYA_ERROR(cudaErrorMpsRpcFailure, "the remote procedural call between the MPS server and the MPS client failed"),
    MAYA_ERROR(cudaErrorMpsServerNotReady, "MPS server is not ready to accept new MPS client requests"),
    MAYA_ERROR(cudaErrorMpsMaxClientsReached,
               "the hardware resources required to create MPS client have been exhausted"),
    MAYA_ERROR(cudaErrorMpsMaxConnectionsReached,
               "the hardware resources required to support device connections have been exhausted"),
    MAYA_ERROR(cudaErrorMpsClientTerminated, "the MPS client has been terminated by the server"),
    MAYA_ERROR(cudaErrorCdpNotSupported,
               "is using CUDA Dynamic Parallelism, but the current configuration, like MPS, does not support it"),
    MAYA_ERROR(cudaErrorCdpVersionMismatch,
               "unsupported interaction between different versions of CUDA Dynamic Parallelism"),
    MAYA_ERROR(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    MAYA_ERROR(cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"),
    MAYA_ERROR(cudaErrorStreamCaptureMerge, "operation would result in a merge of separate capture sequences"),
    MAYA_ERROR(cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began"),
    MAYA_ERROR(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    MAYA_ERROR(cudaErrorStreamCaptureIsolation, "dependency created on uncaptured work in another stream"),
    MAYA_ERROR(cudaErrorStreamCaptureImplicit,
               "operation would make the legacy stream depend on a capturing blocking stream"),
    MAYA_ERROR(cudaErrorCapturedEvent, "operation not permitted on an event last recorded in a capturing stream"),
    MAYA_ERROR(cudaErrorStreamCaptureWrongThread,
               "attempt to terminate a thread-local capture sequence from another thread"),
    MAYA_ERROR(cudaErrorTimeout, "wait operation timed out"),
    MAYA_ERROR(cudaErrorGraphExecUpdateFailure,
               "the graph update was not performed because it included changes which violated constraints specific to "
               "instantiated graph update"),
    MAYA_ERROR(cudaErrorExternalDevice, "an async error has occured in external entity outside of CUDA"),
    MAYA_ERROR(cudaErrorInvalidClusterSize, "a kernel launch error has occurred due to cluster misconfiguration"),
    MAYA_ERROR(cudaErrorFunctionNotLoaded,
               "the function handle is not loaded when calling an API that requires a loaded function"),
    MAYA_ERROR(cudaErrorInvalidResourceType,
               "one or more resources passed in are not valid resource types for the operation"),
    MAYA_ERROR(cudaErrorInvalidResourceConfiguration,
               "one or more resources are insufficient or non-applicable for the operation"),
#if CUDART_VERSION >= 13000
    MAYA_ERROR(cudaErrorStreamDetached,
               "API call not permitted since the green context associated with the stream has been destroyed"),
#endif
    MAYA_ERROR(cudaErrorUnknown, "unknown error"),
    MAYA_ERROR(cudaErrorApiFailureBase, "api failure base"),
};
#undef MAYA_ERROR

const ErrorText* find_text(cudaError_t error) {
  for (const ErrorText& row : kErrorTexts)
    if (row.error == error) return &row;
  return nullptr;
}

constexpr const char kUnrecognized[] = "unrecognized error code";

}  // namespace

MAYA_API cudaError_t cudaGetLastError() {
  const cudaError_t error = thread_state.last_error;
  if (!is_sticky(error)) thread_state.last_error = cudaSuccess;
  return error;
}

MAYA_API cudaError_t cudaPeekAtLastError() { return thread_state.last_error; }

MAYA_API const char* cudaGetErrorName(cudaError_t error) {
  const ErrorText* row = find_text(error);
  return row == nullptr ? kUnrecognized : row->name;
}

MAYA_API const char* cudaGetErrorString(cudaError_t error) {
  const ErrorText* row = find_text(error);
  return row == nullptr ? kUnrecognized : row->text;
}
