// Libraries, driver entry points, profiler control, error log.
#include "driver_shim/cudart/runtime.h"

using namespace maya::cudart;

// Declared by the toolkit's cudaProfiler.h, which no wheel carries.
extern "C" CUresult CUDAAPI cuProfilerStart();
extern "C" CUresult CUDAAPI cuProfilerStop();

namespace {

CUlibrary driver_library(cudaLibrary_t library) { return reinterpret_cast<CUlibrary>(library); }
CUkernel driver_kernel(cudaKernel_t kernel) { return reinterpret_cast<CUkernel>(kernel); }

// `default_flag` is what cudaEnableDefault means to the caller.
cudaError_t entry_point(const char* symbol, void** function, unsigned version, unsigned long long flags,
                        cudaDriverEntryPointQueryResult* result, CUdriverProcAddress_flags default_flag) {
  constexpr unsigned long long kKnown = cudaEnableLegacyStream | cudaEnablePerThreadDefaultStream;
  if (symbol == nullptr || function == nullptr || (flags & ~kKnown) != 0) return fail(cudaErrorInvalidValue);
  const auto get = MAYA_DRIVER(cuGetProcAddress_v2);
  int driver_version = 0;
  if (get == nullptr || MAYA_DRIVER(cuDriverGetVersion)(&driver_version) != CUDA_SUCCESS)
    return fail(cudaErrorInsufficientDriver);
  *function = nullptr;
  if (version > static_cast<unsigned>(driver_version)) return fail(cudaErrorInvalidValue);
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  const CUresult status = get(symbol, function, static_cast<int>(version),
                              flags == cudaEnableDefault ? static_cast<cuuint64_t>(default_flag) : flags, &found);
  // An unknown symbol or version is an answer, not an error.
  if (status != CUDA_SUCCESS && status != CUDA_ERROR_NOT_FOUND) return finish(status);
  if (status == CUDA_ERROR_NOT_FOUND || found != CU_GET_PROC_ADDRESS_SUCCESS) *function = nullptr;
  if (result != nullptr) *result = static_cast<cudaDriverEntryPointQueryResult>(found);
  return cudaSuccess;
}

}  // namespace

MAYA_API cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption* jit_options,
                                         void** jit_values, unsigned jit_count, cudaLibraryOption* options,
                                         void** values, unsigned count) {
  return with_driver(MAYA_DRIVER(cuLibraryLoadData), reinterpret_cast<CUlibrary*>(library), code,
                     as_driver<CUjit_option>(jit_options), jit_values, jit_count, as_driver<CUlibraryOption>(options),
                     values, count);
}
MAYA_API cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* path, cudaJitOption* jit_options,
                                             void** jit_values, unsigned jit_count, cudaLibraryOption* options,
                                             void** values, unsigned count) {
  return with_driver(MAYA_DRIVER(cuLibraryLoadFromFile), reinterpret_cast<CUlibrary*>(library), path,
                     as_driver<CUjit_option>(jit_options), jit_values, jit_count, as_driver<CUlibraryOption>(options),
                     values, count);
}
MAYA_API cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  return with_driver(MAYA_DRIVER(cuLibraryUnload), driver_library(library));
}
MAYA_API cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  return with_driver(MAYA_DRIVER(cuLibraryGetKernel), reinterpret_cast<CUkernel*>(kernel), driver_library(library),
                     name);
}
MAYA_API cudaError_t cudaLibraryGetGlobal(void** pointer, size_t* bytes, cudaLibrary_t library, const char* name) {
  return with_context(MAYA_DRIVER(cuLibraryGetGlobal), reinterpret_cast<CUdeviceptr*>(pointer), bytes,
                      driver_library(library), name);
}
MAYA_API cudaError_t cudaLibraryGetManaged(void** pointer, size_t* bytes, cudaLibrary_t library, const char* name) {
  return with_context(MAYA_DRIVER(cuLibraryGetManaged), reinterpret_cast<CUdeviceptr*>(pointer), bytes,
                      driver_library(library), name);
}
MAYA_API cudaError_t cudaLibraryGetUnifiedFunction(void** function, cudaLibrary_t library, const char* symbol) {
  return with_context(MAYA_DRIVER(cuLibraryGetUnifiedFunction), function, driver_library(library), symbol);
}
MAYA_API cudaError_t cudaLibraryGetKernelCount(unsigned* count, cudaLibrary_t library) {
  return with_driver(MAYA_DRIVER(cuLibraryGetKernelCount), count, driver_library(library));
}
MAYA_API cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned count, cudaLibrary_t library) {
  return with_driver(MAYA_DRIVER(cuLibraryEnumerateKernels), reinterpret_cast<CUkernel*>(kernels), count,
                     driver_library(library));
}
MAYA_API cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute, int value,
                                                     int device) {
  return with_driver(MAYA_DRIVER(cuKernelSetAttribute), static_cast<CUfunction_attribute>(attribute), value,
                     driver_kernel(kernel), device);
}

MAYA_API cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* result) {
  return entry_point(symbol, function, kRuntimeVersion, flags, result, CU_GET_PROC_ADDRESS_LEGACY_STREAM);
}
MAYA_API cudaError_t cudaGetDriverEntryPoint_ptsz(const char* symbol, void** function, unsigned long long flags,
                                                  cudaDriverEntryPointQueryResult* result) {
  return entry_point(symbol, function, kRuntimeVersion, flags, result, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
}
MAYA_API cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version,
                                                      unsigned long long flags,
                                                      cudaDriverEntryPointQueryResult* result) {
  return entry_point(symbol, function, version, flags, result, CU_GET_PROC_ADDRESS_LEGACY_STREAM);
}
MAYA_API cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char* symbol, void** function, unsigned version,
                                                           unsigned long long flags,
                                                           cudaDriverEntryPointQueryResult* result) {
  return entry_point(symbol, function, version, flags, result, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
}

// Private tables of NVIDIA's are never answered (design.md section 2).
MAYA_API cudaError_t cudaGetExportTable(const void** table, const cudaUUID_t* id) {
  if (table == nullptr || id == nullptr) return fail(cudaErrorInvalidValue);
  *table = nullptr;
  return fail(cudaErrorSymbolNotFound);
}

MAYA_API cudaError_t cudaProfilerStart() { return with_context(MAYA_DRIVER(cuProfilerStart)); }
MAYA_API cudaError_t cudaProfilerStop() { return with_context(MAYA_DRIVER(cuProfilerStop)); }
