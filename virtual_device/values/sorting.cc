// Sorting of short slices, with the values that go along, and choosing the largest elements. PyTorch's kernels (public
// headers ATen/native/cuda/SortUtils.cuh and SortingRadixSelect.cuh, source TensorTopK.cu), u being unsigned int:
//
//   bitonicSortKVInPlace<key dimensions, value dimensions, threads, y, K, V, Order, u>(TensorInfo<K> keys, u slices, u
//   slice size, u key stride, TensorInfo<V> values, u value stride, Order)
//   warpMergeSortKVInPlace<...>: the same and a K that comes last
//   radixSortKVInPlace<key dimensions, value dimensions, threads, items, K, V, u>: the same with a bool "descending"
//   sbtopk::gatherTopK<T, u, dimensions, false>(TensorInfo<T> source, u slice size, u k, bool largest, u slices, u
//   source stride, TensorInfo<T> chosen, u chosen stride, TensorInfo<long> indices, u index stride, T*)
//
// Not a number counts as the largest. The bitonic sort is a fixed network, so that the order of equal keys is the
// device's; the other two are stable.
//
// Where routing of tokens to experts is balanced (launch_effects.h), the choice among unknown numbers is made by the
// number of the row, and sorting that choice by its unknown numbers leaves it as it is.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "virtual_device/values/effect.h"
#include "virtual_device/values/number.h"
#include "virtual_device/values/tensor_info.h"

namespace maya::device {

namespace {

bool less(Number a, Number b) {
  if (a.is_nan() || b.is_nan()) return b.is_nan() && !a.is_nan();
  return a.floating ? a.real < b.real : a.integer < b.integer;
}

// A tensor of which slices are worked on: element k of slice s lies at offset(s) + k * stride.
struct Slices {
  TensorInfoView info;
  int64_t stride;
  uint64_t element;

  int64_t place(uint64_t slice, uint64_t k) const { return info.offset(slice) + static_cast<int64_t>(k) * stride; }

  // Elements from the tensor's start to behind the last one; 0 when sizes make no sense.
  uint64_t span(uint64_t slices, uint64_t size) const {
    if (!info.valid() || stride < 0) return 0;
    for (int32_t d = 0; d < info.dims(); ++d)
      if (info.size(d) == 0 || info.stride(d) < 0) return 0;
    int64_t last = 0;
    for (uint64_t s = 0; s < slices; ++s) last = std::max(last, place(s, size - 1));
    return static_cast<uint64_t>(last) + 1;
  }
};

enum class Method : uint8_t { kBitonic, kStable };

struct SortLayout {
  Method method = Method::kStable;
  ElementType key = ElementType::kNone;
  uint32_t value_bytes = 0;
  bool descending = false;     // of comparing sorts
  bool has_direction = false;  // a parameter says whether it is descending
  uint32_t network = 0;        // of the bitonic sort: a power of two
};

class SortEffect : public ComputedEffect {
 public:
  SortEffect(const SortLayout& layout, std::unique_ptr<Effect> otherwise)
      : ComputedEffect(std::move(otherwise)), layout_(layout) {}

 protected:
  bool carry_out(const Launch& launch, Memory& memory) const override {
    const Slices keys{TensorInfoView(argument_bytes(launch, 0), 4), argument<int32_t>(launch, 3),
                      element_bytes(layout_.key)};
    const Slices values{TensorInfoView(argument_bytes(launch, 4), 4), argument<int32_t>(launch, 5),
                        layout_.value_bytes};
    const uint64_t slices = argument<uint32_t>(launch, 1), size = argument<uint32_t>(launch, 2);
    if (routing_is_balanced() && keep_order(memory, keys, values, slices, size)) return true;
    const uint64_t most = most_bytes(layout_.key);
    if (!memory.in_device_range(keys.info.data()) || !memory.maybe_known(keys.info.data()) || slices == 0 ||
        size == 0 || slices > most || size > most / 8 / slices)
      return false;
    if (layout_.method == Method::kBitonic && size > layout_.network) return false;
    std::vector<uint8_t> key_bytes, value_bytes;
    const uint64_t key_span = keys.span(slices, size), value_span = values.span(slices, size);
    if (key_span == 0 || value_span == 0 ||
        !read_known(memory, keys.info.data(), key_span * keys.element, &key_bytes, most) ||
        !read_known(memory, values.info.data(), value_span * values.element, &value_bytes, most) ||
        !may_compute(layout_.key, 8 * slices * size))
      return false;
    const bool descending = layout_.has_direction ? argument<uint8_t>(launch, 6) != 0 : layout_.descending;
    const std::vector<uint8_t> old_keys = key_bytes, old_values = value_bytes;
    for (uint64_t s = 0; s < slices; ++s) {
      std::vector<Number> numbers(size);
      for (uint64_t k = 0; k < size; ++k) numbers[k] = load_number(at(old_keys, keys, s, k), layout_.key);
      const std::vector<uint32_t> order = sorted_order(numbers, descending);
      for (uint64_t k = 0; k < size; ++k) {
        std::memcpy(at(key_bytes, keys, s, k), at(old_keys, keys, s, order[k]), keys.element);
        std::memcpy(at(value_bytes, values, s, k), at(old_values, values, s, order[k]), values.element);
      }
    }
    if (write_result(memory, keys.info.data(), key_bytes.data(), key_bytes.size()) != MemoryStatus::kOk ||
        write_result(memory, values.info.data(), value_bytes.data(), value_bytes.size()) != MemoryStatus::kOk)
      return false;
    count_computed();
    return true;
  }

