// PyTorch's elementwise kernels (public header ATen/native/cuda/CUDALoops.cuh),
// in three forms:
//
//   vectorized_elementwise_kernel<vec, F, std::array<char*, n>, ...>(int N, F
//   f, array data) unrolled_elementwise_kernel<F, std::array<char*, n>,
//   ...>(int N, F f, array data, in_calc, out_calc, loader, storer)
//   elementwise_kernel<threads, unroll, lambda>(int N, lambda), the lambda
//   capturing, in this order: OffsetCalculator<n>, data, f and, when
//     types are converted, std::array<ScalarType, n>; an extended lambda ends
//     in a host pointer
//
// data[0] is the output, the others are the inputs.
#include <algorithm>
#include <optional>

#include "virtual_device/values/effect.h"
#include "virtual_device/values/functor.h"
#include "virtual_device/values/offsets.h"
#include "virtual_device/values/operand.h"

namespace maya::device {

namespace {

constexpr uint32_t kMaximumTensors = 8;
// Bytes that an element of an unknown type has at most, and that most have:
// complex types are rare.
constexpr uint32_t kUnknownElement_bytes = 8;

constexpr uint32_t kHostPointer_bytes = 8;  // at the end of an extended lambda with captures

uint32_t align8(uint32_t bytes) { return (bytes + 7) / 8 * 8; }

struct Place {
  uint32_t parameter = 0, offset = 0;
};

struct Layout {
  uint32_t tensors = 0;
  uint32_t outputs = 1;
  Place data, function;
  bool strided = false;  // an OffsetCalculator<tensors> stands at calculator
  Place calculator;
  bool trivial = true;    // offsets are the linear index
  bool converts = false;  // types of memory stand at input_types, output_type
  Place input_types, output_type;
};

struct Answer {
  bool set = false, computed = false;
  uint8_t bytes[8];
};

// Results of a function of one or two bytes, by these bytes and by what of them is known.
class Remembered {
 public:
  Remembered(uint64_t count, const ElementType* types, uint32_t tensors) : tensors_(tensors) {
    constexpr uint64_t kWorthIt = 4096;
    uint32_t bytes = 0;
    bool single = true;
    for (uint32_t i = 1; i < tensors; ++i) {
      bytes += element_bytes(types[i]);
      single = single && element_bytes(types[i]) == 1;
    }
    if (count >= kWorthIt && single && bytes >= 1 && bytes <= 2) answers_.resize(size_t{1} << (9 * bytes));
  }
  // nullptr: not remembered.
  Answer* find(const Operand* inputs, const uint64_t* where) {
    if (answers_.empty()) return nullptr;
    size_t key = 0;
    for (uint32_t i = 1; i < tensors_; ++i)
      key = key << 9 | size_t{*inputs[i].at(where[i])} << 1 | (inputs[i].known(where[i], 1) ? 1 : 0);
    return &answers_[key];
  }

 private:
  uint32_t tensors_;
  std::vector<Answer> answers_;
};

class ElementwiseEffect : public Effect {
 public:
  ElementwiseEffect(const Layout& layout, std::optional<Functor> functor, uint32_t output_bytes)
      : layout_(layout),
        functor_(functor),
        absorbs_(functor && may_absorb(*functor)),
        may_ask_of_finite_(functor && may_ask_of_finite(*functor)),
        output_bytes_(output_bytes) {}

  void apply(const Launch& launch, Memory& memory) const override {
    const auto count = argument<int32_t>(launch, 0);
    if (count <= 0) return;
    Address data[kMaximumTensors];
    std::memcpy(data, argument_bytes(launch, layout_.data.parameter, layout_.data.offset), 8 * layout_.tensors);
    if (may_ask_of_finite_ && answer_of_finite(launch, memory, static_cast<uint64_t>(count), data)) return;
    if (functor_ && layout_.outputs == 1 && may_compute(data, memory) &&
        compute(launch, memory, static_cast<uint64_t>(count), data))
      return;
    for (uint32_t i = 0; i < layout_.outputs; ++i)
      if (memory.in_device_range(data[i]) && memory.maybe_known(data[i]))
        forget_output(launch, memory, count, i, data[i]);
  }

