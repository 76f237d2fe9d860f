#include "test/cudnn/handle_fixture.h"

using namespace maya::test;

TEST_CASE_METHOD(CudnnFixture, "Tensor descriptors: formats, strides, sizes") {
  cudnnDataType_t type;
  int n, c, h, w, ns, cs, hs, ws;
  REQUIRE(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_HALF, 2, 3, 5, 7) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnGetTensor4dDescriptor(tensor, &type, &n, &c, &h, &w, &ns, &cs, &hs, &ws) == CUDNN_STATUS_SUCCESS);
  CHECK(type == CUDNN_DATA_HALF);
  CHECK((n == 2 && c == 3 && h == 5 && w == 7));
  CHECK((ns == 105 && cs == 35 && hs == 7 && ws == 1));
  size_t bytes = 0;
  CHECK(cudnnGetTensorSizeInBytes(tensor, &bytes) == CUDNN_STATUS_SUCCESS);
  CHECK(bytes == 420);
  REQUIRE(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, 2, 3, 5, 7) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnGetTensor4dDescriptor(tensor, &type, &n, &c, &h, &w, &ns, &cs, &hs, &ws) == CUDNN_STATUS_SUCCESS);
  CHECK((ns == 105 && cs == 1 && hs == 21 && ws == 3));
  // Rows 10 apart: the last element is at 1 * 10 + 3.
  const int dims[] = {2, 4}, strides[] = {10, 1};
  REQUIRE(cudnnSetTensorNdDescriptor(tensor, CUDNN_DATA_FLOAT, 2, dims, strides) == CUDNN_STATUS_SUCCESS);
  CHECK(cudnnGetTensorSizeInBytes(tensor, &bytes) == CUDNN_STATUS_SUCCESS);
  CHECK(bytes == 56);
  int rank = 0, read_dims[8] = {};
  CHECK(cudnnGetTensorNdDescriptor(tensor, 8, &type, &rank, read_dims, nullptr) == CUDNN_STATUS_SUCCESS);
  CHECK(rank == 2);
  CHECK(read_dims[1] == 4);

  CHECK(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 0, 3, 5, 7) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnSetTensorNdDescriptor(tensor, CUDNN_DATA_FLOAT, 9, dims, strides) == CUDNN_STATUS_NOT_SUPPORTED);
  CHECK(cudnnSetTensorNdDescriptor(nullptr, CUDNN_DATA_FLOAT, 2, dims, strides) == CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
}

TEST_CASE_METHOD(CudnnFixture, "Convolution descriptors and output sizes") {
  cudnnFilterDescriptor_t filter;
  cudnnConvolutionDescriptor_t convolution;
  REQUIRE(cudnnCreateFilterDescriptor(&filter) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnCreateConvolutionDescriptor(&convolution) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 8, 3, 224, 224) ==
          CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetFilter4dDescriptor(filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 64, 3, 7, 7) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetConvolution2dDescriptor(convolution, 3, 3, 2, 2, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT) ==
          CUDNN_STATUS_SUCCESS);
  int n, c, h, w;
  REQUIRE(cudnnGetConvolution2dForwardOutputDim(convolution, tensor, filter, &n, &c, &h, &w) == CUDNN_STATUS_SUCCESS);
  // ResNet's first layer: 1 + (224 + 6 - 7) / 2 = 112.
  CHECK((n == 8 && c == 64 && h == 112 && w == 112));
  size_t bytes = 0;
  CHECK(cudnnGetFilterSizeInBytes(filter, &bytes) == CUDNN_STATUS_SUCCESS);
  CHECK(bytes == 64 * 3 * 49 * 4);
  CHECK(cudnnSetConvolutionGroupCount(convolution, 3) == CUDNN_STATUS_SUCCESS);
  CHECK(cudnnGetConvolution2dForwardOutputDim(convolution, tensor, filter, &n, &c, &h, &w) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnSetConvolutionGroupCount(convolution, 0) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnSetConvolution2dDescriptor(convolution, -1, 3, 2, 2, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT) ==
        CUDNN_STATUS_BAD_PARAM);
  cudnnMathType_t math;
  CHECK(cudnnSetConvolutionMathType(convolution, CUDNN_TENSOR_OP_MATH) == CUDNN_STATUS_SUCCESS);
  CHECK(cudnnGetConvolutionMathType(convolution, &math) == CUDNN_STATUS_SUCCESS);
  CHECK(math == CUDNN_TENSOR_OP_MATH);
  cudnnDestroyConvolutionDescriptor(convolution);
  cudnnDestroyFilterDescriptor(filter);
}

TEST_CASE_METHOD(CudnnFixture, "Pooling output sizes") {
  cudnnPoolingDescriptor_t pooling;
  REQUIRE(cudnnCreatePoolingDescriptor(&pooling) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 8, 64, 112, 112) ==
          CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetPooling2dDescriptor(pooling, CUDNN_POOLING_MAX, CUDNN_NOT_PROPAGATE_NAN, 3, 3, 1, 1, 2, 2) ==
          CUDNN_STATUS_SUCCESS);
  int n, c, h, w;
  REQUIRE(cudnnGetPooling2dForwardOutputDim(pooling, tensor, &n, &c, &h, &w) == CUDNN_STATUS_SUCCESS);
  // 1 + (112 + 2 - 3) / 2 = 56.
  CHECK((n == 8 && c == 64 && h == 56 && w == 56));
  CHECK(cudnnSetPooling2dDescriptor(pooling, CUDNN_POOLING_MAX, CUDNN_NOT_PROPAGATE_NAN, 0, 3, 1, 1, 2, 2) ==
        CUDNN_STATUS_BAD_PARAM);
  cudnnDestroyPoolingDescriptor(pooling);
}

