// PyTorch's kernels that compute elements from their index alone: elementwise_kernel_with_index<I, lambda>(I N, lambda,
// T* data), of which arange is computed. Its lambda captures start and step in the accumulation type (long for
// integers, double for double, float for the other floating types), followed by a host pointer. The output type is not
// in the name; PyTorch's dispatch numbers its lambdas: 1 to 5 are unsigned char, signed char, int, long, short, then
// double, float, Half, BFloat16.
#include <algorithm>

#include "virtual_device/values/effect.h"
#include "virtual_device/values/number.h"

namespace maya::device {

namespace {

constexpr uint32_t kUnknownElement_bytes = 8;

ElementType dispatched_type(std::string_view lambda) {
  static constexpr ElementType kOrder[] = {ElementType::kUint8,   ElementType::kInt8,    ElementType::kInt32,
                                           ElementType::kInt64,   ElementType::kInt16,   ElementType::kFloat64,
                                           ElementType::kFloat32, ElementType::kFloat16, ElementType::kBfloat16};
  constexpr std::string_view kMark = "operator()() const::{lambda()#";
  const size_t at = lambda.find(kMark);
  if (at == std::string_view::npos || at + kMark.size() + 1 >= lambda.size()) return ElementType::kNone;
  const int number = lambda[at + kMark.size()] - '0';
  const bool one_digit = lambda[at + kMark.size() + 1] == '}';
  return one_digit && number >= 1 && number <= static_cast<int>(std::size(kOrder)) ? kOrder[number - 1]
                                                                                   : ElementType::kNone;
}

class IndexEffect : public Effect {
 public:
  // type kNone: not computed.
  IndexEffect(ElementType type, bool long_index) : type_(type), long_index_(long_index) {}

  void apply(const Launch& launch, Memory& memory) const override {
    const int64_t count = long_index_ ? argument<int64_t>(launch, 0) : argument<int32_t>(launch, 0);
    const auto data = argument<Address>(launch, 2);
    if (count <= 0 || !memory.in_device_range(data)) return;
    const uint64_t element = type_ == ElementType::kNone ? kUnknownElement_bytes : element_bytes(type_);
    const uint64_t bytes = static_cast<uint64_t>(count) * element;
    if (type_ == ElementType::kNone || static_cast<uint64_t>(count) > kMaximumComputed_bytes / element)
      return forget(memory, data, bytes);
    const ElementType captured = is_floating(type_) ? operation_type(type_) : ElementType::kInt64;
    const uint8_t* lambda = argument_bytes(launch, 1);
    const Number start = load_number(lambda, captured);
    const Number step = load_number(lambda + element_bytes(captured), captured);
    std::vector<uint8_t> values(bytes);
    for (int64_t i = 0; i < count; ++i) {
      Number value;
      if (start.floating) {
        const Number increment = convert_number(Number::of(step.real * static_cast<double>(i)), captured);
        value = convert_number(Number::of(start.real + increment.real), captured);
      } else {
        value = Number::of(static_cast<int64_t>(static_cast<uint64_t>(start.integer) +
                                                static_cast<uint64_t>(step.integer) * static_cast<uint64_t>(i)));
      }
      store_number(value, type_, values.data() + static_cast<uint64_t>(i) * element);
    }
    if (write_result(memory, data, values.data(), bytes) != MemoryStatus::kOk) return forget(memory, data, bytes);
    count_computed();
  }

 private:
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
  ElementType type = lambda.starts_with("at::native::arange_cuda_out(") ? dispatched_type(lambda) : ElementType::kNone;
  if (type != ElementType::kNone) {
    const uint32_t captured = is_floating(type) ? element_bytes(operation_type(type)) : 8;
    if (kernel.parameters[1].size != 2 * captured + 8) type = ElementType::kNone;
  }
  scalars->push_back({0, 0, 0, static_cast<uint16_t>(kernel.parameters[0].size)});
  return std::make_unique<IndexEffect>(type, long_index);
}

}  // namespace maya::device
