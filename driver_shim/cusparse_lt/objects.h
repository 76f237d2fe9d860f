// cuSPARSELt's objects. They are the caller's storage, 512 bytes each; ours begin with a mark and hold plain values, so
// that a program may copy them. A handle may be used by several threads: nothing in it changes.
#pragma once

#include <library_types.h>

#include <cstdint>
#include <cstring>

#include "driver_shim/common/library_handle.h"
#include "driver_shim/common/recording.h"

namespace maya::cusparse_lt {

using shim::kInvalidValue;
using shim::kNotInitialized;
using shim::kSuccess;
inline constexpr int kNotSupported = 10;  // CUSPARSE_STATUS_NOT_SUPPORTED

inline constexpr size_t kObject_bytes = 512;

struct Handle {
  static constexpr uint64_t kMagic = 0x6d617961736c7468;
  uint64_t magic = kMagic;
};

// cusparseLtMatDescriptor_t.
struct Matrix {
  static constexpr uint64_t kMagic = 0x6d617961736c746d;
  uint64_t magic = kMagic;
  int64_t rows = 0, columns = 0, leading = 0;
  cudaDataType type = CUDA_R_16F;
  int32_t order = 1;  // cusparseOrder_t: 1 by columns, 2 by rows
  int32_t structured = 0;
  int32_t batch = 1;
  int64_t stride = 0;
};

// cusparseLtMatmulDescriptor_t.
struct Multiplication {
  static constexpr uint64_t kMagic = 0x6d617961736c7478;
  static constexpr int kScaled = 5;  // A, B, C, D, D's scale out
  uint64_t magic = kMagic;
  int32_t operation_a = 0, operation_b = 0, compute_type = 0;
  Matrix a, b, c, d;
  int32_t scale_modes[kScaled] = {};
  void* scales[kScaled] = {};
  int32_t relu = 0, gelu = 0, alpha_vector = 0, beta_vector = 0;
  float relu_bound = 0, relu_threshold = 0, gelu_scaling = 1;
  int64_t bias_stride = 0;
  void* bias = nullptr;
  void* sparse = nullptr;
};

// cusparseLtMatmulAlgSelection_t.
struct Algorithm {
  static constexpr uint64_t kMagic = 0x6d617961736c7461;
  static constexpr int kConfigurations = 4;
  uint64_t magic = kMagic;
  int32_t configuration = 0, search_iterations = 5, split_k = 1, split_k_mode = 0, split_k_buffers = 0;
};

// cusparseLtMatmulPlan_t. Holds what it was made of: descriptors may change or go afterwards. Bias pointers are read
// from the descriptor at each call, as documented for plans that are used again with another bias.
struct Plan {
  static constexpr uint64_t kMagic = 0x6d617961736c7470;
  uint64_t magic = kMagic;
  const void* multiplication = nullptr;  // the caller's cusparseLtMatmulDescriptor_t
  Algorithm algorithm;
};

template <typename Object>
const Object* object_of(const void* storage) {
  static_assert(sizeof(Object) <= kObject_bytes);
  const auto* object = static_cast<const Object*>(storage);
  return object != nullptr && object->magic == Object::kMagic ? object : nullptr;
}

template <typename Object>
Object* object_of(void* storage) {
  return const_cast<Object*>(object_of<Object>(static_cast<const void*>(storage)));
}

template <typename Object>
void store(void* storage, const Object& object) {
  static_assert(sizeof(Object) <= kObject_bytes);
  std::memcpy(storage, &object, sizeof object);
}

// kInvalidValue for null, kNotInitialized for storage that cusparseLtInit has not filled.
inline int check(const void* handle) {
  if (handle == nullptr) return kInvalidValue;
  return object_of<Handle>(handle) == nullptr ? kNotInitialized : kSuccess;
}

// A value of exactly the attribute's size.
template <typename Value>
int take(Value* member, const void* data, size_t bytes) {
  if (bytes != sizeof(Value)) return kInvalidValue;
  std::memcpy(member, data, sizeof(Value));
  return kSuccess;
}

template <typename Value>
int give(const Value& member, void* data, size_t bytes) {
  if (bytes != sizeof(Value)) return kInvalidValue;
  std::memcpy(data, &member, sizeof(Value));
  return kSuccess;
}

// Bytes of a structured matrix after compression: half of its values, and for each kept value 2 bits that tell its
// place among four (CUDA C Programming Guide, sparse mma; for 32-bit floats 4 bits for one of two; for 4-bit floats 2
// bits for each kept pair).
size_t compressed_bytes(const Matrix& matrix);

}  // namespace maya::cusparse_lt
