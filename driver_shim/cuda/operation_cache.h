// Library operations that a thread has recorded before: content -> trace id and duration. One per thread, no lock.
#pragma once

#include <cstdint>

#include "predictor/core/operation.h"

namespace maya::cuda {

struct OperationCache {
  struct Entry {
    OperationRecord operation;
    uint32_t id = 0;  // 0: empty
    uint64_t duration_ns = 0;
  };
  static constexpr uint32_t kEntries = 256;
  Entry entries[kEntries];
};

}  // namespace maya::cuda
