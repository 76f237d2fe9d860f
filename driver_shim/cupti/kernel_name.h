// Names that records point to. They live for ever, one copy of each text.
#pragma once

#include <string_view>

#include "predictor/core/operation.h"

namespace maya::cupti {

const char* kept_name(std::string_view text);

// A library operation as a kernel's name: the library call's own, and for collectives what NCCL's kernels begin with,
// by which profile readers tell communication from computation.
const char* operation_name(const OperationRecord& operation);

}  // namespace maya::cupti
