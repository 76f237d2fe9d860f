// Every attribute of every descriptor type: type, count, read-only; and the documented checks of finalisation.
#include "driver_shim/cudnn/backend_rules.h"

#include "test/cudnn/backend_builder.h"

using namespace maya::test;
using namespace maya::cudnn;

namespace {

constexpr int kDescriptorTypes = CUDNN_BACKEND_OPERATION_ROPE_BWD_DESCRIPTOR + 1;

cudnnStatus_t finalize(const Built& built) { return cudnnBackendFinalize(built.descriptor); }

}  // namespace

TEST_CASE_METHOD(CudnnFixture, "Every descriptor type has its attributes, and refuses others") {
  char zeros[4096] = {};
  size_t attributes = 0;
  for (int type = 0; type < kDescriptorTypes; ++type) {
    const DescriptorRules* rules = rules_of(static_cast<cudnnBackendDescriptorType_t>(type));
    REQUIRE(rules != nullptr);
    REQUIRE(!rules->attributes.empty());
    for (const AttributeRule& rule : rules->attributes) {
      INFO("descriptor " << type << " attribute " << rule.name);
      ++attributes;
      Built built(rules->type);
      const auto set = [&](cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t as, int64_t count) {
        return cudnnBackendSetAttribute(built.descriptor, name, as, count, zeros);
      };
      // CUDNN_TYPE_ATTRIB_NAME is the type of no attribute.
      CHECK(set(rule.name, CUDNN_TYPE_ATTRIB_NAME, 1) != CUDNN_STATUS_SUCCESS);
      if (rule.form.type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        CHECK(set(rule.name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1) == CUDNN_STATUS_BAD_PARAM);  // a null element
        continue;
      }
      CHECK(set(rule.name, rule.form.type, std::max(rule.least, 1)) ==
            (rule.is(kReadOnly) ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_SUCCESS));
      if (rule.most < kAnyNumber) CHECK(set(rule.name, rule.form.type, rule.most + 1) == CUDNN_STATUS_BAD_PARAM);
      if (rule.least > 0) CHECK(set(rule.name, rule.form.type, 0) == CUDNN_STATUS_BAD_PARAM);
    }
    Built built(rules->type);
    const auto foreign =
        type == CUDNN_BACKEND_TENSOR_DESCRIPTOR ? CUDNN_ATTR_POINTWISE_MODE : CUDNN_ATTR_TENSOR_STRIDES;
    CHECK(cudnnBackendSetAttribute(built.descriptor, foreign, CUDNN_TYPE_INT64, 1, zeros) == CUDNN_STATUS_BAD_PARAM);
  }
  CHECK(attributes == 363);  // entries of cudnnBackendAttributeName_t in cuDNN 9.26
}

TEST_CASE_METHOD(CudnnFixture, "Tensors: documented checks") {
  const auto status = [](cudnnDataType_t type, std::vector<int64_t> dimensions, std::vector<int64_t> strides,
                         int64_t alignment, int64_t vector = 1) {
    Built tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    const int64_t id = 1;
    tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type)
        .set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, static_cast<int64_t>(dimensions.size()), dimensions.data())
        .set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, static_cast<int64_t>(strides.size()), strides.data())
        .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id)
        .set(CUDNN_ATTR_TENSOR_VECTOR_COUNT, CUDNN_TYPE_INT64, 1, &vector)
        .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
    return finalize(tensor);
  };
  CHECK(status(CUDNN_DATA_FLOAT, {2, 3}, {3, 1}, 4) == CUDNN_STATUS_SUCCESS);
  CHECK(status(CUDNN_DATA_FLOAT, {2, 0}, {3, 1}, 4) == CUDNN_STATUS_BAD_PARAM);
  CHECK(status(CUDNN_DATA_FLOAT, {2, 3}, {0, 1}, 4) == CUDNN_STATUS_SUCCESS);  // broadcast, as PyTorch expands masks
  CHECK(status(CUDNN_DATA_FLOAT, {2, 3}, {-3, 1}, 4) == CUDNN_STATUS_BAD_PARAM);
  CHECK(status(CUDNN_DATA_FLOAT, {2, 3}, {3, 1}, 2) == CUDNN_STATUS_BAD_PARAM);
  CHECK(status(CUDNN_DATA_FLOAT, {2, 3}, {1}, 4) == CUDNN_STATUS_BAD_PARAM);
  CHECK(status(CUDNN_DATA_INT8x4, {2, 3}, {3, 1}, 4) == CUDNN_STATUS_NOT_SUPPORTED);
  CHECK(status(CUDNN_DATA_INT8, {2, 3}, {3, 1}, 4, 5) == CUDNN_STATUS_NOT_SUPPORTED);
  CHECK(status(CUDNN_DATA_INT8, {2, 3}, {3, 1}, 4, 4) == CUDNN_STATUS_BAD_PARAM);  // which dimension?
  CHECK(status(CUDNN_DATA_FLOAT, {INT64_MAX, INT64_MAX}, {INT64_MAX, INT64_MAX}, 4) ==
        CUDNN_STATUS_NOT_SUPPORTED_SHAPE);
}

