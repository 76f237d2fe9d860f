// What an operation graph computes, as one record: a convolution, an attention, a normalisation, a matrix product with
// its epilogue, or elementwise work. Virtual tensors inside the graph cost no memory traffic: that is what fusion
// means.
#pragma once

#include <cstdint>
#include <vector>

#include "driver_shim/cudnn/backend_descriptor.h"
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

// Every tensor that an operation of the graph names, once.
std::vector<GraphTensor> tensors_of(const BackendNode& graph);

// Shape, types, and kReadBytes and kWrittenBytes of the tensors in memory.
OperationRecord record_of(const BackendNode& graph);

// Device memory that a plan for the graph asks for: attention backward accumulates dQ in float32 and keeps one float32
// row sum a query; everything else needs none.
int64_t workspace_bytes(const BackendNode& graph);

}  // namespace maya::cudnn