  bool watch(std::vector<PointerSlot>* pointers) const override {
    if ((functor_ && layout_.tensors == 1) || may_ask_of_finite_) return false;  // needs no known input
    for (uint32_t i = 0; i < layout_.tensors; ++i)
      pointers->push_back({layout_.data.parameter, layout_.data.offset + 8 * i});
    return true;
  }

 private:
  bool may_compute(const Address* data, const Memory& memory) const {
    bool any = layout_.tensors == 1;
    for (uint32_t i = 1; i < layout_.tensors; ++i) {
      const bool maybe = memory.in_device_range(data[i]) && memory.maybe_known(data[i]);
      if (!maybe && !absorbs_) return false;
      any = any || maybe;
    }
    return any && memory.in_device_range(data[0]);
  }

  ElementType type_of(const Launch& launch, uint32_t tensor) const {
    if (!layout_.converts) return tensor == 0 ? functor_->result_type : functor_->input_types[tensor - 1];
    const Place& place = tensor == 0 ? layout_.output_type : layout_.input_types;
    const uint32_t index = tensor == 0 ? 0 : tensor - 1;
    return element_type_of_scalar(*argument_bytes(launch, place.parameter, place.offset + index));
  }

  uint32_t output_bytes(const Launch& launch) const {
    if (!layout_.converts) return output_bytes_;
    const auto type =
        element_type_of_scalar(*argument_bytes(launch, layout_.output_type.parameter, layout_.output_type.offset));
    return type == ElementType::kNone ? kUnknownElement_bytes : element_bytes(type);
  }

  void forget_output(const Launch& launch, Memory& memory, int32_t count, uint32_t tensor, Address address) const {
    const uint64_t bytes = output_bytes(launch);
    if (layout_.strided) {
      const Offsets offsets(argument_bytes(launch, layout_.calculator.parameter, layout_.calculator.offset),
                            layout_.tensors);
      if (offsets.valid()) return forget(memory, address, offsets.span(static_cast<uint64_t>(count), tensor, bytes));
    }
    if (layout_.trivial) return forget(memory, address, static_cast<uint64_t>(count) * bytes);
    forget(memory, address, memory.bytes_to_end(address));
  }

  bool asks_finite(const Launch& launch, const std::optional<Offsets>& offsets, const Address* data) const {
    if (!may_ask_of_finite_) return false;
    const bool same = layout_.tensors == 3 && data[1] == data[2] && type_of(launch, 1) == type_of(launch, 2) &&
                      (!offsets || offsets->alike(1, 2));
    return asks_of_finite(*functor_, argument_bytes(launch, layout_.function.parameter, layout_.function.offset), same);
  }

  // Where no byte of the inputs is known and the question has one answer for all finite numbers: that answer.
  bool answer_of_finite(const Launch& launch, Memory& memory, uint64_t count, const Address* data) const {
    const ElementType type = type_of(launch, 0);
    const uint64_t bytes = element_bytes(type);
    if (bytes == 0 || bytes > sizeof(uint32_t) || !memory.in_device_range(data[0])) return false;
    std::optional<Offsets> offsets;
    if (layout_.strided) {
      offsets.emplace(argument_bytes(launch, layout_.calculator.parameter, layout_.calculator.offset), layout_.tensors);
      if (!offsets->valid() || !offsets->dense(0, bytes)) return false;
    } else if (!layout_.trivial) {
      return false;
    }
    if (!asks_finite(launch, offsets, data)) return false;
    const uint8_t* object = argument_bytes(launch, layout_.function.parameter, layout_.function.offset);
    for (uint32_t i = 1; i < layout_.tensors; ++i) {
      const uint64_t wide = element_bytes(type_of(launch, i));
      if (!memory.in_device_range(data[i]) ||
          memory.any_known(data[i], offsets ? offsets->span(count, i, wide) : count * wide))
        return false;
    }
    Number zeros[kMaximumInputs], result;
    for (int i = 0; i < functor_->inputs; ++i) zeros[i] = convert_number(Number::of(0.0), functor_->input_types[i]);
    if (!apply_functor(*functor_, object, zeros, &result)) return false;
    uint32_t pattern = 0;
    store_number(convert_number(result, functor_->result_type), type, &pattern);
    if (memory.fill(data[0], pattern, static_cast<uint32_t>(bytes), count) != MemoryStatus::kOk) return false;
    count_computed();
    return true;
  }

