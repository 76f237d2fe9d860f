#include "test/cudnn/handle_fixture.h"

using namespace maya::test;

TEST_CASE_METHOD(CudnnFixture, "Backend descriptors keep their attributes and freeze when finalized") {
  cudnnBackendDescriptor_t descriptor = nullptr;
  REQUIRE(cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, &descriptor) == CUDNN_STATUS_SUCCESS);
  const int64_t dims[] = {2, 3, 5};
  const cudnnDataType_t type = CUDNN_DATA_BFLOAT16;
  CHECK(cudnnBackendSetAttribute(descriptor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 3, dims) ==
        CUDNN_STATUS_SUCCESS);
  CHECK(cudnnBackendSetAttribute(descriptor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type) ==
        CUDNN_STATUS_SUCCESS);
  int64_t count = -1, read[3] = {};
  CHECK(cudnnBackendGetAttribute(descriptor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 3, &count, read) ==
        CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
  REQUIRE(cudnnBackendFinalize(descriptor) == CUDNN_STATUS_SUCCESS);
  // The count is given even when nothing is asked for.
  CHECK(cudnnBackendGetAttribute(descriptor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 0, &count, nullptr) ==
        CUDNN_STATUS_SUCCESS);
  CHECK(count == 3);
  CHECK(cudnnBackendGetAttribute(descriptor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 2, &count, read) ==
        CUDNN_STATUS_SUCCESS);
  CHECK((read[0] == 2 && read[1] == 3 && read[2] == 0));
  CHECK(cudnnBackendGetAttribute(descriptor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_FLOAT, 3, &count, read) ==
        CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
  CHECK(cudnnBackendSetAttribute(descriptor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 3, dims) ==
        CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnBackendDestroyDescriptor(descriptor) == CUDNN_STATUS_SUCCESS);
}

TEST_CASE_METHOD(CudnnFixture, "Operation graphs are refused so that a program can fall back") {
  for (const auto type : {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR,
                          CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR}) {
    cudnnBackendDescriptor_t descriptor = nullptr;
    REQUIRE(cudnnBackendCreateDescriptor(type, &descriptor) == CUDNN_STATUS_SUCCESS);
    CHECK(cudnnBackendFinalize(descriptor) == CUDNN_STATUS_NOT_SUPPORTED);
    CHECK(cudnnBackendExecute(handle, descriptor, descriptor) == CUDNN_STATUS_NOT_SUPPORTED);
    cudnnBackendDestroyDescriptor(descriptor);
  }
  CHECK_FALSE(fake().unsupported.empty());
}

TEST_CASE_METHOD(CudnnFixture, "Bad arguments of the backend interface") {
  cudnnBackendDescriptor_t descriptor = nullptr;
  CHECK(cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, nullptr) == CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  CHECK(cudnnBackendCreateDescriptor(static_cast<cudnnBackendDescriptorType_t>(999), &descriptor) ==
        CUDNN_STATUS_NOT_SUPPORTED);
  CHECK(cudnnBackendFinalize(nullptr) == CUDNN_STATUS_BAD_PARAM);
  REQUIRE(cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, &descriptor) == CUDNN_STATUS_SUCCESS);
  int64_t value = 0;
  CHECK(cudnnBackendSetAttribute(descriptor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, -1, &value) ==
        CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnBackendSetAttribute(descriptor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 1, nullptr) ==
        CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  CHECK(cudnnBackendSetAttribute(descriptor, CUDNN_ATTR_TENSOR_DIMENSIONS, static_cast<cudnnBackendAttributeType_t>(10),
                                 1, &value) == CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
  cudnnBackendDestroyDescriptor(descriptor);
}
