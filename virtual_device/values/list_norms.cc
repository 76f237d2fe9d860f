// Norms and maxima of lists of tensors of PyTorch (public source ATen/native/cuda/ForeachReduceOp.cu), in two steps:
//
//   multi_tensor_apply_kernel<TensorListMetadata<1>, LpNormFunctor<T, kind, R, ...>, P*, const long*>(metadata,
//   functor, P* parts, const long* first), and with LpMaxFunctor<T, ...>: a part for each block of 65,536 elements,
//   those of tensor t of the whole list from first[t] on; kinds 1, 2, 3: sums of magnitudes, of squares, largest
//   magnitude lpnorm_cleanup<T, kind, R, true, P>(const P* parts, void* results[3200], const long* first, int first
//   tensor) and lpmax_cleanup<T>: block b combines the parts of one tensor
//
// Wheels built with CUDA 12 have room for as many parts a tensor as the largest has blocks: they pass that number, an
// int, in place of `first`, lpnorm_cleanup<T, kind, R, P> has void* results[400] and no first tensor, and kinds start
// from 0.
#include <algorithm>
#include <cmath>

#include "virtual_device/values/effect.h"
#include "virtual_device/values/number.h"
#include "virtual_device/values/tensor_list_layout.h"

namespace maya::device {

namespace {

enum class Kind : uint8_t { kNone, kSum, kSquares, kLargest, kMaximum };

constexpr uint32_t kMostResults = 3200, kMostResultsCuda12 = 400;  // of one clean-up

double combine(Kind kind, double sum, double next, bool is_first) {
  if (kind == Kind::kSum || kind == Kind::kSquares) return sum + next;
  if (is_first || std::isnan(next)) return next;
  return std::isnan(sum) ? sum : std::max(sum, next);
}

class PartsEffect : public Effect {
 public:
  PartsEffect(const TensorListLayout& layout, Kind kind, ElementType type, ElementType part)
      : layout_(layout), kind_(kind), type_(type), part_(part) {}

  void apply(const Launch& launch, Memory& memory) const override {
    const auto parts = argument<Address>(launch, 2);
    if (!memory.in_device_range(parts) || !memory.maybe_known(parts)) return;
    const uint32_t blocks = std::clamp<uint32_t>(launch.grid[0], 1, layout_.blocks);
    const auto start = static_cast<uint32_t>(std::max(layout_.start_of(launch), 0));
    const uint64_t width = element_bytes(part_);
    for (uint32_t b = 0; b < blocks; ++b) {
      const uint32_t tensor = layout_.tensor_of(launch, b);
      const int32_t chunk = layout_.chunk_of(launch, b);
      Number base;
      if (tensor >= layout_.tensors || chunk < 0 || !first_part(launch, memory, start + tensor, &base) ||
          base.integer < 0) {
        forget(memory, parts, memory.bytes_to_end(parts));
        return;
      }
      const Address part = parts + (static_cast<uint64_t>(base.integer) + static_cast<uint64_t>(chunk)) * width;
      if (!memory.in_device_range(part)) continue;
      if (!compute(launch, memory, tensor, part)) forget(memory, part, width);
    }
  }

 private:
  // Of a tensor of the whole list.
  bool first_part(const Launch& launch, const Memory& memory, uint64_t tensor, Number* first) const {
    if (launch.kernel->parameters[3].size == 8)
      return read_number(memory, argument<Address>(launch, 3) + 8 * tensor, ElementType::kInt64, first);
    *first = Number::of(static_cast<int64_t>(tensor) * argument<int32_t>(launch, 3));
    return true;
  }

  bool compute(const Launch& launch, Memory& memory, uint32_t tensor, Address part) const {
    const Address address = layout_.address_of(launch, 0, tensor);
    const auto count = static_cast<uint64_t>(layout_.elements_of(launch, tensor));
    const uint64_t element = element_bytes(type_);
    std::vector<uint8_t> bytes;
    // A tensor that is small enough is one block's.
    if (count == 0 || count > kMaximumComputed_bytes / element || !memory.in_device_range(address) ||
        !memory.maybe_known(address) || !read_known(memory, address, count * element, &bytes))
      return false;
    double sum = 0;
    for (uint64_t i = 0; i < count; ++i) {
      const double value = load_number(bytes.data() + i * element, type_).as_real();
      sum = combine(kind_, sum,
                    kind_ == Kind::kMaximum   ? value
                    : kind_ == Kind::kSquares ? value * value
                                              : std::fabs(value),
                    i == 0);
    }
    uint8_t stored[8];
    store_number(Number::of(sum), part_, stored);
    if (write_result(memory, part, stored, element_bytes(part_)) != MemoryStatus::kOk) return false;
    count_computed();
    return true;
  }

  const TensorListLayout layout_;
  Kind kind_;
  ElementType type_, part_;
};

class CombinePartsEffect : public Effect {
 public:
  CombinePartsEffect(uint32_t most_results, Kind kind, ElementType part, ElementType result)
      : most_results_(most_results), kind_(kind), part_(part), result_(result) {}

  void apply(const Launch& launch, Memory& memory) const override {
    const uint32_t tensors = std::min(launch.grid[0], most_results_);
    for (uint32_t t = 0; t < tensors; ++t) {
      const auto result = argument<Address>(launch, 1, 8 * t);
      if (!memory.in_device_range(result)) continue;
      if (!compute(launch, memory, t, result)) forget(memory, result, element_bytes(result_));
    }
  }

