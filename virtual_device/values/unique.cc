// Distinct neighbours, as torch.unique finds them after sorting: CUB's kernels (public headers
// cub/device/dispatch/kernels/kernel_select_if.cuh and kernel_reduce_by_key.cuh) and PyTorch's (public source
// ATen/native/cuda/Unique.cu):
//
//   DeviceSelectSweepKernel<policy, const T*, NullType*, T*, long*, ..., equal_to, ...>(const T* values, NullType*, T*
//   distinct, i64* how many, state, 1, 1, int count, int tiles, context, storage)
//   DeviceReduceByKeyKernel<policy, const T*, T*, constant_iterator, long*, long*, ...>(const T* values, T* distinct,
//   {1}, i64* lengths, i64* how many, state, int tile, 1, 1, int count, context, storage)
//   In CUDA 12 the kernels stand right in cub:: and have no context, and iterators are called ConstantInputIterator.
//   adjacent_difference_kernel<const T*>(i64 count, const T* values, int* whether each differs from the one before)
//   scatter_kernel(i64 count, const i64* values, const i64* places, i64* result)
//
// Unknown values read as zero, which are equal: how many there are is then one. The size of a tensor depends on it, and
// programs that index it would fail on none.
#include <algorithm>

#include "virtual_device/values/effect.h"
#include "virtual_device/values/elements.h"
#include "virtual_device/values/number.h"

namespace maya::device {

namespace {

ElementType pointed_to(std::string_view type) {
  for (const std::string_view suffix : {"*", " const"})
    if (type.ends_with(suffix)) type.remove_suffix(suffix.size());
  return element_type(type);
}

bool equal(Number a, Number b) { return a.floating ? a.real == b.real : a.integer == b.integer; }

// Where the parameters of one of the two kernels stand.
struct Layout {
  ElementType type = ElementType::kNone;
  uint32_t distinct = 0, how_many = 0, count = 0;
  uint32_t context = 0;  // 0: none
  uint32_t lengths = 0;  // 0: none
};

class DistinctEffect : public Effect {
 public:
  explicit DistinctEffect(const Layout& layout) : layout_(layout) {}

  void apply(const Launch& launch, Memory& memory) const override {
    const auto distinct = argument<Address>(launch, layout_.distinct),
               how_many = argument<Address>(launch, layout_.how_many);
    const Address lengths = layout_.lengths == 0 ? 0 : argument<Address>(launch, layout_.lengths);
    const auto count = static_cast<uint64_t>(std::max(argument<int32_t>(launch, layout_.count), 0));
    const uint32_t width = element_bytes(layout_.type);
    // A context that begins and ends with this launch.
    const bool whole = layout_.context == 0 || (argument<uint8_t>(launch, layout_.context) == 1 &&
                                                argument<uint8_t>(launch, layout_.context, 1) == 1);
    std::vector<uint8_t> values, kept;
    std::vector<int64_t> runs;
    if (whole && read_elements(memory, argument<Address>(launch, 0), count, layout_.type, &values)) {
      for (uint64_t i = 0; i < count; ++i) {
        const uint8_t* value = values.data() + i * width;
        if (i == 0 || !equal(load_number(value - width, layout_.type), load_number(value, layout_.type))) {
          kept.insert(kept.end(), value, value + width);
          runs.push_back(0);
        }
        ++runs.back();
      }
      if (!kept.empty() && memory.in_device_range(distinct)) write_result(memory, distinct, kept.data(), kept.size());
      if (!runs.empty() && memory.in_device_range(lengths)) write_result(memory, lengths, runs.data(), 8 * runs.size());
      count_computed();
    } else {
      forget(memory, distinct, count * width);
      if (lengths != 0) forget(memory, lengths, 8 * count);
      if (count != 0) runs.push_back(0);
    }
    const auto found = static_cast<int64_t>(runs.size());
    if (memory.in_device_range(how_many)) write_result(memory, how_many, &found, sizeof(found));
  }

 private:
  Layout layout_;
};

class DifferenceEffect : public Effect {
 public:
  explicit DifferenceEffect(ElementType type) : type_(type) {}

