// The release of cuBLAS that a library stands for. libcublas.so.12 is made of the same objects as libcublas.so.13 but
// for the files that include this, which are compiled once for each release (MAYA_CUDA_MAJOR:
// driver_shim/CMakeLists.txt).
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

namespace maya::cublas {

#if defined(MAYA_CUDA_MAJOR) && MAYA_CUDA_MAJOR == 12
// The names in entries_12.txt are those of this release.
inline constexpr int kMajor = 12, kMinor = 9, kPatch = 1;
inline constexpr int kRuntimeVersion = 12090;
#else
inline constexpr int kMajor = CUBLAS_VER_MAJOR, kMinor = CUBLAS_VER_MINOR, kPatch = CUBLAS_VER_PATCH;
inline constexpr int kRuntimeVersion = CUDART_VERSION;
#endif
inline constexpr int kVersion = kMajor * 10000 + kMinor * 100 + kPatch;  // as CUBLAS_VERSION of cublas_api.h

}  // namespace maya::cublas