 private:
  // Of the tensor of block `tensor`: its first part, and the one behind its last.
  static bool find_parts(const Launch& launch, const Memory& memory, uint32_t tensor, Number* begin, Number* end) {
    if (launch.kernel->parameters[2].size == 4) {
      const int64_t most = argument<int32_t>(launch, 2);
      *begin = Number::of(most * tensor);
      *end = Number::of(most * (int64_t{tensor} + 1));
      return true;
    }
    const auto start = argument<int32_t>(launch, 3);
    if (start < 0) return false;
    const Address entry = argument<Address>(launch, 2) + 8 * (static_cast<uint64_t>(start) + tensor);
    return read_number(memory, entry, ElementType::kInt64, begin) &&
           read_number(memory, entry + 8, ElementType::kInt64, end);
  }

  bool compute(const Launch& launch, Memory& memory, uint32_t tensor, Address result) const {
    const auto parts = argument<Address>(launch, 0);
    if (!memory.in_device_range(parts) || !memory.maybe_known(parts)) return false;
    const uint64_t width = element_bytes(part_);
    Number begin, end;
    std::vector<uint8_t> bytes;
    if (!find_parts(launch, memory, tensor, &begin, &end) || begin.integer < 0 || end.integer <= begin.integer ||
        end.integer - begin.integer > static_cast<int64_t>(kMaximumComputed_bytes / width) ||
        !read_known(memory, parts + static_cast<uint64_t>(begin.integer) * width,
                    static_cast<uint64_t>(end.integer - begin.integer) * width, &bytes))
      return false;
    double sum = 0;
    for (uint64_t at = 0; at < bytes.size(); at += width)
      sum = combine(kind_, sum, load_number(bytes.data() + at, part_).as_real(), at == 0);
    if (kind_ == Kind::kSquares) sum = std::sqrt(sum);
    uint8_t stored[8];
    store_number(Number::of(sum), result_, stored);
    if (write_result(memory, result, stored, element_bytes(result_)) != MemoryStatus::kOk) return false;
    count_computed();
    return true;
  }

  const uint32_t most_results_;
  Kind kind_;
  ElementType part_, result_;
};

// "(at::native::NormType)2", the first kind being `first`.
Kind kind_of(std::string_view argument, char first) {
  const size_t at = argument.rfind(')');
  if (at == std::string_view::npos || at + 2 != argument.size()) return Kind::kNone;
  const int kind = argument.back() - first;
  return kind == 0 ? Kind::kSum : kind == 1 ? Kind::kSquares : kind == 2 ? Kind::kLargest : Kind::kNone;
}

ElementType pointed_to(std::string_view type) {
  if (!type.ends_with('*')) return ElementType::kNone;
  type.remove_suffix(1);
  return element_type(type);
}

bool is_real(ElementType type) { return is_computable(type) && is_floating(type); }

}  // namespace

std::unique_ptr<Effect> make_list_norm_effect(const KernelInfo& kernel, const KernelName& name,
                                              std::vector<ScalarSlot>* scalars) {
  const auto& arguments = name.template_arguments;
  const auto sizes_are = [&](std::initializer_list<uint32_t> sizes) {
    size_t i = 0;
    if (kernel.parameters.size() != sizes.size()) return false;
    for (const uint32_t size : sizes)
      if (kernel.parameters[i++].size != size) return false;
    return true;
  };
  std::unique_ptr<Effect> made;
  const bool applies = name.function == "at::native::(anonymous namespace)::multi_tensor_apply_kernel" &&
                       arguments.size() == 4 && arguments[0].ends_with("::TensorListMetadata<1>") &&
                       !kernel.parameters.empty();
  const auto layout =
      applies ? tensor_list_layout(arguments[0], kernel.parameters[0].size) : std::optional<TensorListLayout>();
  const bool cuda_12 = layout ? layout->cuda_12 : sizes_are({8, 8 * kMostResultsCuda12, 4});
  const uint32_t most_results = cuda_12 ? kMostResultsCuda12 : kMostResults;
  const char first_kind = cuda_12 ? '0' : '1';
  const bool cleans_up = cuda_12 ? kernel.parameters.size() == 3 : sizes_are({8, 8 * kMostResults, 8, 4});
  if (layout && sizes_are({kernel.parameters[0].size, 1, 8, cuda_12 ? 4u : 8u})) {
    const std::string_view functor = arguments[1];
    const auto types = template_arguments(functor);
    const ElementType part = pointed_to(arguments[2]);
    if (types.empty() || !is_real(element_type(types[0])) || !is_real(part)) return nullptr;
    Kind kind = Kind::kNone;
    if (functor.starts_with("at::native::LpNormFunctor<") && types.size() > 1) kind = kind_of(types[1], first_kind);
    if (functor.starts_with("at::native::LpMaxFunctor<")) kind = Kind::kMaximum;
    if (kind != Kind::kNone) made = std::make_unique<PartsEffect>(*layout, kind, element_type(types[0]), part);
  } else if (name.function == "at::native::lpnorm_cleanup" && arguments.size() == (cuda_12 ? 4 : 5) && cleans_up) {
    const ElementType result = element_type(arguments[2]), part = element_type(arguments.back());
    const Kind kind = kind_of(arguments[1], first_kind);
    if (kind != Kind::kNone && (cuda_12 || arguments[3] == "true") && is_real(result) && is_real(part))
      made = std::make_unique<CombinePartsEffect>(most_results, kind, part, result);
  } else if (name.function == "at::native::lpmax_cleanup" && arguments.size() == 1 && cleans_up) {
    const ElementType type = element_type(arguments[0]);
    if (is_real(type)) made = std::make_unique<CombinePartsEffect>(most_results, Kind::kMaximum, type, type);
  }
  if (made != nullptr) make_pointer_effect(kernel, name, scalars);
  return made;
}

}  // namespace maya::device
