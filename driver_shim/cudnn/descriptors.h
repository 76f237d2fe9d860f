// What stands behind the descriptors of cuDNN's operation API. Plain values on the heap, so one made through
// libcudnn_ops is good in libcudnn.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <vector>

struct cudnnTensorStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int rank = 0;
  int dims[CUDNN_DIM_MAX] = {};
  int strides[CUDNN_DIM_MAX] = {};

  int64_t elements() const;
  // From the first to the last element, elements.
  int64_t span() const;
  uint64_t bytes() const;       // payload
  uint64_t span_bytes() const;  // of the memory that it lies in
};

struct cudnnFilterStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  int rank = 0;
  int dims[CUDNN_DIM_MAX] = {};  // output maps, input maps per group, then the window; whatever the format

  int64_t elements() const;
  uint64_t bytes() const;
};

struct cudnnTensorTransformStruct {
  uint32_t rank = 0;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  int32_t pad_before[CUDNN_DIM_MAX] = {};
  int32_t pad_after[CUDNN_DIM_MAX] = {};
  uint32_t fold[CUDNN_DIM_MAX] = {};
  cudnnFoldingDirection_t direction = CUDNN_TRANSFORM_FOLD;
};

struct cudnnConvolutionStruct {
  int rank = 0;  // spatial dimensions
  int pads[CUDNN_DIM_MAX] = {};
  int strides[CUDNN_DIM_MAX] = {};
  int dilations[CUDNN_DIM_MAX] = {};
  cudnnConvolutionMode_t mode = CUDNN_CONVOLUTION;
  cudnnDataType_t compute_type = CUDNN_DATA_FLOAT;
  cudnnMathType_t math_type = CUDNN_DEFAULT_MATH;
  cudnnReorderType_t reorder = CUDNN_DEFAULT_REORDER;
  int groups = 1;
};

struct cudnnPoolingStruct {
  cudnnPoolingMode_t mode = CUDNN_POOLING_MAX;
  cudnnNanPropagation_t nan = CUDNN_NOT_PROPAGATE_NAN;
  int rank = 0;  // spatial dimensions
  int window[CUDNN_DIM_MAX] = {};
  int pads[CUDNN_DIM_MAX] = {};
  int strides[CUDNN_DIM_MAX] = {};
};

struct cudnnActivationStruct {
  cudnnActivationMode_t mode = CUDNN_ACTIVATION_IDENTITY;
  cudnnNanPropagation_t nan = CUDNN_NOT_PROPAGATE_NAN;
  double coefficient = 0;
  double swish_beta = 1;
};

struct cudnnLRNStruct {
  unsigned n = 5;
  double alpha = 1e-4, beta = 0.75, k = 2;  // the documented defaults
};

struct cudnnOpTensorStruct {
  cudnnOpTensorOp_t operation = CUDNN_OP_TENSOR_ADD;
  cudnnDataType_t compute_type = CUDNN_DATA_FLOAT;
  cudnnNanPropagation_t nan = CUDNN_NOT_PROPAGATE_NAN;
};

struct cudnnReduceTensorStruct {
  cudnnReduceTensorOp_t operation = CUDNN_REDUCE_TENSOR_ADD;
  cudnnDataType_t compute_type = CUDNN_DATA_FLOAT;
  cudnnNanPropagation_t nan = CUDNN_NOT_PROPAGATE_NAN;
  cudnnReduceTensorIndices_t indices = CUDNN_REDUCE_TENSOR_NO_INDICES;
  cudnnIndicesType_t indices_type = CUDNN_32BIT_INDICES;
};

struct cudnnDropoutStruct {
  float dropout = 0;
  void* states = nullptr;
  size_t state_bytes = 0;
  unsigned long long seed = 0;
};

struct cudnnSpatialTransformerStruct {
  cudnnSamplerType_t sampler = CUDNN_SAMPLER_BILINEAR;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int rank = 0;
  int dims[CUDNN_DIM_MAX] = {};
};

struct cudnnCTCLossStruct {
  cudnnDataType_t compute_type = CUDNN_DATA_FLOAT;
  cudnnLossNormalizationMode_t normalization = CUDNN_LOSS_NORMALIZATION_NONE;
  cudnnNanPropagation_t nan = CUDNN_NOT_PROPAGATE_NAN;
  cudnnCTCGradMode_t gradient = CUDNN_CTC_ZERO_OOB_GRADIENTS;
  int max_label_length = 0;
};

struct cudnnRNNStruct {
  cudnnRNNAlgo_t algorithm = CUDNN_RNN_ALGO_STANDARD;
  cudnnRNNMode_t cell = CUDNN_RNN_RELU;
  cudnnRNNBiasMode_t bias = CUDNN_RNN_DOUBLE_BIAS;
  cudnnDirectionMode_t direction = CUDNN_UNIDIRECTIONAL;
  cudnnRNNInputMode_t input = CUDNN_LINEAR_INPUT;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnDataType_t math_precision = CUDNN_DATA_FLOAT;
  cudnnMathType_t math_type = CUDNN_DEFAULT_MATH;
  int32_t input_size = 0, hidden_size = 0, projection_size = 0, layers = 0;
  cudnnDropoutDescriptor_t dropout = nullptr;
  uint32_t flags = 0;
  cudnnRNNClipMode_t clip = CUDNN_RNN_CLIP_NONE;
  cudnnNanPropagation_t clip_nan = CUDNN_NOT_PROPAGATE_NAN;
  double clip_low = 0, clip_high = 0;
};

struct cudnnRNNDataStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnRNNDataLayout_t layout = CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED;
  int max_length = 0, batch = 0, vector = 0;
  std::vector<int> lengths;
  double padding_fill = 0;
  bool has_padding_fill = false;

  uint64_t steps() const;       // time steps over all sequences
  uint64_t span_bytes() const;  // of the tensor in memory
};

struct cudnnSeqDataStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int dims[CUDNN_SEQDATA_DIM_COUNT] = {};
  cudnnSeqDataAxis_t axes[CUDNN_SEQDATA_DIM_COUNT] = {};
  std::vector<int> lengths;
  double padding_fill = 0;
  bool has_padding_fill = false;
};

struct cudnnAttnStruct {
  unsigned mode = 0;
  int heads = 0;
  double softmax_scale = 1;
  cudnnDataType_t type = CUDNN_DATA_FLOAT, compute_precision = CUDNN_DATA_FLOAT;
  cudnnMathType_t math_type = CUDNN_DEFAULT_MATH;
  cudnnDropoutDescriptor_t attention_dropout = nullptr, post_dropout = nullptr;
  int q_size = 0, k_size = 0, v_size = 0;
  int q_projection = 0, k_projection = 0, v_projection = 0, o_projection = 0;
  int q_max_length = 0, kv_max_length = 0, max_batch = 0, max_beam = 0;
};
