// What stands behind a cublasLtHandle_t. A cublasHandle_t may be used in its place (documented), so both begin with
// their magic value.
#pragma once

#include <cublasLt.h>

#include <cstdint>

#include "driver_shim/cublas/handle.h"

struct cublasLtContext {
  static constexpr uint64_t kMagic = 0x6d617961636c7468;
  uint64_t magic = kMagic;
};

namespace maya::cublas {

inline bool usable(cublasLtHandle_t handle) {
  return handle != nullptr && (handle->magic == cublasLtContext::kMagic || handle->magic == cublasContext::kMagic);
}

// Compute capability of the current context's device as major * 10 + minor; 0 without a context.
int compute_capability();

}  // namespace maya::cublas
