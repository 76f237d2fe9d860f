// Flags of a context, and what its streams may be.
#pragma once

#include <cuda.h>

namespace maya::cuda {

constexpr int kGreatestStreamPriority = -5;  // six levels, as on every device since compute capability 7.0

// No unknown flag, and at most one scheduling policy.
inline bool valid_context_flags(unsigned int flags) {
  const unsigned int policy = flags & CU_CTX_SCHED_MASK;
  return (flags & ~static_cast<unsigned int>(CU_CTX_FLAGS_MASK)) == 0 && (policy & (policy - 1)) == 0;
}

}  // namespace maya::cuda
