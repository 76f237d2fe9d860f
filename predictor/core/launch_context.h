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

// Fills work as work_of() does for the same operation recorded with rows and columns.
void set_operation(Work* work, Family family, Operator op, DataType type, double rows, double columns, bool backward);

// Work of a kernel whose instructions were counted, Family::kCustom.
Work custom_work(const LaunchContext& context);

inline void set_operator(Work* work, Operator op) { work->shape.set(Key::kOperator, static_cast<int64_t>(op)); }

// Bytes of the element type named in `argument`, `otherwise` when it names none.
inline double bytes_in(std::string_view argument, double otherwise) {
  const uint32_t bytes = element_bytes_in(argument);
  return bytes == 0 ? otherwise : bytes;
}

// The element type named in `argument`. Kernels that only move elements name their size, at::native::OpaqueType<2>:
// then the type that is most often that wide.
DataType copied_type(std::string_view argument);

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// The first "<number>x<number>" of a name with both numbers from `least` to `most`; false when there is none.
bool tile_in(std::string_view text, int64_t least, int64_t most, int64_t* first, int64_t* second);

// What one call of an elementwise functor takes in and gives out.
struct FunctorSignature {
  int inputs = -1;         // -1: unknown
  double input_bytes = 0;  // of all inputs
  double output_bytes = 0;
  DataType type = DataType::kNone;
};
FunctorSignature functor_signature(std::string_view functor);

// The operation a functor carries out, by the names of PyTorch's functors; `inputs` decides where the name does not.
Operator functor_operator(std::string_view functor, int inputs);

// Each recognises the kernels of one library or style by name, fills `work` and returns true; false when the name is
// not its own. The rules, with the source of every layout, stand at each function's definition.
bool elementwise_work(const LaunchContext& context, Work* work);   // PyTorch: TensorIterator kernels, random numbers
bool norm_work(const LaunchContext& context, Work* work);          // layer, RMS, batch and group norm
bool softmax_work(const LaunchContext& context, Work* work);       // softmax and losses
bool reduction_work(const LaunchContext& context, Work* work);     // sums, maxima, norms
bool embedding_work(const LaunchContext& context, Work* work);     // embedding tables, forward and backward
bool index_work(const LaunchContext& context, Work* work);         // gather, scatter, concatenation, padding
bool sort_work(const LaunchContext& context, Work* work);          // sort, scan, top-k, selection
bool pooling_work(const LaunchContext& context, Work* work);       // pooling, up-sampling, im2col
bool multi_tensor_work(const LaunchContext& context, Work* work);  // PyTorch and apex: multi-tensor apply
bool attention_kernel_work(const LaunchContext& context, Work* work);    // FlashAttention, CUTLASS fused attention
bool triton_work(const LaunchContext& context, Work* work);              // Inductor's generated kernels
bool xla_work(const LaunchContext& context, Work* work);                 // kernels that XLA compiles
bool xla_collective_work(const LaunchContext& context, Work* work);      // of these, collectives
bool convolution_kernel_work(const LaunchContext& context, Work* work);  // cuDNN's and PyTorch's convolutions
bool matrix_work(const LaunchContext& context, Work* work);              // CUTLASS and cuBLAS kernels launched by name
bool collective_kernel_work(const LaunchContext& context, Work* work);   // NCCL's kernels, as profilers see them
bool training_library_work(const LaunchContext& context, Work* work);    // Liger, Unsloth, bitsandbytes, AutoGPTQ
bool transformer_engine_work(const LaunchContext& context, Work* work);  // Transformer Engine's own
bool sleep_work(const LaunchContext& context, Work* work);               // torch.cuda._sleep
bool inference_work(const LaunchContext& context, Work* work);           // vLLM
bool library_work(const LaunchContext& context, Work* work);  // hand-written kernels of well-known other libraries

}  // namespace maya::model
