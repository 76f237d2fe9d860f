// Hand-written kernels of well-known other libraries: a name gives the family and the operation, sizes are guessed from
// the grid. And small helpers of PyTorch, whose time is that of the shortest kernel.
#include <algorithm>

#include "predictor/core/launch_context.h"

namespace maya::model {
namespace {

struct NamedKernel {
  std::string_view part;  // of the qualified name
  Family family;
  Operator op = Operator::kNone;
};
// The first that matches counts.
constexpr NamedKernel kKernels[] = {
    // expert parallelism: DeepEP's dispatch and combine
    {"::ep::", Family::kCollective},
    {"deep_ep::", Family::kCollective},
    {"nvshmem", Family::kCollective},
    {"grouped_gemm::cuda::utils::", Family::kIndex},
    {"swiglu", Family::kElementwise, Operator::kGatedActivation},
    {"geglu", Family::kElementwise, Operator::kGatedActivation},
    {"rotary", Family::kElementwise, Operator::kRotary},
    {"rope", Family::kElementwise, Operator::kRotary},
    {"cast_", Family::kElementwise, Operator::kCopy},
    {"_cast", Family::kElementwise, Operator::kCopy},
    {"transpose", Family::kElementwise, Operator::kCopy},
    {"permute", Family::kElementwise, Operator::kCopy},
    {"copy_tensor", Family::kElementwise, Operator::kCopy},
    {"_copy_kernel", Family::kElementwise, Operator::kCopy},
    {"topk", Family::kSort},
    {"expand_to_fused", Family::kIndex},
    {"reduce_fused", Family::kIndex},
    {"fused_mapping", Family::kIndex},
    {"group_indices", Family::kIndex},
    {"count_expert", Family::kIndex},
    {"aux_fi", Family::kReduction, Operator::kSum},
    // cuBLAS level 1 and 2
    {"gemv", Family::kVector},
    {"axpy_kernel", Family::kVector},
    {"scal_kernel", Family::kVector},
    {"epilogue::impl::globalKernel", Family::kElementwise, Operator::kAdd},  // cublasLt: bias, activation
    {"scaled_", Family::kElementwise, Operator::kScalar},
    {"adam", Family::kOptimizer, Operator::kAdam},
    {"lstm", Family::kRecurrent},
    {"RNN_", Family::kRecurrent},
    {"gru_", Family::kRecurrent},
    {"vector_fft", Family::kFourier},
    {"regular_fft", Family::kFourier},
    {"spmm", Family::kSparse},
    {"csrmm", Family::kSparse},
    {"cusparse", Family::kSparse},
};

// A block or a few that look at single values: whatever they do, they take as long as an empty kernel.
constexpr NamedKernel kSmallKernels[] = {
    {"amp_update_scale", Family::kElementwise, Operator::kScalar},
    {"_assert_async", Family::kElementwise, Operator::kScalar},
    {"prepare_varlen_num_blocks", Family::kIndex},
    {"fill_tensormaps", Family::kFill},
};

}  // namespace

// torch.cuda._sleep(cycles): one thread that watches the clock of its multiprocessor.
bool sleep_work(const LaunchContext& context, Work* work) {
  if (!context.name.qualified.starts_with("at::cuda::") || context.name.leaf != "spin_kernel") return false;
  work->family = Family::kCustom;
  work->shape.family = Family::kCustom;
  work->type = DataType::kFloat32;
  work->waited_cycles = static_cast<double>(std::max<int64_t>(context.scalar(0, 0), 0));
  return true;
}

bool library_work(const LaunchContext& context, Work* work) {
  for (const NamedKernel& kernel : kSmallKernels) {
    if (!contains(context.name.qualified, kernel.part)) continue;
    set_streaming(work, kernel.family, DataType::kFloat32, context.threads(), 8, 4);
    set_operator(work, kernel.op);
    return true;
  }
  for (const NamedKernel& kernel : kKernels) {
    if (!contains(context.name.qualified, kernel.part)) continue;
    // Two vector accesses of 16 bytes each way a thread, as for kernels of no name at all.
    constexpr double kThread_bytes = 32;
    DataType type = first_type_in(context.text);
    if (type == DataType::kNone || type == DataType::kInt32) type = DataType::kFloat32;
    const double each = data_type_bits(type) / 8.0;
    set_streaming(work, kernel.family, type, context.threads() * kThread_bytes / each, each, each);
    set_operator(work, kernel.op);
    if (kernel.family == Family::kCollective) work->shape.set(Key::kBytes, whole(work->read_bytes)).set(Key::kRanks, 8);
    if (contains(context.name.leaf, "backward") || contains(context.name.leaf, "bwd"))
      work->shape.set(Key::kDirection, 1);
    work->guessed = true;
    return true;
  }
  return false;
}

}  // namespace maya::model
