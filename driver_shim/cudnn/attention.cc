// The older multi-head attention: projections, attention and output projection in one call. Recorded as one operation
// of attention whose operation count includes the projections.
#include <algorithm>

#include "driver_shim/common/api.h"
#include "driver_shim/cudnn/attention_weights.h"
#include "driver_shim/cudnn/recorded.h"

namespace maya::cudnn {
namespace {

int length(const cudnnSeqDataStruct& data) { return data.dims[CUDNN_SEQDATA_TIME_DIM]; }

uint64_t bytes_of(const cudnnSeqDataStruct& data) {
  double elements = 1;
  for (const int size : data.dims) elements *= std::max(size, 0);
  return storage_bytes(data.type, static_cast<uint64_t>(elements));
}

cudnnStatus_t check(cudnnHandle_t handle, const cudnnAttnStruct* attention,
                    std::initializer_list<const cudnnSeqDataStruct*> descriptors,
                    std::initializer_list<const void*> addresses) {
  if (!usable(handle)) return fail(CUDNN_STATUS_NOT_INITIALIZED, "not a cuDNN handle");
  if (attention == nullptr) return null_pointer();
  for (const cudnnSeqDataStruct* descriptor : descriptors) {
    if (descriptor == nullptr) return null_pointer();
    constexpr double kMostElements = 1ull << 52;
    double elements = 1;
    for (const int size : descriptor->dims) elements *= size;
    if (elements < 1 || elements > kMostElements)
      return bad_parameter("sequence data is empty or larger than any device");
  }
  return std::find(addresses.begin(), addresses.end(), nullptr) != addresses.end() ? null_pointer()
                                                                                   : CUDNN_STATUS_SUCCESS;
}

// Projections are two operations a weight and token; attention two products of queries x keys a head.
OperationRecord record_of(const char* api, const cudnnAttnStruct& attention, const cudnnSeqDataStruct& queries,
                          const cudnnSeqDataStruct& keys, int64_t direction) {
  const AttentionWeights weights(attention);
  const int64_t batch = std::max(queries.dims[CUDNN_SEQDATA_BATCH_DIM], 1) *
                        static_cast<int64_t>(std::max(queries.dims[CUDNN_SEQDATA_BEAM_DIM], 1));
  const double tokens_q = static_cast<double>(batch) * length(queries),
               tokens_kv = static_cast<double>(batch) * length(keys);
  const double pairs = tokens_q * length(keys);
  const double projections =
      2.0 * (tokens_q * static_cast<double>(weights.query_elements() + weights.output_elements()) +
             tokens_kv * static_cast<double>(weights.key_elements() + weights.value_elements()));
  const double products = 2.0 * pairs * attention.heads * (weights.key_size() + weights.value_size());
  // Backward for data forms each product's two gradients, but of the projections only that of their input.
  const double flops = direction == 0 ? projections + products : projections + 2.5 * products;
  OperationRecord record(Family::kAttention, api);
  return record.set(Key::kBatch, batch)
      .set(Key::kHeads, attention.heads)
      .set(Key::kKvHeads, attention.heads)
      .set(Key::kSeqQ, length(queries))
      .set(Key::kSeqKv, length(keys))
      .set(Key::kHeadDim, weights.key_size())
      .set(Key::kDirection, direction)
      .set(Key::kDataType, static_cast<int64_t>(data_type(attention.type)))
      .set(Key::kFlops, static_cast<int64_t>(flops));
}

cudnnStatus_t hand_over(cudnnHandle_t handle, OperationRecord record, uint64_t read, uint64_t written,
                        const shim::WriteList& writes) {
  record.set(Key::kReadBytes, static_cast<int64_t>(read)).set(Key::kWrittenBytes, static_cast<int64_t>(written));
  return status_of(shim::record(handle->cu_stream(), record, writes));
}

}  // namespace
}  // namespace maya::cudnn

using namespace maya;
using namespace maya::cudnn;

