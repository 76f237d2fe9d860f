#include "virtual_device/values/structure_sizes.h"

#include <charconv>
#include <initializer_list>
#include <string_view>

namespace maya::device {
namespace {

struct Field {
  uint16_t offset;
  uint16_t size;
};

class Slots {
 public:
  Slots(size_t most, std::vector<ScalarSlot>* scalars) : most_(most), scalars_(scalars) {}
  void add(uint32_t parameter, uint32_t offset, uint32_t size) {
    if (scalars_->size() < most_)
      scalars_->push_back(
          {static_cast<uint16_t>(parameter), static_cast<uint16_t>(offset), 0, static_cast<uint16_t>(size)});
  }
  void add(uint32_t parameter, std::initializer_list<Field> fields) {
    for (const Field& field : fields) add(parameter, field.offset, field.size);
  }

 private:
  size_t most_;
  std::vector<ScalarSlot>* scalars_;
};

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

uint32_t number_in(std::string_view text) {
  uint32_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// FlashAttention 3 begins with the parameters of its main loop (public header
// hopper/mainloop_fwd_sm90_tma_gmma_ws.hpp): queries, head size, heads, batch of the queries; keys, or those of a page,
// and key heads; sequences and pages of each, 0 without pages. Strides before the keys are more where the heads of a
// group are packed.
bool add_flash3(std::string_view kernel, uint32_t bytes, Slots* slots) {
  const auto loop = nested_arguments(kernel, "flash::CollectiveMainloopFwdSm90"),
             epilogue = nested_arguments(kernel, "flash::CollectiveEpilogueFwd");
  constexpr size_t kPacked = 6;  // <tile, cluster, element, architecture, threads, variable lengths, packed, ...>
  if (loop.empty() || epilogue.size() <= kPacked) return false;
  // Where the keys and the page table begin: a pointer, sizes, strides.
  struct Layout {
    uint16_t keys, pages;
  };
  constexpr Layout kPlain{88, 376}, kPackedByLoad{96, 400}, kPackedByThreads{104, 408};
  const bool packed = epilogue[kPacked] == "true";
  const Layout& layout = !packed ? kPlain : number_in(loop.back()) > 1 ? kPackedByLoad : kPackedByThreads;
  if (layout.pages + 16u > bytes) return false;
  const auto at = [](int offset) { return Field{static_cast<uint16_t>(offset), 4}; };
  slots->add(0, {at(8), at(12), at(16), at(20), at(layout.keys + 8), at(layout.keys + 16), at(layout.pages + 8),
                 at(layout.pages + 12)});
  return true;
}

// Parameter structures of attention kernels, as PyTorch's public headers declare them: flash.h (Flash_fwd_params, which
// Flash_bwd_params begins with: heads, key heads, batch, queries, keys, head size), mem_eff_attention/kernel_forward.h
// (head size, queries, keys, kind of mask, batch, heads) and kernel_backward.h (head size, queries, keys, heads, kind
// of mask, batch). The kind of a mask is one byte, the bytes behind it are padding.
bool add_attention(const KernelInfo& kernel, const KernelName& name, Slots* slots) {
  const uint32_t bytes = kernel.parameters[0].size;
  constexpr uint32_t kFusedForward_bytes = 280, kFusedBackward_bytes = 480, kFlashLeast_bytes = 400;
  if (contains(name.function, "fmha_cutlassF_") && bytes == kFusedForward_bytes) {
    slots->add(0, {{96, 4}, {104, 4}, {108, 4}, {116, 1}, {192, 4}, {204, 4}});
    return true;
  }
  if (contains(name.function, "fmha_cutlassB_") && bytes == kFusedBackward_bytes) {
    slots->add(0, {{144, 4}, {152, 4}, {156, 4}, {160, 4}, {168, 1}, {384, 4}});
    return true;
  }
  if (name.function.starts_with("pytorch_flash::flash_") && bytes >= kFlashLeast_bytes) {
    slots->add(0, {{96, 4}, {100, 4}, {176, 4}, {180, 4}, {184, 4}, {192, 4}});
    return true;
  }
  if (name.function == "cutlass::device_kernel" && !name.template_arguments.empty())
    return add_flash3(name.template_arguments[0], bytes, slots);
  return false;
}

// Shape.cu: (result, CatArrInputTensorMetadata<T, index, n, strides>{const T* input[n]; index offset[n], dimension[n],
// elements[n]; ...}, TensorSizeStride<index, 4>{index size[4], stride[4]} of the result): the elements of the first
// input and the result's sizes, as many as it has dimensions. What lies behind the inputs in use is not initialised.
void add_concatenation(const KernelInfo& kernel, const KernelName& name, Slots* slots) {
  if (kernel.parameters.size() < 3 || name.template_arguments.size() < 4) return;
  const uint32_t dimensions = number_in(name.template_arguments[2]), tensors = number_in(name.template_arguments[3]);
  const uint32_t index_bytes = contains(name.template_arguments[1], "long") ? 8 : 4;
  constexpr uint32_t kMostDimensions = 4;
  const uint32_t elements = tensors * (8 + 2 * index_bytes);
  if (elements + tensors * index_bytes > kernel.parameters[1].size || dimensions > kMostDimensions ||
      kernel.parameters[2].size != 2 * kMostDimensions * index_bytes)
    return;
  slots->add(1, elements, index_bytes);
  for (uint32_t i = 0; i < dimensions; ++i) slots->add(2, i * index_bytes, index_bytes);
}

// Norms of Transformer Engine (KernelParamsBase of normalization/kernel_params.h, or common.h in earlier releases):
// blocks that share the rows, blocks of a row, rows, columns.
bool add_engine_norm(const KernelInfo& kernel, const KernelName& name, Slots* slots) {
  constexpr uint32_t kLeast_bytes = 64;
  if (!contains(name.function, "transformer_engine::normalization::") || kernel.parameters[0].size < kLeast_bytes)
    return false;
  slots->add(0, {{0, 4}, {8, 4}, {12, 4}});
  return true;
}

// The sizes of the first tensor that is passed with them: GenericPackedTensorAccessor<..., T, n, traits, index>{T*
// data; index sizes[n], strides[n]} of TensorAccessor.h, TensorInfo<T, index>{T* data; index sizes[25], ...} of
// TensorInfo.cuh.
void add_tensor_sizes(const KernelInfo& kernel, const KernelName& name, Slots* slots) {
  constexpr uint32_t kPointer_bytes = 8, kInfoDimensions = 4;
  for (uint32_t i = 0; i < name.parameters.size(); ++i) {
    const std::string_view type = name.parameters[i];
    const bool info = contains(type, "TensorInfo<");
    if (!info && !contains(type, "GenericPackedTensorAccessor<")) continue;
    const auto arguments = template_arguments(type);
    if (arguments.empty()) return;
    const uint32_t index_bytes = contains(arguments.back(), "long") ? 8 : 4;
    const uint32_t bytes = kernel.parameters[i].size;
    const uint32_t dimensions = info ? kInfoDimensions : (bytes - kPointer_bytes) / (2 * index_bytes);
    if (kPointer_bytes + dimensions * index_bytes > bytes) return;
    for (uint32_t k = 0; k < dimensions; ++k) slots->add(i, kPointer_bytes + k * index_bytes, index_bytes);
    return;
  }
}

}  // namespace

void add_structure_sizes(const KernelInfo& kernel, const KernelName& name, size_t most,
                         std::vector<ScalarSlot>* scalars) {
  if (kernel.parameters.empty()) return;
  Slots slots(most, scalars);
  if (add_attention(kernel, name, &slots) || add_engine_norm(kernel, name, &slots)) return;
  if (name.parameters.size() != kernel.parameters.size() || !contains(name.function, "at::native::")) return;
  if (contains(name.function, "::CatArrayBatchedCopy")) return add_concatenation(kernel, name, &slots);
  for (const std::string_view part : {"::batch_norm_", "::upsample_", "::grid_sampler_"})
    if (contains(name.function, part)) return add_tensor_sizes(kernel, name, &slots);
}

}  // namespace maya::device