 private:
  // Of values that are known and keys that are not: any order is as good, and this is that of balanced routing.
  bool keep_order(const Memory& memory, const Slices& keys, const Slices& values, uint64_t slices,
                  uint64_t size) const {
    if (!is_floating(layout_.key) || layout_.value_bytes != 8 || size == 0 || size > kMostExperts ||
        slices > kMaximumLarge_bytes / 8 / size)
      return false;
    const uint64_t span = values.span(slices, size), key_span = keys.span(slices, size);
    return span != 0 && key_span != 0 && all_known(memory, values.info.data(), span * 8) &&
           !all_known(memory, keys.info.data(), key_span * keys.element);
  }

  static const uint8_t* at(const std::vector<uint8_t>& bytes, const Slices& slices, uint64_t slice, uint64_t k) {
    return bytes.data() + static_cast<uint64_t>(slices.place(slice, k)) * slices.element;
  }
  static uint8_t* at(std::vector<uint8_t>& bytes, const Slices& slices, uint64_t slice, uint64_t k) {
    return bytes.data() + static_cast<uint64_t>(slices.place(slice, k)) * slices.element;
  }

  std::vector<uint32_t> sorted_order(const std::vector<Number>& keys, bool descending) const {
    const auto before = [descending](Number a, Number b) { return descending ? less(b, a) : less(a, b); };
    std::vector<uint32_t> order(keys.size());
    std::iota(order.begin(), order.end(), 0u);
    if (layout_.method == Method::kStable) {
      std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return before(keys[a], keys[b]); });
      return order;
    }
    const uint32_t network = layout_.network;
    const uint32_t none = network;  // an entry that is not there; such go to the end
    order.resize(network, none);
    const auto exchange = [&](uint32_t thread, uint32_t stride, bool direction) {
      uint32_t& a = order[2 * thread - (thread & (stride - 1))];
      uint32_t& b = order[2 * thread - (thread & (stride - 1)) + stride];
      const bool ordered = a != none && (b == none || before(keys[a], keys[b]));
      if ((ordered || b == none) == direction) std::swap(a, b);
    };
    for (uint32_t size = 2; size < network; size *= 2)
      for (uint32_t stride = size / 2; stride > 0; stride /= 2)
        for (uint32_t thread = 0; thread < network / 2; ++thread) exchange(thread, stride, (thread & (size / 2)) != 0);
    for (uint32_t stride = network / 2; stride > 0; stride /= 2)
      for (uint32_t thread = 0; thread < network / 2; ++thread) exchange(thread, stride, false);
    order.resize(keys.size());
    return order;
  }

  SortLayout layout_;
};

