// PyTorch's kernels that move elements to or from places that an index tensor names (public sources
// ATen/native/cuda/IndexKernel.cu and ScatterGatherKernel.cu): index_elementwise_kernel<threads, n, lambda>(long count,
// lambda) and _scatter_gather_elementwise_kernel<threads, n, lambda>(int count, lambda). What the lambdas capture, in
// this order, with C(n) an OffsetCalculator of n tensors that is padded to 8 bytes:
//
//   gpu_index_kernel<index_kernel_impl, index_put_kernel_impl>
//               C(3) of result, source, indices; result, source, i64 n, indices[25], i64 sizes[25], strides[25] in
//               bytes
//   flip_kernel_impl        C(2) with signed strides; result, source
//   index_fill_kernel_impl  C(2) of result, indices; both, i64 size, stride in elements; value
//   index_copy_kernel_impl  C(3) of result, indices, source; the three, i64 size, stride
//   cuda_take_put_kernel    C(2) of result, indices; both, i64 elements, bool contiguous, C(1) of the source, source
//   _cuda_scatter_gather_internal_kernel<scatters, T, I>::operator()<F>
//               C(3) of result, source, indices; indices, i64 size, F, result, i64 stride, elements, source
//   _cuda_scatter_fill_internal_kernel<T, I>
//               C(2) of result, indices; indices, i64 size, F, result, i64 stride, elements; value
#include <algorithm>
#include <charconv>
#include <optional>

#include "virtual_device/values/effect.h"
#include "virtual_device/values/moves.h"
#include "virtual_device/values/number.h"
#include "virtual_device/values/offsets.h"

namespace maya::device {

namespace {

constexpr uint32_t kMostIndices = 25;

constexpr uint32_t calculator_bytes(uint32_t tensors) { return (offset_calculator_bytes(tensors) + 7) / 8 * 8; }

enum class Form : uint8_t {
  kIndex,
  kIndexPut,
  kFlip,
  kIndexFill,
  kIndexCopy,
  kTake,
  kGather,
  kScatter,
  kScatterFill,
};

struct Known {
  std::string_view name;  // the lambda's text begins with it
  Form form;
  uint32_t tensors;  // of the first offset calculator
  uint32_t captured_bytes;
};

constexpr Known kKnown[] = {
    {"gpu_index_kernel<at::native::index_kernel_impl<", Form::kIndex, 3, 1240},
    {"gpu_index_kernel<at::native::index_put_kernel_impl<", Form::kIndexPut, 3, 1240},
    {"flip_kernel_impl<", Form::kFlip, 2, 520},
    {"index_fill_kernel_impl<", Form::kIndexFill, 2, 544},
    {"index_copy_kernel_impl<", Form::kIndexCopy, 3, 648},
    {"cuda_take_put_kernel<", Form::kTake, 2, 944},
    {"_cuda_scatter_gather_internal_kernel<false, ", Form::kGather, 3, 664},
    {"_cuda_scatter_gather_internal_kernel<true, ", Form::kScatter, 3, 664},
    {"_cuda_scatter_fill_internal_kernel<", Form::kScatterFill, 2, 560},
};

enum class Combine : uint8_t { kAssign, kAdd, kMultiply, kMinimum, kMaximum };

struct Layout {
  Form form = Form::kIndex;
  uint32_t tensors = 0;
  uint32_t element = 0;        // bytes
  uint32_t index_element = 8;  // bytes
  Combine combine = Combine::kAssign;
  ElementType type = ElementType::kNone;  // where elements are combined
};

// A launch's work: for each index the places that it names.
class GatherEffect : public ComputedEffect {
 public:
  GatherEffect(const Layout& layout, std::unique_ptr<Effect> otherwise)
      : ComputedEffect(std::move(otherwise)), layout_(layout) {}

