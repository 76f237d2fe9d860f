// CUB's sort of one tile (public header cub/device/dispatch/kernels/kernel_radix_sort.cuh):
// DeviceRadixSortSingleTileKernel<policy, order, K, V, u64, identity>(const K* keys, K* sorted keys, const V* values,
// V* sorted values, u64 count, int first bit, int end bit, identity), stable, by those bits of a key that grow with it.
// Its sort of more than a tile (kernel_radix_sort.cuh, agent_radix_sort_onesweep.cuh), eight bits a pass, also stable:
// DeviceRadixSortHistogramKernel<...>(u64* counts, const K* keys, u64 count, int first bit, int end bit, identity),
// DeviceRadixSortExclusiveSumKernel<...>(u64* counts), a block a pass, and for each pass DeviceRadixSortOnesweepKernel<
// policy, order, K, V, ...>(int* state of each block's digits, int* counter, u64* counts of the next part, const u64*
// counts, K* sorted keys, const K* keys, V* sorted values, const V* values, int count, int first bit, int bits,
// identity).
// CUB of CUDA 12 has the order as a truth value; that of 12.1 has no identity.
// And PyTorch's sum of rows by sorted indices (public source ATen/native/cuda/Indexing.cu), which follows it:
// indexing_backward_kernel_stride_1, _small_stride<T>, indexing_backward_kernel<T, n>(i64* sorted indices, i64* places,
// T* rows, T* result, i64 count, row size, row size in front, outer size, bool adds).
#include <algorithm>
#include <bit>
#include <charconv>
#include <numeric>

#include "virtual_device/values/effect.h"
#include "virtual_device/values/number.h"

namespace maya::device {

namespace {

ElementType key_type(std::string_view name) {
  if (name == "__half") return ElementType::kFloat16;
  if (name == "__nv_bfloat16") return ElementType::kBfloat16;
  return element_type(name);
}

struct RadixLayout {
  ElementType key = ElementType::kNone;
  uint32_t value_bytes = 0;  // 0: keys alone
  bool descending = false;
};

// Places of parameters.
struct RadixPlaces {
  uint8_t keys, sorted_keys, values, sorted_values, count, first, end;
};
constexpr RadixPlaces kSingleTile = {0, 1, 2, 3, 4, 5, 6};
constexpr RadixPlaces kOnesweep = {5, 4, 7, 6, 8, 9, 10};  // the last is the number of bits

constexpr uint64_t kDigits = 256, kCount_bytes = 8, kState_bytes = 4;

class RadixSortEffect : public ComputedEffect {
 public:
  RadixSortEffect(const RadixLayout& layout, std::unique_ptr<Effect> otherwise)
      : ComputedEffect(std::move(otherwise)), layout_(layout) {}

 protected:
  bool carry_out(const Launch& launch, Memory& memory) const override {
    const auto count = argument<uint64_t>(launch, kSingleTile.count);
    return sort(launch, memory, kSingleTile, count, argument<int32_t>(launch, kSingleTile.end));
  }