// Scratch for projected queries, keys, values and scores; in training the reserve keeps them. Sizes are not documented.
MAYA_API cudnnStatus_t cudnnGetMultiHeadAttnBuffers(cudnnHandle_t handle, const cudnnAttnDescriptor_t attention,
                                                    size_t* weight_bytes, size_t* workspace_bytes,
                                                    size_t* reserve_bytes) {
  if (!usable(handle)) return fail(CUDNN_STATUS_NOT_INITIALIZED, "not a cuDNN handle");
  if (attention == nullptr || weight_bytes == nullptr || workspace_bytes == nullptr) return null_pointer();
  const AttentionWeights weights(*attention);
  const double sequences = static_cast<double>(attention->max_batch) * attention->max_beam;
  const double heads = attention->heads;
  const double projected =
      sequences * heads *
      (static_cast<double>(attention->q_max_length) * (weights.key_size() + weights.value_size()) +
       static_cast<double>(attention->kv_max_length) * (weights.key_size() + weights.value_size()));
  const double scores = sequences * heads * attention->q_max_length * attention->kv_max_length;
  constexpr double kMostElements = 1ull << 52;
  if (projected + scores > kMostElements) return fail(CUDNN_STATUS_NOT_SUPPORTED, "larger than any device");
  *weight_bytes = storage_bytes(attention->type, static_cast<uint64_t>(weights.elements()));
  *workspace_bytes = storage_bytes(attention->type, static_cast<uint64_t>(projected + scores));
  give(reserve_bytes, storage_bytes(attention->type, static_cast<uint64_t>(projected + scores)));
  return CUDNN_STATUS_SUCCESS;
}

// "A weight is a tensor of heads x projected size x input size; a bias of heads x projected size x 1. What is not there
// has a null address and a descriptor of empty dimensions."
MAYA_API cudnnStatus_t cudnnGetMultiHeadAttnWeights(cudnnHandle_t handle, const cudnnAttnDescriptor_t attention,
                                                    cudnnMultiHeadAttnWeightKind_t kind, size_t weight_bytes,
                                                    const void* weights, cudnnTensorDescriptor_t descriptor,
                                                    void** address) {
  if (!usable(handle)) return fail(CUDNN_STATUS_NOT_INITIALIZED, "not a cuDNN handle");
  if (attention == nullptr || descriptor == nullptr || address == nullptr) return null_pointer();
  if (kind < CUDNN_MH_ATTN_Q_WEIGHTS || kind > CUDNN_MH_ATTN_O_BIASES) return bad_parameter("no such weight");
  const AttentionWeights space(*attention);
  if (weight_bytes < storage_bytes(attention->type, static_cast<uint64_t>(space.elements())))
    return fail(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, "weight space too small");
  const AttentionWeights::Part part = space.part(kind);
  if (!part.present()) {
    *address = nullptr;
    descriptor->rank = 0;
    return CUDNN_STATUS_SUCCESS;
  }
  *address = static_cast<char*>(const_cast<void*>(weights)) +
             storage_bytes(attention->type, static_cast<uint64_t>(part.offset));
  const int dims[] = {attention->heads, part.rows, part.columns};
  return cudnnSetTensorNdDescriptorEx(descriptor, CUDNN_TENSOR_NCHW, attention->type, 3, dims);
}

// currIdx < 0 processes all time steps at once; from 0 on, one time step of an inference.
MAYA_API cudnnStatus_t cudnnMultiHeadAttnForward(
    cudnnHandle_t handle, const cudnnAttnDescriptor_t attention, int, const int low_window[], const int high_window[],
    const int query_lengths[], const int key_lengths[], const cudnnSeqDataDescriptor_t q_desc, const void* queries,
    const void*, const cudnnSeqDataDescriptor_t k_desc, const void* keys, const cudnnSeqDataDescriptor_t v_desc,
    const void* values, const cudnnSeqDataDescriptor_t o_desc, void* out, size_t weight_bytes, const void* weights,
    size_t workspace_bytes, void* workspace, size_t reserve_bytes, void* reserve) {
  if (const cudnnStatus_t status =
          check(handle, attention, {q_desc, k_desc, v_desc, o_desc},
                {low_window, high_window, query_lengths, key_lengths, queries, keys, values, out});
      status != CUDNN_STATUS_SUCCESS)
    return status;
  if (weight_bytes > 0 && weights == nullptr) return null_pointer();
  shim::WriteList writes;
  writes.add(out, bytes_of(*o_desc));
  writes.add(workspace, workspace_bytes);
  writes.add(reserve, reserve_bytes);
  return hand_over(handle, record_of("cudnnMultiHeadAttnForward", *attention, *q_desc, *k_desc, 0),
                   bytes_of(*q_desc) + bytes_of(*k_desc) + bytes_of(*v_desc) + weight_bytes,
                   bytes_of(*o_desc) + (reserve == nullptr ? 0 : reserve_bytes), writes);
}