 protected:
  bool carry_out(const Launch& launch, Memory& memory) const override {
    const int64_t count = is_scatter_gather() ? argument<int32_t>(launch, 0) : argument<int64_t>(launch, 0);
    const Places places = find_places(launch);
    if (!memory.in_device_range(places.result)) return false;
    if (!memory.maybe_known(places.result) && !(places.source != 0 && memory.maybe_known(places.source))) return true;
    const Offsets offsets(captured(launch), layout_.tensors);
    if (count <= 0 || !offsets.valid()) return false;
    const auto elements = static_cast<uint64_t>(count);
    if (is_computed(launch, memory, elements, places) &&
        carry_out_elements(launch, memory, elements, offsets, places)) {
      count_computed();
      return true;
    }
    const auto reach = index_reach(launch);
    if (!reach) return false;
    forget(memory, places.result, offsets.span(elements, 0, layout_.element) + *reach);
    return true;
  }

 private:
  struct Places {
    Address result = 0, source = 0;
  };

  // Many elements only where indices and what they pick are known: those of embeddings pick what is not.
  bool is_computed(const Launch& launch, const Memory& memory, uint64_t elements, const Places& places) const {
    const uint64_t element = std::max(layout_.element, layout_.index_element);
    if (layout_.form != Form::kFlip && !memory.maybe_known(index_address(launch, 0))) return false;
    if (elements <= kMaximumComputed_bytes / element) return true;
    return elements <= kMaximumLarge_bytes / element && layout_.form != Form::kFlip &&
           (places.source == 0 || begins_known(memory, places.source)) && may_compute_integers(elements * element);
  }

  // Whether anything of the first elements is known.
  bool begins_known(const Memory& memory, Address source) const {
    constexpr uint64_t kLooked = 16;
    const uint64_t bytes = kLooked * layout_.element;
    return memory.in_device_range(source) && memory.maybe_known(source) &&
           memory.any_known(source, std::min(bytes, memory.bytes_to_end(source)));
  }

  // True for the forms that write every element of the result and nothing else.
  bool fills_its_result() const {
    return layout_.form == Form::kIndex || layout_.form == Form::kTake || layout_.form == Form::kGather;
  }

  // How many bytes further than the element's own offset in the result an index may lead.
  std::optional<uint64_t> index_reach(const Launch& launch) const {
    if (fills_its_result()) return 0;
    constexpr uint64_t kMost_bytes = 1ull << 48;
    uint64_t bytes = 0;
    const auto add = [&](uint64_t size, uint64_t stride, uint64_t unit) {
      if (size == 0 || size > kMost_bytes || stride > kMost_bytes / size / unit) return false;
      bytes += (size - 1) * stride * unit;
      return true;
    };
    bool valid = false;
    if (layout_.form == Form::kIndexPut) {
      const auto tensors = behind<uint64_t>(launch, 16);
      valid = tensors > 0 && tensors <= kMostIndices;
      for (uint32_t i = 0; valid && i < tensors; ++i)
        valid = add(behind<uint64_t>(launch, 24 + 8 * kMostIndices + 8 * i),
                    behind<uint64_t>(launch, 24 + 16 * kMostIndices + 8 * i), 1);
    } else if (layout_.form == Form::kIndexFill) {
      valid = add(behind<uint64_t>(launch, 16), behind<uint64_t>(launch, 24), layout_.element);
    } else if (layout_.form == Form::kIndexCopy) {
      valid = add(behind<uint64_t>(launch, 24), behind<uint64_t>(launch, 32), layout_.element);
    } else if (is_scatter_gather()) {
      valid = add(behind<uint64_t>(launch, 8), behind<uint64_t>(launch, 32), layout_.element);
    }
    return valid ? std::optional(bytes) : std::nullopt;
  }

  bool is_scatter_gather() const {
    return layout_.form == Form::kGather || layout_.form == Form::kScatter || layout_.form == Form::kScatterFill;
  }
  static const uint8_t* captured(const Launch& launch) { return argument_bytes(launch, 1); }
  template <typename T>
  T behind(const Launch& launch, uint32_t offset) const {
    return argument<T>(launch, 1, calculator_bytes(layout_.tensors) + offset);
  }

