// triu_tril_kernel<T, I, upper, n, in place>(TensorInfo<T, I> result, TensorInfo<T, I> source, i64 k, i64 elements, I
// padded row) of PyTorch (public source ATen/native/cuda/TriangularOps.cu): elements on and above, or on and below,
// diagonal k of the last two dimensions; zero elsewhere.
#include "virtual_device/values/effect.h"
#include "virtual_device/values/number.h"
#include "virtual_device/values/tensor_info.h"

namespace maya::device {

namespace {

class TriangleEffect : public ComputedEffect {
 public:
  TriangleEffect(ElementType type, uint32_t index, bool upper, std::unique_ptr<Effect> otherwise)
      : ComputedEffect(std::move(otherwise)),
        floating_(is_floating(type)),
        element_(element_bytes(type)),
        index_(index),
        upper_(upper) {}

 protected:
  bool carry_out(const Launch& launch, Memory& memory) const override {
    const TensorInfoView result(argument_bytes(launch, 0), index_), source(argument_bytes(launch, 1), index_);
    const auto diagonal = argument<int64_t>(launch, 2);
    if (!memory.in_device_range(source.data()) || !memory.maybe_known(source.data()) ||
        !memory.in_device_range(result.data()) || !result.valid() || !source.valid() || result.dims() < 2 ||
        result.dims() != source.dims())
      return false;
    const uint64_t most = floating_ ? kMaximumComputed_bytes : kMaximumIntegers_bytes;
    const uint64_t count = result.elements(most / element_);
    if (count == 0 || count > most / element_) return false;
    uint64_t from_end = 0, to_end = 0;
    for (int32_t d = 0; d < result.dims(); ++d) {
      if (source.size(d) != result.size(d) || source.stride(d) < 0 || result.stride(d) < 0) return false;
      from_end += static_cast<uint64_t>(source.size(d) - 1) * static_cast<uint64_t>(source.stride(d));
      to_end += static_cast<uint64_t>(result.size(d) - 1) * static_cast<uint64_t>(result.stride(d));
    }
    std::vector<uint8_t> bytes;
    if (!read_known(memory, source.data(), (from_end + 1) * element_, &bytes, most)) return false;
    const bool dense = to_end + 1 == count;
    std::vector<uint8_t> results(dense ? count * element_ : element_);
    const auto columns = static_cast<uint64_t>(result.size(result.dims() - 1)),
               rows = static_cast<uint64_t>(result.size(result.dims() - 2));
    for (uint64_t i = 0; i < count; ++i) {
      const auto column = static_cast<int64_t>(i % columns), row = static_cast<int64_t>(i / columns % rows);
      const bool keeps = upper_ ? column - row >= diagonal : column - row <= diagonal;
      const uint64_t to = static_cast<uint64_t>(result.offset(i)) * element_;
      uint8_t* at = results.data() + (dense ? to : 0);
      if (keeps)
        std::memcpy(at, bytes.data() + static_cast<uint64_t>(source.offset(i)) * element_, element_);
      else
        std::memset(at, 0, element_);
      if (!dense && write_result(memory, result.data() + to, at, element_) != MemoryStatus::kOk) return false;
    }
    if (dense && write_result(memory, result.data(), results.data(), results.size()) != MemoryStatus::kOk) return false;
    count_computed();
    return true;
  }

 private:
  bool floating_;
  uint32_t element_, index_;
  bool upper_;
};

}  // namespace

std::unique_ptr<Effect> make_triangle_effect(const KernelInfo& kernel, const KernelName& name,
                                             std::vector<ScalarSlot>* scalars) {
  const auto& arguments = name.template_arguments;
  if (name.function != "at::native::triu_tril_kernel" || arguments.size() != 5 || kernel.parameters.size() != 5)
    return nullptr;
  const ElementType type = element_type(arguments[0]);
  const uint32_t element = element_bytes(type);
  const uint32_t index = element_bytes(element_type(arguments[1]));
  const uint32_t info = TensorInfoView::bytes(index);
  if (element == 0 || info == 0 || kernel.parameters[0].size != info || kernel.parameters[1].size != info ||
      kernel.parameters[2].size != 8 || kernel.parameters[3].size != 8)
    return nullptr;
  return std::make_unique<TriangleEffect>(type, index, arguments[2] == "true",
                                          make_pointer_effect(kernel, name, scalars));
}

}  // namespace maya::device
