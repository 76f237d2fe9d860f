// Work of kernels that frameworks bring themselves: from name, grid, block and the scalar arguments that were recorded.
#include <algorithm>

#include "predictor/core/launch_context.h"

namespace maya {
namespace model {

double LaunchContext::blocks() const { return static_cast<double>(launch.grid[0]) * launch.grid[1] * launch.grid[2]; }

double LaunchContext::threads_per_block() const {
  return static_cast<double>(launch.block[0]) * launch.block[1] * launch.block[2];
}

double LaunchContext::threads() const { return blocks() * threads_per_block(); }

namespace {

int64_t signed_value(const LaunchView::Scalar& scalar) {
  switch (scalar.size) {
    case 4:
      return static_cast<int32_t>(scalar.value);
    case 2:
      return static_cast<int16_t>(scalar.value);
    case 1:
      return static_cast<int8_t>(scalar.value);
    default:
      return static_cast<int64_t>(scalar.value);
  }
}

}  // namespace

int64_t LaunchContext::scalar_at(uint32_t offset, int64_t otherwise) const {
  for (uint32_t i = 0; i < launch.scalar_count; ++i)
    if (launch.scalars[i].offset == offset) return signed_value(launch.scalars[i]);
  return otherwise;
}

int64_t LaunchContext::scalar(uint32_t i, int64_t otherwise) const {
  for (uint32_t k = 0; k < launch.scalar_count; ++k) {
    if (launch.scalars[k].size < 4) continue;
    if (i-- == 0) return signed_value(launch.scalars[k]);
  }
  return otherwise;
}

void set_streaming(Work* work, Family family, DataType type, double elements, double read_bytes_each,
                   double written_bytes_each) {
  work->family = family;
  work->type = type;
  work->flops = elements;
  work->read_bytes = elements * read_bytes_each;
  work->written_bytes = elements * written_bytes_each;
  work->shape.family = family;
  work->shape.set(Key::kElements, whole(elements)).set(Key::kDataType, static_cast<int64_t>(type));
}

}  // namespace model

Work work_of(const LaunchView& launch, std::string_view demangled) {
  std::string own;
  if (demangled.empty()) {
    own = model::demangle(launch.mangled_name);
    demangled = own;
  }
  const model::LaunchContext context{launch, demangled, model::parse_kernel_name(demangled)};
  constexpr bool (*kRecognisers[])(const model::LaunchContext&, Work*) = {
      model::triton_work,       model::elementwise_work,      model::row_work,   model::index_work,
      model::multi_tensor_work, model::attention_kernel_work, model::matrix_work};
  for (auto* recognise : kRecognisers) {
    Work work;
    if (recognise(context, &work)) return work;
  }
  // Nothing known but the grid: every thread is taken to read 32 bytes and to write 32, two vector accesses each way:
  // the median of hand-written kernels in public profiler traces lies between that and four.
  constexpr double kThread_bytes = 32;
  Work work;
  work.guessed = true;
  work.type = DataType::kFloat32;
  work.read_bytes = kThread_bytes * context.threads();
  work.written_bytes = kThread_bytes * context.threads();
  return work;
}

}  // namespace maya