  // False when the result must be taken as unknown.
  bool compute(const Launch& launch, Memory& memory, uint64_t count, const Address* data) const {
    if (!layout_.trivial && !layout_.strided) return false;
    ElementType types[kMaximumTensors];
    uint64_t total = 0;
    bool any_floating = false;
    for (uint32_t i = 0; i < layout_.tensors; ++i) {
      types[i] = type_of(launch, i);
      if (!is_computable(types[i])) return false;
      total += count * element_bytes(types[i]);
      any_floating = any_floating || is_floating(types[i]);
    }
    // Floating-point numbers of which integers or truth values are made, as maps of who is chosen are made of zeros.
    const bool decides = layout_.tensors > 1 && !is_floating(types[0]);
    const uint64_t most = !any_floating           ? kMaximumLarge_bytes
                          : !decides              ? kMaximumComputed_bytes
                          : routing_is_balanced() ? kMaximumLarge_bytes
                                                  : kMaximumIntegers_bytes;
    const uint8_t* object = argument_bytes(launch, layout_.function.parameter, layout_.function.offset);
    if (functor_->operation == ElementOperation::kFill && layout_.trivial)
      return fill(memory, data[0], types[0], count, object);
    if (total > most) return false;

    std::optional<Offsets> offsets;
    if (layout_.strided) {
      offsets.emplace(argument_bytes(launch, layout_.calculator.parameter, layout_.calculator.offset), layout_.tensors);
      if (!offsets->valid()) return false;
    }
    const bool of_finite = asks_finite(launch, offsets, data);
    Operand inputs[kMaximumTensors];
    bool any_known = layout_.tensors == 1, all_known = true;
    for (uint32_t i = 1; i < layout_.tensors; ++i) {
      const uint64_t bytes = element_bytes(types[i]);
      const uint64_t span = offsets ? offsets->span(count, i, bytes) : count * bytes;
      const bool known = inputs[i].load(memory, data[i], span, most);
      if (!known && (!absorbs_ || !inputs[i].readable())) return false;
      any_known = any_known || known;
      all_known = all_known && inputs[i].whole();
    }
    if (!any_known || ((!any_floating || decides) && !may_compute_integers(total))) return false;
    const uint64_t output = element_bytes(types[0]);
    std::vector<uint8_t> results(count * output);
    std::vector<bool> known_results(all_known ? 0 : count);
    const auto evaluate = [&](const uint64_t* where, uint8_t* to) {
      Number values[kMaximumInputs], result;
      bool known[kMaximumInputs] = {};
      for (uint32_t i = 1; i < layout_.tensors; ++i) {
        known[i - 1] = inputs[i].known(where[i], element_bytes(types[i]));
        values[i - 1] = load_number(inputs[i].at(where[i]), types[i]);
        if (of_finite && !known[i - 1]) {
          known[i - 1] = true;
          values[i - 1] = convert_number(Number::of(0.0), types[i]);
        }
        const ElementType wanted = functor_->input_types[i - 1];
        if (types[i] == wanted) continue;
        known[i - 1] = known[i - 1] && converts_to(values[i - 1], wanted);
        values[i - 1] = convert_number(values[i - 1], wanted);
      }
      const bool computed = apply_functor_partly(*functor_, object, values, known, &result) &&
                            converts_to(result, functor_->result_type) && converts_to(result, types[0]);
      store_number(convert_number(result, functor_->result_type), types[0], to);
      return computed;
    };
    std::optional<Offsets::Walk> walk;
    if (offsets) walk.emplace(*offsets);
    // Masks of many elements take few values: what was found for the same bytes holds.
    Remembered remembered(count, types, layout_.tensors);
    for (uint64_t k = 0; k < count; ++k) {
      uint64_t where[kMaximumTensors];
      for (uint32_t i = 1; i < layout_.tensors; ++i) where[i] = walk ? walk->at(i) : k * element_bytes(types[i]);
      if (walk) walk->next();
      uint8_t* to = results.data() + k * output;
      bool computed = false;
      if (Answer* answer = remembered.find(inputs, where); answer == nullptr) {
        computed = evaluate(where, to);
      } else {
        if (!answer->set) {
          answer->set = true;
          answer->computed = evaluate(where, answer->bytes);
        }
        computed = answer->computed;
        std::memcpy(to, answer->bytes, output);
      }
      if (all_known && !computed) return false;
      if (!all_known) known_results[k] = computed;
    }
    if (!all_known && std::find(known_results.begin(), known_results.end(), true) == known_results.end()) return false;
    if (all_known && (!offsets || offsets->dense(0, output))) {
      if (write_result(memory, data[0], results.data(), results.size()) != MemoryStatus::kOk) return false;
    } else {
      if (!all_known) forget_output(launch, memory, static_cast<int32_t>(count), 0, data[0]);
      std::optional<Offsets::Walk> places;
      if (offsets) places.emplace(*offsets);
      for (uint64_t k = 0; k < count; ++k) {
        const uint64_t place = places ? places->at(0) : k * output;
        if (places) places->next();
        if ((all_known || known_results[k]) &&
            write_result(memory, data[0] + place, results.data() + k * output, output) != MemoryStatus::kOk)
          return false;
      }
    }
    count_computed();
    return true;
  }