// What a stable sort of whole slices carries along: the place of each element in its slice, which is its index modulo
// the divisor that leads the last parameter. Keys are mostly unknown, which it cannot tell: many places are written
// only where choices of experts are followed.
class SortPlacesEffect : public Effect {
 public:
  void apply(const Launch& launch, Memory& memory) const override {
    const auto result = argument<Address>(launch, 0);
    const auto count = static_cast<uint64_t>(std::max(argument<int32_t>(launch, 1), 0));
    const auto slice = argument<uint32_t>(launch, 2);
    if (!memory.in_device_range(result)) return;
    const uint64_t most = routing_is_balanced() ? kMaximumLarge_bytes : kMaximumIntegers_bytes;
    if (slice == 0 || count > most / 8 || !may_compute_integers(8 * count)) return forget(memory, result, 8 * count);
    std::vector<int64_t> places(count);
    for (uint64_t i = 0; i < count; ++i) places[i] = static_cast<int64_t>(i % slice);
    write_result(memory, result, places.data(), 8 * count);
    count_computed();
  }
};

// The k largest or smallest: first those beyond the last one that is taken, then those equal to it, each in order of
// their index.
class TopKEffect : public ComputedEffect {
 public:
  TopKEffect(ElementType type, std::unique_ptr<Effect> otherwise) : ComputedEffect(std::move(otherwise)), type_(type) {}

 protected:
  bool carry_out(const Launch& launch, Memory& memory) const override {
    const uint64_t element = element_bytes(type_);
    const Slices source{TensorInfoView(argument_bytes(launch, 0), 4), argument<int32_t>(launch, 5), element};
    const Slices chosen{TensorInfoView(argument_bytes(launch, 6), 4), argument<int32_t>(launch, 7), element};
    const Slices indices{TensorInfoView(argument_bytes(launch, 8), 4), argument<int32_t>(launch, 9), 8};
    const uint64_t size = argument<uint32_t>(launch, 1), k = argument<uint32_t>(launch, 2),
                   slices = argument<uint32_t>(launch, 4);
    const bool largest = argument<uint8_t>(launch, 3) != 0;
    if (largest && is_floating(type_) && k < size && size <= kMostExperts && slices > 1 &&
        !all_known(memory, source.info.data(), source.span(slices, size) * element)) {
      if (routing_is_balanced() && balance(memory, chosen, indices, {kTopK, slices, size, k})) return true;
      report_unknown_routing({kTopK, slices, size, k});
      return false;
    }
    if (!memory.in_device_range(source.info.data()) || !memory.maybe_known(source.info.data()) || slices == 0 ||
        size == 0 || k == 0 || k > size || slices > kMaximumComputed_bytes ||
        size > kMaximumComputed_bytes / element / slices || argument<Address>(launch, 10) != 0)
      return false;
    const uint64_t span = source.span(slices, size);
    std::vector<uint8_t> bytes;
    if (span == 0 || chosen.span(slices, k) == 0 || indices.span(slices, k) == 0 ||
        !read_known(memory, source.info.data(), span * element, &bytes))
      return false;
    for (uint64_t s = 0; s < slices; ++s) {
      const std::vector<uint32_t> taken = take(bytes, source, s, size, k, largest);
      for (uint64_t i = 0; i < k; ++i) {
        const uint8_t* value = bytes.data() + static_cast<uint64_t>(source.place(s, taken[i])) * element;
        const auto index = static_cast<int64_t>(taken[i]);
        const auto to = static_cast<uint64_t>(chosen.place(s, i)),
                   to_index = static_cast<uint64_t>(indices.place(s, i));
        if (write_result(memory, chosen.info.data() + to * element, value, element) != MemoryStatus::kOk ||
            write_result(memory, indices.info.data() + to_index * 8, &index, sizeof(index)) != MemoryStatus::kOk)
          return false;
      }
    }
    count_computed();
    return true;
  }

 private:
  static constexpr std::string_view kTopK = "at::native::sbtopk::gatherTopK";

  bool balance(Memory& memory, const Slices& chosen, const Slices& indices, const RoutingCall& call) const {
    const uint64_t count = call.tokens * call.chosen;
    const uint64_t span = indices.span(call.tokens, call.chosen), values = chosen.span(call.tokens, call.chosen);
    // Only where the result has its memory for itself.
    if (count > kMaximumLarge_bytes / 8 || span != count || values == 0 ||
        !memory.in_device_range(indices.info.data()) || !may_compute_integers(8 * count))
      return false;
    std::vector<int64_t> experts(count);
    for (uint64_t t = 0; t < call.tokens; ++t)
      for (uint64_t j = 0; j < call.chosen; ++j)
        experts[static_cast<uint64_t>(indices.place(t, j))] =
            static_cast<int64_t>((t * call.chosen + j) % call.experts);
    forget(memory, chosen.info.data(), values * chosen.element);
    if (write_result(memory, indices.info.data(), experts.data(), count * 8) != MemoryStatus::kOk) return false;
    count_computed();
    return true;
  }

