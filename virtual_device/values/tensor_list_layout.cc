#include "virtual_device/values/tensor_list_layout.h"

#include "virtual_device/values/effect.h"

namespace maya::device {
namespace {

// By the number of lists.
struct Capacity {
  uint32_t tensors[kMaximumTensorLists];
  uint32_t with_scalars[kMaximumTensorLists];
  uint32_t with_wide_scalars[2];
  uint32_t blocks;
  uint32_t block_index_bytes;  // of an element of block_to_tensor
};
constexpr Capacity kCuda13 = {{770, 448, 336, 252, 210}, {672, 448, 336, 252, 210}, {504, 420}, 2240, 2};
constexpr Capacity kCuda12 = {{110, 64, 48, 36, 30}, {96, 64, 48, 36, 30}, {72, 60}, 320, 1};

uint32_t align8(uint32_t bytes) { return (bytes + 7) / 8 * 8; }

std::optional<TensorListLayout> layout_of(std::string_view type, uint32_t bytes, const Capacity& capacity) {
  const std::string_view base = template_base(type);
  const auto arguments = template_arguments(type);
  // "Name<..., 3>"
  if (arguments.empty() || arguments.back().size() != 1) return std::nullopt;
  TensorListLayout layout;
  layout.lists = static_cast<uint32_t>(arguments.back()[0] - '0');
  if (layout.lists == 0 || layout.lists > kMaximumTensorLists) return std::nullopt;
  const uint32_t columns = layout.lists + 1, with_scalars = capacity.with_scalars[layout.lists - 1];
  layout.tensors = capacity.tensors[layout.lists - 1];
  layout.blocks = capacity.blocks;
  layout.block_index_bytes = capacity.block_index_bytes;
  uint32_t more = 0;
  bool has_start = true;
  if (base.ends_with("FusedOptimizerTensorListMetadata")) {
    more = 8 * with_scalars;
  } else if (base.ends_with("TensorListScalarListMetadata")) {
    const uint32_t scalar_bytes = element_bytes(element_type(arguments[0]));
    if (scalar_bytes == 0) return std::nullopt;
    const bool wide = scalar_bytes == 16 && layout.lists <= 2;
    layout.tensors = wide ? capacity.with_wide_scalars[layout.lists - 1] : with_scalars;
    layout.scalars = 8 * columns * layout.tensors;
    more = scalar_bytes * layout.tensors;
    has_start = false;
  } else if (!base.ends_with("TensorListMetadata")) {
    return std::nullopt;
  }
  layout.elements = 8 * layout.lists * layout.tensors;
  layout.block_to_tensor = 8 * columns * layout.tensors + more;
  layout.block_to_chunk = layout.block_to_tensor + layout.block_index_bytes * layout.blocks;
  uint32_t end = layout.block_to_chunk + 4 * layout.blocks;
  if (has_start) {
    layout.start = end;
    end += 4;
  }
  if (align8(end) != bytes && end != bytes) return std::nullopt;
  return layout;
}

}  // namespace

uint32_t TensorListLayout::tensor_of(const Launch& launch, uint32_t block) const {
  const uint32_t place = block_to_tensor + block_index_bytes * block;
  return block_index_bytes == 1 ? argument<uint8_t>(launch, 0, place) : argument<uint16_t>(launch, 0, place);
}

int32_t TensorListLayout::chunk_of(const Launch& launch, uint32_t block) const {
  return argument<int32_t>(launch, 0, block_to_chunk + 4 * block);
}

uint64_t TensorListLayout::address_of(const Launch& launch, uint32_t list, uint32_t tensor) const {
  return argument<Address>(launch, 0, 8 * (list * tensors + tensor));
}

int64_t TensorListLayout::elements_of(const Launch& launch, uint32_t tensor) const {
  return argument<int64_t>(launch, 0, elements + 8 * tensor);
}

int32_t TensorListLayout::start_of(const Launch& launch) const {
  return start == 0 ? 0 : argument<int32_t>(launch, 0, start);
}

std::optional<TensorListLayout> tensor_list_layout(std::string_view type, uint32_t bytes) {
  auto layout = layout_of(type, bytes, kCuda13);
  if (layout) return layout;
  layout = layout_of(type, bytes, kCuda12);
  if (layout) layout->cuda_12 = true;
  return layout;
}

}  // namespace maya::device