TEST_CASE_METHOD(CudnnFixture, "The other descriptors give back what was put in") {
  cudnnActivationDescriptor_t activation;
  REQUIRE(cudnnCreateActivationDescriptor(&activation) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetActivationDescriptor(activation, CUDNN_ACTIVATION_ELU, CUDNN_PROPAGATE_NAN, 0.25) ==
          CUDNN_STATUS_SUCCESS);
  cudnnActivationMode_t mode;
  cudnnNanPropagation_t nan;
  double coefficient = 0;
  CHECK(cudnnGetActivationDescriptor(activation, &mode, &nan, &coefficient) == CUDNN_STATUS_SUCCESS);
  CHECK(mode == CUDNN_ACTIVATION_ELU);
  CHECK(nan == CUDNN_PROPAGATE_NAN);
  CHECK(coefficient == 0.25);
  cudnnDestroyActivationDescriptor(activation);

  cudnnLRNDescriptor_t lrn;
  REQUIRE(cudnnCreateLRNDescriptor(&lrn) == CUDNN_STATUS_SUCCESS);
  unsigned n = 0;
  double alpha = 0, beta = 0, k = 0;
  CHECK(cudnnGetLRNDescriptor(lrn, &n, &alpha, &beta, &k) == CUDNN_STATUS_SUCCESS);
  // Documented defaults.
  CHECK((n == 5 && alpha == 1e-4 && beta == 0.75 && k == 2));
  CHECK(cudnnSetLRNDescriptor(lrn, 17, 1e-4, 0.75, 2) == CUDNN_STATUS_BAD_PARAM);
  cudnnDestroyLRNDescriptor(lrn);

  cudnnCTCLossDescriptor_t loss;
  REQUIRE(cudnnCreateCTCLossDescriptor(&loss) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetCTCLossDescriptor_v9(loss, CUDNN_DATA_FLOAT, CUDNN_LOSS_NORMALIZATION_SOFTMAX,
                                       CUDNN_CTC_SKIP_OOB_GRADIENTS, 255) == CUDNN_STATUS_SUCCESS);
  cudnnDataType_t type;
  cudnnLossNormalizationMode_t normalization;
  cudnnCTCGradMode_t gradient;
  int length = 0;
  CHECK(cudnnGetCTCLossDescriptor_v9(loss, &type, &normalization, &gradient, &length) == CUDNN_STATUS_SUCCESS);
  CHECK(
      (normalization == CUDNN_LOSS_NORMALIZATION_SOFTMAX && gradient == CUDNN_CTC_SKIP_OOB_GRADIENTS && length == 255));
  cudnnDestroyCTCLossDescriptor(loss);

  cudnnReduceTensorDescriptor_t reduction;
  REQUIRE(cudnnCreateReduceTensorDescriptor(&reduction) == CUDNN_STATUS_SUCCESS);
  CHECK(cudnnSetReduceTensorDescriptor(reduction, CUDNN_REDUCE_TENSOR_AMAX, CUDNN_DATA_FLOAT, CUDNN_PROPAGATE_NAN,
                                       CUDNN_REDUCE_TENSOR_FLATTENED_INDICES,
                                       CUDNN_32BIT_INDICES) == CUDNN_STATUS_SUCCESS);
  cudnnReduceTensorOp_t operation;
  CHECK(cudnnGetReduceTensorDescriptor(reduction, &operation, nullptr, nullptr, nullptr, nullptr) ==
        CUDNN_STATUS_SUCCESS);
  CHECK(operation == CUDNN_REDUCE_TENSOR_AMAX);
  cudnnDestroyReduceTensorDescriptor(reduction);
}

TEST_CASE_METHOD(CudnnFixture, "Descriptors derived for batch normalisation") {
  cudnnTensorDescriptor_t derived;
  REQUIRE(cudnnCreateTensorDescriptor(&derived) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_HALF, 2, 3, 5, 7) == CUDNN_STATUS_SUCCESS);
  int dims[4], rank = 0;
  cudnnDataType_t type;
  REQUIRE(cudnnDeriveBNTensorDescriptor(derived, tensor, CUDNN_BATCHNORM_SPATIAL) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnGetTensorNdDescriptor(derived, 4, &type, &rank, dims, nullptr) == CUDNN_STATUS_SUCCESS);
  CHECK((type == CUDNN_DATA_FLOAT && dims[0] == 1 && dims[1] == 3 && dims[2] == 1 && dims[3] == 1));
  REQUIRE(cudnnDeriveBNTensorDescriptor(derived, tensor, CUDNN_BATCHNORM_PER_ACTIVATION) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnGetTensorNdDescriptor(derived, 4, &type, &rank, dims, nullptr) == CUDNN_STATUS_SUCCESS);
  CHECK((dims[0] == 1 && dims[1] == 3 && dims[2] == 5 && dims[3] == 7));
  cudnnDestroyTensorDescriptor(derived);
}
