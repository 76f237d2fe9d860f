// PyTorch's kernels that move whole slices (public sources ATen/native/cuda/Indexing.cu, IndexKernelUtils.cu and
// TensorTransformations.cu):
//
//   indexSelectSmallIndex<T, I, unsigned, ...>(TensorInfo result, source, indices, int result dimension, source
//   dimension, unsigned slice elements, i64 source size)
//   indexSelectLargeIndex<...>: the same with the elements of all slices in front of the slice's
//   vectorized_gather_kernel<alignment, I>(char* result, char* source, I* indices, int count, i64 slice bytes, source
//   size, source step in bytes, result step in bytes, bool negative indices are allowed)
//   roll_cuda_kernel<T>(const T* source, T* result, i64 elements, dimension, start, size, stride, dimensions)
#include <algorithm>
#include <charconv>

#include "virtual_device/values/effect.h"
#include "virtual_device/values/moves.h"
#include "virtual_device/values/number.h"
#include "virtual_device/values/tensor_info.h"

namespace maya::device {

namespace {

// Rows are moved as they are, so they may be longer than what is computed.
constexpr uint64_t kMaximumMoved_bytes = 16 << 20;
constexpr uint64_t kMaximumIndices = 1 << 20;

// Known index values. False when one is unknown or outside of [0, size).
bool read_indices(const Memory& memory, Address address, ElementType type, uint64_t bytes, std::vector<uint8_t>* out) {
  return is_computable(type) && memory.in_device_range(address) && memory.maybe_known(address) &&
         read_known(memory, address, bytes, out, 8 * kMaximumIndices);
}

class IndexSelectEffect : public ComputedEffect {
 public:
  IndexSelectEffect(uint32_t element, ElementType index, bool large, std::unique_ptr<Effect> otherwise)
      : ComputedEffect(std::move(otherwise)), element_(element), index_(index), large_(large) {}

 protected:
  bool carry_out(const Launch& launch, Memory& memory) const override {
    const TensorInfoView result(argument_bytes(launch, 0), 4), source(argument_bytes(launch, 1), 4),
        indices(argument_bytes(launch, 2), 4);
    if (!memory.in_device_range(result.data()) || !result.valid() || !source.valid() || !indices.valid()) return false;
    if (!memory.maybe_known(result.data()) && !memory.maybe_known(source.data())) return true;
    const auto to_dimension = argument<int32_t>(launch, 3), from_dimension = argument<int32_t>(launch, 4);
    if (to_dimension < 0 || to_dimension >= result.dims() || from_dimension < 0 || from_dimension >= source.dims())
      return false;
    const uint64_t count = indices.elements(kMaximumIndices);
    const uint64_t slice = result.elements(kMaximumMoved_bytes);
    if (count == 0 || count > kMaximumIndices || slice == 0 || slice > kMaximumMoved_bytes / element_ / count)
      return false;
    if (source.elements(kMaximumMoved_bytes) != slice) return false;
    if (select(launch, memory, result, source, indices, count, slice)) {
      count_computed();
      return true;
    }
    uint64_t elements = 1 + (count - 1) * static_cast<uint64_t>(std::max<int64_t>(result.stride(to_dimension), 0));
    for (int32_t d = 0; d < result.dims(); ++d)
      elements +=
          static_cast<uint64_t>(result.size(d) - 1) * static_cast<uint64_t>(std::max<int64_t>(result.stride(d), 0));
    forget(memory, result.data(), elements * element_);
    return true;
  }

 private:
  bool select(const Launch& launch, Memory& memory, const TensorInfoView& result, const TensorInfoView& source,
              const TensorInfoView& indices, uint64_t count, uint64_t slice) const {
    const auto to_dimension = argument<int32_t>(launch, 3), from_dimension = argument<int32_t>(launch, 4);
    const int64_t extent = argument<int64_t>(launch, large_ ? 7 : 6);
    std::vector<uint8_t> values;
    const uint64_t width = element_bytes(index_);
    uint64_t last = 0;
    for (uint64_t i = 0; i < count; ++i) last = std::max(last, static_cast<uint64_t>(indices.offset(i)));
    if (!read_indices(memory, indices.data(), index_, (last + 1) * width, &values)) return false;
    // The innermost dimension of a slice, where both sides hold its elements one behind the other.
    const int32_t to_last = result.dims() - 1, from_last = source.dims() - 1;
    uint64_t run = 1;
    if (to_last >= 0 && from_last >= 0 && result.size(to_last) == source.size(from_last) &&
        result.stride(to_last) == 1 && source.stride(from_last) == 1)
      run = static_cast<uint64_t>(result.size(to_last));
    if (run == 0 || slice / run > Moves::kMaximumSingleRuns) return false;
    Moves moves(element_);
    for (uint64_t i = 0; i < count; ++i) {
      const int64_t chosen =
          load_number(values.data() + static_cast<uint64_t>(indices.offset(i)) * width, index_).integer;
      if (chosen < 0 || chosen >= extent) return false;
      for (uint64_t k = 0; k < slice; k += run) {
        const int64_t to = result.offset(k) + static_cast<int64_t>(i) * result.stride(to_dimension);
        const int64_t from = source.offset(k) + chosen * source.stride(from_dimension);
        if (!moves.add(source.data() + static_cast<uint64_t>(from) * element_,
                       result.data() + static_cast<uint64_t>(to) * element_, run))
          return false;
      }
    }
    return moves.carry_out(memory);
  }

