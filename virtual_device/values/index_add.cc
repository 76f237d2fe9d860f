// Adding slices at indices, as PyTorch up to 2.10 does (public source ATen/native/cuda/Indexing.cu):
//
//   indexFuncSmallIndex<T, Index, I, ..., ReduceAdd>(TensorInfo<T, I> result, TensorInfo<const T, I> source,
//   TensorInfo<const Index, I> indices, int dimension of the result, int dimension of the source, I slice size, i64
//   size of that dimension, i64 elements of the result, ReduceAdd&, T factor)
//   indexFuncLargeIndex<the same, with whether the index is major in front of ReduceAdd>: with I total size in front of
//   I inner size, which is the slice size where the index is major, else the number of indices
//
// The result's size of the dimension is 1, as is the source's.
#include "virtual_device/values/effect.h"
#include "virtual_device/values/number.h"
#include "virtual_device/values/tensor_info.h"

namespace maya::device {

namespace {

class IndexAddEffect : public ComputedEffect {
 public:
  struct Layout {
    ElementType type, index;
    uint32_t index_bytes;  // of I
    bool large;
  };
  IndexAddEffect(const Layout& layout, std::unique_ptr<Effect> otherwise)
      : ComputedEffect(std::move(otherwise)), layout_(layout) {}

 protected:
  bool carry_out(const Launch& launch, Memory& memory) const override {
    const TensorInfoView result(argument_bytes(launch, 0), layout_.index_bytes),
        source(argument_bytes(launch, 1), layout_.index_bytes), indices(argument_bytes(launch, 2), layout_.index_bytes);
    const uint32_t more = layout_.large ? 1 : 0;
    const auto result_dimension = argument<int32_t>(launch, 3), source_dimension = argument<int32_t>(launch, 4);
    const auto limit = argument<int64_t>(launch, 6 + more), elements = argument<int64_t>(launch, 7 + more);
    const uint64_t element = element_bytes(layout_.type);
    if (!memory.in_device_range(result.data()) || !memory.maybe_known(result.data()) || !result.valid() ||
        !source.valid() || !indices.valid() || indices.dims() != 1 || elements <= 0 ||
        static_cast<uint64_t>(elements) > kMaximumComputed_bytes / element || result_dimension < 0 ||
        result_dimension >= result.dims() || source_dimension < 0 || source_dimension >= source.dims())
      return false;
    const uint64_t slice = result.elements(kMaximumComputed_bytes), count = indices.elements(kMaximumComputed_bytes);
    if (slice == 0 || count == 0 || source.elements(kMaximumComputed_bytes) != slice ||
        slice > kMaximumComputed_bytes / element / count)
      return false;
    std::vector<uint8_t> sums;
    if (!read_known(memory, result.data(), static_cast<uint64_t>(elements) * element, &sums)) return false;
    const Number factor = load_number(argument_bytes(launch, 9 + more), layout_.type);
    for (uint64_t i = 0; i < count; ++i) {
      Number index;
      if (!read_number(memory, element_at(indices, indices.offset(i), layout_.index), layout_.index, &index))
        return false;
      if (index.integer < 0 || index.integer >= limit) return false;
      for (uint64_t k = 0; k < slice; ++k) {
        const int64_t to = place(result, k, index.integer, result_dimension),
                      from = place(source, k, static_cast<int64_t>(i), source_dimension);
        Number term;
        if (to < 0 || to >= elements ||
            !read_number(memory, element_at(source, from, layout_.type), layout_.type, &term))
          return false;
        uint8_t* sum = sums.data() + static_cast<uint64_t>(to) * element;
        store_number(add(load_number(sum, layout_.type), convert_number(multiply(term, factor), layout_.type)),
                     layout_.type, sum);
      }
    }
    if (write_result(memory, result.data(), sums.data(), sums.size()) != MemoryStatus::kOk) return false;
    count_computed();
    return true;
  }

 private:
  // Of element k of the slice at `index` of a dimension. Strides may be anything.
  static int64_t place(const TensorInfoView& tensor, uint64_t k, int64_t index, int32_t dimension) {
    return static_cast<int64_t>(static_cast<uint64_t>(tensor.offset(k)) +
                                static_cast<uint64_t>(index) * static_cast<uint64_t>(tensor.stride(dimension)));
  }
  static uint64_t bits(Number number) { return static_cast<uint64_t>(number.integer); }
  static Number add(Number a, Number b) {
    return a.floating ? Number::of(a.real + b.real) : Number::of(static_cast<int64_t>(bits(a) + bits(b)));
  }
  static Number multiply(Number a, Number b) {
    return a.floating ? Number::of(a.real * b.real) : Number::of(static_cast<int64_t>(bits(a) * bits(b)));
  }
  static Address element_at(const TensorInfoView& tensor, int64_t offset, ElementType type) {
    return tensor.data() + static_cast<uint64_t>(offset) * element_bytes(type);
  }

  Layout layout_;
};

}  // namespace

std::unique_ptr<Effect> make_index_add_effect(const KernelInfo& kernel, const KernelName& name,
                                              std::vector<ScalarSlot>* scalars) {
  const auto& arguments = name.template_arguments;
  const bool large = name.function == "at::native::indexFuncLargeIndex";
  if ((!large && name.function != "at::native::indexFuncSmallIndex") || arguments.size() != (large ? 8 : 7) ||
      !arguments.back().ends_with("::ReduceAdd"))
    return nullptr;
  const uint32_t index_bytes = arguments[2] == "unsigned int" ? 4 : arguments[2] == "unsigned long" ? 8 : 0;
  const IndexAddEffect::Layout layout{element_type(arguments[0]), element_type(arguments[1]), index_bytes, large};
  const uint32_t info = TensorInfoView::bytes(index_bytes), element = element_bytes(layout.type);
  if (!is_computable(layout.type) || layout.type == ElementType::kBool ||
      (layout.index != ElementType::kInt64 && layout.index != ElementType::kInt32))
    return nullptr;
  if (large ? !has_sizes(kernel, {info, info, info, 4, 4, index_bytes, index_bytes, 8, 8, 8, element})
            : !has_sizes(kernel, {info, info, info, 4, 4, index_bytes, 8, 8, 8, element}))
    return nullptr;
  return std::make_unique<IndexAddEffect>(layout, make_pointer_effect(kernel, name, scalars));
}

}  // namespace maya::device