  Places find_places(const Launch& launch) const {
    switch (layout_.form) {
      case Form::kIndex:
      case Form::kIndexPut:
      case Form::kFlip:
        return {behind<Address>(launch, 0), behind<Address>(launch, 8)};
      case Form::kIndexFill:
        return {behind<Address>(launch, 0), 0};
      case Form::kIndexCopy:
        return {behind<Address>(launch, 0), behind<Address>(launch, 16)};
      case Form::kTake:
        return {behind<Address>(launch, 0), argument<Address>(launch, 1, kTakeSource)};
      case Form::kGather:
      case Form::kScatter:
        return {behind<Address>(launch, 24), behind<Address>(launch, 48)};
      case Form::kScatterFill:
        return {behind<Address>(launch, 24), 0};
    }
    return {};
  }

  Address index_address(const Launch& launch, uint32_t index) const {
    switch (layout_.form) {
      case Form::kIndex:
      case Form::kIndexPut:
        return behind<Address>(launch, 24 + 8 * index);
      case Form::kIndexFill:
      case Form::kIndexCopy:
      case Form::kTake:
        return behind<Address>(launch, 8);
      default:
        return behind<Address>(launch, 0);
    }
  }

  // Which tensor of the offset calculator holds the indices.
  uint32_t index_tensor() const {
    return layout_.form == Form::kIndexFill || layout_.form == Form::kIndexCopy || layout_.form == Form::kTake ||
                   layout_.form == Form::kScatterFill
               ? 1
               : 2;
  }

  // The values of an index tensor, one for each of `count` elements, within [0, size) or, where negative ones count
  // from the end, made so. False when one is unknown or out of range.
  bool read_indices(const Launch& launch, const Memory& memory, const Offsets& offsets, uint64_t count, uint32_t which,
                    int64_t size, std::vector<int64_t>* values) const {
    const uint32_t tensor = index_tensor(), width = layout_.index_element;
    std::vector<uint8_t> bytes;
    if (!read_known(memory, index_address(launch, which), offsets.span(count, tensor, width), &bytes,
                    kMaximumLarge_bytes))
      return false;
    values->resize(count);
    for (uint64_t k = 0; k < count; ++k) {
      const uint8_t* at = bytes.data() + offsets.at(k, tensor);
      int64_t value = load_number(at, width == 8 ? ElementType::kInt64 : ElementType::kInt32).integer;
      if (value < 0) value += size;
      if (value < 0 || value >= size) return false;
      (*values)[k] = value;
    }
    return true;
  }

