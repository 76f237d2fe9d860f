// Sizes and places of the weights of the older multi-head attention in its one weight space: the four projection
// matrices, then the four biases. cuDNN does not document the order; programs ask for each address.
#pragma once

#include <cudnn.h>

#include <cstdint>

#include "driver_shim/cudnn/descriptors.h"

namespace maya::cudnn {

class AttentionWeights {
 public:
  explicit AttentionWeights(const cudnnAttnStruct& attention) : attention_(attention) {}

  struct Part {
    int64_t offset = 0;  // elements from the start of the space
    int rows = 0, columns = 0;
    bool present() const { return rows > 0 && columns > 0; }
  };
  Part part(cudnnMultiHeadAttnWeightKind_t kind) const;
  int64_t elements() const;

  // Per head, after the projection; without one, the size of the input.
  int key_size() const { return projected(attention_.k_projection, attention_.k_size); }
  int value_size() const { return projected(attention_.v_projection, attention_.v_size); }
  int64_t query_elements() const { return size_of(CUDNN_MH_ATTN_Q_WEIGHTS); }
  int64_t key_elements() const { return size_of(CUDNN_MH_ATTN_K_WEIGHTS); }
  int64_t value_elements() const { return size_of(CUDNN_MH_ATTN_V_WEIGHTS); }
  int64_t output_elements() const { return size_of(CUDNN_MH_ATTN_O_WEIGHTS); }

 private:
  static int projected(int projection, int size) { return projection > 0 ? projection : size; }
  Part shape(cudnnMultiHeadAttnWeightKind_t kind) const;
  int64_t size_of(cudnnMultiHeadAttnWeightKind_t kind) const;

  const cudnnAttnStruct& attention_;
};

}  // namespace maya::cudnn
