// What the name of an NCCL kernel says.
#pragma once

#include <optional>
#include <string_view>

#include "predictor/core/operation.h"

namespace maya::predictor::kineto {

// "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "ncclDevKernel_SendRecv(ncclDevKernelArgs...)"; none when the
// kernel is not NCCL's. Point-to-point kernels are kSend.
std::optional<CollectiveKind> collective_of(std::string_view kernel_name);

// The element type as PyTorch's profiler names it: "Float", "BFloat16"; kNone when unknown.
DataType element_type_of(std::string_view name);

}  // namespace maya::predictor::kineto
