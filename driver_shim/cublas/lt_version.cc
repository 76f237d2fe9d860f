#include <cublasLt.h>

#include "driver_shim/common/api.h"
#include "driver_shim/cublas/release.h"

MAYA_API size_t cublasLtGetVersion(void) { return maya::cublas::kVersion; }

MAYA_API size_t cublasLtGetCudartVersion(void) { return maya::cublas::kRuntimeVersion; }
