// PyTorch's reduce_kernel<threads, vec, ReduceOp<T, ops, unsigned int, Out,
// ...>>(ReduceOp) (public header ATen/native/cuda/Reduce.cuh). The argument is:
// ops, identity, ReduceConfig (64 bytes: element size, inputs, outputs...),
// OffsetCalculator<1> of the inputs, OffsetCalculator<2> of output and input
// slices, then aligned to 8: source, two destinations, accumulation buffer,
// block buffer, semaphores, base index, two flags (accumulate, final output),
// number of outputs.
#include <algorithm>

#include "virtual_device/values/effect.h"
#include "virtual_device/values/number.h"
#include "virtual_device/values/offsets.h"
#include "virtual_device/values/operand.h"
#include "virtual_device/values/reduction_operation.h"

namespace maya::device {

namespace {

constexpr uint32_t kConfig_bytes = 64;
constexpr uint32_t kTail_bytes = 64;
constexpr uint32_t kInputsOffset = 4, kOutputsOffset = 8;  // in ReduceConfig

struct Description {
  ReductionOperation operation;
  ElementType input = ElementType::kNone;
  ElementType outputs[2] = {ElementType::kNone, ElementType::kNone};  // the second one only where there is one
  uint32_t config = 0;                                                // offset of ReduceConfig
  uint32_t total = 0;                                                 // bytes of the argument
  bool may_be_real = false;                                           // elements, which look like integers of 64 bits
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
    if (compute(launch, memory, source, outputs, output_tensors)) return;
    const auto count =
        static_cast<uint64_t>(std::max(argument<int32_t>(launch, 0, description_.config + kOutputsOffset), 0));
    const Offsets offsets(argument_bytes(launch, 0, slices()), 2);
    if (passes() && offsets.valid() && pass(launch, memory, outputs[0], count, offsets)) return;
    for (int i = 0; i < output_tensors; ++i) {
      if (!memory.in_device_range(outputs[i]) || !memory.maybe_known(outputs[i])) continue;
      // A second output, such as an index, may have wider elements than the
      // first.
      const uint64_t element =
          i == 0 && description_.outputs[0] != ElementType::kNone ? element_bytes(description_.outputs[0]) : 8;
      const uint64_t widening =
          i == 0 || description_.outputs[0] == ElementType::kNone ? 1 : 8 / element_bytes(description_.outputs[0]);
      forget(memory, outputs[i],
             offsets.valid() ? offsets.span(count, 0, element) * std::max<uint64_t>(widening, 1) : count * element);
    }
  }

  bool watch(std::vector<PointerSlot>* pointers) const override {
    if (passes()) return false;  // has a result although nothing is known
    const uint32_t tail = description_.total - kTail_bytes;
    for (uint32_t i = 0; i < 3; ++i) pointers->push_back({0, tail + 8 * i});  // source and results
    return true;
  }

 private:
  uint32_t slices() const { return description_.config + kConfig_bytes + offset_calculator_bytes(1); }

  bool passes() const { return description_.operation.reduction == Reduction::kAll && checks_pass(); }

  // Of a reduction without a known value. False when results are larger than what is computed, or lie outside of
  // memory.
  bool pass(const Launch& launch, Memory& memory, Address result, uint64_t count, const Offsets& places) const {
    const bool is_final = *argument_bytes(launch, 0, description_.total - 7) != 0;
    if (!is_final || count > kMaximumComputed_bytes) return false;
    for (uint64_t o = 0; o < count; ++o)
      if (!store(memory, result + places.at(o, 0), Number::of(true), description_.outputs[0])) return false;
    return true;
  }

