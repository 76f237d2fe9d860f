// Descriptors of recurrent networks and of their data, and the sizes that follow from them.
#include <algorithm>
#include <new>

#include "driver_shim/common/api.h"
#include "driver_shim/cudnn/descriptors.h"
#include "driver_shim/cudnn/handle.h"
#include "driver_shim/cudnn/rnn_weights.h"
#include "driver_shim/cudnn/types.h"

using namespace maya::cudnn;

uint64_t cudnnRNNDataStruct::steps() const {
  uint64_t total = 0;
  for (const int length : lengths) total += length;
  return total;
}

uint64_t cudnnRNNDataStruct::span_bytes() const {
  const bool packed = layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED;
  return storage_bytes(type, (packed ? steps() : static_cast<uint64_t>(max_length) * batch) * vector);
}

MAYA_API cudnnStatus_t cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t* rnn) { return create(rnn); }
MAYA_API cudnnStatus_t cudnnDestroyRNNDescriptor(cudnnRNNDescriptor_t rnn) { return destroy(rnn); }

MAYA_API cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t rnn, cudnnRNNAlgo_t algorithm, cudnnRNNMode_t cell,
                                                cudnnRNNBiasMode_t bias, cudnnDirectionMode_t direction,
                                                cudnnRNNInputMode_t input, cudnnDataType_t type,
                                                cudnnDataType_t math_precision, cudnnMathType_t math_type,
                                                int32_t input_size, int32_t hidden_size, int32_t projection_size,
                                                int32_t layers, cudnnDropoutDescriptor_t dropout, uint32_t flags) {
  if (rnn == nullptr) return null_pointer();
  if (input_size < 0 || hidden_size < 1 || layers < 1 || projection_size < 0 || projection_size > hidden_size ||
      cell < CUDNN_RNN_RELU || cell > CUDNN_GRU)
    return bad_parameter("a size of the recurrent network or its cell mode");
  if (input == CUDNN_SKIP_INPUT && input_size != hidden_size)
    return bad_parameter("skipping the input needs equal input and hidden sizes");
  *rnn = {};
  rnn->algorithm = algorithm, rnn->cell = cell, rnn->bias = bias, rnn->direction = direction, rnn->input = input;
  rnn->type = type, rnn->math_precision = math_precision, rnn->math_type = math_type;
  rnn->input_size = input_size, rnn->hidden_size = hidden_size, rnn->layers = layers;
  rnn->projection_size = projection_size == hidden_size ? 0 : projection_size;
  rnn->dropout = dropout, rnn->flags = flags;
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetRNNDescriptor_v8(cudnnRNNDescriptor_t rnn, cudnnRNNAlgo_t* algorithm,
                                                cudnnRNNMode_t* cell, cudnnRNNBiasMode_t* bias,
                                                cudnnDirectionMode_t* direction, cudnnRNNInputMode_t* input,
                                                cudnnDataType_t* type, cudnnDataType_t* math_precision,
                                                cudnnMathType_t* math_type, int32_t* input_size, int32_t* hidden_size,
                                                int32_t* projection_size, int32_t* layers,
                                                cudnnDropoutDescriptor_t* dropout, uint32_t* flags) {
  if (rnn == nullptr) return null_pointer();
  give(algorithm, rnn->algorithm), give(cell, rnn->cell), give(bias, rnn->bias), give(direction, rnn->direction),
      give(input, rnn->input);
  give(type, rnn->type), give(math_precision, rnn->math_precision), give(math_type, rnn->math_type);
  give(input_size, rnn->input_size), give(hidden_size, rnn->hidden_size), give(layers, rnn->layers);
  give(projection_size, rnn->projection_size == 0 ? rnn->hidden_size : rnn->projection_size);
  if (dropout != nullptr) *dropout = rnn->dropout;
  give(flags, rnn->flags);
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnRNNSetClip_v8(cudnnRNNDescriptor_t rnn, cudnnRNNClipMode_t mode, cudnnNanPropagation_t nan,
                                          double low, double high) {
  if (rnn == nullptr) return null_pointer();
  if (mode == CUDNN_RNN_CLIP_MINMAX && low > high) return bad_parameter("the lower clip limit is above the upper one");
  rnn->clip = mode, rnn->clip_nan = nan, rnn->clip_low = low, rnn->clip_high = high;
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnRNNSetClip_v9(cudnnRNNDescriptor_t rnn, cudnnRNNClipMode_t mode, double low, double high) {
  return cudnnRNNSetClip_v8(rnn, mode, CUDNN_NOT_PROPAGATE_NAN, low, high);
}

MAYA_API cudnnStatus_t cudnnRNNGetClip_v8(cudnnRNNDescriptor_t rnn, cudnnRNNClipMode_t* mode,
                                          cudnnNanPropagation_t* nan, double* low, double* high) {
  if (rnn == nullptr) return null_pointer();
  give(mode, rnn->clip), give(nan, rnn->clip_nan), give(low, rnn->clip_low), give(high, rnn->clip_high);
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnRNNGetClip_v9(cudnnRNNDescriptor_t rnn, cudnnRNNClipMode_t* mode, double* low,
                                          double* high) {
  return cudnnRNNGetClip_v8(rnn, mode, nullptr, low, high);
}

MAYA_API cudnnStatus_t cudnnBuildRNNDynamic(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, int batch) {
  if (!usable(handle) || rnn == nullptr) return null_pointer();
  return batch < 1 ? bad_parameter("batch below 1") : CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t* data) { return create(data); }
MAYA_API cudnnStatus_t cudnnDestroyRNNDataDescriptor(cudnnRNNDataDescriptor_t data) { return destroy(data); }

MAYA_API cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t data, cudnnDataType_t type,
                                                 cudnnRNNDataLayout_t layout, int max_length, int batch, int vector,
                                                 const int lengths[], void* padding_fill) {
  if (data == nullptr || lengths == nullptr) return null_pointer();
  if (max_length < 1 || batch < 1 || vector < 1) return bad_parameter("a size below 1");
  for (int i = 0; i < batch; ++i)
    if (lengths[i] < 0 || lengths[i] > max_length)
      return bad_parameter("a sequence length is negative or above the maximum");
  data->type = type, data->layout = layout, data->max_length = max_length, data->batch = batch, data->vector = vector;
  try {
    data->lengths.assign(lengths, lengths + batch);
  } catch (const std::bad_alloc&) {
    return fail(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no host memory for sequence lengths");
  }
  data->has_padding_fill = padding_fill != nullptr;
  if (padding_fill != nullptr)
    data->padding_fill = type == CUDNN_DATA_DOUBLE ? *static_cast<const double*>(padding_fill)
                                                   : *static_cast<const float*>(padding_fill);
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetRNNDataDescriptor(cudnnRNNDataDescriptor_t data, cudnnDataType_t* type,
                                                 cudnnRNNDataLayout_t* layout, int* max_length, int* batch, int* vector,
                                                 int requested, int lengths[], void* padding_fill) {
  if (data == nullptr) return null_pointer();
  if (requested < 0) return bad_parameter("number of sequence lengths asked for");
  give(type, data->type), give(layout, data->layout), give(max_length, data->max_length);
  give(batch, data->batch), give(vector, data->vector);
  const int count = std::min(requested, static_cast<int>(data->lengths.size()));
  if (lengths != nullptr) std::copy(data->lengths.begin(), data->lengths.begin() + count, lengths);
  if (padding_fill != nullptr && data->has_padding_fill) {
    if (data->type == CUDNN_DATA_DOUBLE)
      give(static_cast<double*>(padding_fill), data->padding_fill);
    else
      give(static_cast<float*>(padding_fill), data->padding_fill);
  }
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, size_t* bytes) {
  if (!usable(handle)) return fail(CUDNN_STATUS_NOT_INITIALIZED, "not a cuDNN handle");
  if (rnn == nullptr || bytes == nullptr) return null_pointer();
  *bytes = storage_bytes(rnn->type, RnnWeights(*rnn).elements());
  return CUDNN_STATUS_SUCCESS;
}

MAYA_API cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, int32_t pseudo_layer,
                                               size_t space_bytes, const void* space, int32_t linear_layer,
                                               cudnnTensorDescriptor_t matrix_desc, void** matrix,
                                               cudnnTensorDescriptor_t bias_desc, void** bias) {
  if (!usable(handle)) return fail(CUDNN_STATUS_NOT_INITIALIZED, "not a cuDNN handle");
  if (rnn == nullptr) return null_pointer();
  const RnnWeights weights(*rnn);
  if (pseudo_layer < 0 || pseudo_layer >= weights.pseudo_layers() || linear_layer < 0 ||
      linear_layer > 2 * weights.gates())
    return bad_parameter("no such layer");
  if (space_bytes < storage_bytes(rnn->type, weights.elements()))
    return fail(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, "weight space too small");
  const auto place = [&](const RnnWeights::Part& part, cudnnTensorDescriptor_t desc, void** address) {
    // With no weight space given, the address is the offset: documented.
    if (address != nullptr)
      *address = part.present() ? static_cast<char*>(const_cast<void*>(space)) + storage_bytes(rnn->type, part.offset)
                                : nullptr;
    if (desc == nullptr) return CUDNN_STATUS_SUCCESS;
    const int dims[] = {1, static_cast<int>(part.rows), static_cast<int>(part.columns)};
    if (part.present()) return cudnnSetTensorNdDescriptorEx(desc, CUDNN_TENSOR_NCHW, rnn->type, 3, dims);
    desc->rank = 0;
    return CUDNN_STATUS_SUCCESS;
  };
  const cudnnStatus_t status = place(weights.matrix(pseudo_layer, linear_layer), matrix_desc, matrix);
  return status != CUDNN_STATUS_SUCCESS ? status : place(weights.bias(pseudo_layer, linear_layer), bias_desc, bias);
}

// The workspace holds the gates of the largest batch of one layer; the reserve keeps, for the backward pass, each
// layer's gates and output at each step. cuDNN does not document its sizes.
MAYA_API cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t handle, cudnnRNNDescriptor_t rnn,
                                                 cudnnForwardMode_t mode, cudnnRNNDataDescriptor_t x,
                                                 size_t* workspace_bytes, size_t* reserve_bytes) {
  if (!usable(handle)) return fail(CUDNN_STATUS_NOT_INITIALIZED, "not a cuDNN handle");
  if (rnn == nullptr || x == nullptr) return null_pointer();
  const RnnWeights weights(*rnn);
  const uint64_t steps = static_cast<uint64_t>(x->max_length) * x->batch;
  const uint64_t gates = steps * weights.gates() * rnn->hidden_size;
  give(workspace_bytes, storage_bytes(rnn->type, gates * weights.directions()));
  const uint64_t kept = (gates + steps * weights.output_size()) * weights.pseudo_layers();
  give(reserve_bytes, mode == CUDNN_FWD_MODE_TRAINING ? storage_bytes(rnn->type, kept) : 0);
  return CUDNN_STATUS_SUCCESS;
}
