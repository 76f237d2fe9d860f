#include "driver_shim/cublas/lt_attribute.h"

#include <cstring>

namespace maya::cublas {
namespace {

const Attribute* find(std::span<const Attribute> table, int id) {
  for (const Attribute& attribute : table)
    if (attribute.id == id) return &attribute;
  return nullptr;
}

}  // namespace

cublasStatus_t set_attribute(std::span<const Attribute> table, void* descriptor, int id, const void* value,
                             size_t bytes) {
  const Attribute* attribute = find(table, id);
  if (descriptor == nullptr || value == nullptr || attribute == nullptr || attribute->read_only ||
      bytes != attribute->bytes)
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(static_cast<char*>(descriptor) + attribute->offset, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t get_attribute(std::span<const Attribute> table, const void* descriptor, int id, void* value,
                             size_t bytes, size_t* written) {
  const Attribute* attribute = find(table, id);
  if (descriptor == nullptr || attribute == nullptr || (bytes != 0 && bytes != attribute->bytes))
    return CUBLAS_STATUS_INVALID_VALUE;
  return get_value(static_cast<const char*>(descriptor) + attribute->offset, attribute->bytes, value, bytes, written);
}

cublasStatus_t get_value(const void* source, size_t available, void* value, size_t bytes, size_t* written) {
  if (bytes == 0) {
    if (written == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *written = available;
    return CUBLAS_STATUS_SUCCESS;
  }
  if (value == nullptr || bytes < available) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(value, source, available);
  if (written != nullptr) *written = available;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace maya::cublas