  // False when memory was left as it was.
  bool sort(const Launch& launch, Memory& memory, const RadixPlaces& places, uint64_t count, int64_t end) const {
    const auto keys = argument<Address>(launch, places.keys),
               sorted_keys = argument<Address>(launch, places.sorted_keys),
               values = argument<Address>(launch, places.values),
               sorted_values = argument<Address>(launch, places.sorted_values);
    const auto first = argument<int32_t>(launch, places.first);
    const uint64_t width = element_bytes(layout_.key);
    const uint64_t most = most_bytes(layout_.key);
    if (!memory.in_device_range(keys) || !memory.in_device_range(sorted_keys) || !memory.maybe_known(keys) ||
        count > most / std::max<uint64_t>(width, layout_.value_bytes) || first < 0 || end <= first ||
        end > static_cast<int64_t>(8 * width))
      return false;
    std::vector<uint8_t> key_bytes, value_bytes;
    if (!read_known(memory, keys, count * width, &key_bytes, most)) return false;
    // Values that are not given are the order itself.
    if (layout_.value_bytes != 0 && !read_known(memory, values, count * layout_.value_bytes, &value_bytes, most))
      return false;
    if (!may_compute(layout_.key, count * std::max<uint64_t>(width, layout_.value_bytes))) return false;
    std::vector<uint64_t> ranks(count);
    const uint64_t mask = end - first == 64 ? ~uint64_t{0} : (uint64_t{1} << (end - first)) - 1;
    for (uint64_t i = 0; i < count; ++i) ranks[i] = rank(key_bytes.data() + i * width) >> first & mask;
    std::vector<uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return layout_.descending ? ranks[a] > ranks[b] : ranks[a] < ranks[b];
    });
    std::vector<uint8_t> out_keys(key_bytes.size()), out_values(value_bytes.size());
    for (uint64_t i = 0; i < count; ++i) {
      std::memcpy(out_keys.data() + i * width, key_bytes.data() + order[i] * width, width);
      if (layout_.value_bytes != 0)
        std::memcpy(out_values.data() + i * layout_.value_bytes, value_bytes.data() + order[i] * layout_.value_bytes,
                    layout_.value_bytes);
    }
    if (write_result(memory, sorted_keys, out_keys.data(), out_keys.size()) != MemoryStatus::kOk) return false;
    if (layout_.value_bytes != 0 &&
        write_result(memory, sorted_values, out_values.data(), out_values.size()) != MemoryStatus::kOk)
      return false;
    count_computed();
    return true;
  }

  const RadixLayout& layout() const { return layout_; }

 private:
  // Bits of a key as an unsigned number that grows with it; zeros of both signs are the same.
  uint64_t rank(const uint8_t* key) const {
    uint64_t bits = 0;
    const uint32_t width = element_bytes(layout_.key);
    std::memcpy(&bits, key, width);
    const uint64_t sign = uint64_t{1} << (8 * width - 1);
    const uint64_t all = sign | (sign - 1);
    if (is_floating(layout_.key)) {
      if (bits == sign) bits = 0;
      return (bits & sign) != 0 ? ~bits & all : bits | sign;
    }
    const bool is_signed = layout_.key == ElementType::kInt8 || layout_.key == ElementType::kInt16 ||
                           layout_.key == ElementType::kInt32 || layout_.key == ElementType::kInt64;
    return is_signed ? bits ^ sign : bits;
  }

  RadixLayout layout_;
};

class OnesweepEffect : public RadixSortEffect {
 public:
  using RadixSortEffect::RadixSortEffect;

 protected:
  bool carry_out(const Launch& launch, Memory& memory) const override {
    const auto count = argument<int32_t>(launch, kOnesweep.count);
    if (count < 0) return false;
    // Arguments may be anything: sums of them are wider than they are.
    const int64_t end = int64_t{argument<int32_t>(launch, kOnesweep.first)} + argument<int32_t>(launch, kOnesweep.end);
    const auto elements = static_cast<uint64_t>(count);
    forget(memory, argument<Address>(launch, 0), launch.grid[0] * kDigits * kState_bytes);
    forget(memory, argument<Address>(launch, 1), kState_bytes);
    forget(memory, argument<Address>(launch, 2), kDigits * kCount_bytes);
    if (sort(launch, memory, kOnesweep, elements, end)) return true;
    forget(memory, argument<Address>(launch, kOnesweep.sorted_keys), elements * element_bytes(layout().key));
    forget(memory, argument<Address>(launch, kOnesweep.sorted_values), elements * layout().value_bytes);
    return true;
  }
};

// Counts of digits: as many rows of them as there are passes.
class DigitCountEffect : public Effect {
 public:
  explicit DigitCountEffect(bool counts) : counts_(counts) {}

  void apply(const Launch& launch, Memory& memory) const override {
    constexpr int64_t kMostPasses = 8, kBitsOfPass = 8;
    int64_t passes = launch.grid[0];
    if (counts_)
      passes = (int64_t{argument<int32_t>(launch, 4)} - argument<int32_t>(launch, 3) + kBitsOfPass - 1) / kBitsOfPass;
    forget(memory, argument<Address>(launch, 0),
           static_cast<uint64_t>(std::clamp<int64_t>(passes, 1, kMostPasses)) * kDigits * kCount_bytes);
  }

 private:
  bool counts_;
};