  // A fill of any size is kept as a range; zeros beyond the limit need not even
  // that, since unknown bytes read as zero.
  bool fill(Memory& memory, Address address, ElementType type, uint64_t count, const uint8_t* object) const {
    Number value;
    if (!apply_functor(*functor_, object, nullptr, &value)) return false;
    uint8_t pattern[8] = {};
    store_number(convert_number(value, functor_->result_type), type, pattern);
    const uint32_t bytes = element_bytes(type);
    uint32_t low, high;
    std::memcpy(&low, pattern, sizeof(low));
    std::memcpy(&high, pattern + 4, sizeof(high));
    const uint64_t most = is_floating(type) ? kMaximumIntegers_bytes : kMaximumLarge_bytes;
    if (low == 0 && high == 0 && count * bytes > most) return false;
    MemoryStatus status;
    if (bytes < 8) {
      status = memory.fill(address, low, bytes, count);
    } else if (low == high) {
      status = memory.fill(address, low, 4, 2 * count);
    } else if (count > kMaximumLarge_bytes / 8 || !may_compute_integers(8 * count)) {
      return false;
    } else {
      std::vector<uint8_t> values(count * 8);
      for (uint64_t k = 0; k < count; ++k) std::memcpy(values.data() + 8 * k, pattern, 8);
      status = write_result(memory, address, values.data(), values.size());
    }
    if (status != MemoryStatus::kOk) return false;
    count_computed();
    return true;
  }

