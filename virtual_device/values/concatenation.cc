// PyTorch's concatenation (public source ATen/native/cuda/Shape.cu): CatArrayBatchedCopy*<T, unsigned, dims, n,
// strides, ...>(T* result, CatArrInputTensorMetadata<T, unsigned, n, strides>, TensorSizeStride result layout, int
// dimension, unsigned step), the metadata being
//
//   const T* input[n]; u32 offset[n], dimension_size[n], elements[n]; bool contiguous[n]; { u32 size[4], stride[4] }
//   [strides]
//
// Of a grid of y inputs, input i goes to offset[i] * step elements behind the result's start. The _vectorized form
// counts in units of 16 bytes: offset and dimension_size are those of elements, to be multiplied by step and divided by
// the elements of a unit.
#include <charconv>

#include "virtual_device/values/effect.h"
#include "virtual_device/values/moves.h"

namespace maya::device {

namespace {

constexpr uint32_t kMostDimensions = 4;
constexpr uint32_t kSizes_bytes = 2 * 4 * kMostDimensions;
// Copies move bytes as they are and may be longer than what is computed; what is longer still becomes unknown.
constexpr uint64_t kMaximumMoved_bytes = 16 << 20;

struct Layout {
  uint32_t element = 0;  // bytes
  uint32_t dimensions = 0;
  uint32_t inputs = 0;   // capacity
  uint32_t strides = 0;  // sets of strides in the metadata
  uint32_t unit = 1;     // elements that are copied as one
};

struct Sizes {
  uint32_t size[kMostDimensions], stride[kMostDimensions];
};

class ConcatenationEffect : public ComputedEffect {
 public:
  ConcatenationEffect(const Layout& layout, std::unique_ptr<Effect> otherwise)
      : ComputedEffect(std::move(otherwise)), layout_(layout) {}

 protected:
  bool carry_out(const Launch& launch, Memory& memory) const override {
    const auto result = argument<Address>(launch, 0);
    if (!memory.in_device_range(result) || launch.grid[1] > layout_.inputs) return false;
    bool any_known = memory.maybe_known(result);
    for (uint32_t i = 0; i < launch.grid[1] && !any_known; ++i) {
      const Address input = source(launch, i);
      any_known = memory.in_device_range(input) && memory.maybe_known(input);
    }
    if (!any_known) return true;
    if (moves_all(launch, result, memory)) {
      count_computed();
      return true;
    }
    uint64_t units = 0;
    if (!reach(launch, &units)) return false;
    forget(memory, result, units * layout_.element * layout_.unit);
    return true;
  }

 private:
  static Address source(const Launch& launch, uint32_t input) { return argument<Address>(launch, 1, 8 * input); }
  uint32_t number(const Launch& launch, uint32_t column, uint32_t input) const {
    return argument<uint32_t>(launch, 1, 8 * layout_.inputs + 4 * (column * layout_.inputs + input));
  }

  bool moves_all(const Launch& launch, Address result, Memory& memory) const {
    Moves moves(uint64_t{layout_.element} * layout_.unit);
    for (uint32_t i = 0; i < launch.grid[1]; ++i)
      if (!add_input(launch, result, i, &moves)) return false;
    return moves.carry_out(memory);
  }

  // Where an input goes, in units: `count` of them, a slice of the result of `extent` along `dimension` that begins at
  // `offset`.
  struct Place {
    uint64_t offset, extent, count;
    uint32_t dimension;
  };
  // False when numbers make no sense.
  bool place_of(const Launch& launch, uint32_t input, Place* place) const {
    const auto step = argument<uint32_t>(launch, 4);
    *place = {number(launch, 0, input), number(launch, 1, input), number(launch, 2, input) / layout_.unit,
              argument<uint32_t>(launch, 3)};
    if (place->dimension >= layout_.dimensions) return false;
    if (layout_.unit != 1) {
      place->offset = place->offset * step / layout_.unit;
      place->extent = place->extent * step / layout_.unit;
    } else {
      place->offset *= step;
    }
    return place->count == 0 || place->extent != 0;
  }

  // Units from the result's start to behind the last that is written.
  bool reach(const Launch& launch, uint64_t* units) const {
    const Sizes to = argument<Sizes>(launch, 2);
    for (uint32_t i = 0; i < launch.grid[1]; ++i) {
      Place place;
      if (!place_of(launch, i, &place)) return false;
      if (place.count == 0) continue;
      uint64_t last = place.offset;
      for (uint32_t d = 0; d < layout_.dimensions; ++d) {
        const uint64_t size = d == place.dimension ? place.extent : to.size[d];
        if (size == 0) return false;
        last += (size - 1) * to.stride[d];
      }
      *units = std::max(*units, last + 1);
    }
    return true;
  }

