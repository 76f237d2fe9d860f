// PyTorch's kernels that compute elements from their index alone: elementwise_kernel_with_index<I, lambda>(I N, lambda,
// T* data), of which arange and linspace of floating types are computed (public source
// ATen/native/cuda/RangeFactories.cu). The lambda of arange captures start and step in the accumulation type (long for
// integers, double for double, float for the other floating types), that of linspace start and end in the output type,
// i64 steps, step in the accumulation type (up to PyTorch 2.10 in the output type, so that 16-bit floats are rounded
// after each operation), i64 halfway; both end in a host pointer. The output type is not in the
// name; PyTorch's dispatch numbers its lambdas: for arange 1 to 5 are unsigned char, signed char, int, long, short,
// then double, float, Half, BFloat16; for linspace 1 and 2 are double and float, 5 and 6 Half and BFloat16.
#include <algorithm>
#include <cmath>

#include "virtual_device/values/effect.h"
#include "virtual_device/values/functor.h"
#include "virtual_device/values/number.h"

namespace maya::device {

namespace {

constexpr uint32_t kUnknownElement_bytes = 8;

enum class Range : uint8_t { kUnknown, kArange, kLinspace };

constexpr ElementType kArangeTypes[] = {ElementType::kUint8,   ElementType::kInt8,    ElementType::kInt32,
                                        ElementType::kInt64,   ElementType::kInt16,   ElementType::kFloat64,
                                        ElementType::kFloat32, ElementType::kFloat16, ElementType::kBfloat16};
constexpr ElementType kLinspaceTypes[] = {ElementType::kFloat64, ElementType::kFloat32, ElementType::kNone,
                                          ElementType::kNone,    ElementType::kFloat16, ElementType::kBfloat16};

ElementType dispatched_type(std::string_view lambda, const ElementType* order, size_t types) {
  constexpr std::string_view kMark = "operator()() const::{lambda()#";
  const size_t at = lambda.find(kMark);
  if (at == std::string_view::npos || at + kMark.size() + 1 >= lambda.size()) return ElementType::kNone;
  const int number = lambda[at + kMark.size()] - '0';
  const bool one_digit = lambda[at + kMark.size() + 1] == '}';
  return one_digit && number >= 1 && number <= static_cast<int>(types) ? order[number - 1] : ElementType::kNone;
}

// Offsets of what the lambda of linspace captures.
struct LinspaceLayout {
  uint32_t end, steps, step, halfway, bytes;
  // element: bytes of the output type. The step, of whatever type, takes 8.
  explicit LinspaceLayout(uint32_t element)
      : end(element),
        steps(std::max(8u, 2 * element)),
        step(steps + 8),
        halfway(step + 8),
        bytes(halfway + 8 + kLambdaPointer_bytes) {}
};

class IndexEffect : public Effect {
 public:
  IndexEffect(Range range, ElementType type, bool long_index) : range_(range), type_(type), long_index_(long_index) {}

  void apply(const Launch& launch, Memory& memory) const override {
    const int64_t count = long_index_ ? argument<int64_t>(launch, 0) : argument<int32_t>(launch, 0);
    const auto data = argument<Address>(launch, 2);
    if (count <= 0 || !memory.in_device_range(data)) return;
    const uint64_t element = range_ == Range::kUnknown ? kUnknownElement_bytes : element_bytes(type_);
    const uint64_t bytes = static_cast<uint64_t>(count) * element;
    if (range_ == Range::kUnknown || static_cast<uint64_t>(count) > most_bytes(type_) / element ||
        !may_compute(type_, bytes))
      return forget(memory, data, bytes);
    const uint8_t* lambda = argument_bytes(launch, 1);
    std::vector<uint8_t> values(bytes);
    for (int64_t i = 0; i < count; ++i) {
      const Number value = range_ == Range::kArange ? arange(lambda, i) : linspace(lambda, i);
      store_number(value, type_, values.data() + static_cast<uint64_t>(i) * element);
    }
    if (write_result(memory, data, values.data(), bytes) != MemoryStatus::kOk) return forget(memory, data, bytes);
    count_computed();
  }