class RowSumEffect : public ComputedEffect {
 public:
  RowSumEffect(ElementType type, uint64_t element, std::unique_ptr<Effect> otherwise)
      : ComputedEffect(std::move(otherwise)), type_(type), element_(element) {}

 protected:
  bool carry_out(const Launch& launch, Memory& memory) const override {
    constexpr uint64_t kMost = 1ull << 29;  // of each size: the sum of two products, times an element's size, fits
    const auto result = argument<Address>(launch, 3);
    const auto count = argument<uint64_t>(launch, 4), row = argument<uint64_t>(launch, 5),
               before = argument<uint64_t>(launch, 6), outer = argument<uint64_t>(launch, 7);
    if (!memory.in_device_range(result) || !memory.maybe_known(result) || count == 0 || row == 0 || row > kMost ||
        outer == 0 || outer > kMost || (outer > 1 && before > kMost) || count > kMaximumLarge_bytes / 8)
      return false;
    std::vector<uint8_t> sorted;
    if (!read_known(memory, argument<Address>(launch, 0), 8 * count, &sorted, kMaximumLarge_bytes) ||
        !may_compute_integers(8 * count))
      return false;
    uint64_t largest = 0;
    for (uint64_t i = 0; i < count; ++i) largest = std::max(largest, at(sorted, i));
    if (largest > kMost) return false;
    if (outer == 1 && sum(launch, memory, sorted, largest)) return true;
    // Only these rows are written, whatever comes into them.
    constexpr uint64_t kMostRanges = 1 << 16;
    const uint64_t apart = outer > 1 ? before : 0, ranges = neighbours(sorted, 0, count) ? 1 : count;
    if (ranges > kMostRanges / std::min(outer, kMostRanges)) {
      forget(memory, result, ((largest + 1) * row + (outer - 1) * apart) * element_);
      return true;
    }
    for (uint64_t z = 0; z < outer; ++z)
      for (uint64_t begin = 0, end = 0; begin < count; begin = end) {
        for (end = begin + 1; end < count && neighbours(sorted, end - 1, end + 1);) ++end;
        const uint64_t rows = at(sorted, end - 1) - at(sorted, begin) + 1;
        forget(memory, result + (at(sorted, begin) * row + z * apart) * element_, rows * row * element_);
      }
    return true;
  }

 private:
  bool sum(const Launch& launch, Memory& memory, const std::vector<uint8_t>& sorted, uint64_t largest) const {
    const auto result = argument<Address>(launch, 3);
    const auto row = argument<uint64_t>(launch, 5);
    const uint64_t count = sorted.size() / 8;
    const uint64_t most = routing_is_balanced() ? kMaximumLarge_bytes : kMaximumComputed_bytes;
    // Only elements that add up in any order; sums of bool are no sums.
    if (!is_computable(type_) || type_ == ElementType::kBool || count > most / 8 || row > most / element_ / count ||
        (largest + 1) > most / element_ / row)
      return false;
    const uint64_t bytes = (largest + 1) * row * element_;
    std::vector<uint8_t> places, rows, sums;
    if (!read_known(memory, argument<Address>(launch, 1), 8 * count, &places, most) ||
        !read_known(memory, argument<Address>(launch, 2), count * row * element_, &rows, most) ||
        !read_known(memory, result, bytes, &sums, most) ||
        (bytes > kMaximumComputed_bytes && !may_compute_integers(bytes)))
      return false;
    for (uint64_t i = 0; i < count; ++i)
      if (at(places, i) >= count) return false;
    const bool adds = argument<uint8_t>(launch, 8) != 0;
    for (uint64_t begin = 0, end = 0; begin < count; begin = end) {
      const uint64_t target = at(sorted, begin);
      for (end = begin; end < count && at(sorted, end) == target; ++end) continue;
      for (uint64_t k = 0; k < row; ++k) {
        uint8_t* sum = sums.data() + (target * row + k) * element_;
        Number total = load_number(sum, type_);
        if (!adds) total = total.floating ? Number::of(0.0) : Number::of(int64_t{0});
        for (uint64_t i = begin; i < end; ++i) {
          const Number term = load_number(rows.data() + (at(places, i) * row + k) * element_, type_);
          total = total.floating ? Number::of(total.real + term.real)
                                 : Number::of(static_cast<int64_t>(static_cast<uint64_t>(total.integer) +
                                                                   static_cast<uint64_t>(term.integer)));
        }
        store_number(total, type_, sum);
      }
    }
    if (write_result(memory, result, sums.data(), sums.size()) != MemoryStatus::kOk) return false;
    count_computed();
    return true;
  }