  bool compute(const Launch& launch, Memory& memory, Address source, const Address* destinations, int results) const {
    if (description_.operation.reduction == Reduction::kUnknown || !memory.in_device_range(source) ||
        !memory.maybe_known(source))
      return false;
    const uint32_t flags = description_.total - 8;
    const bool accumulates = *argument_bytes(launch, 0, flags) != 0,
               is_final = *argument_bytes(launch, 0, flags + 1) != 0;
    // Parts of a reduction that was split pass partial results on.
    if (accumulates || !is_final || argument<int64_t>(launch, 0, description_.total - 16) != 0) return false;
    if (results == 2 && description_.outputs[1] == ElementType::kNone) return false;
    const auto inputs = argument<int32_t>(launch, 0, description_.config + kInputsOffset);
    const auto outputs = argument<int32_t>(launch, 0, description_.config + kOutputsOffset);
    const Offsets elements(argument_bytes(launch, 0, description_.config + kConfig_bytes), 1);
    const Offsets places(argument_bytes(launch, 0, slices()), 2);
    if (inputs <= 0 || outputs <= 0 || !elements.valid() || !places.valid()) return false;
    const uint64_t in = element_bytes(description_.input), out = element_bytes(description_.outputs[0]);
    const auto input_count = static_cast<uint64_t>(inputs), output_count = static_cast<uint64_t>(outputs);
    const bool integers = !is_floating(description_.input);
    const uint64_t most = integers ? kMaximumLarge_bytes : kMaximumComputed_bytes;
    if (input_count * output_count > most / in) return false;
    Operand operand;
    const uint64_t span = elements.span(input_count, 0, in) + places.span(output_count, 1, 0);
    if (!operand.load(memory, source, span, most)) return false;
    if (integers && !may_compute_integers(input_count * output_count * in)) return false;
    for (uint64_t o = 0; o < output_count; ++o) {
      const uint64_t base = places.at(o, 1), place = places.at(o, 0);
      // The offset counts elements as wide as those of the first output.
      const Address first = destinations[0] + place,
                    second = results == 2 ? destinations[1] + place / out * element_bytes(description_.outputs[1]) : 0;
      Reducer reducer(description_.operation, argument_bytes(launch, 0));
      bool all_known = true, decided = false;
      for (uint64_t i = 0; i < input_count && !decided; ++i) {
        const uint64_t at = base + elements.at(i, 0);
        if (!operand.known(at, in)) {
          all_known = false;
          continue;
        }
        const Number value = load_number(operand.at(at), description_.input);
        if (description_.may_be_real && !is_no_real(value.integer)) return false;
        decided = decides(value);
        reducer.add(value, static_cast<int64_t>(i));
      }
      if (!all_known && !decided && passes()) {
        if (!store(memory, first, Number::of(true), description_.outputs[0])) return false;
        continue;
      }
      if (!all_known && !decided) {
        forget(memory, first, out);
        if (second != 0) forget(memory, second, element_bytes(description_.outputs[1]));
        continue;
      }
      if (!store(memory, first, reducer.first(), description_.outputs[0])) return false;
      if (second != 0 && !store(memory, second, reducer.second(), description_.outputs[1])) return false;
    }
    count_computed();
    return true;
  }

  // Bits of small integers are those of real numbers that no program computes with: below the smallest normal one
  // (2^52), or NaN.
  static bool is_no_real(int64_t bits) { return bits > -(int64_t{1} << 51) && bits < (int64_t{1} << 52); }

  // One element that settles the result, whatever the others are.
  bool decides(Number value) const {
    return (description_.operation.reduction == Reduction::kAny && value.as_bool()) ||
           (description_.operation.reduction == Reduction::kAll && !value.as_bool());
  }

  bool store(Memory& memory, Address address, Number value, ElementType type) const {
    if (value.floating) value = convert_number(value, description_.operation.accumulator);
    uint8_t stored[8];
    store_number(value, type, stored);
    return write_result(memory, address, stored, element_bytes(type)) == MemoryStatus::kOk;
  }

