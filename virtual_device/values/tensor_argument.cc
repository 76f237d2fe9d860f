#include "virtual_device/values/tensor_argument.h"

#include <cstring>

#include "virtual_device/values/kernel_name.h"
#include "virtual_device/values/number.h"
#include "virtual_device/values/product.h"

namespace maya::device {
namespace {

constexpr uint32_t kPointer_bytes = 8;
constexpr std::string_view kConst = " const";

// The element type; empty for another type.
std::string_view element_of(std::string_view type, std::string_view base_end, size_t from_end) {
  if (!template_base(type).ends_with(base_end)) return {};
  const auto arguments = template_arguments(type);
  return arguments.size() < from_end ? std::string_view() : arguments[arguments.size() - from_end];
}

std::string_view accessor_element(std::string_view type) {
  return element_of(type, "::GenericPackedTensorAccessor", 4);
}

uint32_t index_bytes_of(std::string_view type) {
  if (type == "int" || type == "unsigned int") return 4;
  return type == "long" || type == "unsigned long" ? 8 : 0;
}

int64_t load(const uint8_t* bytes, uint32_t width) {
  int64_t wide = 0;
  int32_t narrow = 0;
  if (width == sizeof(narrow)) {
    std::memcpy(&narrow, bytes, sizeof(narrow));
    return narrow;
  }
  std::memcpy(&wide, bytes, sizeof(wide));
  return wide;
}

}  // namespace

bool is_tensor_of_const(std::string_view type) {
  return accessor_element(type).ends_with(kConst) || element_of(type, "::TensorInfo", 2).ends_with(kConst);
}

std::optional<AccessorLayout> accessor_layout(const KernelParameter& parameter, std::string_view type) {
  const std::string_view element = accessor_element(type);
  if (element.empty()) return std::nullopt;
  AccessorLayout layout{0, index_bytes_of(template_arguments(type).back()), element_bytes(element_type(element))};
  if (layout.index_bytes == 0 || layout.element_bytes == 0 || parameter.size < kPointer_bytes) return std::nullopt;
  const uint32_t dimension_bytes = 2 * layout.index_bytes;
  layout.dimensions = (parameter.size - kPointer_bytes) / dimension_bytes;
  if (layout.dimensions == 0 || kPointer_bytes + layout.dimensions * dimension_bytes != parameter.size)
    return std::nullopt;
  return layout;
}

std::optional<uint64_t> reach_bytes(const AccessorLayout& layout, const uint8_t* argument) {
  const uint8_t* const sizes = argument + kPointer_bytes;
  const uint8_t* const strides = sizes + layout.dimensions * layout.index_bytes;
  uint64_t last = 0;
  bool is_empty = false;
  for (uint32_t d = 0; d < layout.dimensions; ++d) {
    const int64_t size = load(sizes + d * layout.index_bytes, layout.index_bytes);
    const int64_t stride = load(strides + d * layout.index_bytes, layout.index_bytes);
    if (size < 0 || stride < 0) return std::nullopt;
    if (size == 0) is_empty = true;
    if (size > 1) last += Product().times(size - 1).times(stride).value();
  }
  return is_empty ? 0 : Product().times(static_cast<int64_t>(last) + 1).times(layout.element_bytes).value();
}

}  // namespace maya::device