  static uint64_t at(const std::vector<uint8_t>& bytes, uint64_t i) {
    uint64_t value;
    std::memcpy(&value, bytes.data() + 8 * i, sizeof(value));
    return value;
  }

  // Whether rows [first, end) of the list lie beside each other, or are the same.
  static bool neighbours(const std::vector<uint8_t>& sorted, uint64_t first, uint64_t end) {
    for (uint64_t i = first + 1; i < end; ++i)
      if (at(sorted, i) - at(sorted, i - 1) > 1) return false;
    return true;
  }

  ElementType type_;
  uint64_t element_;
};

bool parse_radix_sort(const std::vector<std::string>& arguments, RadixLayout* layout) {
  layout->key = key_type(arguments[2]);
  layout->descending = arguments[1].ends_with(")1") || arguments[1] == "true";
  if (!layout->descending && !arguments[1].ends_with(")0") && arguments[1] != "false") return false;
  if (!is_computable(layout->key)) return false;
  constexpr std::string_view kOpaque = "at::cuda::cub::detail::OpaqueType<";
  if (arguments[3].ends_with("::NullType")) return true;
  if (arguments[3].starts_with(kOpaque))
    std::from_chars(arguments[3].data() + kOpaque.size(), arguments[3].data() + arguments[3].size(),
                    layout->value_bytes);
  else
    layout->value_bytes = element_bytes(element_type(arguments[3]));
  return layout->value_bytes != 0;
}

}  // namespace

std::unique_ptr<Effect> make_radix_sort_effect(const KernelInfo& kernel, const KernelName& name,
                                               std::vector<ScalarSlot>* scalars) {
  const auto& arguments = name.template_arguments;
  std::string_view function = name.function;
  constexpr std::string_view kRadixSort = "DeviceRadixSort";
  if (const std::string_view cub = cub_kernel(function); cub.starts_with(kRadixSort)) {
    const std::string_view step = cub.substr(kRadixSort.size());
    RadixLayout layout;
    if (step == "SingleTileKernel" && (arguments.size() == 6 || arguments.size() == 5) &&
        has_sizes_but_last(kernel, {8, 8, 8, 8, 8, 4, 4, 1}) && parse_radix_sort(arguments, &layout))
      return std::make_unique<RadixSortEffect>(layout, make_pointer_effect(kernel, name, scalars));
    if (step == "OnesweepKernel" && (arguments.size() == 8 || arguments.size() == 7) &&
        has_sizes_but_last(kernel, {8, 8, 8, 8, 8, 8, 8, 8, 4, 4, 4, 1}) && parse_radix_sort(arguments, &layout))
      return std::make_unique<OnesweepEffect>(layout, make_pointer_effect(kernel, name, scalars));
    const bool counts = step == "HistogramKernel" && has_sizes_but_last(kernel, {8, 8, 8, 4, 4, 1});
    if (!counts && (step != "ExclusiveSumKernel" || !has_sizes(kernel, {8}))) return nullptr;
    make_pointer_effect(kernel, name, scalars);  // for the sizes that are recorded
    return std::make_unique<DigitCountEffect>(counts);
  }
  for (const std::string_view prefix : {"at::native::", "(anonymous namespace)::"})
    if (function.starts_with(prefix)) function.remove_prefix(prefix.size());
  const bool one_type =
      function == "indexing_backward_kernel_stride_1" || function == "indexing_backward_kernel_small_stride";
  if ((one_type ? arguments.size() == 1 : function == "indexing_backward_kernel" && arguments.size() == 2) &&
      has_sizes(kernel, {8, 8, 8, 8, 8, 8, 8, 8, 1})) {
    const ElementType type = element_type(arguments[0]);
    if (element_bytes(type) == 0) return nullptr;
    return std::make_unique<RowSumEffect>(type, element_bytes(type), make_pointer_effect(kernel, name, scalars));
  }
  return nullptr;
}

}  // namespace maya::device
