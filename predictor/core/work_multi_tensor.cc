// Multi-tensor apply (PyTorch's MultiTensorApply.cuh and ForeachFunctors.cuh, apex's multi_tensor_apply.cuh): a block
// takes one chunk of one tensor, of each of `depth` lists. The lengths of the tensors sit in a by-value structure that
// is not recorded: every chunk is counted full, which overstates tensors that are no multiple of the chunk.
#include <algorithm>

#include "predictor/core/launch_context.h"

namespace maya::model {
namespace {

constexpr double kChunk_elements = 65536;  // of PyTorch; apex passes its own as the first argument

// "...TensorListMetadata<4>": how many lists the kernel walks over.
long depth_of(std::string_view metadata) {
  size_t open = metadata.rfind('<');
  if (open == std::string_view::npos) return 1;
  std::string_view depth = metadata.substr(open + 1);
  depth = depth.substr(0, depth.find_first_of(",>"));
  return std::max(number_in(depth, 1), 1L);
}

struct Access {
  Operator op;
  double reads, writes;
};

Access access_of(std::string_view functor, double depth) {
  // Adam: gradient, parameter, both moments (and their maximum); all but the gradient are written back.
  if (contains(functor, "Adam") || contains(functor, "LAMB")) return {Operator::kAdam, depth, depth - 1};
  if (contains(functor, "SGD") || contains(functor, "Adagrad"))
    return {Operator::kSgd, depth, std::max(depth - 1, 1.0)};
  // Norms and maxima only read.
  if (contains(functor, "Norm") || contains(functor, "Max")) return {Operator::kNorm, depth, 0};
  if (contains(functor, "Zero")) return {Operator::kForeach, 0, 1};
  if (contains(functor, "Copy") || contains(functor, "Scale")) return {Operator::kForeach, 1, 1};
  // ForeachFunctors: <type, depth, read lists, place of the result>. Out of place the result list is not read.
  const KernelName parsed = parse_kernel_name(functor);
  const long read_lists = number_in(parsed.argument(2), 0);
  return {Operator::kForeach, read_lists > 0 ? static_cast<double>(read_lists) : std::max(depth - 1, 1.0), 1};
}

double chunk_of(const LaunchContext& context) {
  constexpr int64_t kLeastChunk = 1024, kMostChunk = 1 << 24;
  const int64_t passed = contains(context.name.qualified, "at::native") ? 0 : context.scalar_at(0, 0);
  return passed >= kLeastChunk && passed <= kMostChunk ? static_cast<double>(passed) : kChunk_elements;
}

}  // namespace

bool multi_tensor_work(const LaunchContext& context, Work* work) {
  if (context.name.leaf != "multi_tensor_apply_kernel") return false;
  const std::string_view functor = context.name.argument(1);
  const double depth = static_cast<double>(depth_of(context.name.argument(0)));
  DataType type = first_type_in(functor);
  if (type == DataType::kNone) type = DataType::kFloat32;
  const double bytes = std::max(data_type_bits(type) / 8.0, 1.0);
  const Access access = access_of(functor, depth);
  set_streaming(work, Family::kOptimizer, type, context.blocks() * chunk_of(context), access.reads * bytes,
                access.writes * bytes);
  set_operator(work, access.op);
  return true;
}

}  // namespace maya::model
