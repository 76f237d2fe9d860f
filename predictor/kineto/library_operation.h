// The library operation that a kernel carries out, with its shape, from the framework's operator that launched it: a
// kernel's name says neither the depth of a matrix product nor the lengths of an attention.
//
// Operators: aten::mm, addmm, bmm, baddbmm, _scaled_mm; _scaled_dot_product_{flash,efficient,cudnn}_attention and their
// backward passes; cudnn_convolution, convolution, convolution_backward. Arguments in the order of PyTorch's
// native_functions.yaml. The profiler must have recorded shapes (record_shapes=True).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "predictor/core/operation.h"
#include "predictor/kineto/kineto_trace.h"
#include "predictor/kineto/launches.h"

namespace maya::predictor::kineto {

// By call of the trace: the innermost operator of the above around it on its thread; kNoIndex.
std::vector<uint32_t> operators_of_calls(const KinetoTrace& trace, const Launches& launches);

// True for kernels of matrix, attention and convolution libraries; false for the framework's own around them.
bool is_library_kernel(std::string_view kernel_name);

// None when the operator's shapes do not tell. `kernel_name` tells layouts, TF32, and which gradient of a convolution.
std::optional<OperationRecord> library_operation(const KinetoTrace& trace, const CpuOperator& op,
                                                 std::string_view kernel_name);

}  // namespace maya::predictor::kineto
