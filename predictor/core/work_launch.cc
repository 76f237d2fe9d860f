// Work of kernels that frameworks bring themselves: from name, grid, block and the scalar arguments that were recorded.
#include <algorithm>
#include <utility>

#include "predictor/core/launch_context.h"
#include "predictor/core/work_passes.h"

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

void set_operation(Work* work, Family family, Operator op, DataType type, double rows, double columns, bool backward) {
  const Traffic traffic = traffic_of(family, op, type, rows, columns, backward);
  work->family = family;
  work->type = type;
  work->flops = rows * columns;
  work->read_bytes = traffic.read_bytes;
  work->written_bytes = traffic.written_bytes;
  work->shape.family = family;
  work->shape.set(Key::kElements, whole(rows * columns))
      .set(Key::kDataType, static_cast<int64_t>(type))
      .set(Key::kDirection, backward ? 1 : 0)
      .set(Key::kOperator, static_cast<int64_t>(op));
  // One row is no shape, only a count.
  if (rows > 1) work->shape.set(Key::kRows, whole(rows)).set(Key::kColumns, whole(columns));
}

DataType copied_type(std::string_view argument) {
  const DataType type = first_type_in(argument);
  if (type != DataType::kNone && !contains(argument, "OpaqueType<")) return type;
  switch (element_bytes_in(argument)) {
    case 1:
      return DataType::kUint8;
    case 2:
      return DataType::kBfloat16;
    case 8:
      return DataType::kInt64;
    default:
      return DataType::kFloat32;
  }
}

bool tile_in(std::string_view text, int64_t least, int64_t most, int64_t* first, int64_t* second) {
  const auto digit = [&](size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  for (size_t at = text.find('x'); at != std::string_view::npos; at = text.find('x', at + 1)) {
    size_t begin = at, end = at + 1;
    while (begin > 0 && digit(begin - 1)) --begin;
    while (digit(end)) ++end;
    *first = number_in(text.substr(begin, at - begin), 0);
    *second = number_in(text.substr(at + 1, end - at - 1), 0);
    if (*first >= least && *second >= least && *first <= most && *second <= most) return true;
  }
  return false;
}

}  // namespace model

device::BlockNeeds block_needs(const LaunchView& launch) {
  device::BlockNeeds needs;
  const uint64_t threads = uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  needs.threads = static_cast<uint32_t>(std::clamp<uint64_t>(threads, 1, UINT32_MAX));
  needs.registers = launch.registers;
  needs.static_shared_bytes = launch.static_shared_bytes;
  needs.dynamic_shared_bytes = launch.dynamic_shared_bytes;
  needs.max_dynamic_shared_bytes = INT32_MAX;
  return needs;
}

Work work_of(const LaunchView& launch, std::string_view demangled) {
  std::string own;
  if (demangled.empty()) {
    own = model::demangle(launch.mangled_name);
    demangled = own;
  }
  const model::LaunchContext context{launch, demangled, model::parse_kernel_name(demangled)};
  constexpr bool (*kRecognisers[])(const model::LaunchContext&, Work*) = {model::xla_work,
                                                                          model::triton_work,
                                                                          model::transformer_engine_work,
                                                                          model::elementwise_work,
                                                                          model::inference_work,
                                                                          model::norm_work,
                                                                          model::softmax_work,
                                                                          model::reduction_work,
                                                                          model::embedding_work,
                                                                          model::index_work,
                                                                          model::sort_work,
                                                                          model::multi_tensor_work,
                                                                          model::pooling_work,
                                                                          model::attention_kernel_work,
                                                                          model::training_library_work,
                                                                          model::convolution_kernel_work,
                                                                          model::matrix_work,
                                                                          model::sleep_work,
                                                                          model::collective_kernel_work,
                                                                          model::library_work};
  // Arguments may be anything, also negative.
  const auto sane = [](Work work) {
    work.flops = std::max(work.flops, 0.0);
    work.read_bytes = std::max(work.read_bytes, 0.0);
    work.written_bytes = std::max(work.written_bytes, 0.0);
    return work;
  };
  // Counts know more than names do: only operations that measurements are tied to, and what goes between devices, keep
  // their own.
  if (launch.counted != nullptr) {
    Work work;
    return model::triton_work(context, &work) || model::xla_collective_work(context, &work)
               ? sane(std::move(work))
               : model::custom_work(context);
  }
  for (auto* recognise : kRecognisers) {
    Work work;
    if (recognise(context, &work)) return sane(std::move(work));
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