  uint32_t element_;
  ElementType index_;
  bool large_;
};

class SliceGatherEffect : public ComputedEffect {
 public:
  SliceGatherEffect(ElementType index, std::unique_ptr<Effect> otherwise)
      : ComputedEffect(std::move(otherwise)), index_(index) {}

 protected:
  bool carry_out(const Launch& launch, Memory& memory) const override {
    const auto result = argument<Address>(launch, 0), source = argument<Address>(launch, 1);
    if (!memory.in_device_range(result)) return false;
    if (!memory.maybe_known(result) && !memory.maybe_known(source)) return true;
    const auto count = argument<int32_t>(launch, 3);
    const auto slice = argument<uint64_t>(launch, 4), from_step = argument<uint64_t>(launch, 6),
               to_step = argument<uint64_t>(launch, 7);
    if (count <= 0 || static_cast<uint64_t>(count) > kMaximumIndices || slice == 0 ||
        slice > kMaximumMoved_bytes / static_cast<uint64_t>(count))
      return false;
    if (from_step > kMaximumMoved_bytes || to_step < slice || to_step > kMaximumMoved_bytes) return false;
    if (!gather(launch, memory)) {
      forget(memory, result, static_cast<uint64_t>(count - 1) * to_step + slice);
      return true;
    }
    count_computed();
    return true;
  }

 private:
  bool gather(const Launch& launch, Memory& memory) const {
    const auto result = argument<Address>(launch, 0), source = argument<Address>(launch, 1);
    const auto count = argument<int32_t>(launch, 3);
    const auto slice = argument<uint64_t>(launch, 4), extent = argument<uint64_t>(launch, 5),
               from_step = argument<uint64_t>(launch, 6), to_step = argument<uint64_t>(launch, 7);
    std::vector<uint8_t> values;
    const uint64_t width = element_bytes(index_);
    if (!read_indices(memory, argument<Address>(launch, 2), index_, static_cast<uint64_t>(count) * width, &values))
      return false;
    Moves moves(1);
    for (uint64_t i = 0; i < static_cast<uint64_t>(count); ++i) {
      int64_t chosen = load_number(values.data() + i * width, index_).integer;
      if (chosen < 0 && argument<uint8_t>(launch, 8) != 0) chosen += static_cast<int64_t>(extent);
      if (chosen < 0 || static_cast<uint64_t>(chosen) >= extent ||
          !moves.add(source + static_cast<uint64_t>(chosen) * from_step, result + i * to_step, slice))
        return false;
    }
    return moves.carry_out(memory);
  }

  ElementType index_;
};

// Of a matrix whose sides and pitches count units of `packed` elements each: (source, result, columns, rows, pitch of
// the source, pitch of the result).
class TransposeEffect : public Effect {
 public:
  TransposeEffect(uint32_t unit, uint32_t packed) : packed_(packed), element_(unit / packed) {}

  void apply(const Launch& launch, Memory& memory) const override {
    const auto source = argument<Address>(launch, 0), result = argument<Address>(launch, 1);
    if (!memory.in_device_range(result)) return;
    if (!memory.maybe_known(result) && !(memory.in_device_range(source) && memory.maybe_known(source))) return;
    uint64_t sizes[4];
    for (uint32_t i = 0; i < 4; ++i) {
      const auto units = argument<int64_t>(launch, 2 + i);
      // Bytes of a matrix stay below 2^63: a unit has 8 at most.
      if (units <= 0 || units > int64_t{1} << 28) return forget(memory, result, memory.bytes_to_end(result));
      sizes[i] = static_cast<uint64_t>(units) * packed_;
    }
    const auto [columns, rows, source_pitch, result_pitch] = sizes;
    const uint64_t in = ((rows - 1) * source_pitch + columns) * element_,
                   out = ((columns - 1) * result_pitch + rows) * element_;
    std::vector<uint8_t> from, to;
    if (source_pitch < columns || result_pitch < rows || !memory.in_device_range(source) ||
        !read_known(memory, source, in, &from, kMaximumLarge_bytes) || !may_compute_integers(in))
      return forget(memory, result, out);
    const bool dense = result_pitch == rows;
    to.resize(dense ? out : rows * element_);
    for (uint64_t c = 0; c < columns; ++c) {
      uint8_t* const row = to.data() + (dense ? c * rows * element_ : 0);
      for (uint64_t r = 0; r < rows; ++r)
        std::memcpy(row + r * element_, from.data() + (r * source_pitch + c) * element_, element_);
      if (!dense) write_result(memory, result + c * result_pitch * element_, row, rows * element_);
    }
    if (dense) write_result(memory, result, to.data(), out);
    count_computed();
  }

