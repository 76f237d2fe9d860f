// Tensor map objects of the CUDA driver API: the descriptors that Hopper's tensor memory accelerator works from. Their
// layout is NVIDIA's own and opaque; here a descriptor holds the global address in its first 8 bytes (launches look for
// addresses there), then the checked arguments in a fixed order, so equal arguments give equal descriptors.
#include <algorithm>
#include <cstring>

#include "driver_shim/cuda/gate.h"
#include "driver_shim/cuda/instructions.h"

namespace maya::cuda {

namespace {

constexpr uint32_t kMaximumRank = 5;
constexpr uint64_t kMaximumDimension = 1ull << 32;
constexpr uint64_t kStrideLimit_bytes = 1ull << 40;
constexpr uint32_t kMaximumBox = 256;
constexpr uint32_t kMaximumElementStride = 8;
constexpr uint32_t kMaximumPixelsPerColumn = 1024;
constexpr uint32_t kPackedBox = 128;  // elements in a box row of the packed types with gaps

struct Descriptor {
  uint64_t address;
  uint8_t kind, type, rank, interleave, swizzle, promotion, fill, mode;
  uint64_t strides[4];
  uint32_t dimensions[5];  // minus one, so that 2^32 fits
  uint8_t box[5];          // minus one
  uint8_t element_strides[5];
  uint16_t channels, pixels;
  int16_t lower[3], upper[3];
};
static_assert(sizeof(Descriptor) <= sizeof(CUtensorMap));

struct Tensor {
  CUtensorMapDataType type;
  uint32_t rank;
  void* address;
  const cuuint64_t* dimensions;
  const cuuint64_t* strides;
  const cuuint32_t* element_strides;
  CUtensorMapInterleave interleave;
  CUtensorMapSwizzle swizzle;
  CUtensorMapL2promotion promotion;
  CUtensorMapFloatOOBfill fill;
};

bool is_packed_with_gaps(CUtensorMapDataType type) {
  return type == CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B || type == CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B;
}

bool is_floating(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ:
      return true;
    default:
      return false;
  }
}

// Bytes that `elements` of a type take as they stand in shared memory.
uint64_t bytes_of(CUtensorMapDataType type, uint64_t elements) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
      return elements;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
      return 2 * elements;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
      return 8 * elements;
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B:
      return elements / 2;
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B:
    case CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B:
      return elements;  // 16 values in 16 bytes, gaps counted
    default:
      return 4 * elements;
  }
}

// Widest inner dimension that a swizzle pattern takes, bytes; 0: any.
uint64_t swizzle_limit(CUtensorMapSwizzle swizzle) {
  switch (swizzle) {
    case CU_TENSOR_MAP_SWIZZLE_NONE:
      return 0;
    case CU_TENSOR_MAP_SWIZZLE_32B:
      return 32;
    case CU_TENSOR_MAP_SWIZZLE_64B:
      return 64;
    default:
      return 128;
  }
}

bool valid_enumerators(const Tensor& tensor) {
  return tensor.type >= CU_TENSOR_MAP_DATA_TYPE_UINT8 && tensor.type <= CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B &&
         tensor.interleave >= CU_TENSOR_MAP_INTERLEAVE_NONE && tensor.interleave <= CU_TENSOR_MAP_INTERLEAVE_32B &&
         tensor.swizzle >= CU_TENSOR_MAP_SWIZZLE_NONE && tensor.swizzle <= CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B &&
         tensor.promotion >= CU_TENSOR_MAP_L2_PROMOTION_NONE &&
         tensor.promotion <= CU_TENSOR_MAP_L2_PROMOTION_L2_256B && tensor.fill >= CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE &&
         tensor.fill <= CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
}

uint64_t address_alignment(CUtensorMapInterleave interleave, CUtensorMapDataType type) {
  return interleave == CU_TENSOR_MAP_INTERLEAVE_32B || is_packed_with_gaps(type) ? 32 : 16;
}