  Description description_;
};

// Types of what is written: the output type of ReduceOp, or both of a "pair<a,
// b>"; indices have 64 bits.
void find_outputs(std::string_view ops, std::string_view output, Description* made) {
  made->outputs[0] = element_type(output);
  switch (made->operation.reduction) {
    case Reduction::kMaximumAndIndex:
    case Reduction::kMinimumAndIndex:
      made->outputs[1] = ElementType::kInt64;
      break;
    case Reduction::kMinimumAndMaximum:
      made->outputs[0] = made->outputs[1] = made->operation.accumulator;
      break;
    case Reduction::kVarianceAndMean: {
      const auto pair = template_arguments(template_arguments(ops).back());
      if (pair.size() == 2 && pair[0] == pair[1])
        made->outputs[0] = made->outputs[1] = element_type(pair[0]);
      else
        made->operation.reduction = Reduction::kUnknown;
      break;
    }
    default:
      break;
  }
}

uint32_t align(uint32_t offset, uint32_t unit) { return (offset + unit - 1) / unit * unit; }

constexpr uint32_t kFixed_bytes = kConfig_bytes + offset_calculator_bytes(1) + offset_calculator_bytes(2);

// The part before the configuration has an unknown size; what follows it does not, but for 4 bytes of alignment, which
// are there when that part is aligned to 8, as all but one-byte and two-byte accumulators are.
uint32_t likely_config(uint32_t total) {
  const uint32_t config = total - kTail_bytes - kFixed_bytes;
  return config > 4 ? config - 4 : config;
}

// Products, and reductions of complex numbers, are compiled at run time (ReduceJitOp of the same header): extern "C"
// reduction_prod_kernel(ReduceJitOp), the identity in place of the operation. No name tells the type of the elements;
// products of 8 bytes are computed where they are integers: sizes of images and grids.
bool describe_compiled(const KernelInfo& kernel, const KernelName& name, Description* made) {
  if (!name.function.starts_with("reduction_") || !name.function.ends_with("_kernel") || !name.parameters.empty() ||
      kernel.parameters.size() != 1 || kernel.parameters[0].size < kFixed_bytes + kTail_bytes)
    return false;
  constexpr uint32_t kIdentity_bytes = 8;
  made->total = kernel.parameters[0].size;
  made->config = likely_config(made->total);
  if (name.function != "reduction_prod_kernel" || made->total != align(kIdentity_bytes + kFixed_bytes, 8) + kTail_bytes)
    return true;
  made->operation = {Reduction::kProduct, ElementType::kInt64, true, kIdentity_bytes};
  made->config = kIdentity_bytes;
  made->input = made->outputs[0] = ElementType::kInt64;
  made->may_be_real = true;
  return true;
}

std::unique_ptr<Effect> make_described(const Description& made, std::vector<ScalarSlot>* scalars) {
  for (const uint32_t field : {kInputsOffset, kOutputsOffset}) {
    const auto offset = static_cast<uint16_t>(made.config + field);
    scalars->push_back({0, offset, offset, 4});
  }
  return std::make_unique<ReductionEffect>(made);
}

}  // namespace

std::unique_ptr<Effect> make_reduction_effect(const KernelInfo& kernel, const KernelName& name,
                                              std::vector<ScalarSlot>* scalars) {
  Description made;
  if (describe_compiled(kernel, name, &made)) return make_described(made, scalars);
  if (name.function != "at::native::reduce_kernel" || name.template_arguments.size() != 3 ||
      kernel.parameters.size() != 1)
    return nullptr;
  const auto arguments = template_arguments(name.template_arguments[2]);
  if (arguments.size() < 4 || arguments[2] != "unsigned int") return nullptr;
  made.total = kernel.parameters[0].size;
  if (made.total < kFixed_bytes + kTail_bytes) return nullptr;
  made.input = element_type(arguments[0]);
  made.operation = parse_reduction(arguments[1], made.input);
  find_outputs(arguments[1], arguments[3], &made);
  made.config = made.operation.config_offset;
  if (align(made.config + kFixed_bytes, 8) + kTail_bytes != made.total || !is_computable(made.input) ||
      !is_computable(made.outputs[0]) || !is_computable(made.operation.accumulator))
    made.operation.reduction = Reduction::kUnknown;
  if (made.operation.reduction == Reduction::kUnknown) made.config = likely_config(made.total);
  return make_described(made, scalars);
}

}  // namespace maya::device