  bool add_input(const Launch& launch, Address result, uint32_t input, Moves* moves) const {
    const Sizes to = argument<Sizes>(launch, 2);
    Place place;
    if (!place_of(launch, input, &place)) return false;
    const auto [offset, extent, count, dimension] = place;
    if (count == 0) return true;
    const uint64_t unit = uint64_t{layout_.element} * layout_.unit;
    if (count > kMaximumMoved_bytes / unit) return false;
    const bool contiguous =
        layout_.strides == 1 || *argument_bytes(launch, 1, 8 * layout_.inputs + 12 * layout_.inputs + input) != 0;
    Sizes from = to;
    if (!contiguous) from = argument<Sizes>(launch, 1, (8 + 12 + 1) * layout_.inputs + kSizes_bytes * input);
    const uint64_t run = run_length(to, static_cast<uint32_t>(extent), dimension, contiguous);
    if (run == 0 || count / run > Moves::kMaximumSingleRuns) return false;
    for (uint64_t index = 0; index < count; index += run) {
      const uint64_t target = element_offset(to, extent, dimension, index);
      const uint64_t origin = contiguous ? index : element_offset(from, extent, dimension, index);
      if (!moves->add(source(launch, input) + origin * unit, result + (offset + target) * unit,
                      std::min(run, count - index)))
        return false;
    }
    return true;
  }

  // Elements of a contiguous input that go to neighbouring places. 0 when sizes make no sense.
  uint64_t run_length(const Sizes& to, uint32_t extent, uint32_t dimension, bool contiguous) const {
    uint64_t run = 1;
    for (uint32_t d = layout_.dimensions; d-- > 0;) {
      const uint64_t size = d == dimension ? extent : to.size[d];
      if (d > 0 && size == 0) return 0;
      if (!contiguous || to.stride[d] != run) return run;
      if (d == 0) return UINT32_MAX;
      run *= size;
      if (d == dimension) return run;
    }
    return run;
  }

  uint64_t element_offset(const Sizes& sizes, uint64_t extent, uint32_t dimension, uint64_t index) const {
    uint64_t offset = 0;
    for (uint32_t d = layout_.dimensions - 1; d > 0; --d) {
      const uint64_t size = d == dimension ? extent : sizes.size[d];
      offset += index % size * sizes.stride[d];
      index /= size;
    }
    return offset + index * sizes.stride[0];
  }

  Layout layout_;
};

uint32_t number_in(std::string_view text) {
  uint32_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

bool parse_layout(const KernelInfo& kernel, const KernelName& name, std::string_view form, Layout* layout) {
  const auto& arguments = name.template_arguments;
  if (arguments.size() < 5 || arguments[1] != "unsigned int" || kernel.parameters.size() != 5) return false;
  constexpr std::string_view kOpaque = "OpaqueType<";
  const size_t opaque = arguments[0].find(kOpaque);
  if (opaque == std::string::npos) return false;
  layout->element = number_in(std::string_view(arguments[0]).substr(opaque + kOpaque.size()));
  layout->dimensions = number_in(arguments[2]);
  layout->inputs = number_in(arguments[3]);
  layout->strides = number_in(arguments[4]);
  if (form == "_vectorized") {
    if (arguments.size() != 7) return false;
    layout->unit = number_in(arguments[6]);
    if (layout->unit * layout->element != number_in(arguments[5])) return false;
  }
  const uint32_t metadata = layout->inputs * (8 + 12 + 1) + layout->strides * kSizes_bytes;
  return layout->element != 0 && layout->element <= 16 && layout->dimensions >= 1 &&
         layout->dimensions <= kMostDimensions && layout->inputs != 0 && layout->unit != 0 &&
         kernel.parameters[0].size == 8 && kernel.parameters[1].size == metadata &&
         kernel.parameters[2].size == kSizes_bytes && kernel.parameters[3].size == 4 && kernel.parameters[4].size == 4;
}

}  // namespace

std::unique_ptr<Effect> make_concatenation_effect(const KernelInfo& kernel, const KernelName& name,
                                                  std::vector<ScalarSlot>* scalars) {
  constexpr std::string_view kStart = "at::native::(anonymous namespace)::CatArrayBatchedCopy";
  if (!name.function.starts_with(kStart)) return nullptr;
  Layout layout;
  if (!parse_layout(kernel, name, std::string_view(name.function).substr(kStart.size()), &layout)) return nullptr;
  return std::make_unique<ConcatenationEffect>(layout, make_pointer_effect(kernel, name, scalars));
}

}  // namespace maya::device