  Layout layout_;
  std::optional<Functor> functor_;
  bool absorbs_, may_ask_of_finite_;
  uint32_t output_bytes_;
};

// The n of "std::array<char*, 3ul>", and of "at::detail::Array<char*, 3>", which was used until torch 2.5 and lies in
// memory alike; 0 when the text is something else.
uint32_t pointer_count(std::string_view text) {
  for (const std::string_view start : {"std::array<char*, ", "at::detail::Array<char*, "}) {
    if (!text.starts_with(start) || text.size() < start.size() + 1) continue;
    const int digit = text[start.size()] - '0';
    return digit >= 1 && digit <= static_cast<int>(kMaximumTensors) ? static_cast<uint32_t>(digit) : 0;
  }
  return 0;
}

// What can be seen of a function object that is not known: how many tensors it
// works on (0: not to be seen) and how wide an element of its result is, taken
// as the widest argument where the name does not tell.
struct Guess {
  uint32_t tensors = 0;
  uint32_t output_bytes = kUnknownElement_bytes;
};

Guess guess_function(std::string_view function) {
  Guess guess;
  std::vector<std::string_view> types;
  if (lambda_arguments(function, &types)) {
    guess.tensors = static_cast<uint32_t>(types.size()) + 1;
    uint32_t bytes = 0;
    for (const std::string_view type : types) bytes = std::max(bytes, element_bytes(element_type(type)));
    // Elements, a mask and places: the result is of the elements' type.
    if (function.find("launch_masked_scatter_kernel") != std::string_view::npos && !types.empty())
      bytes = element_bytes(element_type(types[0]));
    if (bytes != 0) guess.output_bytes = bytes;
    return guess;
  }
  const std::string_view base = template_base(function);
  types = template_arguments(function);
  const auto wide_as = [&](size_t index) {
    const uint32_t bytes = index < types.size() ? element_bytes(element_type(types[index])) : 0;
    if (bytes != 0) guess.output_bytes = bytes;
  };
  if (base.ends_with("::BinaryFunctor")) {
    guess.tensors = 3;
    wide_as(2);
  } else if (base.ends_with("::AUnaryFunctor") || base.ends_with("::BUnaryFunctor")) {
    guess.tensors = 2;
    wide_as(2);
  } else if (base.ends_with("::FillFunctor")) {
    guess.tensors = 1;
    wide_as(0);
  } else if (base.ends_with("::CUDAFunctor_add")) {
    guess.tensors = 3;
    wide_as(0);
  } else if (base.ends_with("::CUDAFunctorOnSelf_add") || base.ends_with("::CUDAFunctorOnOther_add")) {
    guess.tensors = 2;
    wide_as(0);
  }
  return guess;
}

// Bytes of LoadWithCast<n> and StoreWithCast<n>: n ScalarTypes of one byte,
// then n sizes of four.
uint32_t cast_bytes(uint32_t tensors) { return (tensors + 3) / 4 * 4 + 4 * tensors; }

bool has_size(const KernelInfo& kernel, size_t parameter, uint32_t size) {
  return parameter < kernel.parameters.size() && kernel.parameters[parameter].size == size;
}

// vectorized, unrolled and unrolled with several outputs: N, f, data, and for
// the unrolled ones four more.
bool flat_layout(const KernelInfo& kernel, std::string_view array, uint32_t outputs, bool unrolled,
                 std::string_view loader, Layout* layout) {
  layout->tensors = pointer_count(array);
  layout->outputs = outputs;
  if (layout->tensors < outputs || layout->tensors == 0) return false;
  if (kernel.parameters.size() != (unrolled ? 7u : 3u) || !has_size(kernel, 0, 4) ||
      !has_size(kernel, 2, 8 * layout->tensors))
    return false;
  layout->function = {1, 0};
  layout->data = {2, 0};
  if (!unrolled) return true;
  layout->trivial = has_size(kernel, 3, 1) && has_size(kernel, 4, 1);
  if (template_base(loader) == "at::native::memory::LoadWithCast") {
    const uint32_t inputs = layout->tensors - outputs;
    layout->converts =
        has_size(kernel, 5, cast_bytes(std::max(inputs, 1u))) && has_size(kernel, 6, cast_bytes(outputs));
    layout->input_types = {5, 0};
    layout->output_type = {6, 0};
    return layout->converts;
  }
  return has_size(kernel, 5, 1) && has_size(kernel, 6, 1);
}

// The function object inside
// "at::native::gpu_kernel_impl_nocast<F>(...)::{lambda(int)#1}", and whether
// types are converted.
bool wrapped_function(std::string_view lambda, std::string_view* function, bool* converts) {
  for (const std::string_view wrapper : {"at::native::gpu_kernel_impl_nocast<", "at::native::gpu_kernel_impl<"}) {
    if (!lambda.starts_with(wrapper)) continue;
    int depth = 1;
    for (size_t i = wrapper.size(); i < lambda.size(); ++i) {
      const char c = lambda[i];
      if (c == '<' || c == '(' || c == '{') ++depth;
      if ((c == '>' && lambda[i - 1] != '-') || c == ')' || c == '}') --depth;
      if (depth != 0) continue;
      *function = lambda.substr(wrapper.size(), i - wrapper.size());
      *converts = wrapper == "at::native::gpu_kernel_impl<";
      return true;
    }
  }
  return false;
}

// elementwise_kernel: N and the capturing lambda. Without a known function
// object of the expected size nothing is computed, but the output still stands
// where it does.
bool strided_layout(const KernelInfo& kernel, std::string_view function, bool converts, Layout* layout,
                    std::optional<Functor>* functor) {
  if (kernel.parameters.size() != 2 || !has_size(kernel, 0, 4)) return false;
  *functor = parse_functor(function);
  layout->tensors = *functor ? (*functor)->inputs + 1u : guess_function(function).tensors;
  if (layout->tensors == 0 || layout->tensors > kMaximumTensors) return false;
  layout->strided = true;
  layout->trivial = false;
  layout->calculator = {1, 0};
  layout->data = {1, align8(offset_calculator_bytes(layout->tensors))};
  layout->function = {1, layout->data.offset + 8 * layout->tensors};
  const uint32_t size = kernel.parameters[1].size;
  if (layout->function.offset > size) return false;
  if (!*functor) return true;
  uint32_t end = layout->function.offset + (*functor)->bytes;
  if (converts) {
    layout->converts = true;
    layout->output_type = {1, end};
    layout->input_types = {1, end + 1};
    end += layout->tensors;
  }
  if (size == align8(end) + kHostPointer_bytes) return true;
  layout->converts = false;
  functor->reset();
  return true;
}

// MemoryAccess.cuh: LoadWithCast<n> and StoreWithCast<n>{ScalarType types[n]
// (one byte each); uint32_t element sizes[n]}: how wide the tensors really are.
void add_cast_sizes(const KernelInfo& kernel, std::string_view type, uint16_t parameter,
                    std::vector<ScalarSlot>* scalars) {
  constexpr uint32_t kMostTensors = 3;
  const auto arguments = template_arguments(type);
  if (type.find("WithCast<") == std::string_view::npos || arguments.empty() || arguments[0].size() != 1) return;
  const auto tensors = static_cast<uint32_t>(arguments[0][0] - '0');
  const uint32_t first = (tensors + 3) / 4 * 4;
  if (tensors == 0 || tensors > kMostTensors || !has_size(kernel, parameter, first + 4 * tensors)) return;
  for (uint32_t i = 0; i < tensors; ++i) scalars->push_back({parameter, static_cast<uint16_t>(first + 4 * i), 0, 4});
}

}  // namespace

std::unique_ptr<Effect> make_elementwise_effect(const KernelInfo& kernel, const KernelName& name,
                                                std::vector<ScalarSlot>* scalars) {
  constexpr std::string_view kNamespace = "at::native::";
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  if (!name.function.starts_with(kNamespace)) return nullptr;
  std::string_view family = std::string_view(name.function).substr(kNamespace.size());
  if (family.starts_with(kAnonymous)) family.remove_prefix(kAnonymous.size());
  const auto& arguments = name.template_arguments;
  Layout layout;
  std::string_view function;
  std::optional<Functor> functor;
  if (family == "vectorized_elementwise_kernel" && arguments.size() >= 3) {
    function = arguments[1];
    if (!flat_layout(kernel, arguments[2], 1, false, {}, &layout)) return nullptr;
  } else if (family == "unrolled_elementwise_kernel" && (arguments.size() == 7 || arguments.size() == 6)) {
    // Until torch 2.5 the elements of a thread are no template argument; loader and storer come last in any case.
    function = arguments[0];
    if (!flat_layout(kernel, arguments[1], 1, true, arguments[arguments.size() - 2], &layout)) return nullptr;
  } else if (family == "unrolled_elementwise_kernel_for_multi_outputs" && arguments.size() == 5 &&
             arguments[0].size() == 1) {
    const auto outputs = static_cast<uint32_t>(arguments[0][0] - '0');
    layout.tensors = pointer_count(arguments[2]);
    layout.outputs = outputs;
    if (outputs == 0 || layout.tensors < outputs || kernel.parameters.size() != 5 ||
        !has_size(kernel, 2, 8 * layout.tensors))
      return nullptr;
    layout.data = {2, 0};
    layout.trivial = has_size(kernel, 4, 1);
    function = arguments[1];
  } else if (family == "elementwise_kernel" && arguments.size() == 3) {
    bool converts = false;
    if (!wrapped_function(arguments[2], &function, &converts)) return nullptr;
    if (!strided_layout(kernel, function, converts, &layout, &functor)) return nullptr;
    const uint32_t bytes = functor    ? element_bytes(functor->result_type)
                           : converts ? kUnknownElement_bytes
                                      : guess_function(function).output_bytes;
    scalars->push_back({0, 0, 0, 4});
    return std::make_unique<ElementwiseEffect>(layout, functor, bytes);
  } else {
    return nullptr;
  }
  functor = parse_functor(function);
  // A layout that is not the expected one: nothing is computed.
  if (functor && (functor->inputs + 1u != layout.tensors || !has_size(kernel, 1, functor->bytes))) functor.reset();
  const uint32_t bytes = functor ? element_bytes(functor->result_type) : guess_function(function).output_bytes;
  scalars->push_back({0, 0, 0, 4});
  if (family == "unrolled_elementwise_kernel") {
    add_cast_sizes(kernel, arguments[arguments.size() - 2], 5, scalars);
    add_cast_sizes(kernel, arguments[arguments.size() - 1], 6, scalars);
  }
  return std::make_unique<ElementwiseEffect>(layout, functor, bytes);
}

}  // namespace maya::device
