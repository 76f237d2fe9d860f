// Sizes and places of the weights of a recurrent network in its one weight space: all matrices first, layer by layer,
// then all biases. cuDNN does not document the order; programs ask for each address (cudnnGetRNNWeightParams).
#pragma once

#include <cstdint>

#include "driver_shim/cudnn/descriptors.h"

namespace maya::cudnn {

class RnnWeights {
 public:
  explicit RnnWeights(const cudnnRNNStruct& rnn) : rnn_(rnn) {}

  struct Part {
    int64_t offset = 0;             // elements from the start of the space
    int64_t rows = 0, columns = 0;  // zero: this cell has no such part
    bool present() const { return rows > 0; }
  };

  int pseudo_layers() const { return rnn_.layers * directions(); }
  int gates() const;          // 1, 4 (LSTM) or 3 (GRU)
  int linear_layers() const;  // matrices of one pseudo layer: two a gate, and the projection
  Part matrix(int pseudo_layer, int linear_layer) const;
  Part bias(int pseudo_layer, int linear_layer) const;
  int64_t elements() const;
  // Multiplications and additions of one time step of one sequence, all layers.
  int64_t flops_per_step() const;
  int64_t output_size() const { return rnn_.projection_size > 0 ? rnn_.projection_size : rnn_.hidden_size; }
  int directions() const { return rnn_.direction == CUDNN_BIDIRECTIONAL ? 2 : 1; }

 private:
  Part matrix_shape(int pseudo_layer, int linear_layer) const;
  bool has_bias(int linear_layer) const;
  int64_t matrix_elements() const;

  const cudnnRNNStruct& rnn_;
};

}  // namespace maya::cudnn
