// Where the metadata that PyTorch's multi-tensor kernels take as their first parameter holds what (public header
// ATen/native/cuda/MultiTensorApply.cuh):
//
//   TensorListMetadata<n>                void* addresses[n][T]; i64 elements[T]; u16 block_to_tensor[B];
//                                        i32 block_to_chunk[B]; i32 start
//   FusedOptimizerTensorListMetadata<n>  the same with void* state_steps[S] behind elements
//   TensorListScalarListMetadata<V, n>   the same as the first with V scalars[S] behind elements and S for T, without
//                                        start
//
// T and S, the numbers of tensors that fit, follow from n; B is 2,240. Wheels built with CUDA 12 pass at most 4 KiB:
// their blocks are 320, and u8 block_to_tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "virtual_device/kernel.h"

namespace maya::device {

inline constexpr uint32_t kMaximumTensorLists = 5;

struct TensorListLayout {
  bool cuda_12 = false;
  uint32_t lists = 0;
  uint32_t tensors = 0, blocks = 0;  // that fit
  // Offsets in the parameter.
  uint32_t elements = 0;
  uint32_t scalars = 0;  // 0: none
  uint32_t block_to_tensor = 0, block_index_bytes = 0;
  uint32_t block_to_chunk = 0;
  uint32_t start = 0;  // 0: none

  // Of a block of the launch.
  uint32_t tensor_of(const Launch& launch, uint32_t block) const;
  int32_t chunk_of(const Launch& launch, uint32_t block) const;
  // Of a tensor of the launch.
  uint64_t address_of(const Launch& launch, uint32_t list, uint32_t tensor) const;
  int64_t elements_of(const Launch& launch, uint32_t tensor) const;
  // Number of the launch's first tensor in the whole list.
  int32_t start_of(const Launch& launch) const;
};

// Of metadata of this type and so many bytes; nothing when it is another one.
std::optional<TensorListLayout> tensor_list_layout(std::string_view type, uint32_t bytes);

}  // namespace maya::device