MAYA_API cudnnStatus_t cudnnMultiHeadAttnBackwardData(
    cudnnHandle_t handle, const cudnnAttnDescriptor_t attention, const int low_window[], const int high_window[],
    const int query_lengths[], const int key_lengths[], const cudnnSeqDataDescriptor_t o_desc, const void* out_gradient,
    const cudnnSeqDataDescriptor_t q_desc, void* query_gradient, const void* queries,
    const cudnnSeqDataDescriptor_t k_desc, void* key_gradient, const void* keys, const cudnnSeqDataDescriptor_t v_desc,
    void* value_gradient, const void* values, size_t weight_bytes, const void* weights, size_t workspace_bytes,
    void* workspace, size_t reserve_bytes, void* reserve) {
  if (const cudnnStatus_t status =
          check(handle, attention, {q_desc, k_desc, v_desc, o_desc},
                {low_window, high_window, query_lengths, key_lengths, out_gradient, query_gradient, queries,
                 key_gradient, keys, value_gradient, values, reserve});
      status != CUDNN_STATUS_SUCCESS)
    return status;
  if (weight_bytes > 0 && weights == nullptr) return null_pointer();
  const uint64_t inputs = bytes_of(*q_desc) + bytes_of(*k_desc) + bytes_of(*v_desc);
  shim::WriteList writes;
  writes.add(query_gradient, bytes_of(*q_desc));
  writes.add(key_gradient, bytes_of(*k_desc));
  writes.add(value_gradient, bytes_of(*v_desc));
  writes.add(workspace, workspace_bytes);
  writes.add(reserve, reserve_bytes);
  return hand_over(handle, record_of("cudnnMultiHeadAttnBackwardData", *attention, *q_desc, *k_desc, 1),
                   inputs + bytes_of(*o_desc) + weight_bytes + reserve_bytes, inputs, writes);
}

MAYA_API cudnnStatus_t cudnnMultiHeadAttnBackwardWeights(
    cudnnHandle_t handle, const cudnnAttnDescriptor_t attention, cudnnWgradMode_t mode,
    const cudnnSeqDataDescriptor_t q_desc, const void* queries, const cudnnSeqDataDescriptor_t k_desc, const void* keys,
    const cudnnSeqDataDescriptor_t v_desc, const void* values, const cudnnSeqDataDescriptor_t o_desc,
    const void* out_gradient, size_t weight_bytes, const void* weights, void* weight_gradient, size_t workspace_bytes,
    void* workspace, size_t reserve_bytes, void* reserve) {
  if (const cudnnStatus_t status = check(handle, attention, {q_desc, k_desc, v_desc, o_desc},
                                         {queries, keys, values, out_gradient, weight_gradient, reserve});
      status != CUDNN_STATUS_SUCCESS)
    return status;
  if (mode != CUDNN_WGRAD_MODE_ADD && mode != CUDNN_WGRAD_MODE_SET) return bad_parameter("no such mode");
  if (weight_bytes > 0 && weights == nullptr) return null_pointer();
  const AttentionWeights space(*attention);
  const double tokens = static_cast<double>(length(*q_desc)) * std::max(q_desc->dims[CUDNN_SEQDATA_BATCH_DIM], 1);
  // Products of activations and gradients of all projections: rows are weights' rows, summed over tokens.
  OperationRecord record(Family::kGemm, "cudnnMultiHeadAttnBackwardWeights");
  const int64_t width = static_cast<int64_t>(attention->heads) * space.key_size();
  record.set(Key::kM, width)
      .set(Key::kN, std::max<int64_t>(space.elements() / std::max<int64_t>(width, 1), 1))
      .set(Key::kK, static_cast<int64_t>(tokens))
      .set(Key::kTypeA, static_cast<int64_t>(data_type(attention->type)));
  shim::WriteList writes;
  writes.add(weight_gradient, weight_bytes);
  writes.add(workspace, workspace_bytes);
  const uint64_t inputs = bytes_of(*q_desc) + bytes_of(*k_desc) + bytes_of(*v_desc) + bytes_of(*o_desc);
  return hand_over(handle, record, inputs + reserve_bytes + (mode == CUDNN_WGRAD_MODE_ADD ? weight_bytes : 0),
                   weight_bytes, writes);
}