  bool carry_out_elements(const Launch& launch, Memory& memory, uint64_t count, const Offsets& offsets,
                          const Places& places) const {
    Moves moves(layout_.element, Moves::kMaximumRuns);
    std::vector<int64_t> indices;
    switch (layout_.form) {
      case Form::kFlip:
        for (uint64_t k = 0; k < count; ++k)
          if (!moves.add(places.source + static_cast<uint64_t>(offsets.signed_at(k, 1)),
                         places.result + static_cast<uint64_t>(offsets.signed_at(k, 0))))
            return false;
        return moves.carry_out(memory);
      case Form::kIndex:
      case Form::kIndexPut: {
        std::vector<uint64_t> named;
        if (!named_offsets(launch, memory, offsets, count, &named)) return false;
        const bool puts = layout_.form == Form::kIndexPut;
        for (uint64_t k = 0; k < count; ++k)
          if (!moves.add(places.source + offsets.at(k, 1) + (puts ? 0 : named[k]),
                         places.result + offsets.at(k, 0) + (puts ? named[k] : 0)))
            return false;
        return moves.carry_out(memory);
      }
      case Form::kIndexCopy: {
        if (!read_indices(launch, memory, offsets, count, 0, behind<int64_t>(launch, 24), &indices)) return false;
        const uint64_t stride = behind<uint64_t>(launch, 32) * layout_.element;
        for (uint64_t k = 0; k < count; ++k)
          if (!moves.add(places.source + offsets.at(k, 2),
                         places.result + offsets.at(k, 0) + static_cast<uint64_t>(indices[k]) * stride))
            return false;
        return moves.carry_out(memory);
      }
      case Form::kTake: {
        if (!read_indices(launch, memory, offsets, count, 0, behind<int64_t>(launch, 16), &indices)) return false;
        const bool contiguous = behind<uint8_t>(launch, 24) != 0;
        const Offsets source(captured(launch) + kTakeCalculator, 1);
        if (!contiguous && !source.valid()) return false;
        for (uint64_t k = 0; k < count; ++k) {
          const auto index = static_cast<uint64_t>(indices[k]);
          const uint64_t element = contiguous ? index : source.at(index, 0);
          if (!moves.add(places.source + element * layout_.element, places.result + offsets.at(k, 0))) return false;
        }
        return moves.carry_out(memory);
      }
      case Form::kGather: {
        if (!read_indices(launch, memory, offsets, count, 0, behind<int64_t>(launch, 8), &indices)) return false;
        const uint64_t stride = behind<uint64_t>(launch, 32) * layout_.element;
        for (uint64_t k = 0; k < count; ++k)
          if (!moves.add(places.source + offsets.at(k, 1) + static_cast<uint64_t>(indices[k]) * stride,
                         places.result + offsets.at(k, 0)))
            return false;
        return moves.carry_out(memory);
      }
      case Form::kIndexFill:
        if (!read_indices(launch, memory, offsets, count, 0, behind<int64_t>(launch, 16), &indices)) return false;
        return fill(launch, memory, offsets, places, indices, behind<uint64_t>(launch, 24), 32);
      case Form::kScatterFill:
        if (layout_.combine != Combine::kAssign ||
            !read_indices(launch, memory, offsets, count, 0, behind<int64_t>(launch, 8), &indices))
          return false;
        return fill(launch, memory, offsets, places, indices, behind<uint64_t>(launch, 32), 48);
      case Form::kScatter:
        if (!read_indices(launch, memory, offsets, count, 0, behind<int64_t>(launch, 8), &indices)) return false;
        return scatter(launch, memory, offsets, places, indices, behind<uint64_t>(launch, 32) * layout_.element);
    }
    return false;
  }

  // Byte offsets that several index tensors name together.
  bool named_offsets(const Launch& launch, const Memory& memory, const Offsets& offsets, uint64_t count,
                     std::vector<uint64_t>* named) const {
    const auto tensors = behind<uint64_t>(launch, 16);
    if (tensors == 0 || tensors > kMostIndices) return false;
    named->assign(count, 0);
    std::vector<int64_t> indices;
    for (uint32_t i = 0; i < tensors; ++i) {
      const auto size = behind<int64_t>(launch, 24 + 8 * kMostIndices + 8 * i);
      const auto stride = behind<uint64_t>(launch, 24 + 16 * kMostIndices + 8 * i);
      if (!read_indices(launch, memory, offsets, count, i, size, &indices)) return false;
      for (uint64_t k = 0; k < count; ++k) (*named)[k] += static_cast<uint64_t>(indices[k]) * stride;
    }
    return true;
  }

