#include "driver_shim/cudnn/rnn_weights.h"

namespace maya::cudnn {

int RnnWeights::gates() const { return rnn_.cell == CUDNN_LSTM ? 4 : rnn_.cell == CUDNN_GRU ? 3 : 1; }

int RnnWeights::linear_layers() const { return 2 * gates() + (rnn_.projection_size > 0 ? 1 : 0); }

RnnWeights::Part RnnWeights::matrix_shape(int pseudo_layer, int linear_layer) const {
  Part part;
  const bool first_layer = pseudo_layer < directions();
  if (linear_layer < gates()) {
    if (first_layer && rnn_.input == CUDNN_SKIP_INPUT) return part;
    part.rows = rnn_.hidden_size;
    part.columns = first_layer ? rnn_.input_size : output_size() * directions();
  } else if (linear_layer < 2 * gates()) {
    part.rows = rnn_.hidden_size, part.columns = output_size();
  } else if (linear_layer < linear_layers()) {
    part.rows = rnn_.projection_size, part.columns = rnn_.hidden_size;
  }
  return part;
}

bool RnnWeights::has_bias(int linear_layer) const {
  if (linear_layer >= 2 * gates()) return false;
  switch (rnn_.bias) {
    case CUDNN_RNN_NO_BIAS:
      return false;
    case CUDNN_RNN_SINGLE_INP_BIAS:
      return linear_layer < gates();
    case CUDNN_RNN_SINGLE_REC_BIAS:
      return linear_layer >= gates();
    case CUDNN_RNN_DOUBLE_BIAS:
      return true;
  }
  return false;
}

RnnWeights::Part RnnWeights::matrix(int pseudo_layer, int linear_layer) const {
  Part wanted = matrix_shape(pseudo_layer, linear_layer);
  for (int p = 0; p <= pseudo_layer; ++p) {
    for (int l = 0; l < (p == pseudo_layer ? linear_layer : linear_layers()); ++l) {
      const Part part = matrix_shape(p, l);
      wanted.offset += part.rows * part.columns;
    }
  }
  return wanted;
}

int64_t RnnWeights::matrix_elements() const {
  int64_t total = 0;
  for (int p = 0; p < pseudo_layers(); ++p) {
    for (int l = 0; l < linear_layers(); ++l) {
      const Part part = matrix_shape(p, l);
      total += part.rows * part.columns;
    }
  }
  return total;
}

RnnWeights::Part RnnWeights::bias(int pseudo_layer, int linear_layer) const {
  Part wanted;
  if (!has_bias(linear_layer)) return wanted;
  wanted.rows = rnn_.hidden_size, wanted.columns = 1;
  int before = 0, each = 0;
  for (int l = 0; l < linear_layers(); ++l) {
    each += has_bias(l) ? 1 : 0;
    before += l < linear_layer && has_bias(l) ? 1 : 0;
  }
  wanted.offset = matrix_elements() + (static_cast<int64_t>(pseudo_layer) * each + before) * rnn_.hidden_size;
  return wanted;
}

int64_t RnnWeights::elements() const {
  int each = 0;
  for (int l = 0; l < linear_layers(); ++l) each += has_bias(l) ? 1 : 0;
  return matrix_elements() + static_cast<int64_t>(pseudo_layers()) * each * rnn_.hidden_size;
}

int64_t RnnWeights::flops_per_step() const { return 2 * matrix_elements(); }

}  // namespace maya::cudnn