bool valid_swizzle(const Tensor& tensor) {
  if (tensor.interleave == CU_TENSOR_MAP_INTERLEAVE_32B && tensor.swizzle != CU_TENSOR_MAP_SWIZZLE_32B) return false;
  if (!is_packed_with_gaps(tensor.type)) return true;
  if (tensor.type == CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B && tensor.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE)
    return false;
  switch (tensor.swizzle) {
    case CU_TENSOR_MAP_SWIZZLE_NONE:
    case CU_TENSOR_MAP_SWIZZLE_128B:
    case CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B:
      return true;
    case CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B:
      return tensor.type == CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B;
    default:
      return false;
  }
}

// The requirements that all kinds share, as the documentation of cuTensorMapEncodeTiled lists them, but one: a map that
// is not at a multiple of 64 bytes is taken. cuda.core keeps its maps inside Python objects, which malloc aligns to 16.
bool valid_tensor(const CUtensorMap* map, const Tensor& tensor, uint32_t minimum_rank) {
  if (map == nullptr || !valid_enumerators(tensor)) return false;
  if (tensor.rank < minimum_rank || tensor.rank > kMaximumRank) return false;
  if (tensor.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE && tensor.rank < 3) return false;
  const uint64_t alignment = address_alignment(tensor.interleave, tensor.type);
  if (tensor.address == nullptr || reinterpret_cast<uintptr_t>(tensor.address) % alignment != 0) return false;
  if (tensor.dimensions == nullptr || tensor.element_strides == nullptr ||
      (tensor.rank > 1 && tensor.strides == nullptr))
    return false;
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    if (tensor.dimensions[i] == 0 || tensor.dimensions[i] > kMaximumDimension) return false;
    if (tensor.element_strides[i] == 0 || tensor.element_strides[i] > kMaximumElementStride) return false;
    if (i + 1 < tensor.rank && (tensor.strides[i] % alignment != 0 || tensor.strides[i] >= kStrideLimit_bytes))
      return false;
  }
  if (is_packed_with_gaps(tensor.type) && tensor.dimensions[0] % kPackedBox != 0) return false;
  if (tensor.type == CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B && tensor.dimensions[0] % 2 != 0) return false;
  if (tensor.fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE && !is_floating(tensor.type)) return false;
  return valid_swizzle(tensor);
}

// The row of a box, `elements` wide, against interleave and swizzle.
bool valid_row(const Tensor& tensor, uint64_t elements) {
  if (is_packed_with_gaps(tensor.type) && elements != kPackedBox) return false;
  if (tensor.interleave != CU_TENSOR_MAP_INTERLEAVE_NONE) return true;
  const uint64_t bytes = bytes_of(tensor.type, elements);
  const uint64_t limit = swizzle_limit(tensor.swizzle);
  return limit == 0 || bytes <= limit;
}

Descriptor describe(const Tensor& tensor, uint8_t kind) {
  Descriptor made = {};
  made.address = reinterpret_cast<uint64_t>(tensor.address);
  made.kind = kind;
  made.type = static_cast<uint8_t>(tensor.type);
  made.rank = static_cast<uint8_t>(tensor.rank);
  made.interleave = static_cast<uint8_t>(tensor.interleave);
  made.swizzle = static_cast<uint8_t>(tensor.swizzle);
  made.promotion = static_cast<uint8_t>(tensor.promotion);
  made.fill = static_cast<uint8_t>(tensor.fill);
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    made.dimensions[i] = static_cast<uint32_t>(tensor.dimensions[i] - 1);
    made.element_strides[i] = static_cast<uint8_t>(tensor.element_strides[i]);
    if (i + 1 < tensor.rank) made.strides[i] = tensor.strides[i];
  }
  return made;
}

