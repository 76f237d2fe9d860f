#include "driver_shim/cuda/gate.h"

namespace maya::cuda {

CUresult context_error(const Context* context) noexcept {
  if (!context->alive.load(std::memory_order_acquire)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return static_cast<CUresult>(context->sticky_error.load(std::memory_order_relaxed));
}

}  // namespace maya::cuda
