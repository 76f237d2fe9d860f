// What the recognisers of kernel families get to see of a launch. Internal to the estimate core.
#pragma once

#include <string_view>

#include "predictor/core/estimate.h"
#include "predictor/core/kernel_name.h"
#include "predictor/core/limits.h"

namespace maya::model {

struct LaunchContext {
  const LaunchView& launch;
  std::string_view text;  // demangled
  KernelName name;

  double blocks() const;
  double threads() const;  // of the whole grid
  double threads_per_block() const;
  // The scalar argument at a byte offset, sign-extended from its size; `otherwise` when it was not recorded.
  int64_t scalar_at(uint32_t offset, int64_t otherwise) const;
  // The i-th recorded scalar of 4 or 8 bytes, in order of offset; `otherwise` when there are fewer.
  int64_t scalar(uint32_t i, int64_t otherwise) const;
};

// Fills work for elements read and written by a streaming kernel and notes the count in the shape.
void set_streaming(Work* work, Family family, DataType type, double elements, double read_bytes_each,
                   double written_bytes_each);

// Each recognises the kernels of one library or style by name, fills `work` and returns true; false when the name is
// not its own. The rules, with the source of every layout, stand at each function's definition.
bool elementwise_work(const LaunchContext& context, Work* work);  // PyTorch: TensorIterator kernels, random numbers
bool row_work(const LaunchContext& context, Work* work);          // PyTorch: softmax, layer norm, losses, reductions
bool index_work(const LaunchContext& context, Work* work);  // PyTorch: gather, scatter, embedding, concatenation, sort
bool multi_tensor_work(const LaunchContext& context, Work* work);      // PyTorch and apex: multi-tensor apply
bool attention_kernel_work(const LaunchContext& context, Work* work);  // FlashAttention, CUTLASS fused attention
bool triton_work(const LaunchContext& context, Work* work);            // Inductor's generated kernels
bool matrix_work(const LaunchContext& context, Work* work);            // CUTLASS and cuBLAS kernels launched by name

}  // namespace maya::model