TEST_CASE_METHOD(CudnnFixture, "Products, reductions and normalisations: tensors that do not belong together") {
  Built a(CUDNN_BACKEND_TENSOR_DESCRIPTOR), b(CUDNN_BACKEND_TENSOR_DESCRIPTOR), c(CUDNN_BACKEND_TENSOR_DESCRIPTOR),
      wrong(CUDNN_BACKEND_TENSOR_DESCRIPTOR), row(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  make_tensor(a, 1, {6, 4, 8}, false);
  make_tensor(b, 2, {3, 8, 5}, false);  // "A or B is B/c: broadcast"
  make_tensor(c, 3, {6, 4, 5}, false);
  make_tensor(wrong, 4, {4, 8, 5}, false);
  make_tensor(row, 5, {6, 1, 5}, false);
  const cudnnDataType_t type = CUDNN_DATA_FLOAT;
  Built product(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  product.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type).done();
  const auto multiply = [&](const Built& right, int64_t irregular) {
    Built operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a)
        .set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, right)
        .set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c)
        .set(CUDNN_ATTR_OPERATION_MATMUL_DESC, product)
        .set(CUDNN_ATTR_OPERATION_MATMUL_IRREGULARLY_STRIDED_BATCH_COUNT, CUDNN_TYPE_INT64, 1, &irregular);
    return finalize(operation);
  };
  CHECK(multiply(b, 1) == CUDNN_STATUS_SUCCESS);
  CHECK(multiply(wrong, 1) == CUDNN_STATUS_BAD_PARAM);
  CHECK(multiply(b, -1) == CUDNN_STATUS_BAD_PARAM);
  CHECK(multiply(b, 2) == CUDNN_STATUS_BAD_PARAM);
  const auto reduce = [&](const Built& to) {
    Built reduction(CUDNN_BACKEND_REDUCTION_DESCRIPTOR), operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    const cudnnReduceTensorOp_t sum = CUDNN_REDUCE_TENSOR_ADD;
    reduction.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &sum)
        .set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type)
        .done();
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, c)
        .set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, to)
        .set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, reduction);
    return finalize(operation);
  };
  CHECK(reduce(row) == CUDNN_STATUS_SUCCESS);
  CHECK(reduce(wrong) == CUDNN_STATUS_BAD_PARAM);
  const auto normalize = [&](cudnnBackendNormMode_t mode, cudnnBackendNormFwdPhase_t phase, const Built& to) {
    Built operation(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, 1, &mode)
        .set(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE, 1, &phase)
        .set(CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, c)
        .set(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, row)
        .set(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, to);
    return finalize(operation);
  };
  CHECK(normalize(CUDNN_LAYER_NORM, CUDNN_NORM_FWD_INFERENCE, c) == CUDNN_STATUS_SUCCESS);
  CHECK(normalize(CUDNN_LAYER_NORM, CUDNN_NORM_FWD_TRAINING, wrong) == CUDNN_STATUS_BAD_PARAM);
  CHECK(normalize(CUDNN_GROUP_NORM, CUDNN_NORM_FWD_TRAINING, c) == CUDNN_STATUS_INTERNAL_ERROR);
  CHECK(normalize(CUDNN_BATCH_NORM, CUDNN_NORM_FWD_INFERENCE, c) == CUDNN_STATUS_NOT_SUPPORTED);
}

TEST_CASE_METHOD(CudnnFixture, "Convolutions whose lists or tensors do not fit") {
  Built convolution(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const int64_t rank = 2, two[] = {1, 1}, three[] = {1, 1, 1};
  const cudnnDataType_t type = CUDNN_DATA_FLOAT;
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  convolution.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode)
      .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &rank)
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, two)
      .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, two)
      .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 3, three)
      .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, two);
  CHECK(finalize(convolution) == CUDNN_STATUS_BAD_PARAM);
  convolution.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, two).done();
  Built x(CUDNN_BACKEND_TENSOR_DESCRIPTOR), w(CUDNN_BACKEND_TENSOR_DESCRIPTOR), y(CUDNN_BACKEND_TENSOR_DESCRIPTOR),
      small(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  make_tensor(x, 1, {2, 4, 8, 8}, false);
  make_tensor(w, 2, {6, 4, 3, 3}, false);
  make_tensor(y, 3, {2, 6, 8, 8}, false);
  make_tensor(small, 4, {2, 6, 7, 8}, false);
  const auto convolve = [&](const Built& result) {
    Built operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, x)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, w)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, result)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, convolution)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_TYPE_FLOAT, 1, &one)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_TYPE_FLOAT, 1, &zero);
    return finalize(operation);
  };
  CHECK(convolve(y) == CUDNN_STATUS_SUCCESS);
  CHECK(convolve(small) == CUDNN_STATUS_BAD_PARAM);
}
