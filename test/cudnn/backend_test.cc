#include "test/cudnn/backend_builder.h"

#include <vector>

using namespace maya::test;
using maya::Family;
using maya::Key;
using maya::OperationRecord;

TEST_CASE_METHOD(CudnnFixture, "Backend descriptors keep their attributes and freeze when finalized") {
  cudnnBackendDescriptor_t descriptor = nullptr;
  REQUIRE(cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, &descriptor) == CUDNN_STATUS_SUCCESS);
  const int64_t dims[] = {2, 3, 5};
  const cudnnDataType_t type = CUDNN_DATA_BFLOAT16;
  CHECK(cudnnBackendSetAttribute(descriptor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 3, dims) ==
        CUDNN_STATUS_SUCCESS);
  CHECK(cudnnBackendSetAttribute(descriptor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type) ==
        CUDNN_STATUS_SUCCESS);
  const int64_t id = 7;
  CHECK(cudnnBackendSetAttribute(descriptor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id) ==
        CUDNN_STATUS_SUCCESS);
  const int64_t strides[] = {15, 5, 1}, alignment = 2;
  CHECK(cudnnBackendSetAttribute(descriptor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 3, strides) ==
        CUDNN_STATUS_SUCCESS);
  CHECK(cudnnBackendFinalize(descriptor) == CUDNN_STATUS_BAD_PARAM);  // no alignment yet
  CHECK(cudnnBackendSetAttribute(descriptor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment) ==
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
        CUDNN_STATUS_NOT_INITIALIZED);
  CHECK(cudnnBackendDestroyDescriptor(descriptor) == CUDNN_STATUS_SUCCESS);
}

TEST_CASE_METHOD(CudnnFixture, "A convolution graph runs and is recorded with its shape") {
  // ResNet-50's first layer: 8 x 3 x 224 x 224, 64 filters of 7 x 7, stride 2, padding 3: result 112 x 112.
  Built x(CUDNN_BACKEND_TENSOR_DESCRIPTOR), w(CUDNN_BACKEND_TENSOR_DESCRIPTOR), y(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  make_tensor(x, 1, {8, 3, 224, 224}, false);
  make_tensor(w, 2, {64, 3, 7, 7}, false);
  make_tensor(y, 3, {8, 64, 112, 112}, false);
  Built description(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR),
      operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  const float one = 1, zero = 0;
  make_convolution(description, /*stride=*/2, /*padding=*/3);
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, description)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1, &one)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1, &zero)
      .done();
  Built plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  int64_t workspace = -1;
  make_plan(plan, handle, {&operation}, &workspace);
  CHECK(workspace >= 0);
  REQUIRE(run_plan(handle, plan, {1, 2, 3}, {at(0x10000), at(0x20000), at(0x30000)}, at(0x90000)) ==
          CUDNN_STATUS_SUCCESS);
  const OperationRecord& record = fake().last().operation;
  CHECK(record.family == Family::kConvolution);
  CHECK(record.get(Key::kFilters) == 64);
  CHECK(record.get(Key::kStride) == 2);
  CHECK(record.get(Key::kConvGroups) == 1);
  CHECK(record.get(Key::kChannelsFirst) == 1);
  CHECK(record.get(Key::kFlops) == 2ll * 8 * 64 * 112 * 112 * 3 * 7 * 7);  // 1.89 GFLOP
  CHECK(record.get(Key::kReadBytes) == 2 * (8 * 3 * 224 * 224 + 64 * 3 * 7 * 7));
  CHECK(record.get(Key::kWrittenBytes) == 2 * 8 * 64 * 112 * 112);
  // 16-bit pixels side by side are brought into the order of tensor cores and back: image, filters and response.
  CHECK(workspace == 2 * (8 * 3 * 224 * 224 + 64 * 3 * 7 * 7 + 8 * 64 * 112 * 112));
  REQUIRE(fake().last().writes.size() == 2);
  CHECK(fake().last().writes[0].address == 0x30000);
  CHECK(fake().last().writes[1] == range(at(0x90000), static_cast<uint64_t>(workspace)));
  CHECK(run_plan(handle, plan, {1, 2, 3}, {at(0x10000), at(0x20000), at(0x30000)}) == CUDNN_STATUS_BAD_PARAM);
  CHECK(run_plan(handle, plan, {1, 2}, {at(0x10000), at(0x20000)}) == CUDNN_STATUS_BAD_PARAM);
}

TEST_CASE_METHOD(CudnnFixture, "Two chained products are attention") {
  // Batch 8, 12 heads, 1024 queries and keys, head size 64. S and P stay virtual.
  Built q(CUDNN_BACKEND_TENSOR_DESCRIPTOR), k(CUDNN_BACKEND_TENSOR_DESCRIPTOR), s(CUDNN_BACKEND_TENSOR_DESCRIPTOR),
      p(CUDNN_BACKEND_TENSOR_DESCRIPTOR), v(CUDNN_BACKEND_TENSOR_DESCRIPTOR), o(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  make_tensor(q, 1, {8, 12, 1024, 64}, false);
  make_tensor(k, 2, {8, 4, 64, 1024}, false);
  make_tensor(s, 3, {8, 12, 1024, 1024}, true, CUDNN_DATA_FLOAT);
  make_tensor(p, 4, {8, 12, 1024, 1024}, true);
  make_tensor(v, 5, {8, 4, 1024, 64}, false);
  make_tensor(o, 6, {8, 12, 1024, 64}, false);
  Built first(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR), softmax(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR),
      second(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR), mode(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  make_product(first, q, k, s);
  make_pointwise(mode, CUDNN_POINTWISE_EXP);
  softmax.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, mode)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, s)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, p)
      .done();
  make_product(second, p, v, o);
  Built plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  int64_t workspace = -1;
  make_plan(plan, handle, {&first, &softmax, &second}, &workspace);
  REQUIRE(run_plan(handle, plan, {1, 2, 5, 6}, {at(0x1000), at(0x2000), at(0x3000), at(0x4000)}) ==
          CUDNN_STATUS_SUCCESS);
  const OperationRecord& record = fake().last().operation;
  CHECK(record.family == Family::kAttention);
  CHECK(record.get(Key::kBatch) == 8);
  CHECK(record.get(Key::kHeads) == 12);
  CHECK(record.get(Key::kKvHeads) == 4);
  CHECK(record.get(Key::kSeqQ) == 1024);
  CHECK(record.get(Key::kSeqKv) == 1024);
  CHECK(record.get(Key::kHeadDim) == 64);
  CHECK(record.get(Key::kDirection) == 0);
  CHECK(record.get(Key::kWrittenBytes) == 2 * 8 * 12 * 1024 * 64);
  REQUIRE(fake().last().writes.size() == 1);
  CHECK(fake().last().writes[0].address == 0x4000);
}

TEST_CASE_METHOD(CudnnFixture, "Graphs, heuristics and plans need their attributes") {
  for (const auto type :
       {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_BACKEND_ENGINE_DESCRIPTOR,
        CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_BACKEND_TENSOR_DESCRIPTOR}) {
    Built empty(type);
    CHECK(cudnnBackendFinalize(empty.descriptor) == CUDNN_STATUS_BAD_PARAM);
    CHECK(cudnnBackendExecute(handle, empty.descriptor, empty.descriptor) == CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
  }
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
  CHECK(cudnnBackendSetAttribute(descriptor, CUDNN_ATTR_TENSOR_DIMENSIONS, static_cast<cudnnBackendAttributeType_t>(99),
                                 1, &value) == CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
  cudnnBackendDestroyDescriptor(descriptor);
}