// Through bytes: the type promises an alignment that the program's map may not have.
void store(CUtensorMap* map, const Descriptor& made) {
  auto* bytes = reinterpret_cast<unsigned char*>(map);
  std::memset(bytes, 0, sizeof(*map));
  std::memcpy(bytes, &made, sizeof(made));
}

Descriptor load(const void* map) {
  Descriptor made;
  std::memcpy(&made, map, sizeof(made));
  return made;
}

bool supported(Call& call) { return call.driver().profile(call.context().device).compute_major >= 9; }

bool valid_corners(uint32_t rank, const int* lower, const int* upper) {
  static constexpr int kLimit[] = {32768, 128, 16};  // for tensors of rank 3, 4 and 5
  if (lower == nullptr || upper == nullptr) return false;
  const int limit = kLimit[rank - 3];
  for (uint32_t i = 0; i < rank - 2; ++i)
    if (lower[i] < -limit || lower[i] >= limit || upper[i] < -limit || upper[i] >= limit) return false;
  return true;
}

enum DescriptorKind : uint8_t { kTiled = 1, kIm2col = 2, kIm2colWide = 3 };

}  // namespace

bool describe_tensor_map(const void* map, uint64_t* tensor_bytes, uint64_t* box_bytes) {
  const Descriptor made = load(map);
  if (made.kind < kTiled || made.kind > kIm2colWide || made.rank == 0 || made.rank > kMaximumRank) return false;
  const auto type = static_cast<CUtensorMapDataType>(made.type);
  double tensor = 1;
  uint64_t box = 1;
  for (uint32_t i = 0; i < made.rank; ++i) {
    tensor *= static_cast<double>(made.dimensions[i]) + 1;
    box *= made.box[i] + 1u;
  }
  if (made.kind != kTiled) box = std::max<uint64_t>(made.channels, 1) * std::max<uint64_t>(made.pixels, 1);
  *tensor_bytes = bytes_of(type, static_cast<uint64_t>(std::min(tensor, 0x1p60)));
  *box_bytes = bytes_of(type, box);
  return true;
}

}  // namespace maya::cuda

