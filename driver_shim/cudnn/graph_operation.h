// What an operation graph computes, as one record: a convolution, an attention, a normalisation, a matrix product with
// its epilogue, or elementwise work. Virtual tensors inside the graph cost no memory traffic: that is what fusion
// means.
#pragma once

#include <cstdint>
#include <vector>

#include "driver_shim/cudnn/backend_descriptor.h"
#include "driver_shim/cudnn/convolution_algorithm.h"
#include "predictor/core/operation.h"

namespace maya::cudnn {

struct GraphTensor {
  int64_t id = 0;
  std::vector<int64_t> dimensions;
  std::vector<int64_t> strides;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  bool in_memory = false;  // neither virtual nor passed by value
  bool output = false;     // written by an operation of the graph

  uint64_t bytes() const;       // of its elements
  uint64_t span_bytes() const;  // from its first to its last element
};

GraphTensor tensor_of(const BackendNode& node);

// Which attributes of a convolution operation name what, by its descriptor type.
struct ConvolutionAttributes {
  cudnnBackendAttributeName_t image, filter, result, description;
};
ConvolutionAttributes convolution_attributes(cudnnBackendDescriptorType_t type);
bool is_convolution(cudnnBackendDescriptorType_t type);

// The shape of a convolution operation whose tensors belong together. False: sizes are larger than any device.
bool convolution_of(const BackendNode& operation, ConvolutionShape* shape);
// The convolution of a graph, as it is and without its tensor cores for 32-bit floats. False: the graph has none.
bool convolution_in(const BackendNode& graph, ConvolutionShape* shape);

// Every tensor that an operation of the graph names, once.
std::vector<GraphTensor> tensors_of(const BackendNode& graph);

// Shape, types, and kReadBytes and kWrittenBytes of the tensors in memory; convolutions by `method`, with or without
// tensor cores for 32-bit floats.
OperationRecord record_of(const BackendNode& graph, ConvolutionMethod method = ConvolutionMethod::kImplicitProduct,
                          bool tensor_cores = true);

// Device memory that a graph without convolutions asks for: attention backward accumulates dQ in float32 and keeps one
// float32 row sum a query; everything else needs none.
int64_t scratch_bytes_of(const BackendNode& graph);

}  // namespace maya::cudnn