 private:
  Number arange(const uint8_t* lambda, int64_t i) const {
    const ElementType captured = is_floating(type_) ? operation_type(type_) : ElementType::kInt64;
    const Number start = load_number(lambda, captured);
    const Number step = load_number(lambda + element_bytes(captured), captured);
    if (start.floating) {
      const Number increment = convert_number(Number::of(step.real * static_cast<double>(i)), captured);
      return convert_number(Number::of(start.real + increment.real), captured);
    }
    return Number::of(static_cast<int64_t>(static_cast<uint64_t>(start.integer) +
                                           static_cast<uint64_t>(step.integer) * static_cast<uint64_t>(i)));
  }

  // From both ends, so that the last element is exact.
  Number linspace(const uint8_t* lambda, int64_t i) const {
    const LinspaceLayout layout(element_bytes(type_));
    const double start = load_number(lambda, type_).real, end = load_number(lambda + layout.end, type_).real;
    const int64_t steps = load_number(lambda + layout.steps, ElementType::kInt64).integer,
                  halfway = load_number(lambda + layout.halfway, ElementType::kInt64).integer;
    const auto distance = static_cast<double>(i < halfway ? i : steps - i - 1);
    // Both leave the same room for the step: it is of the type that leads from start to end.
    ElementType type = operation_type(type_);
    const double wanted = (end - start) / static_cast<double>(steps - 1);
    const auto error = [&](ElementType of) { return std::fabs(load_number(lambda + layout.step, of).real - wanted); };
    if (!(error(type) <= error(type_))) type = type_;
    const double step = load_number(lambda + layout.step, type).real,
                 rounded = convert_number(Number::of(distance), type).real,
                 offset = convert_number(Number::of(step * rounded), type).real;
    return Number::of(i < halfway ? start + offset : end - offset);
  }

  Range range_;
  ElementType type_;
  bool long_index_;
};

}  // namespace

std::unique_ptr<Effect> make_index_effect(const KernelInfo& kernel, const KernelName& name,
                                          std::vector<ScalarSlot>* scalars) {
  if (!name.function.ends_with("::elementwise_kernel_with_index") || name.template_arguments.size() != 2)
    return nullptr;
  if (kernel.parameters.size() != 3 || kernel.parameters[2].size != 8) return nullptr;
  const bool long_index = name.template_arguments[0] == "long";
  if (kernel.parameters[0].size != (long_index ? 8u : 4u)) return nullptr;
  const std::string_view lambda = name.template_arguments[1];
  Range range = Range::kUnknown;
  ElementType type = ElementType::kNone;
  uint32_t captured = 0;
  constexpr std::string_view kFloatingLinspace =
      "at::native::linspace_cuda_out(c10::Scalar const&, c10::Scalar const&, long, at::Tensor&)::{lambda()#2}::";
  if (lambda.starts_with("at::native::arange_cuda_out(")) {
    range = Range::kArange;
    type = dispatched_type(lambda, kArangeTypes, std::size(kArangeTypes));
    captured = 2 * (is_floating(type) ? element_bytes(operation_type(type)) : 8) + kLambdaPointer_bytes;
  } else if (lambda.starts_with(kFloatingLinspace)) {
    range = Range::kLinspace;
    type = dispatched_type(lambda, kLinspaceTypes, std::size(kLinspaceTypes));
    captured = LinspaceLayout(element_bytes(type)).bytes;
  }
  if (type == ElementType::kNone || kernel.parameters[1].size != captured) range = Range::kUnknown;
  scalars->push_back({0, 0, 0, static_cast<uint16_t>(kernel.parameters[0].size)});
  return std::make_unique<IndexEffect>(range, type, long_index);
}

}  // namespace maya::device