  // Zeros of both signs are told apart, as the device compares bit patterns.
  static bool beyond(Number a, Number b, bool largest) {
    if (!largest) std::swap(a, b);
    if (a.floating && a.real == 0 && b.real == 0) return std::signbit(b.real) && !std::signbit(a.real);
    return less(b, a);
  }

  std::vector<uint32_t> take(const std::vector<uint8_t>& bytes, const Slices& source, uint64_t slice, uint64_t size,
                             uint64_t k, bool largest) const {
    std::vector<Number> values(size);
    for (uint64_t i = 0; i < size; ++i)
      values[i] = load_number(bytes.data() + static_cast<uint64_t>(source.place(slice, i)) * source.element, type_);
    std::vector<uint32_t> order(size);
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return beyond(values[a], values[b], largest); });
    const Number last = values[order[k - 1]];
    std::vector<uint32_t> taken;
    for (uint32_t i = 0; i < size; ++i)
      if (beyond(values[i], last, largest)) taken.push_back(i);
    for (uint32_t i = 0; i < size && taken.size() < k; ++i)
      if (!beyond(values[i], last, largest) && !beyond(last, values[i], largest)) taken.push_back(i);
    return taken;
  }

  ElementType type_;
};

uint32_t number_in(std::string_view text) {
  uint32_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

constexpr uint32_t kInfo = TensorInfoView::bytes(4);

bool parse_sort(const KernelInfo& kernel, std::string_view function, const std::vector<std::string>& arguments,
                SortLayout* layout) {
  if (arguments.size() < 7) return false;
  layout->key = element_type(arguments[4]);
  layout->value_bytes = element_bytes(element_type(arguments[5]));
  if (!is_computable(layout->key) || layout->value_bytes == 0) return false;
  if (function == "radixSortKVInPlace") {
    layout->has_direction = true;
    return arguments[6] == "unsigned int" && has_sizes(kernel, {kInfo, 4, 4, 4, kInfo, 4, 1});
  }
  const std::string_view order = template_base(arguments[6]);
  if (arguments.size() < 8 || arguments[7] != "unsigned int" || !arguments[6].ends_with(", true>")) return false;
  layout->descending = order == "at::native::GTOp";
  if (!layout->descending && order != "at::native::LTOp") return false;
  if (function == "bitonicSortKVInPlace") {
    layout->method = Method::kBitonic;
    layout->network = 2 * number_in(arguments[2]);
    return layout->network >= 2 && (layout->network & (layout->network - 1)) == 0 &&
           has_sizes(kernel, {kInfo, 4, 4, 4, kInfo, 4, 1});
  }
  return function == "warpMergeSortKVInPlace" &&
         has_sizes(kernel, {kInfo, 4, 4, 4, kInfo, 4, 1, element_bytes(layout->key)});
}

}  // namespace

std::unique_ptr<Effect> make_sorting_effect(const KernelInfo& kernel, const KernelName& name,
                                            std::vector<ScalarSlot>* scalars) {
  constexpr std::string_view kNative = "at::native::";
  std::string_view function = name.function;
  if (!function.starts_with(kNative)) return nullptr;
  function.remove_prefix(kNative.size());
  const auto& arguments = name.template_arguments;
  if (function == "sbtopk::gatherTopK") {
    if (arguments.size() != 4 || arguments[1] != "unsigned int" || arguments[3] != "false" ||
        !is_computable(element_type(arguments[0])) || !has_sizes(kernel, {kInfo, 4, 4, 1, 4, 4, kInfo, 4, kInfo, 4, 8}))
      return nullptr;
    return std::make_unique<TopKEffect>(element_type(arguments[0]), make_pointer_effect(kernel, name, scalars));
  }
  if (function == "(anonymous namespace)::fill_reverse_indices_kernel" && has_sizes(kernel, {8, 4, 12})) {
    make_pointer_effect(kernel, name, scalars);
    return std::make_unique<SortPlacesEffect>();
  }
  SortLayout layout;
  if (!function.ends_with("SortKVInPlace") || !parse_sort(kernel, function, arguments, &layout)) return nullptr;
  return std::make_unique<SortEffect>(layout, make_pointer_effect(kernel, name, scalars));
}

}  // namespace maya::device
