#include "driver_shim/cudnn/attention_weights.h"

namespace maya::cudnn {

AttentionWeights::Part AttentionWeights::shape(cudnnMultiHeadAttnWeightKind_t kind) const {
  const bool biases = (attention_.mode & CUDNN_ATTN_ENABLE_PROJ_BIASES) != 0;
  const auto matrix = [](int rows, int columns) { return rows > 0 ? Part{0, rows, columns} : Part{}; };
  const auto bias = [&](int rows) { return biases && rows > 0 ? Part{0, rows, 1} : Part{}; };
  switch (kind) {
    case CUDNN_MH_ATTN_Q_WEIGHTS:
      return matrix(attention_.q_projection, attention_.q_size);
    case CUDNN_MH_ATTN_K_WEIGHTS:
      return matrix(attention_.k_projection, attention_.k_size);
    case CUDNN_MH_ATTN_V_WEIGHTS:
      return matrix(attention_.v_projection, attention_.v_size);
    case CUDNN_MH_ATTN_O_WEIGHTS:
      return matrix(attention_.o_projection, value_size());
    case CUDNN_MH_ATTN_Q_BIASES:
      return bias(attention_.q_projection);
    case CUDNN_MH_ATTN_K_BIASES:
      return bias(attention_.k_projection);
    case CUDNN_MH_ATTN_V_BIASES:
      return bias(attention_.v_projection);
    case CUDNN_MH_ATTN_O_BIASES:
      return bias(attention_.o_projection);
  }
  return {};
}

int64_t AttentionWeights::size_of(cudnnMultiHeadAttnWeightKind_t kind) const {
  const Part part = shape(kind);
  return static_cast<int64_t>(part.rows) * part.columns * attention_.heads;
}

AttentionWeights::Part AttentionWeights::part(cudnnMultiHeadAttnWeightKind_t kind) const {
  Part wanted = shape(kind);
  for (int before = CUDNN_MH_ATTN_Q_WEIGHTS; before < kind; ++before)
    wanted.offset += size_of(static_cast<cudnnMultiHeadAttnWeightKind_t>(before));
  return wanted;
}

int64_t AttentionWeights::elements() const {
  int64_t total = 0;
  for (int kind = CUDNN_MH_ATTN_Q_WEIGHTS; kind < CUDNN_ATTN_WKIND_COUNT; ++kind)
    total += size_of(static_cast<cudnnMultiHeadAttnWeightKind_t>(kind));
  return total;
}

}  // namespace maya::cudnn