  bool fill(const Launch& launch, Memory& memory, const Offsets& offsets, const Places& places,
            const std::vector<int64_t>& indices, uint64_t stride, uint32_t value_offset) const {
    const uint8_t* value = captured(launch) + calculator_bytes(layout_.tensors) + value_offset;
    if (layout_.element > 8) return false;
    const auto place = [&](uint64_t k) {
      return places.result + offsets.at(k, 0) + static_cast<uint64_t>(indices[k]) * stride * layout_.element;
    };
    // In one piece where all around them is known.
    constexpr size_t kFew = 256;
    Address low = UINT64_MAX, end = 0;
    for (uint64_t k = 0; k < indices.size(); ++k) {
      low = std::min(low, place(k));
      end = std::max(end, place(k) + layout_.element);
    }
    std::vector<uint8_t> bytes;
    if (indices.size() > kFew && memory.in_device_range(low) &&
        read_known(memory, low, end - low, &bytes, kMaximumLarge_bytes)) {
      for (uint64_t k = 0; k < indices.size(); ++k)
        std::memcpy(bytes.data() + (place(k) - low), value, layout_.element);
      return write_result(memory, low, bytes.data(), bytes.size()) == MemoryStatus::kOk;
    }
    for (uint64_t k = 0; k < indices.size(); ++k)
      if (write_result(memory, place(k), value, layout_.element) != MemoryStatus::kOk) return false;
    return true;
  }

  bool scatter(const Launch&, Memory& memory, const Offsets& offsets, const Places& places,
               const std::vector<int64_t>& indices, uint64_t stride) const {
    const auto destination = [&](uint64_t k) {
      return places.result + offsets.at(k, 0) + static_cast<uint64_t>(indices[k]) * stride;
    };
    if (layout_.combine == Combine::kAssign) {
      Moves moves(layout_.element, Moves::kMaximumRuns);
      for (uint64_t k = 0; k < indices.size(); ++k)
        if (!moves.add(places.source + offsets.at(k, 1), destination(k))) return false;
      return moves.carry_out(memory);
    }
    if (!is_computable(layout_.type)) return false;
    std::vector<uint8_t> source;
    const uint64_t most = most_bytes(layout_.type);
    if (!read_known(memory, places.source, offsets.span(indices.size(), 1, layout_.element), &source, most))
      return false;
    Address end = places.result;
    for (uint64_t k = 0; k < indices.size(); ++k) end = std::max(end, destination(k) + layout_.element);
    std::vector<uint8_t> result;
    if (!read_known(memory, places.result, end - places.result, &result, most)) return false;
    for (uint64_t k = 0; k < indices.size(); ++k) {
      uint8_t* at = result.data() + (destination(k) - places.result);
      store_number(combine(load_number(at, layout_.type), load_number(source.data() + offsets.at(k, 1), layout_.type)),
                   layout_.type, at);
    }
    return write_result(memory, places.result, result.data(), result.size()) == MemoryStatus::kOk;
  }

  Number combine(Number a, Number b) const {
    const auto bits = [](Number n) { return static_cast<uint64_t>(n.integer); };
    switch (layout_.combine) {
      case Combine::kAdd:
        return a.floating ? Number::of(a.real + b.real) : Number::of(static_cast<int64_t>(bits(a) + bits(b)));
      case Combine::kMultiply:
        return a.floating ? Number::of(a.real * b.real) : Number::of(static_cast<int64_t>(bits(a) * bits(b)));
      case Combine::kMinimum:
      case Combine::kMaximum: {
        if (a.is_nan() || b.is_nan()) return a.is_nan() ? a : b;
        const bool a_is_less = a.floating ? a.real < b.real : a.integer < b.integer;
        return a_is_less == (layout_.combine == Combine::kMinimum) ? a : b;
      }
      case Combine::kAssign:
        break;
    }
    return b;
  }

  static constexpr uint32_t kTakeCalculator = calculator_bytes(2) + 28;
  static constexpr uint32_t kTakeSource = kTakeCalculator + offset_calculator_bytes(1);

