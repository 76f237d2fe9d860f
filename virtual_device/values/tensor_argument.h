// A tensor that a kernel gets by value: PyTorch's GenericPackedTensorAccessor<..., T, n, traits, index>{T* data; index
// sizes[n], strides[n]} (public header ATen/core/TensorAccessor.h) and TensorInfo<T, index> (tensor_info.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "virtual_device/kernel.h"

namespace maya::device {

// Whether the type is one of both, of const elements: the kernel only reads them.
bool is_tensor_of_const(std::string_view type);

// An accessor that the kernel may write through, within its sizes. (What a TensorInfo tells is no bound: kernels that
// sort or choose along a dimension give it the size 1 there.)
struct AccessorLayout {
  uint32_t dimensions;
  uint32_t index_bytes;
  uint32_t element_bytes;
};

// Nothing for another type, or where element type or layout are not known.
std::optional<AccessorLayout> accessor_layout(const KernelParameter& parameter, std::string_view type);

// Bytes from its data pointer to behind its last element. Nothing when a size or a stride is negative.
std::optional<uint64_t> reach_bytes(const AccessorLayout& layout, const uint8_t* argument);

}  // namespace maya::device
