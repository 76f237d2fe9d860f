// Multi-tensor apply (PyTorch's MultiTensorApply.cuh and ForeachFunctors.cuh, apex's multi_tensor_apply.cuh): a block
// takes one chunk of 65,536 elements of one tensor, of each of `depth` lists.
#include <algorithm>

#include "predictor/core/launch_context.h"

namespace maya::model {
namespace {

constexpr size_t kNotFound = std::string_view::npos;
constexpr double kChunk_elements = 65536;

// "...TensorListMetadata<4>": how many lists the kernel walks over.
long depth_of(std::string_view metadata) {
  size_t open = metadata.rfind('<');
  if (open == kNotFound) return 1;
  std::string_view depth = metadata.substr(open + 1);
  depth = depth.substr(0, depth.find_first_of(",>"));
  return std::max(number_in(depth, 1), 1L);
}

struct Access {
  double reads, writes;
};

Access access_of(std::string_view functor, double depth) {
  // Adam: gradient, parameter, both moments (and their maximum); all but the gradient are written back.
  if (functor.find("Adam") != kNotFound) return {depth, depth - 1};
  if (functor.find("SGD") != kNotFound || functor.find("Adagrad") != kNotFound)
    return {depth, std::max(depth - 1, 1.0)};
  // Norms and maxima only read.
  if (functor.find("Norm") != kNotFound || functor.find("Max") != kNotFound) return {depth, 0};
  if (functor.find("Zero") != kNotFound) return {0, 1};
  if (functor.find("Copy") != kNotFound) return {1, 1};
  // ForeachFunctors: <type, depth, read lists, place of the result>. Out of place the result list is not read.
  const KernelName parsed = parse_kernel_name(functor);
  const long read_lists = number_in(parsed.argument(2), 0);
  return {read_lists > 0 ? static_cast<double>(read_lists) : std::max(depth - 1, 1.0), 1};
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
  set_streaming(work, Family::kOptimizer, type, context.blocks() * kChunk_elements, access.reads * bytes,
                access.writes * bytes);
  return true;
}

}  // namespace maya::model