using maya::cuda::Call;
using maya::cuda::Needs;

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                const cuuint64_t* dimensions, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                CUtensorMapFloatOOBfill fill) {
  return maya::cuda::enter(Needs::kContext, [&](Call& call) {
    if (!maya::cuda::supported(call)) return CUDA_ERROR_NOT_SUPPORTED;
    const maya::cuda::Tensor tensor{type,       rank,    address,   dimensions, strides, element_strides,
                                    interleave, swizzle, promotion, fill};
    if (!maya::cuda::valid_tensor(map, tensor, 1) || box == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (uint32_t i = 0; i < rank; ++i)
      if (box[i] == 0 || box[i] > maya::cuda::kMaximumBox) return CUDA_ERROR_INVALID_VALUE;
    if (!maya::cuda::valid_row(tensor, box[0])) return CUDA_ERROR_INVALID_VALUE;
    if (interleave == CU_TENSOR_MAP_INTERLEAVE_NONE && maya::cuda::bytes_of(type, box[0]) % 16 != 0)
      return CUDA_ERROR_INVALID_VALUE;
    maya::cuda::Descriptor made = maya::cuda::describe(tensor, maya::cuda::kTiled);
    for (uint32_t i = 0; i < rank; ++i) made.box[i] = static_cast<uint8_t>(box[i] - 1);
    maya::cuda::store(map, made);
    return CUDA_SUCCESS;
  });
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                 const cuuint64_t* dimensions, const cuuint64_t* strides, const int* lower,
                                 const int* upper, cuuint32_t channels, cuuint32_t pixels,
                                 const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                                 CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                 CUtensorMapFloatOOBfill fill) {
  return maya::cuda::enter(Needs::kContext, [&](Call& call) {
    if (!maya::cuda::supported(call)) return CUDA_ERROR_NOT_SUPPORTED;
    const maya::cuda::Tensor tensor{type,       rank,    address,   dimensions, strides, element_strides,
                                    interleave, swizzle, promotion, fill};
    if (!maya::cuda::valid_tensor(map, tensor, 3) || !maya::cuda::valid_corners(rank, lower, upper))
      return CUDA_ERROR_INVALID_VALUE;
    if (channels > maya::cuda::kMaximumBox || pixels > maya::cuda::kMaximumPixelsPerColumn)
      return CUDA_ERROR_INVALID_VALUE;
    if (!maya::cuda::valid_row(tensor, channels)) return CUDA_ERROR_INVALID_VALUE;
    maya::cuda::Descriptor made = maya::cuda::describe(tensor, maya::cuda::kIm2col);
    made.channels = static_cast<uint16_t>(channels);
    made.pixels = static_cast<uint16_t>(pixels);
    for (uint32_t i = 0; i < rank - 2; ++i) {
      made.lower[i] = static_cast<int16_t>(lower[i]);
      made.upper[i] = static_cast<int16_t>(upper[i]);
    }
    maya::cuda::store(map, made);
    return CUDA_SUCCESS;
  });
}

CUresult cuTensorMapEncodeIm2colWide(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                     const cuuint64_t* dimensions, const cuuint64_t* strides, int lower_width,
                                     int upper_width, cuuint32_t channels, cuuint32_t pixels,
                                     const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                                     CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle,
                                     CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  return maya::cuda::enter(Needs::kContext, [&](Call& call) {
    // Available from compute capability 10.0 on.
    if (call.driver().profile(call.context().device).compute_major < 10) return CUDA_ERROR_NOT_SUPPORTED;
    const maya::cuda::Tensor tensor{type,       rank,    address,   dimensions, strides, element_strides,
                                    interleave, swizzle, promotion, fill};
    if (!maya::cuda::valid_tensor(map, tensor, 3) || !maya::cuda::valid_corners(3, &lower_width, &upper_width))
      return CUDA_ERROR_INVALID_VALUE;
    if (mode != CU_TENSOR_MAP_IM2COL_WIDE_MODE_W && mode != CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128)
      return CUDA_ERROR_INVALID_VALUE;
    const bool pixels_count = mode == CU_TENSOR_MAP_IM2COL_WIDE_MODE_W;
    if (channels > maya::cuda::kMaximumBox || (pixels_count && pixels > maya::cuda::kMaximumPixelsPerColumn))
      return CUDA_ERROR_INVALID_VALUE;
    if (!maya::cuda::valid_row(tensor, channels)) return CUDA_ERROR_INVALID_VALUE;
    maya::cuda::Descriptor made = maya::cuda::describe(tensor, maya::cuda::kIm2colWide);
    made.mode = static_cast<uint8_t>(mode);
    made.channels = static_cast<uint16_t>(channels);
    made.pixels = static_cast<uint16_t>(pixels_count ? pixels : 0);
    made.lower[0] = static_cast<int16_t>(lower_width);
    made.upper[0] = static_cast<int16_t>(upper_width);
    maya::cuda::store(map, made);
    return CUDA_SUCCESS;
  });
}

CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* address) {
  return maya::cuda::enter(Needs::kContext, [&](Call& call) {
    if (!maya::cuda::supported(call)) return CUDA_ERROR_NOT_SUPPORTED;
    if (map == nullptr || address == nullptr) return CUDA_ERROR_INVALID_VALUE;
    maya::cuda::Descriptor made = maya::cuda::load(map);
    const uint64_t alignment = maya::cuda::address_alignment(static_cast<CUtensorMapInterleave>(made.interleave),
                                                             static_cast<CUtensorMapDataType>(made.type));
    if (reinterpret_cast<uintptr_t>(address) % alignment != 0) return CUDA_ERROR_INVALID_VALUE;
    made.address = reinterpret_cast<uint64_t>(address);
    maya::cuda::store(map, made);
    return CUDA_SUCCESS;
  });
}
