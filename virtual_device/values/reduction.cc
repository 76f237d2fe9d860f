// PyTorch's reduce_kernel<threads, vec, ReduceOp<T, ops, unsigned int, Out, ...>>(ReduceOp) (public header
// ATen/native/cuda/Reduce.cuh). The argument is: ops, identity, ReduceConfig (64 bytes: element size, inputs,
// outputs...), OffsetCalculator<1> of the inputs, OffsetCalculator<2> of output and input slices, then aligned to 8:
// source, two destinations, accumulation buffer, block buffer, semaphores, base index, two flags (accumulate, final
// output), number of outputs.
#include <algorithm>
#include <cmath>
#include <optional>

#include "virtual_device/values/effect.h"
#include "virtual_device/values/number.h"
#include "virtual_device/values/offsets.h"

namespace maya::device {

namespace {

constexpr uint32_t kConfig_bytes = 64;
constexpr uint32_t kTail_bytes = 64;
constexpr uint32_t kInputsOffset = 4, kOutputsOffset = 8;  // in ReduceConfig

enum class Reduction : uint8_t { kUnknown, kSum, kMean, kMaximum, kMinimum, kAny, kAll };

struct Description {
  Reduction reduction = Reduction::kUnknown;
  ElementType input = ElementType::kNone, output = ElementType::kNone, accumulator = ElementType::kNone;
  uint32_t config = 0;  // offset of ReduceConfig
  uint32_t total = 0;   // bytes of the argument
};

class ReductionEffect : public Effect {
 public:
  explicit ReductionEffect(const Description& description) : description_(description) {}

  void apply(const Launch& launch, Memory& memory) const override {
    const uint32_t tail = description_.total - kTail_bytes;
    const auto source = argument<Address>(launch, 0, tail);
    Address outputs[2];
    std::memcpy(outputs, argument_bytes(launch, 0, tail + 8), sizeof(outputs));
    const auto output_tensors = std::clamp(argument<int32_t>(launch, 0, tail + 60), 1, 2);
    if (compute(launch, memory, source, outputs[0])) return;
    const auto count =
        static_cast<uint64_t>(std::max(argument<int32_t>(launch, 0, description_.config + kOutputsOffset), 0));
    const Offsets offsets(argument_bytes(launch, 0, slices()), 2);
    for (int i = 0; i < output_tensors; ++i) {
      if (!memory.in_device_range(outputs[i]) || !memory.maybe_known(outputs[i])) continue;
      // A second output, such as an index, may have wider elements than the first.
      const uint64_t element =
          i == 0 && description_.output != ElementType::kNone ? element_bytes(description_.output) : 8;
      forget(memory, outputs[i],
             offsets.valid() ? offsets.span(count, 0, element) * (i == 0 ? 1 : 2) : count * element);
    }
  }

 private:
  uint32_t slices() const { return description_.config + kConfig_bytes + offset_calculator_bytes(1); }

  bool compute(const Launch& launch, Memory& memory, Address source, Address destination) const {
    if (description_.reduction == Reduction::kUnknown || !memory.in_device_range(source) || !memory.maybe_known(source))
      return false;
    const uint32_t flags = description_.total - 8;
    const bool accumulates = *argument_bytes(launch, 0, flags) != 0,
               is_final = *argument_bytes(launch, 0, flags + 1) != 0;
    if (accumulates || !is_final || argument<int32_t>(launch, 0, flags + 4) != 1) return false;
    const auto inputs = argument<int32_t>(launch, 0, description_.config + kInputsOffset);
    const auto outputs = argument<int32_t>(launch, 0, description_.config + kOutputsOffset);
    const Offsets elements(argument_bytes(launch, 0, description_.config + kConfig_bytes), 1);
    const Offsets places(argument_bytes(launch, 0, slices()), 2);
    if (inputs <= 0 || outputs <= 0 || !elements.valid() || !places.valid()) return false;
    const uint64_t in = element_bytes(description_.input), out = element_bytes(description_.output);
    const auto input_count = static_cast<uint64_t>(inputs), output_count = static_cast<uint64_t>(outputs);
    if (input_count * output_count * in > kMaximumComputed_bytes) return false;
    const uint64_t span = elements.span(input_count, 0, in) + places.span(output_count, 1, 0);
    if (span > kMaximumComputed_bytes || !all_known(memory, source, span)) return false;
    std::vector<uint8_t> bytes(span);
    if (memory.read(bytes.data(), source, span) != MemoryStatus::kOk) return false;
    for (uint64_t o = 0; o < output_count; ++o) {
      const uint64_t base = places.at(o, 1);
      Number result = load_number(bytes.data() + base, description_.input);
      for (uint64_t i = 1; i < input_count; ++i)
        result = combine(result, load_number(bytes.data() + base + elements.at(i, 0), description_.input));
      result = finish(result, launch);
      uint8_t stored[8];
      store_number(result, description_.output, stored);
      if (write_result(memory, destination + places.at(o, 0), stored, out) != MemoryStatus::kOk) return false;
    }
    count_computed();
    return true;
  }