  Layout layout_;
};

// The size in the first "OpaqueType<n>" or of the first type name behind `at`.
bool parse_element(std::string_view text, Layout* layout) {
  constexpr std::string_view kOpaque = "OpaqueType<";
  const size_t opaque = text.find(kOpaque);
  if (opaque != std::string_view::npos) {
    std::from_chars(text.data() + opaque + kOpaque.size(), text.data() + text.size(), layout->element);
    return layout->element != 0 && layout->element <= 16;
  }
  return false;
}

// "name<a, b, ...>..." -> {a, b, ...}
std::vector<std::string_view> leading_arguments(std::string_view text) {
  const size_t open = text.find('<');
  if (open == std::string_view::npos) return {};
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    if (text[i] == '<') ++depth;
    if (text[i] == '>' && text[i - 1] != '-' && --depth == 0) return template_arguments(text.substr(0, i + 1));
  }
  return {};
}

bool parse_scatter(std::string_view lambda, Layout* layout) {
  const auto arguments = leading_arguments(lambda);
  const size_t first = layout->form == Form::kScatterFill ? 0 : 1;
  // Until PyTorch 2.9 all indices are long, and their type is no argument.
  const bool named_index = arguments.size() == first + 2;
  if (!named_index && arguments.size() != first + 1) return false;
  layout->type = element_type(arguments[first]);
  layout->element = element_bytes(layout->type);
  if (layout->element == 0 && !parse_element(arguments[first], layout)) return false;
  const ElementType index = named_index ? element_type(arguments[first + 1]) : ElementType::kInt64;
  if (index != ElementType::kInt64 && index != ElementType::kInt32) return false;
  layout->index_element = element_bytes(index);
  struct Named {
    std::string_view text;
    Combine combine;
  };
  static constexpr Named kNamed[] = {
      {"operator()<at::native::TensorAssign>(", Combine::kAssign},
      {"operator()<at::native::ReduceAdd>(", Combine::kAdd},
      {"operator()<at::native::ReduceMultiply>(", Combine::kMultiply},
      {"operator()<at::native::ReduceMinimum>(", Combine::kMinimum},
      {"operator()<at::native::ReduceMaximum>(", Combine::kMaximum},
  };
  for (const Named& known : kNamed) {
    if (lambda.find(known.text) == std::string_view::npos) continue;
    layout->combine = known.combine;
    return layout->form != Form::kGather || known.combine == Combine::kAssign;
  }
  return false;
}

bool parse_take(std::string_view lambda, Layout* layout) {
  const auto arguments = leading_arguments(lambda);
  if (arguments.size() != 3 || arguments[1] != "int" || !arguments[2].starts_with("at::native::take_kernel("))
    return false;
  layout->element = element_bytes(element_type(arguments[0]));
  return layout->element != 0;
}

bool parse_layout(const KernelInfo& kernel, const KernelName& name, bool scatter_gather, Layout* layout) {
  if (name.template_arguments.size() != 3 || kernel.parameters.size() != 2 ||
      kernel.parameters[0].size != (scatter_gather ? 4u : 8u))
    return false;
  std::string_view lambda = name.template_arguments[2];
  for (const std::string_view prefix : {"at::native::", "(anonymous namespace)::"})
    if (lambda.starts_with(prefix)) lambda.remove_prefix(prefix.size());
  for (const Known& known : kKnown) {
    if (!lambda.starts_with(known.name) || kernel.parameters[1].size != known.captured_bytes) continue;
    layout->form = known.form;
    layout->tensors = known.tensors;
    if (known.form == Form::kTake) return parse_take(lambda, layout);
    return scatter_gather ? parse_scatter(lambda, layout) : parse_element(lambda, layout);
  }
  return false;
}

}  // namespace

std::unique_ptr<Effect> make_gather_effect(const KernelInfo& kernel, const KernelName& name,
                                           std::vector<ScalarSlot>* scalars) {
  const bool scatter_gather = name.function == "at::native::_scatter_gather_elementwise_kernel";
  if (!scatter_gather && name.function != "at::native::index_elementwise_kernel") return nullptr;
  Layout layout;
  if (!parse_layout(kernel, name, scatter_gather, &layout)) return nullptr;
  return std::make_unique<GatherEffect>(layout, make_pointer_effect(kernel, name, scalars));
}

}  // namespace maya::device
