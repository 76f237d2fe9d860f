// Descriptors of the older multi-head attention interface and of its sequence data.
#include <algorithm>
#include <new>

#include "driver_shim/common/api.h"
#include "driver_shim/cudnn/descriptors.h"
#include "driver_shim/cudnn/handle.h"

using namespace maya::cudnn;

MAYA_API cudnnStatus_t cudnnCreateSeqDataDescriptor(cudnnSeqDataDescriptor_t* data) { return create(data); }
MAYA_API cudnnStatus_t cudnnDestroySeqDataDescriptor(cudnnSeqDataDescriptor_t data) { return destroy(data); }

MAYA_API cudnnStatus_t cudnnSetSeqDataDescriptor(cudnnSeqDataDescriptor_t data, cudnnDataType_t type, int rank,
                                                 const int dims[], const cudnnSeqDataAxis_t axes[], size_t length_count,
                                                 const int lengths[], void* padding_fill) {
  if (data == nullptr || dims == nullptr || axes == nullptr || (length_count > 0 && lengths == nullptr))
    return null_pointer();
  if (rank != CUDNN_SEQDATA_DIM_COUNT) return bad_parameter("sequence data has CUDNN_SEQDATA_DIM_COUNT dimensions");
  for (int i = 0; i < rank; ++i)
    if (dims[i] < 1 || axes[i] < CUDNN_SEQDATA_TIME_DIM || axes[i] > CUDNN_SEQDATA_VECT_DIM)
      return bad_parameter("a dimension or an axis");
  try {
    data->lengths.assign(lengths, lengths + length_count);
  } catch (const std::bad_alloc&) {
    return fail(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no host memory for sequence lengths");
  }
  data->type = type;
  std::copy(dims, dims + rank, data->dims);
  std::copy(axes, axes + rank, data->axes);
  data->has_padding_fill = padding_fill != nullptr;
  if (padding_fill != nullptr)
    data->padding_fill = type == CUDNN_DATA_DOUBLE ? *static_cast<const double*>(padding_fill)
                                                   : *static_cast<const float*>(padding_fill);
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetSeqDataDescriptor(const cudnnSeqDataDescriptor_t data, cudnnDataType_t* type, int* rank,
                                                 int requested, int dims[], cudnnSeqDataAxis_t axes[],
                                                 size_t* length_count, size_t lengths_requested, int lengths[],
                                                 void* padding_fill) {
  if (data == nullptr) return null_pointer();
  if (requested < 0) return bad_parameter("number of dimensions asked for");
  const int count = std::min(requested, CUDNN_SEQDATA_DIM_COUNT);
  give(type, data->type), give(rank, CUDNN_SEQDATA_DIM_COUNT), give(length_count, data->lengths.size());
  if (dims != nullptr) std::copy(data->dims, data->dims + count, dims);
  if (axes != nullptr) std::copy(data->axes, data->axes + count, axes);
  if (lengths != nullptr)
    std::copy(data->lengths.begin(), data->lengths.begin() + std::min(lengths_requested, data->lengths.size()),
              lengths);
  if (padding_fill != nullptr && data->has_padding_fill) {
    if (data->type == CUDNN_DATA_DOUBLE)
      give(static_cast<double*>(padding_fill), data->padding_fill);
    else
      give(static_cast<float*>(padding_fill), data->padding_fill);
  }
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnCreateAttnDescriptor(cudnnAttnDescriptor_t* attention) { return create(attention); }
MAYA_API cudnnStatus_t cudnnDestroyAttnDescriptor(cudnnAttnDescriptor_t attention) { return destroy(attention); }

MAYA_API cudnnStatus_t cudnnSetAttnDescriptor(cudnnAttnDescriptor_t attention, unsigned mode, int heads,
                                              double softmax_scale, cudnnDataType_t type,
                                              cudnnDataType_t compute_precision, cudnnMathType_t math_type,
                                              cudnnDropoutDescriptor_t attention_dropout,
                                              cudnnDropoutDescriptor_t post_dropout, int q_size, int k_size, int v_size,
                                              int q_projection, int k_projection, int v_projection, int o_projection,
                                              int q_max_length, int kv_max_length, int max_batch, int max_beam) {
  if (attention == nullptr) return null_pointer();
  if (heads < 1 || q_size < 1 || k_size < 1 || v_size < 1 || q_projection < 0 || k_projection < 0 || v_projection < 0 ||
      o_projection < 0 || q_max_length < 1 || kv_max_length < 1 || max_batch < 1 || max_beam < 1)
    return bad_parameter("a size of the attention is below its least value");
  constexpr int kMostSize = 1 << 20;  // sizes multiply: beyond it nothing fits into any device
  if (std::max({heads, q_size, k_size, v_size, q_projection, k_projection, v_projection, o_projection}) > kMostSize)
    return fail(CUDNN_STATUS_NOT_SUPPORTED, "a size of the attention is larger than any device");
  if (q_projection != k_projection) return bad_parameter("projected query and key sizes differ");
  *attention = {
      mode,         heads,        softmax_scale, type,      compute_precision, math_type,    attention_dropout,
      post_dropout, q_size,       k_size,        v_size,    q_projection,      k_projection, v_projection,
      o_projection, q_max_length, kv_max_length, max_batch, max_beam};
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetAttnDescriptor(
    cudnnAttnDescriptor_t attention, unsigned* mode, int* heads, double* softmax_scale, cudnnDataType_t* type,
    cudnnDataType_t* compute_precision, cudnnMathType_t* math_type, cudnnDropoutDescriptor_t* attention_dropout,
    cudnnDropoutDescriptor_t* post_dropout, int* q_size, int* k_size, int* v_size, int* q_projection, int* k_projection,
    int* v_projection, int* o_projection, int* q_max_length, int* kv_max_length, int* max_batch, int* max_beam) {
  if (attention == nullptr) return null_pointer();
  give(mode, attention->mode), give(heads, attention->heads), give(softmax_scale, attention->softmax_scale);
  give(type, attention->type), give(compute_precision, attention->compute_precision),
      give(math_type, attention->math_type);
  if (attention_dropout != nullptr) *attention_dropout = attention->attention_dropout;
  if (post_dropout != nullptr) *post_dropout = attention->post_dropout;
  give(q_size, attention->q_size), give(k_size, attention->k_size), give(v_size, attention->v_size);
  give(q_projection, attention->q_projection), give(k_projection, attention->k_projection);
  give(v_projection, attention->v_projection), give(o_projection, attention->o_projection);
  give(q_max_length, attention->q_max_length), give(kv_max_length, attention->kv_max_length);
  give(max_batch, attention->max_batch), give(max_beam, attention->max_beam);
  return CUDNN_STATUS_SUCCESS;
}