  Number combine(Number a, Number b) const {
    switch (description_.reduction) {
      case Reduction::kSum:
      case Reduction::kMean:
        if (a.floating) return convert_number(Number::of(a.real + b.real), description_.accumulator);
        return Number::of(static_cast<int64_t>(static_cast<uint64_t>(a.integer) + static_cast<uint64_t>(b.integer)));
      case Reduction::kMaximum:
        if (a.floating)
          return Number::of(std::isnan(a.real) ? a.real : std::isnan(b.real) ? b.real : std::max(a.real, b.real));
        return Number::of(std::max(a.integer, b.integer));
      case Reduction::kMinimum:
        if (a.floating)
          return Number::of(std::isnan(a.real) ? a.real : std::isnan(b.real) ? b.real : std::min(a.real, b.real));
        return Number::of(std::min(a.integer, b.integer));
      case Reduction::kAny:
        return Number::of(a.as_bool() || b.as_bool());
      case Reduction::kAll:
        return Number::of(a.as_bool() && b.as_bool());
      case Reduction::kUnknown:
        break;
    }
    return a;
  }

  Number finish(Number value, const Launch& launch) const {
    if (description_.reduction == Reduction::kAny || description_.reduction == Reduction::kAll)
      return Number::of(value.as_bool());
    if (description_.reduction != Reduction::kMean) return value;
    // MeanOps holds the factor, 1 / count, in the accumulation type, first in the argument.
    const Number factor = load_number(argument_bytes(launch, 0), description_.accumulator);
    return convert_number(Number::of(value.as_real() * factor.as_real()), description_.accumulator);
  }

  Description description_;
};

// Operation and accumulation type of the `ops` argument of ReduceOp; bytes that it takes.
Reduction parse_operation(std::string_view ops, ElementType input, ElementType* accumulator, uint32_t* bytes) {
  const auto arguments = template_arguments(ops);
  *bytes = 1;
  if (ops.starts_with("at::native::MeanOps<") && arguments.size() == 4) {
    *accumulator = element_type(arguments[1]);
    *bytes = element_bytes(*accumulator);
    return arguments[1] == arguments[2] && is_floating(*accumulator) ? Reduction::kMean : Reduction::kUnknown;
  }
  if (!ops.starts_with("at::native::func_wrapper_t<") || arguments.size() != 2) return Reduction::kUnknown;
  const std::string_view function = arguments[1];
  std::vector<std::string_view> types;
  if (lambda_arguments(function, &types) && types.size() == 2) {
    *accumulator = element_type(types[0]);
    if (function.starts_with("at::native::sum_functor<")) return Reduction::kSum;
    if (function.starts_with("at::native::or_kernel_cuda(")) return Reduction::kAny;
    if (function.starts_with("at::native::and_kernel_cuda(")) return Reduction::kAll;
    return Reduction::kUnknown;
  }
  *accumulator = input;
  if (function.starts_with("at::native::MaxNanFunctor<")) return Reduction::kMaximum;
  if (function.starts_with("at::native::MinNanFunctor<")) return Reduction::kMinimum;
  return Reduction::kUnknown;
}

uint32_t align(uint32_t offset, uint32_t unit) { return (offset + unit - 1) / unit * unit; }

}  // namespace

std::unique_ptr<Effect> make_reduction_effect(const KernelInfo& kernel, const KernelName& name,
                                              std::vector<ScalarSlot>* scalars) {
  if (name.function != "at::native::reduce_kernel" || name.template_arguments.size() != 3 ||
      kernel.parameters.size() != 1)
    return nullptr;
  const auto arguments = template_arguments(name.template_arguments[2]);
  if (arguments.size() < 4 || arguments[2] != "unsigned int") return nullptr;
  constexpr uint32_t kFixed = kConfig_bytes + offset_calculator_bytes(1) + offset_calculator_bytes(2);
  Description made;
  made.total = kernel.parameters[0].size;
  if (made.total < kFixed + kTail_bytes) return nullptr;
  made.input = element_type(arguments[0]);
  made.output = element_type(arguments[3]);
  uint32_t ops_bytes = 1;
  made.reduction = parse_operation(arguments[1], made.input, &made.accumulator, &ops_bytes);
  if (made.reduction != Reduction::kUnknown) {
    const uint32_t size = std::max(element_bytes(made.accumulator), 1u);
    made.config = align(align(ops_bytes, size) + size, 4);
    const bool fits = align(made.config + kFixed, 8) + kTail_bytes == made.total;
    if (!fits || !is_computable(made.input) || !is_computable(made.output) || !is_computable(made.accumulator))
      made.reduction = Reduction::kUnknown;
  }
  if (made.reduction == Reduction::kUnknown) {
    // The part before the configuration has an unknown size; what follows it does not, but for 4 bytes of alignment,
    // which are there when that part is aligned to 8, as all but one-byte and two-byte accumulators are.
    made.config = made.total - kTail_bytes - kFixed;
    if (made.config > 4) made.config -= 4;
  }
  for (const uint32_t field : {kInputsOffset, kOutputsOffset}) {
    const auto offset = static_cast<uint16_t>(made.config + field);
    scalars->push_back({0, offset, offset, 4});
  }
  return std::make_unique<ReductionEffect>(made);
}

}  // namespace maya::device