 private:
  uint64_t packed_, element_;
};

class RollEffect : public ComputedEffect {
 public:
  RollEffect(uint32_t element, std::unique_ptr<Effect> otherwise)
      : ComputedEffect(std::move(otherwise)), element_(element) {}

 protected:
  bool carry_out(const Launch& launch, Memory& memory) const override {
    const auto source = argument<Address>(launch, 0), result = argument<Address>(launch, 1);
    if (!memory.in_device_range(result)) return false;
    if (!memory.maybe_known(result) && !memory.maybe_known(source)) return true;
    const auto count = argument<int64_t>(launch, 2), start = argument<int64_t>(launch, 4),
               size = argument<int64_t>(launch, 5), stride = argument<int64_t>(launch, 6);
    if (count <= 0 || count > static_cast<int64_t>(kMaximumComputed_bytes / element_) || size <= 0 || stride <= 0 ||
        size > count || stride > count || start < 0 || start > size)
      return false;
    Moves moves(element_);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t place = i % (stride * size) / stride;
      const int64_t from = place >= size - start ? i - (size - start) * stride : i + start * stride;
      if (from < 0 || from >= count ||
          !moves.add(source + static_cast<uint64_t>(from) * element_, result + static_cast<uint64_t>(i) * element_))
        return false;
    }
    if (!moves.carry_out(memory)) return false;
    count_computed();
    return true;
  }

 private:
  uint32_t element_;
};

}  // namespace

std::unique_ptr<Effect> make_row_selection_effect(const KernelInfo& kernel, const KernelName& name,
                                                  std::vector<ScalarSlot>* scalars) {
  constexpr std::string_view kNative = "at::native::", kAnonymous = "(anonymous namespace)::";
  std::string_view function = name.function;
  if (!function.starts_with(kNative)) return nullptr;
  function.remove_prefix(kNative.size());
  if (function.starts_with(kAnonymous)) function.remove_prefix(kAnonymous.size());
  const auto& arguments = name.template_arguments;
  constexpr uint32_t kInfo = TensorInfoView::bytes(4);
  const bool small = function == "indexSelectSmallIndex", large = function == "indexSelectLargeIndex";
  if ((small || large) && arguments.size() >= 3 && arguments[2] == "unsigned int") {
    const uint32_t element = element_bytes(element_type(arguments[0]));
    const bool fits = small ? has_sizes(kernel, {kInfo, kInfo, kInfo, 4, 4, 4, 8})
                            : has_sizes(kernel, {kInfo, kInfo, kInfo, 4, 4, 4, 4, 8});
    if (element == 0 || !fits) return nullptr;
    return std::make_unique<IndexSelectEffect>(element, element_type(arguments[1]), large,
                                               make_pointer_effect(kernel, name, scalars));
  }
  if (function == "vectorized_gather_kernel" && arguments.size() == 2 && has_sizes(kernel, {8, 8, 8, 4, 8, 8, 8, 8, 1}))
    return std::make_unique<SliceGatherEffect>(element_type(arguments[1]), make_pointer_effect(kernel, name, scalars));
  if (function == "transpose_copy_tiled_kernel" && arguments.size() >= 2 && has_sizes(kernel, {8, 8, 8, 8, 8, 8})) {
    const uint32_t unit = arguments[0] == "unsigned int" ? 4 : arguments[0] == "unsigned long" ? 8 : 0;
    uint32_t packed = 0;
    std::from_chars(arguments[1].data(), arguments[1].data() + arguments[1].size(), packed);
    if (unit == 0 || packed == 0 || packed > unit) return nullptr;
    make_pointer_effect(kernel, name, scalars);
    return std::make_unique<TransposeEffect>(unit, packed);
  }
  if (function == "roll_cuda_kernel" && arguments.size() == 1 && has_sizes(kernel, {8, 8, 8, 8, 8, 8, 8, 8})) {
    const uint32_t element = element_bytes(element_type(arguments[0]));
    if (element == 0) return nullptr;
    return std::make_unique<RollEffect>(element, make_pointer_effect(kernel, name, scalars));
  }
  return nullptr;
}

}  // namespace maya::device
