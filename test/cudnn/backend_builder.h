// Descriptors of the backend API, built as cudnn-frontend builds them.
#pragma once

#include <vector>

#include "test/cudnn/handle_fixture.h"

namespace maya::test {

// A finalized descriptor made from attributes, destroyed with the object.
struct Built {
  explicit Built(cudnnBackendDescriptorType_t type) {
    REQUIRE(cudnnBackendCreateDescriptor(type, &descriptor) == CUDNN_STATUS_SUCCESS);
  }
  ~Built() { cudnnBackendDestroyDescriptor(descriptor); }
  Built(const Built&) = delete;
  Built& operator=(const Built&) = delete;
  Built& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count, const void* elements) {
    REQUIRE(cudnnBackendSetAttribute(descriptor, name, type, count, elements) == CUDNN_STATUS_SUCCESS);
    return *this;
  }
  Built& set(cudnnBackendAttributeName_t name, const Built& child) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &child.descriptor);
  }
  Built& done() {
    REQUIRE(cudnnBackendFinalize(descriptor) == CUDNN_STATUS_SUCCESS);
    return *this;
  }
  cudnnBackendDescriptor_t descriptor = nullptr;
};

// Row-major strides, the last dimension densest.
inline void make_tensor(Built& tensor, int64_t id, std::vector<int64_t> dimensions, bool is_virtual,
                        cudnnDataType_t type = CUDNN_DATA_BFLOAT16) {
  std::vector<int64_t> strides(dimensions.size(), 1);
  const int64_t alignment = 16;
  for (size_t i = dimensions.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * dimensions[i + 1];
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type)
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, static_cast<int64_t>(dimensions.size()), dimensions.data())
      .set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, static_cast<int64_t>(strides.size()), strides.data())
      .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id)
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment)
      .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual)
      .done();
}

// The way of cudnn-frontend: graph, heuristics, configuration out of the heuristics, plan; then everything but the plan
// may go.
inline void make_plan(Built& plan, cudnnHandle_t handle, const std::vector<const Built*>& operations,
                      int64_t* workspace) {
  Built graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR), heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR),
      configuration(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR), engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  std::vector<cudnnBackendDescriptor_t> list;
  for (const Built* operation : operations) list.push_back(operation->descriptor);
  graph
      .set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(list.size()), list.data())
      .set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle)
      .done();
  const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode)
      .done();
  int64_t count = 0;
  REQUIRE(cudnnBackendGetAttribute(heuristics.descriptor, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                   0, &count, nullptr) == CUDNN_STATUS_SUCCESS);
  REQUIRE(count >= 1);
  REQUIRE(cudnnBackendGetAttribute(heuristics.descriptor, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                   1, &count, &configuration.descriptor) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnBackendGetAttribute(configuration.descriptor, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                   1, &count, &engine.descriptor) == CUDNN_STATUS_SUCCESS);
  int64_t index = -1;
  REQUIRE(cudnnBackendGetAttribute(engine.descriptor, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &count,
                                   &index) == CUDNN_STATUS_SUCCESS);
  CHECK(index == 0);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle)
      .set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration)
      .done();
  REQUIRE(cudnnBackendGetAttribute(plan.descriptor, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                                   &count, workspace) == CUDNN_STATUS_SUCCESS);
}

inline cudnnStatus_t run_plan(cudnnHandle_t handle, const Built& plan, const std::vector<int64_t>& ids,
                              const std::vector<void*>& pointers, void* workspace = nullptr) {
  Built pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, static_cast<int64_t>(ids.size()), ids.data())
      .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, static_cast<int64_t>(pointers.size()),
           pointers.data())
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace)
      .done();
  return cudnnBackendExecute(handle, plan.descriptor, pack.descriptor);
}

// A two-dimensional convolution of square windows.
inline void make_convolution(Built& convolution, int64_t stride, int64_t padding) {
  const int64_t rank = 2, strides[] = {stride, stride}, paddings[] = {padding, padding}, dilations[] = {1, 1};
  const cudnnDataType_t type = CUDNN_DATA_FLOAT;
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  convolution.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode)
      .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &rank)
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, strides)
      .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, paddings)
      .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, paddings)
      .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, dilations)
      .done();
}

inline void make_pointwise(Built& pointwise, cudnnPointwiseMode_t mode) {
  const cudnnDataType_t type = CUDNN_DATA_FLOAT;
  pointwise.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode)
      .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &type)
      .done();
}

inline void make_product(Built& operation, const Built& a, const Built& b, const Built& c) {
  const cudnnDataType_t type = CUDNN_DATA_FLOAT;
  Built product(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  product.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type).done();
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a)
      .set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b)
      .set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c)
      .set(CUDNN_ATTR_OPERATION_MATMUL_DESC, product)
      .done();
}

inline void* at(uint64_t address) { return reinterpret_cast<void*>(address); }

}  // namespace maya::test
