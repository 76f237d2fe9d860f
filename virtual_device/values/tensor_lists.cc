// PyTorch's foreach and fused optimizer kernels (public header ATen/native/cuda/MultiTensorApply.cuh):
// multi_tensor_apply_kernel<Metadata, F, args...>(Metadata, F, args...), Metadata being
//
//   TensorListMetadata<n>                void* addresses[n][T]; i64 elements[T]; u16 block_to_tensor[2240]; i32
//   block_to_chunk[2240]; i32 start FusedOptimizerTensorListMetadata<n>  the same with void* state_steps[T] behind
//   elements TensorListScalarListMetadata<S, n>   the same as the first with S scalars[T] behind elements, without
//   start
//
// T, the number of tensors that fit, follows from n. Blocks go through the tensors in order, so the last block's tensor
// is the last one.
#include <algorithm>

#include "virtual_device/values/effect.h"
#include "virtual_device/values/number.h"

namespace maya::device {

namespace {

constexpr uint32_t kMaximumLists = 5;
constexpr uint32_t kTensors[kMaximumLists] = {770, 448, 336, 252, 210};
constexpr uint32_t kTensorsWithScalars[kMaximumLists] = {672, 448, 336, 252, 210};
constexpr uint32_t kTensorsWithWideScalars[] = {504, 420};
constexpr uint32_t kBlocks = 2240;
constexpr uint32_t kUnknownElement_bytes = 8;

uint32_t align8(uint32_t bytes) { return (bytes + 7) / 8 * 8; }

struct Layout {
  uint32_t lists = 0;
  uint32_t tensors = 0;          // capacity
  uint32_t block_to_tensor = 0;  // offset
  uint32_t written = 0;          // lists that are written, one bit each
  uint32_t element_bytes = kUnknownElement_bytes;
};

class TensorListEffect : public Effect {
 public:
  explicit TensorListEffect(const Layout& layout) : layout_(layout) {}

  void apply(const Launch& launch, Memory& memory) const override {
    const uint64_t blocks = std::clamp<uint64_t>(launch.grid[0], 1, kBlocks);
    const auto last = argument<uint16_t>(launch, 0, layout_.block_to_tensor + 2 * static_cast<uint32_t>(blocks - 1));
    const uint32_t tensors = std::min<uint32_t>(last + 1u, layout_.tensors);
    const uint8_t* metadata = argument_bytes(launch, 0);
    const uint8_t* sizes = metadata + 8 * layout_.lists * layout_.tensors;
    for (uint32_t list = 0; list < layout_.lists; ++list) {
      if ((layout_.written >> list & 1) == 0) continue;
      for (uint32_t i = 0; i < tensors; ++i) {
        Address address;
        std::memcpy(&address, metadata + 8 * (list * layout_.tensors + i), sizeof(address));
        if (!memory.in_device_range(address) || !memory.maybe_known(address)) continue;
        int64_t elements;
        std::memcpy(&elements, sizes + 8 * i, sizeof(elements));
        forget(memory, address, static_cast<uint64_t>(std::max<int64_t>(elements, 0)) * layout_.element_bytes);
      }
    }
  }

 private:
  Layout layout_;
};

// "Name<..., 3>" -> 3; 0 when it is no small number.
uint32_t small_number(std::string_view text) {
  return text.size() == 1 && text[0] >= '0' && text[0] <= '9' ? static_cast<uint32_t>(text[0] - '0') : 0;
}

bool parse_metadata(std::string_view type, uint32_t size, Layout* layout) {
  const std::string_view base = template_base(type);
  const auto arguments = template_arguments(type);
  if (arguments.empty()) return false;
  layout->lists = small_number(arguments.back());
  if (layout->lists == 0 || layout->lists > kMaximumLists) return false;
  uint32_t columns = layout->lists + 1, scalar_bytes = 0;
  layout->tensors = kTensors[layout->lists - 1];
  uint32_t tail = 6 * kBlocks + 4;
  if (base.ends_with("FusedOptimizerTensorListMetadata")) {
    ++columns;
  } else if (base.ends_with("TensorListScalarListMetadata")) {
    scalar_bytes = element_bytes(element_type(arguments[0]));
    if (scalar_bytes == 0) return false;
    const bool wide = scalar_bytes == 16 && layout->lists <= 2;
    layout->tensors = wide ? kTensorsWithWideScalars[layout->lists - 1] : kTensorsWithScalars[layout->lists - 1];
    tail = 6 * kBlocks;
  } else if (!base.ends_with("TensorListMetadata")) {
    return false;
  }
  layout->block_to_tensor = (8 * columns + scalar_bytes) * layout->tensors;
  return align8(layout->block_to_tensor + tail) == size || layout->block_to_tensor + tail == size;
}

}  // namespace

std::unique_ptr<Effect> make_tensor_list_effect(const KernelInfo& kernel, const KernelName& name,
                                                std::vector<ScalarSlot>*) {
  if (name.function != "at::native::(anonymous namespace)::multi_tensor_apply_kernel" &&
      name.function != "at::native::multi_tensor_apply_kernel")
    return nullptr;
  if (name.template_arguments.size() < 2 || kernel.parameters.empty()) return nullptr;
  Layout layout;
  if (!parse_metadata(name.template_arguments[0], kernel.parameters[0].size, &layout)) return nullptr;
  layout.written = (1u << layout.lists) - 1;
  const std::string_view function = name.template_arguments[1];
  const auto arguments = template_arguments(function);
  // Functors over lists end in depth, inputs, index of the list with results.
  const std::string_view base = template_base(function);
  if (!arguments.empty()) {
    if (const uint32_t bytes = element_bytes(element_type(arguments[0]))) layout.element_bytes = bytes;
  }
  const bool has_result_index = base.ends_with("Functor") && arguments.size() >= 4 &&
                                base.find("Fused") == std::string_view::npos &&
                                base.find("Norm") == std::string_view::npos;
  if (has_result_index && arguments.back().size() == 1) layout.written = 1u << small_number(arguments.back());
  // Norms read their list and write to an argument.
  if (base.find("LpNorm") != std::string_view::npos || base.find("LpMax") != std::string_view::npos) return nullptr;
  return std::make_unique<TensorListEffect>(layout);
}

}  // namespace maya::device
