// Attributes of cublasLt's semi-opaque descriptors as data: which value has which size and lies where in our struct.
#pragma once

#include <cublasLt.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace maya::cublas {

struct Attribute {
  int id;
  uint16_t offset;  // in the descriptor's struct
  uint16_t bytes;   // as documented; a caller's size must match
  bool read_only = false;
};

#define MAYA_LT_ATTRIBUTE(ID, STRUCT, MEMBER) \
  ::maya::cublas::Attribute { ID, offsetof(STRUCT, MEMBER), sizeof(STRUCT::MEMBER) }

// The documented behaviour of every cublasLt...SetAttribute and ...GetAttribute: INVALID_VALUE for a null descriptor or
// buffer, an unknown attribute or a size that does not match; a get with size 0 only tells the size.
cublasStatus_t set_attribute(std::span<const Attribute> table, void* descriptor, int id, const void* value,
                             size_t bytes);
cublasStatus_t get_attribute(std::span<const Attribute> table, const void* descriptor, int id, void* value,
                             size_t bytes, size_t* written);

// Copies `available` bytes of a value that has no place in a struct (lists), by the same rules; a shorter buffer is
// INVALID_VALUE.
cublasStatus_t get_value(const void* source, size_t available, void* value, size_t bytes, size_t* written);

// Puts `initial` into the caller's opaque storage of `bytes` bytes. ALLOC_FAILED when it is too small, as documented:
// smaller than `least`, which is the size of the opaque struct in the oldest headers that programs are built with. What
// of `initial` lies behind the storage is left out: members that those programs know nothing of come last.
template <typename Ours, typename Opaque>
cublasStatus_t initialize(Opaque* storage, size_t bytes, const Ours& initial, size_t least = sizeof(Opaque)) {
  static_assert(sizeof(Ours) <= sizeof(Opaque) && alignof(Ours) <= alignof(Opaque));
  if (storage == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (bytes < least) return CUBLAS_STATUS_ALLOC_FAILED;
  std::memset(static_cast<void*>(storage), 0, std::min(bytes, sizeof(Opaque)));
  std::memcpy(static_cast<void*>(storage), &initial, std::min(bytes, sizeof(Ours)));
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace maya::cublas