  void apply(const Launch& launch, Memory& memory) const override {
    const auto count = argument<uint64_t>(launch, 0);
    const auto result = argument<Address>(launch, 2);
    const uint32_t width = element_bytes(type_);
    std::vector<uint8_t> values;
    if (!memory.in_device_range(result)) return;
    if (!read_elements(memory, argument<Address>(launch, 1), count, type_, &values))
      return forget(memory, result, count * sizeof(int32_t));
    std::vector<int32_t> differs(count, 0);
    for (uint64_t i = 1; i < count; ++i)
      differs[i] =
          equal(load_number(values.data() + (i - 1) * width, type_), load_number(values.data() + i * width, type_)) ? 0
                                                                                                                    : 1;
    write_result(memory, result, differs.data(), count * sizeof(int32_t));
    count_computed();
  }

 private:
  ElementType type_;
};

class PlaceEffect : public ComputedEffect {
 public:
  using ComputedEffect::ComputedEffect;

 protected:
  bool carry_out(const Launch& launch, Memory& memory) const override {
    const auto count = argument<uint64_t>(launch, 0);
    const auto result = argument<Address>(launch, 3);
    std::vector<uint8_t> values, places;
    if (!memory.in_device_range(result) ||
        !read_elements(memory, argument<Address>(launch, 1), count, ElementType::kInt64, &values) ||
        !read_elements(memory, argument<Address>(launch, 2), count, ElementType::kInt64, &places))
      return false;
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t place;
      std::memcpy(&place, places.data() + 8 * i, sizeof(place));
      if (place > kMaximumLarge_bytes / 8 ||
          write_result(memory, result + 8 * place, values.data() + 8 * i, 8) != MemoryStatus::kOk)
        return false;
    }
    count_computed();
    return true;
  }
};

}  // namespace

std::unique_ptr<Effect> make_unique_effect(const KernelInfo& kernel, const KernelName& name,
                                           std::vector<ScalarSlot>* scalars) {
  const auto& arguments = name.template_arguments;
  const auto is_null = [](std::string_view type) { return type.ends_with("::NullType*"); };
  const auto is_equality = [](std::string_view type) {
    return type == "cuda::std::__4::equal_to<void>" || type == "at_cuda_detail::cub::Equality";
  };
  std::unique_ptr<Effect> made;
  if (name.function == "at::native::internal::scatter_kernel" ||
      name.function == "at::native::internal::(anonymous namespace)::scatter_kernel") {
    if (!has_sizes(kernel, {8, 8, 8, 8})) return nullptr;
    return std::make_unique<PlaceEffect>(make_pointer_effect(kernel, name, scalars));
  }
  if (arguments.empty()) return nullptr;
  const ElementType type = pointed_to(arguments.size() > 1 ? arguments[1] : arguments[0]);
  if (!is_computable(type)) return nullptr;
  const std::string_view cub = cub_kernel(name.function);
  if (cub == "DeviceSelectSweepKernel" && arguments.size() >= 8 && is_null(arguments[2]) && arguments[4] == "long*" &&
      is_equality(arguments[7]) && pointed_to(arguments[3]) == type) {
    if (has_sizes(kernel, {8, 8, 8, 8, 8, 1, 1, 4, 4, 40, 8}))
      made = std::make_unique<DistinctEffect>(Layout{type, 2, 3, 7, 9, 0});
    else if (has_sizes_but_last(kernel, {8, 8, 8, 8, 8, 1, 1, 4, 4, 8}))
      made = std::make_unique<DistinctEffect>(Layout{type, 2, 3, 7, 0, 0});
  } else if (cub == "DeviceReduceByKeyKernel" && arguments.size() >= 6 &&
             (template_base(arguments[3]).ends_with("::constant_iterator") ||
              template_base(arguments[3]).ends_with("::ConstantInputIterator")) &&
             arguments[4] == "long*" && arguments[5] == "long*") {
    if (has_sizes(kernel, {8, 8, 16, 8, 8, 8, 4, 1, 1, 4, 48, 8}))
      made = std::make_unique<DistinctEffect>(Layout{type, 1, 4, 9, 10, 3});
    else if (has_sizes(kernel, {8, 8, 16, 8, 8, 8, 4, 1, 1, 4}))
      made = std::make_unique<DistinctEffect>(Layout{type, 1, 4, 9, 0, 3});
  } else if (name.function.ends_with("::adjacent_difference_kernel") && arguments.size() == 1 &&
             has_sizes(kernel, {8, 8, 8})) {
    made = std::make_unique<DifferenceEffect>(type);
  }
  if (made != nullptr) make_pointer_effect(kernel, name, scalars);
  return made;
}

}  // namespace maya::device
